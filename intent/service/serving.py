"""The port at which a leader serves, read from a LeaderWorkerSet as it is stored, with the launch around it.

A launcher has written around the engine's words, or into a script: so those of a script are taken one by one,
and only the arguments behind the last program that is an engine are looked at. Ray has a `--port` of its own
before it.
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
"""Engines by the package of a Python module that starts them, whichever it is."""


class _Program(NamedTuple):
    """What starts, and its flags."""

    engine: str
    """Empty if it is none that is known."""
    flags: Flags


def serving_port(pod_template: Object, annotations: Object, asked: str = "") -> int:
    """Give the port of the sidecar if there is one, else that of the engine."""
    spec = mapping(pod_template.get("spec"))
    for container in listed(spec.get("initContainers")):
        if mapping(container).get("name") == ROUTING_PROXY:
            return _given(_program(container).flags, container) or DEFAULT_PORT
    containers = listed(spec.get("containers"))
    at = engine_index(containers, annotations, asked)
    return DEFAULT_PORT if at is None else _of_engine(containers[at])


def _of_engine(container: Object) -> int:
    """Take the flag, else the port named `http`, else what the engine does without a flag."""
    found = _program(container)
    return _given(found.flags, container) or _named(container) or _without_flag(container, found)


def _without_flag(container: Object, found: _Program) -> int:
    if found.engine and found.flags.last(CONFIG) is None:
        return PRODUCTS[found.engine].port
    return _probed(container) or (0 if found.engine else _first(container)) or DEFAULT_PORT


def _program(container: Object) -> _Program:
    """Find the last engine among the words of a container; else take all words behind the last `--`."""
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
    """Give the words of command and args, and of a script those between its blanks, without their quotes."""
    for item in (*strings(container.get("command")), *strings(container.get("args"))):
        yield from (word.strip("\"';") for word in item.split())


def _given(flags: Flags, container: Object) -> int:
    """Read the last `--port`, with literal variables in it; 0 if there is none that is known."""
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
