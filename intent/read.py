"""A LeaderWorkerSet in, an `Intent` and field errors out. Nothing here raises, whatever the object holds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from intent import Object, accelerators
from intent.annotations import (
    ENGINE_CONTAINER,
    EXCLUSIVE_TOPOLOGY,
    GROUP_NAME,
    KUEUE_QUEUE,
    PREFIX,
    TASK_SPEC,
    Wishes,
)
from intent.annotations import read as read_annotations
from intent.command import looks_like_engine
from intent.errors import FieldError
from intent.lws import LWT, Engine, Intent, Probe, Template, TemplateField

PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")
HANDLERS: Final = ("httpGet", "tcpSocket", "grpc", "exec")
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_EMPTY: Final[Object] = {}
_VARIABLE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


@dataclass(frozen=True, slots=True)
class Reading:
    """What could be read: an Intent where the object opts in, and what is wrong with it."""

    intent: Intent | None
    errors: tuple[FieldError, ...] = ()


NOTHING: Final = Reading(None)


@dataclass(frozen=True, slots=True)
class _Context:
    """What reading a template needs of the object around it, and where its errors go."""

    wishes: Wishes
    size: int
    errors: list[FieldError]

    @property
    def needs_engine(self) -> bool:
        """Whether it matters which container is the engine."""
        return self.size > 1 and self.wishes.launcher != "none"


def read(lws: Object) -> Reading:
    """Read a LeaderWorkerSet as its author wrote it."""
    annotations = _map(_map(lws.get("metadata")).get("annotations"))
    if not any(key.startswith(PREFIX) for key in annotations):
        return NOTHING
    wishes, errors = read_annotations(annotations)
    if not wishes.service:
        return Reading(None, tuple(errors))
    spec = _checked(lws.get("spec"), "spec", errors)
    group = _checked(spec.get("leaderWorkerTemplate"), LWT, errors)
    size = _size(group.get("size"), errors)
    templates = tuple(_templates(group, _Context(wishes, size, errors)))
    return Reading(_intent(lws, wishes, spec, size, templates), tuple(errors))


def _intent(lws: Object, wishes: Wishes, spec: Object, size: int, templates: tuple[Template, ...]) -> Intent:
    metadata = _map(lws.get("metadata"))
    annotations = _map(metadata.get("annotations"))
    return Intent(
        service=wishes.service,
        component_type=wishes.component_type,
        role_name=wishes.role_name,
        roles=wishes.roles,
        scheduler_name=wishes.scheduler_name,
        launcher=wishes.launcher,
        engine_container=wishes.engine_container,
        refresh=wishes.refresh,
        size=size,
        startup_policy=_text(spec.get("startupPolicy")) or "LeaderCreated",
        exclusive_topology=_text(annotations.get(EXCLUSIVE_TOPOLOGY)),
        own_scheduling=bool(spec.get("scheduling")),
        kueue_queue=_text(_map(metadata.get("labels")).get(KUEUE_QUEUE) or annotations.get(KUEUE_QUEUE)),
        labels=_our_labels(metadata),
        templates=templates,
        name=_text(metadata.get("name")),
        replicas=spec["replicas"] if type(spec.get("replicas")) is int else 1,
    )


def _size(value: Any, errors: list[FieldError]) -> int:
    """Read the size of a group; the API's default is 1."""
    if type(value) is int and value >= 1:
        return value
    if value is not None:
        errors.append(FieldError(f"{LWT}.size", value, "must be a whole number of at least 1", "FI108"))
    return 1


def _templates(group: Object, context: _Context) -> Iterator[Template]:
    fields: tuple[TemplateField, ...] = ("leaderTemplate", "workerTemplate")
    for field in fields:
        if group.get(field) is not None:
            yield _template(field, group[field], context)
        elif field == "workerTemplate":
            context.errors.append(FieldError(f"{LWT}.{field}", None, "is required", "FI108"))


def _template(field: TemplateField, value: Any, context: _Context) -> Template:
    path, errors = f"{LWT}.{field}", context.errors
    template = _checked(value, path, errors)
    metadata = _checked(template.get("metadata"), f"{path}.metadata", errors, required=False)
    annotations = _checked(
        metadata.get("annotations"), f"{path}.metadata.annotations", errors, required=False
    )
    spec = _checked(template.get("spec"), f"{path}.spec", errors)
    return Template(
        field=field,
        engine=_engine(spec.get("containers"), annotations, f"{path}.spec.containers", context),
        scheduler_name=_text(spec.get("schedulerName")),
        group_name=_text(annotations.get(GROUP_NAME)),
        task_spec=_text(annotations.get(TASK_SPEC)),
        labels=_our_labels(metadata),
    )


def _our_labels(metadata: Object) -> tuple[tuple[str, str], ...]:
    labels = metadata.get("labels")
    if not isinstance(labels, dict):
        return ()
    return tuple(sorted((key, _text(value)) for key, value in labels.items() if key.startswith(PREFIX)))


# --- the engine container ---------------------------------------------------------------------------


