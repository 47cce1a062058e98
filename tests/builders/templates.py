"""InferenceTemplates for tests."""

from typing import Any

from intent import Object


def template(*pods: Object, name: str = "base", namespace: str = "default", **spec: Any) -> Object:
    """Return a template with entries of `pods`, and other fields of its spec."""
    return {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": ({"pods": list(pods)} if pods else {}) | spec,
    }
