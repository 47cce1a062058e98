"""InferenceTemplates of the sequences: versions of them, and which of them an object gets.

A stored object has the content of the templates that were there when its names of templates, its component
type or `refresh` last changed, whatever became of them since (P1).
"""

from collections.abc import Mapping
from typing import Any, Final

from intent import Object
from intent.annotations import EXPANSION
from intent.template import Templates
from tests.laws.convergence.files import PREFIX

KEYS: Final = ("service", "base-refs", "component-type", "refresh")
"""The annotations by whose values an object gets other content."""
DEFAULTS: Final = {"component-type": "worker"}


def _template(name: str, *pods: Object, **blocks: Any) -> Object:
    return {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceTemplate",
        "metadata": {"name": name, "namespace": "llm", "uid": name, "generation": 1},
        "spec": {"pods": list(pods), **blocks},
    }


def _pods(spec: Object, metadata: Object | None = None, **fields: Any) -> Object:
    return {**fields, "template": {"metadata": metadata or {}, "spec": spec}}


def _base(version: int) -> Object:
    engine = {
        "name": "vllm",
        "args": ["--max-num-seqs", str(version), "--served-model-name", "$(service.name)"],
        "env": [{"name": "LOG", "value": f"v{version}"}, {"name": "CONFIG", "value": "/config"}],
        "volumeMounts": [{"name": "configuration", "mountPath": "/config"}],
        "livenessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": version},
        "ports": [{"containerPort": 9090, "name": "metrics"}],
        "securityContext": {"runAsUser": 1000 + version},
    }
    spec = {
        "containers": [engine],
        "volumes": [{"name": "configuration", "configMap": {"name": f"v{version}"}}],
        "nodeSelector": {"pool": "templates", "disk": f"v{version}"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "terminationGracePeriodSeconds": 60 + version,
        "securityContext": {"fsGroup": 1000 + version},
    }
    return _template("base", _pods(spec, {"labels": {"team": f"v{version}"}}))


def _more(version: int) -> Object:
    logger = {"name": "logs", "image": f"fluentbit:{version}", "args": ["--follow"]}
    leader = {"priorityClassName": f"v{version}"}
    engine = {"name": "vllm", "env": [{"name": "LOG", "value": "more"}]}
    return _template(
        "more",
        _pods({"containers": [engine, logger]}, remove=["containers/vllm/env/CONFIG"]),
        _pods(leader, part="leader"),
        {**_pods({"hostNetwork": version == 2}), "for": "decoder"},
        parallelism={"tensor": 8, "pipeline": 2},
    )


LIBRARIES: Final[Mapping[str, Templates | None]] = {
    "v1": {"base": _base(1), "more": _more(1)},
    "v2": {"base": _base(2), "more": _more(2)},
    "without more": {"base": _base(3)},
    "none": {},
    "no access": None,
}
"""What the webhook can read."""
FIRST: Final = "v1"
"""What it can read when a sequence begins."""
TEMPLATES: Final = "templates"
"""The client of a step that changes the templates."""


def key(lws: Object | None) -> tuple[str | None, ...] | None:
    """Return what decides which content an object gets, and None if it needs none or lost its record."""
    found = ((lws or {}).get("metadata") or {}).get("annotations") or {}
    values = tuple(found.get(PREFIX + name) or DEFAULTS.get(name) for name in KEYS)
    return values if all(values[:2]) else None


def is_read(sent: Object, stored: Object | None) -> bool:
    """Return whether a write takes the templates as they are now."""
    is_lost = stored is not None and EXPANSION not in (stored["metadata"].get("annotations") or {})
    return key(sent) is not None and (stored is None or is_lost or key(sent) != key(stored))
