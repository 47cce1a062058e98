"""Computes the objects that a service should have. Pure: values in, values out."""
