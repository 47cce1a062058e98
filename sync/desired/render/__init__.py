"""Renderers of Kubernetes objects: values in, apply configurations out."""
