"""Builders of InferenceServices for tests."""

import copy
from typing import Any

from intent import Object
from tests.builders.lws import template


def role(component_type: str, **fields: Any) -> Object:
    """Return a role. A role other than a router gets a template by default; None leaves a field out."""
    plain = {} if component_type == "router" else {"template": copy.deepcopy(template())}
    whole = {"componentType": component_type, **plain, **fields}
    return {key: value for key, value in whole.items() if value is not None}


def router(**fields: Any) -> Object:
    """Return a router with a strategy."""
    return role("router", **{"name": "router", "strategy": "prefix-cache", **fields})


def worker(**fields: Any) -> Object:
    """Return a worker of two nodes."""
    return role("worker", **{"name": "inference", "multinode": {"nodeCount": 2}, **fields})


def prefiller(**fields: Any) -> Object:
    """Return a prefiller of two nodes."""
    return role("prefiller", **{"name": "prefill", "multinode": {"nodeCount": 2}, **fields})


def decoder(**fields: Any) -> Object:
    """Return a decoder of two nodes."""
    return role("decoder", **{"name": "decode", "multinode": {"nodeCount": 2}, **fields})


def encoder(**fields: Any) -> Object:
    """Return an encoder of one node."""
    return role("encoder", **{"name": "encode", **fields})


def isvc(*roles: Object, name: str = "svc", annotations: Object | None = None, **spec: Any) -> Object:
    """Return an InferenceService; without roles it has one worker."""
    metadata: Object = {"name": name} if annotations is None else {"name": name, "annotations": annotations}
    return {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceService",
        "metadata": metadata,
        "spec": {"roles": list(roles or (worker(),)), **spec},
    }
