"""Reading of a LeaderWorkerSet into an `Intent` and field errors. Never raises, whatever it contains."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import Any, Final

from intent import Object, accelerators, budget
from intent.annotations import (
    ENGINE_CONTAINER,
    EXCLUSIVE_TOPOLOGY,
    GROUP_NAME,
    KUEUE_QUEUE,
    PREFIX,
    TASK_SPEC,
    Annotations,
)
from intent.annotations import read as read_annotations
from intent.command_line.command import looks_like_engine
from intent.container import lacking, on_fabric, own_download, proxied_port, read_container, read_ports
from intent.errors import FieldError
from intent.lws import LWT, TEMPLATES, Engine, Intent, Pod, Ports, Template, TemplateField, read_revision
from intent.shapes import (
    Later,
    annotations,
    checked,
    labels,
    listed,
    mapping,
    metadata,
    number,
    strings,
    text,
)

SHM: Final = "dshm"
"""The name, or prefix of the name, of the volume at `/dev/shm`."""
_ANNOTATIONS: Final = tuple(field.name for field in fields(Annotations))
_values: Final = attrgetter(*_ANNOTATIONS)
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"


@dataclass(frozen=True, slots=True)
class Reading:
    """The Intent of an object that opts in, and its field errors."""

    intent: Intent | None
    errors: tuple[FieldError, ...] = ()


NOTHING: Final = Reading(None)


@dataclass(frozen=True, slots=True)
class _Context:
    """The state shared by the templates of one object; reading appends to `errors`."""

    annotations: Annotations
    size: int
    errors: list[FieldError]
    claims: tuple[str, ...] = ()
    """The names of the `volumeClaimTemplates`, each of which is a volume of all pods."""

    @property
    def needs_engine(self) -> bool:
        """Whether the engine container must be known."""
        is_launched = self.size > 1 and self.annotations.launcher != "none"
        return is_launched or bool(self.annotations.model or self.annotations.lora)


def read(lws: Object, revision: str | None = None) -> Reading:
    """Read a LeaderWorkerSet as written by its author; without a `revision` it has that of its labels."""
    written = annotations(lws)
    if not any(key.startswith(PREFIX) for key in written):
        return NOTHING
    over = budget.of_leaderworkerset(lws)
    if over is not None:
        return Reading(None, (over,))
    asked, errors = read_annotations(written)
    if not asked.service:
        return Reading(None, tuple(errors))
    spec = checked(lws.get("spec"), "spec", errors)
    group = checked(spec.get("leaderWorkerTemplate"), LWT, errors)
    size = _size(group.get("size"), errors)
    claims = tuple([text(metadata(claim).get("name")) for claim in listed(group.get("volumeClaimTemplates"))])
    context = _Context(asked, size, errors, claims)
    templates = tuple(
        [_template(field, group[field], context) for field in TEMPLATES if group.get(field) is not None]
    )
    if group.get("workerTemplate") is None:
        errors.append(FieldError(f"{LWT}.workerTemplate", None, "is required", "FI108"))
    return Reading(_intent(lws, spec, templates, context, revision), tuple(errors))


def _intent(
    lws: Object, spec: Object, templates: tuple[Template, ...], context: _Context, revision: str | None
) -> Intent:
    here, group = labels(lws), mapping(spec.get("leaderWorkerTemplate"))
    kueue = "labels" if here.get(KUEUE_QUEUE) else "annotations"
    return Intent(
        **dict(zip(_ANNOTATIONS, _values(context.annotations), strict=True)),
        size=context.size,
        startup_policy=text(spec.get("startupPolicy")) or "LeaderCreated",
        exclusive_topology=text(annotations(lws).get(EXCLUSIVE_TOPOLOGY)),
        own_scheduling=bool(spec.get("scheduling")),
        kueue_queue=text(mapping(metadata(lws).get(kueue)).get(KUEUE_QUEUE)),
        kueue_path=f"metadata.{kueue}[{KUEUE_QUEUE}]",
        labels=_our_labels(lws),
        templates=templates,
        probed=any(item.engine and (item.engine.probes or item.engine.hooks) for item in templates),
        restart_policy=text(group.get("restartPolicy")),
        name=text(metadata(lws).get("name")),
        revision=read_revision(here) if revision is None else revision,
        replicas=number(spec.get("replicas"), 1),
    )


def pods_of(lws: Object) -> tuple[str, int, int]:
    """Return the name, the size and the replicas of an object, of which nothing else need be read."""
    spec = mapping(lws.get("spec"))
    size = _size(mapping(spec.get("leaderWorkerTemplate")).get("size"), [])
    return text(metadata(lws).get("name")), size, number(spec.get("replicas"), 1)


def _size(value: Any, errors: list[FieldError]) -> int:
    """Read the group size; the API's default is 1."""
    if type(value) is int and value >= 1:
        return value
    if value is not None:
        errors.append(FieldError(f"{LWT}.size", value, "must be a whole number of at least 1", "FI108"))
    return 1


