"""The port at which a leader serves, read from a LeaderWorkerSet as it is stored, with the launch around it.

A launcher has written around the engine's words, or into a script, so only the text behind the engine's
program is looked at: Ray has a `--port` of its own before it.
"""

import re
from typing import Any, Final

from intent import Object
from intent.launch import PORTS, is_size
from intent.ports import ROUTING_PROXY
from intent.read import engine_index
from intent.shapes import listed, mapping, number, strings, text

DEFAULT: Final = 8000
_PROGRAM: Final = re.compile(
    r"(?<!\S)(?:\S*/)?(?:(?P<vllm>vllm)\s+serve|(?P<sglang>sglang)\s+serve|(?P<lmdeploy>lmdeploy)\s+serve"
    r"|trtllm-serve|-m\s+(?P<module>vllm|sglang|lmdeploy|tensorrt_llm)\b\S*)"
)
_PORT: Final = re.compile(r"(?<!\S)--port(?:=|\s+)(\S+)")
_CONFIG: Final = re.compile(r"(?<!\S)--config(?=[=\s])")


def serving_port(pod_template: Object, annotations: Object, asked: str = "") -> int:
    """Give the port of the sidecar if there is one, else that of the engine."""
    spec = mapping(pod_template.get("spec"))
    for container in listed(spec.get("initContainers")):
        if mapping(container).get("name") == ROUTING_PROXY:
            return _given(_words(container), {}) or DEFAULT
    containers = listed(spec.get("containers"))
    at = engine_index(containers, annotations, asked)
    return DEFAULT if at is None else _of_engine(containers[at])


def _of_engine(container: Object) -> int:
    """Take the flag, else the port named `http`, else what the engine does without a flag."""
    words = _words(container)
    program = next(reversed([*_PROGRAM.finditer(words)]), None)
    behind = words[program.end() :] if program else words
    return (
        _given(behind, _literals(container)) or _named(container) or _without_flag(container, program, behind)
    )


def _without_flag(container: Object, program: re.Match[str] | None, behind: str) -> int:
    if program and not _CONFIG.search(behind):
        return PORTS.get(program["module"] or program.lastgroup or "", DEFAULT)
    return _probed(container) or (0 if program else _first(container)) or DEFAULT


def _words(container: Object) -> str:
    return "\n".join((*strings(container.get("command")), *strings(container.get("args"))))


def _given(words: str, literals: dict[str, str]) -> int:
    """Read the last `--port`, with literal variables in it; 0 if there is none that is known."""
    found = _PORT.findall(words)
    value = found[-1].strip("\"';") if found else ""
    value = literals.get(value.removeprefix("$(").removesuffix(")"), value)
    return int(value) if is_size(value) and int(value) < 65536 else 0


def _literals(container: Object) -> dict[str, str]:
    variables = (mapping(item) for item in listed(container.get("env")))
    return {text(one.get("name")): text(one.get("value")) for one in variables if "valueFrom" not in one}


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
