"""What users write, and the words to speak of it."""

from typing import Any

Object = dict[str, Any]
"""A Kubernetes object, or a part of one, as JSON gave it. Unknown fields are kept."""