def _template(field: TemplateField, value: Any, context: _Context) -> Template:
    path, errors = f"{LWT}.{field}", context.errors
    template = checked(value, path, errors)
    meta = checked(template.get("metadata"), f"{path}.metadata", errors, required=False)
    written = checked(meta.get("annotations"), f"{path}.metadata.annotations", errors, required=False)
    spec = checked(template.get("spec"), f"{path}.spec", errors)
    engine = _engine(spec.get("containers"), written, f"{path}.spec.containers", context)
    volumes = _shared_memory(spec)
    return Template(
        field=field,
        engine=engine,
        scheduler_name=text(spec.get("schedulerName")),
        group_name=text(written.get(GROUP_NAME)),
        task_spec=text(written.get(TASK_SPEC)),
        emptied=tuple([key for key in _OF_GANG if "" in (spec.get(key), written.get(key))]),
        labels=_our_labels(template),
        host_ipc=spec.get("hostIPC") is True,
        taken=tuple([name for name, in_memory in volumes if not in_memory]),
        memory=tuple([name for name, in_memory in volumes if in_memory]),
        ports=read_ports(spec, f"{path}.spec", engine) if context.annotations.sidecar else Ports(),
        proxied=proxied_port(spec) if spec.get("initContainers") or listed(spec.get("containers"))[1:] else 0,
        pod=Later(partial(_pod, spec, context.claims)),
        downloads=own_download(spec) if spec.get("initContainers") else None,
    )


def _pod(spec: Object, claims: tuple[str, ...]) -> Pod:
    containers = listed(spec.get("containers"))
    return Pod(
        host_network=spec.get("hostNetwork") is True,
        host_dns=spec.get("hostNetwork") is not True or text(spec.get("dnsPolicy")) in _OWN_DNS,
        fabric=on_fabric(spec),
        containers=tuple(text(mapping(container).get("name")) for container in containers),
        accelerated=Later(lambda: any(map(accelerators.asks, map(mapping, containers)))),
        lacking=tuple(lacking(spec, claims)),
    )


_OWN_DNS: Final = ("ClusterFirstWithHostNet", "None")
"""The policies with which a pod on the host's network does not ask the node's resolver."""
_OF_GANG: Final = ("schedulerName", GROUP_NAME, TASK_SPEC)


def _shared_memory(spec: Object) -> list[tuple[str, bool]]:
    """Return the volumes whose names begin with `dshm`, and whether each is in memory.

    One that is only mounted is its author's too: its volume was forgotten, or has yet to be added.
    """
    named = [
        item for item in listed(spec.get("volumes")) if isinstance(item, dict) and _is_shm(item.get("name"))
    ]
    volumes = {item["name"]: mapping(item.get("emptyDir")).get("medium") == "Memory" for item in named}
    containers = (*listed(spec.get("initContainers")), *listed(spec.get("containers")))
    for mounts in filter(None, [item.get("volumeMounts") for item in containers if isinstance(item, dict)]):
        for name in [mount.get("name") for mount in listed(mounts) if isinstance(mount, dict)]:
            if _is_shm(name):
                volumes.setdefault(name, False)
    return list(volumes.items())


