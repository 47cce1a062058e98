"""The values that variables of templates have in one object (`intent.variables`: `NAMES`)."""

from collections.abc import Iterator

from intent import Object
from intent.annotations import Annotations
from intent.container import read_container
from intent.parallelism import SIZES
from intent.read import engine_index
from intent.shapes import annotations, listed, metadata, text
from intent.variables import ROLE_PORT
from webhook.layout import port_of
from webhook.overlay.overlay import group_of, pod_of


def values(author: Object, asked: Annotations) -> Iterator[tuple[str, str]]:
    """Yield the values of variables by name, as far as an author's object sets them.

    `asked` is what its annotations ask for, with those of templates.
    """
    yield from _if_set("service.name", asked.service)
    yield from _if_set("service.namespace", text(metadata(author).get("namespace")))
    yield from _if_set("role.name", asked.role_name)
    yield "group.size", str(size_of(author))
    if model := asked.artifact:
        yield "model.name", model.name or model.uri.repository
        yield "model.path", model.argument
    for name, field in SIZES.items() if asked.parallelism else ():
        yield from _if_set(f"parallelism.{name}", str(getattr(asked.parallelism, field) or ""))


def port_value(template: Object, asked: Annotations) -> Iterator[tuple[str, str]]:
    """Yield the value of `ROLE_PORT`, in a pod template whose other variables are replaced."""
    if port := _port(template, asked.engine_container):
        yield ROLE_PORT, str(port)


def _if_set(name: str, value: str) -> Iterator[tuple[str, str]]:
    if value:
        yield name, value


def _port(template: Object, asked: str) -> int:
    """Return the port of the engine's API; 0 if there is no engine."""
    containers = listed(pod_of(template).get("containers"))
    at = engine_index(containers, annotations(template), asked)
    return 0 if at is None else port_of(read_container(containers[at], at, "", []))


def size_of(lws: Object) -> int:
    """Return the size of the group; the API's default is 1."""
    size = group_of(lws).get("size")
    return size if type(size) is int and size >= 1 else 1
