"""The port of a leader, read from a LeaderWorkerSet as stored, with the command of its launcher.

A launcher wrote around the engine's arguments, or into a script. So scripts are split at blanks, and only the
arguments after the last program that is an engine are read. Ray's own `--port` precedes it.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from catalog.engines import DEFAULT_PORT, PRODUCTS
from intent import Object
from intent.command_line.command import DIALECTS, ENGINES, MOST_WORDS
from intent.command_line.dialects import VLLM
from intent.command_line.flags import CONFIG, END, PORT, Flags, read_flags, resolve
from intent.command_line.programs import program
from intent.container import ROUTING_PROXY
from intent.launch import is_size
from intent.read import engine_index
from intent.shapes import listed, mapping, number, strings, text

_PACKAGES: Final = {product.package: name for name, product in PRODUCTS.items()}
"""Engines by the Python package of any module that starts them."""


class _Program(NamedTuple):
    """The started program and its flags."""

    engine: str
    """Empty if it is not known."""
    flags: Flags


def serving_port(pod_template: Object, annotations: Object, asked: str = "") -> int:
    """Return the port of the sidecar, or of the engine if there is no sidecar."""
    spec = mapping(pod_template.get("spec"))
    for container in listed(spec.get("initContainers")):
        if mapping(container).get("name") == ROUTING_PROXY:
            return _given(_program(container).flags, container) or DEFAULT_PORT
    containers = listed(spec.get("containers"))
    at = engine_index(containers, annotations, asked)
    return DEFAULT_PORT if at is None else _of_engine(containers[at])


def _of_engine(container: Object) -> int:
    """Return the port of the flag, else the port named `http`, else the engine's default."""
    found = _program(container)
    return _given(found.flags, container) or _named(container) or _without_flag(container, found)


def _without_flag(container: Object, found: _Program) -> int:
    if found.engine and found.flags.last(CONFIG) is None:
        return PRODUCTS[found.engine].port
    return _probed(container) or (0 if found.engine else _first(container)) or DEFAULT_PORT


def _program(container: Object) -> _Program:
    """Parse the last engine among the words of a container; without one, all words after the last `--`."""
    words = tuple(islice(_words(container), MOST_WORDS))
    for at in reversed(range(len(words))):
        kind, arguments = program(words, at)
        if kind != "unknown":
            return _Program(ENGINES[kind], read_flags(words, arguments, DIALECTS.get(kind, VLLM)))
        if engine := _of_module(words, at):
            return _Program(engine, read_flags(words, at + 2, VLLM))
    behind = len(words) - words[::-1].index(END) if END in words else 0
    return _Program("", read_flags(words, behind, VLLM))


def _of_module(words: tuple[str, ...], at: int) -> str:
    module = words[at + 1] if words[at] == "-m" and at + 1 < len(words) else ""
    return _PACKAGES.get(module.partition(".")[0], "")


def _words(container: Object) -> Iterator[str]:
    """Yield command and args split at blanks, as scripts need, without quotes."""
    for item in (*strings(container.get("command")), *strings(container.get("args"))):
        yield from (word.strip("\"';") for word in item.split())


def _given(flags: Flags, container: Object) -> int:
    """Return the last `--port`, with literal variables expanded; 0 if absent or unknown."""
    flag = flags.last(PORT)
    value = resolve(flag.value or "", _literals(container)) if flag else None
    return int(value) if value and is_size(value) and int(value) < 65536 else 0


def _literals(container: Object) -> list[tuple[str, str | None]]:
    variables = (mapping(item) for item in listed(container.get("env")))
    return [(text(one.get("name")), text(one.get("value"))) for one in variables if "valueFrom" not in one]


def _ports(container: Object) -> list[Object]:
    return [mapping(item) for item in listed(container.get("ports"))]


def _named(container: Object) -> int:
    return next(
        (number(one.get("containerPort")) for one in _ports(container) if one.get("name") == "http"), 0
    )


def _first(container: Object) -> int:
    return next((number(one.get("containerPort")) for one in _ports(container)), 0)


def _probed(container: Object) -> int:
    ports: list[Any] = [
        mapping(mapping(container.get(probe)).get("httpGet")).get("port")
        for probe in ("readinessProbe", "startupProbe", "livenessProbe")
    ]
    return next((number(port) for port in ports if number(port)), 0)