def _is_shm(name: Any) -> bool:
    return isinstance(name, str) and name.startswith(SHM)


def _our_labels(value: Object) -> tuple[tuple[str, str], ...]:
    return tuple(sorted([(key, text(item)) for key, item in labels(value).items() if key.startswith(PREFIX)]))


# --- the engine container ---------------------------------------------------------------------------


def _engine(containers: Any, written: Object, path: str, context: _Context) -> Engine | None:
    if not isinstance(containers, list):
        context.errors.append(FieldError(path, containers, "must be a list of containers", "FI108"))
        return None
    if not containers:
        context.errors.append(FieldError(path, [], "must have at least one container: the engine", "FI319"))
    for position, item in enumerate(containers):
        if not text(mapping(item).get("name")):
            message = "must be a container with a name"
            context.errors.append(FieldError(f"{path}[{position}]", item, message, "FI108"))
    asked = context.annotations.engine_container
    index = engine_index(containers, written, asked)
    if index is None:
        context.errors.extend(_no_engine(containers, path, context))
        return None
    return read_container(containers[index], index, f"{path}[{index}]", context.errors)


def _no_engine(containers: list[Any], path: str, context: _Context) -> Iterator[FieldError]:
    asked = context.annotations.engine_container
    known = filter(None, [text(mapping(item).get("name")) for item in containers])
    names = ", ".join(sorted(known)[:8])
    if asked:
        message = f"has no container {asked}, which {ENGINE_CONTAINER} names; use one of {names}"
        yield FieldError(path, None, message, "FI302")
    elif context.needs_engine and names:
        message = f"the container of the engine is not clear; set {ENGINE_CONTAINER} to one of {names}"
        yield FieldError(path, None, message, "FI301")


def engine_index(containers: list[Any], written: Object, asked: str) -> int | None:
    """Return the index of the engine container, by the annotations of its pod; None if it is ambiguous.

    The order of the choice: the name in `asked`, the only container, the only one with accelerators, the only
    known engine, the default container. Since a claim (DRA) may be for any device, a known engine precedes,
    then a container that requests accelerators by number.
    """
    valid = [(index, item) for index, item in enumerate(containers) if text(mapping(item).get("name"))]
    if asked:
        return _only(index for index, item in valid if item["name"] == asked)
    if len(valid) == 1:
        return valid[0][0]
    accelerated = [(index, item) for index, item in valid if accelerators.asks(item)]
    if len(accelerated) > 1:
        return _past_claims(accelerated)
    if accelerated:
        return accelerated[0][0]
    known = _known(valid)
    if known is not None:
        return known
    default = written.get(DEFAULT_CONTAINER)
    return _only(index for index, item in valid if item["name"] == default)


def _past_claims(accelerated: list[tuple[int, Object]]) -> int | None:
    """Choose among containers with accelerators, some of which only have claims."""
    counted = [index for index, item in accelerated if accelerators.asks(item, by_claim=False)]
    if len(counted) == len(accelerated):
        return None
    known = _known(accelerated)
    return _only(iter(counted)) if known is None else known


def _known(containers: list[tuple[int, Object]]) -> int | None:
    return _only(
        index for index, item in containers if looks_like_engine(*_command(item), text(item.get("image")))
    )


def _only(indexes: Iterator[int]) -> int | None:
    all_of_them = list(indexes)
    return all_of_them[0] if len(all_of_them) == 1 else None


def _command(container: Object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return strings(container.get("command")), strings(container.get("args"))
