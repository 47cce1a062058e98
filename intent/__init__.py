"""Parsing of what users write: LeaderWorkerSets, InferenceServices, annotations and command lines."""

from typing import Any

Object = dict[str, Any]
"""A Kubernetes object, or a field of one, as parsed JSON. Unknown fields are kept."""