def _engine(containers: Any, annotations: Object, path: str, context: _Context) -> Engine | None:
    if not isinstance(containers, list):
        context.errors.append(FieldError(path, containers, "must be a list of containers", "FI108"))
        return None
    for at, item in enumerate(containers):
        if not _is_container(item):
            message = "must be a container with a name"
            context.errors.append(FieldError(f"{path}[{at}]", item, message, "FI108"))
    index = _chosen(containers, annotations, context.wishes.engine_container)
    if index is None:
        context.errors.extend(_no_engine(containers, path, context))
        return None
    return _container(containers[index], index, f"{path}[{index}]", context.errors)


def _no_engine(containers: list[Any], path: str, context: _Context) -> Iterator[FieldError]:
    asked = context.wishes.engine_container
    names = ", ".join(sorted(item["name"] for item in containers if _is_container(item))[:8])
    if asked:
        yield FieldError(path, None, f"has no container {asked}; there are {names}", "FI302")
    elif context.needs_engine and containers:
        yield FieldError(
            path, None, f"which is the engine? name one of {names} in {ENGINE_CONTAINER}", "FI301"
        )


def _chosen(containers: list[Any], annotations: Object, asked: str) -> int | None:
    """Choose the engine: asked for, or the only one with accelerators, known, the default, or alone."""
    valid = [(at, item) for at, item in enumerate(containers) if _is_container(item)]
    if asked:
        return _only(at for at, item in valid if item["name"] == asked)
    accelerated = [at for at, item in valid if accelerators.asks(item)]
    if len(accelerated) > 1:
        return None
    if accelerated:
        return accelerated[0]
    known = _only(at for at, item in valid if looks_like_engine(*_words(item), _text(item.get("image"))))
    if known is not None:
        return known
    default = annotations.get(DEFAULT_CONTAINER)
    named = _only(at for at, item in valid if item["name"] == default)
    return valid[0][0] if named is None and len(valid) == 1 else named


def _is_container(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("name"), str)


def _only(found: Iterator[int]) -> int | None:
    all_of_them = list(found)
    return all_of_them[0] if len(all_of_them) == 1 else None


def _words(container: Object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return _strings(container.get("command")), _strings(container.get("args"))


def _container(container: Object, index: int, path: str, errors: list[FieldError]) -> Engine:
    command = _tokens(container, "command", path, errors)
    args = _tokens(container, "args", path, errors)
    env = [item for item in _list(container.get("env")) if isinstance(item, dict)]
    return Engine(
        container=container["name"],
        image=_text(container.get("image")),
        command=command,
        args=args,
        accelerators=accelerators.read(container.get("resources"), f"{path}.resources", errors),
        variables=_variables(command + args, env),
        env=_names(env, "name"),
        ports=tuple(_ports(container)),
        mounts=_names(container.get("volumeMounts"), "mountPath"),
        probes=tuple(_probe(field, container[field]) for field in PROBES if container.get(field)),
        index=index,
    )


def _tokens(container: Object, field: str, path: str, errors: list[FieldError]) -> tuple[str, ...]:
    value = container.get(field)
    if value is None:
        return ()
    if not isinstance(value, list):
        errors.append(FieldError(f"{path}.{field}", value, "must be a list of strings", "FI108"))
        return ()
    for at, item in enumerate(value):
        if not isinstance(item, str):
            errors.append(FieldError(f"{path}.{field}[{at}]", item, "must be a string; quote it", "FI108"))
    return _strings(value)


def _variables(tokens: tuple[str, ...], env: list[Object]) -> tuple[tuple[str, str | None], ...]:
    """Give the variables that a command names as `$(X)`, with the value where it is literal."""
    named = {name for token in tokens if "$(" in token for name in _VARIABLE.findall(token)}
    if not named:
        return ()
    literal = {item.get("name"): item.get("value", "") for item in env if "valueFrom" not in item}
    return tuple(sorted((name, literal.get(name)) for name in named))


def _names(items: Any, key: str) -> tuple[str, ...]:
    found = [item.get(key) for item in _list(items) if isinstance(item, dict)]
    return tuple([name for name in found if isinstance(name, str)])


def _ports(container: Object) -> Iterator[tuple[int, str]]:
    for item in _list(container.get("ports")):
        port = _map(item).get("containerPort")
        if type(port) is int:
            yield port, _text(item.get("protocol")) or "TCP"


def _probe(field: str, value: Any) -> Probe:
    probe = _map(value)
    handler = next((name for name in HANDLERS if name in probe), "")
    port = _map(probe.get(handler)).get("port", 0)
    return Probe(field, handler, port if isinstance(port, int | str) else 0)


# --- shapes -----------------------------------------------------------------------------------------


def _checked(value: Any, path: str, errors: list[FieldError], *, required: bool = True) -> Object:
    if isinstance(value, dict):
        return value
    if value is not None:
        errors.append(FieldError(path, value, "must be an object", "FI108"))
    elif required:
        errors.append(FieldError(path, None, "is required", "FI108"))
    return _EMPTY


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else _EMPTY


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
