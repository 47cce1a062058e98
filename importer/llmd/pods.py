"""The pods of a role, as far as the ModelService itself asks for them (`child_resources.go`, `utils.go`)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from importer.leaves import Leaf, Tree, at, items_at, value_at
from importer.llmd.variables import CACHE, Artifact, sanitized
from intent.shapes import text

VOLUME: Final = "model-storage"
TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable
FIELDS: Final = ("name", "image", "command", "env", "envFrom", "resources")
CONTAINERS: Final = ("containers", "initContainers")
INFERENCE: Final = "llm-d.ai/inferenceServing"
MODEL: Final = "llm-d.ai/model"
ROLE: Final = "llm-d.ai/role"


@dataclass(frozen=True, slots=True)
class ModelService:
    """A ModelService with the files of its model, and its base."""

    tree: Tree
    base: Mapping[str, Tree]
    """The rendered objects of its BaseConfig, by their keys."""
    model: Artifact
    render: Callable[[Tree], Tree]
    """Renders the templates in a text, or in the texts of a list."""

    @property
    def spec(self) -> Tree:
        """The spec of the ModelService."""
        return at(self.tree, "spec")


def pod_template(role: str, service: ModelService) -> Tree:
    """Return the pod template of a role, without its base."""
    workload = at(service.spec, role)
    lists = {field: items_at(workload, field) for field in CONTAINERS}
    pod: dict[str, Tree] = {
        field: [_container(each, service) for each in containers]
        for field, containers in lists.items()
        if containers
    }
    if any(map(_mounts, (each for containers in lists.values() for each in containers))):
        pod["volumes"] = [_volume(service)]
    return {"metadata": {"labels": labels(service, role)}, "spec": pod}


def labels(service: ModelService, role: str) -> dict[str, Tree]:
    """Return the labels by which llm-d's Services and pools select pods."""
    name = at(service.spec, "routing", "modelName")
    value = name.having(sanitized(text(name.value))) if isinstance(name, Leaf) else Leaf("")
    return {INFERENCE: Leaf("true"), MODEL: value, ROLE: Leaf(role)}


def _mounts(container: Tree) -> bool:
    return value_at(container, "mountModelVolume") is True


def _container(container: Tree, service: ModelService) -> Tree:
    fields = {key: container[key] for key in FIELDS if at(container, key) is not None}
    if at(container, "args") is not None:
        fields["args"] = service.render(container["args"])
    if not _mounts(container):
        return fields
    path = container["mountModelVolume"].having(CACHE)
    only_reads = {"readOnly": Leaf(value=True)} if service.model.scheme == "pvc" else {}
    own = items_at(fields, "env")
    names = {text(value_at(entry, "name")) for entry in own}
    env = [*own, *(entry for entry in _variables(service) if entry["name"].value not in names)]
    mounts = {"volumeMounts": [{"name": Leaf(VOLUME), "mountPath": path, **only_reads}]}
    return {**fields, **mounts, **({"env": env} if env else {})}


def _variables(service: ModelService) -> Iterator[dict[str, Tree]]:
    """Yield the variables of a container that mounts `hf://`."""
    if service.model.scheme != "hf":
        return
    yield {"name": Leaf("HF_HOME"), "value": Leaf(CACHE)}
    secret = at(service.spec, "modelArtifacts", "authSecretName")
    if isinstance(secret, Leaf) and secret.value:
        key = {"secretKeyRef": {"name": secret, "key": Leaf(TOKEN)}}
        yield {"name": Leaf(TOKEN), "valueFrom": key}


def _volume(service: ModelService) -> Tree:
    """Return the volume of the model's files."""
    uri, size = (at(service.spec, "modelArtifacts", field) for field in ("uri", "size"))
    name = {"name": uri.having(VOLUME)}
    if service.model.scheme == "pvc":
        claim = {"claimName": uri.having(service.model.claim), "readOnly": Leaf(value=True)}
        return {**name, "persistentVolumeClaim": claim}
    return {**name, "emptyDir": {"sizeLimit": size} if isinstance(size, Leaf) and size.value else Leaf({})}
