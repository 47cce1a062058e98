"""The pods of a role, as far as the ModelService itself asks for them (`child_resources.go`, `utils.go`)."""

from collections.abc import Callable, Iterator
from typing import Final

from importer.leaves import Leaf, Tree, at, value_at
from importer.llmd.variables import CACHE, Artifact, sanitized
from intent.shapes import text

VOLUME: Final = "model-storage"
TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable
FIELDS: Final = ("name", "image", "command", "env", "envFrom", "resources")
INFERENCE: Final = "llm-d.ai/inferenceServing"
MODEL: Final = "llm-d.ai/model"
ROLE: Final = "llm-d.ai/role"
Render = Callable[[Tree], Tree]
"""Renders the templates in a text, or in the texts of a list."""


def pod_template(role: str, workload: Tree, spec: Tree, model: Artifact, render: Render) -> Tree:
    """Return the pod template of a role, without its base."""
    pod: dict[str, Tree] = {}
    for field in ("containers", "initContainers"):
        given = at(workload, field)
        if isinstance(given, list):
            pod[field] = [_container(one, spec, model, render) for one in given]
    if any(value_at(one, "mountModelVolume") is True for one in _all(workload)):
        pod["volumes"] = [_volume(spec, model)]
    return {"metadata": {"labels": labels(spec, role)}, "spec": pod}


def labels(spec: Tree, role: str = "") -> dict[str, Tree]:
    """Return the labels by which llm-d's Services and pools select pods."""
    name = at(spec, "routing", "modelName")
    value = name.having(sanitized(text(name.value))) if isinstance(name, Leaf) else Leaf("")
    return {INFERENCE: Leaf("true"), MODEL: value, **({ROLE: Leaf(role)} if role else {})}


def _all(workload: Tree) -> Iterator[Tree]:
    for field in ("containers", "initContainers"):
        given = at(workload, field)
        yield from given if isinstance(given, list) else ()


def _container(container: Tree, spec: Tree, model: Artifact, render: Render) -> Tree:
    found = {key: container[key] for key in FIELDS if at(container, key) is not None}
    if at(container, "args") is not None:
        found["args"] = render(container["args"])
    if value_at(container, "mountModelVolume") is not True:
        return found
    asked = container["mountModelVolume"]
    only_reads = {"readOnly": Leaf(value=True)} if model.scheme == "pvc" else {}
    found["volumeMounts"] = [{"name": Leaf(VOLUME), "mountPath": asked.having(CACHE), **only_reads}]
    own = found.get("env")
    written = own if isinstance(own, list) else []
    names = {value_at(one, "name") for one in written}
    more = [one for one in _variables(spec, model) if value_at(one, "name") not in names]
    return {**found, "env": [*written, *more]} if more else found


def _variables(spec: Tree, model: Artifact) -> Iterator[Tree]:
    if model.scheme != "hf":
        return
    yield {"name": Leaf("HF_HOME"), "value": Leaf(CACHE)}
    secret = at(spec, "modelArtifacts", "authSecretName")
    if isinstance(secret, Leaf) and secret.value:
        key = {"secretKeyRef": {"name": secret, "key": Leaf(TOKEN)}}
        yield {"name": Leaf(TOKEN), "valueFrom": key}


def _volume(spec: Tree, model: Artifact) -> Tree:
    uri, size = at(spec, "modelArtifacts", "uri"), at(spec, "modelArtifacts", "size")
    name = uri.having(VOLUME)
    if model.scheme == "pvc":
        claim = {"claimName": uri.having(model.claim), "readOnly": Leaf(value=True)}
        return {"name": name, "persistentVolumeClaim": claim}
    return {
        "name": name,
        "emptyDir": {"sizeLimit": size} if isinstance(size, Leaf) and size.value else Leaf({}),
    }
