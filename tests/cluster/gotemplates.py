"""Templates and data for the comparison with Go's `text/template`: those of KServe, and random ones."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from importer.gotemplate import FUNCTIONS, Function, Value
from importer.llmd import defaulted

ACTION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)


class Struct(dict[str, Value]):
    """A struct of Go, which is true whatever its fields are: so it has some."""


class Pointer(int):
    """An optional number, which is a pointer in Go. Definitions allow no 0."""


def typed(kind: type, value: Value) -> Value:
    """Return an argument of a type. Raises a TypeError for another one."""
    if type(value) is not kind:
        raise TypeError
    return value


OURS: Final[dict[str, Function]] = {
    **FUNCTIONS,
    "default": defaulted,
    "ChildName": lambda parent, suffix: typed(str, parent) + typed(str, suffix),
    "kvTransferConfig": lambda spec: f"offloading: {str(spec is not None).lower()}",
    "shutdownTimeout": lambda spec, seconds: f"{str(spec is not None).lower()} {typed(int, seconds)}",
}
"""Go's functions, with stand-ins for KServe's own, which `tests/cluster/components/go-template` has too."""


def in_go(value: Value) -> Any:
    """Return a value as the program reads it."""
    if isinstance(value, Struct):
        return {"struct": {name: in_go(one) for name, one in value.items()}}
    if isinstance(value, Pointer):
        return {"pointer": int(value)}
    if isinstance(value, dict):
        return {"map": {name: in_go(one) for name, one in value.items()}}
    return [in_go(one) for one in value] if isinstance(value, list) else value


def sources(folder: Path) -> Iterator[str]:
    """Yield the templates of KServe's presets, samples and fixtures."""
    for file in sorted(
        (*folder.glob("config/llmisvcconfig/*.yaml"), *folder.glob("docs/samples/llmisvc/**/*.yaml"))
    ):
        text = file.read_text()
        if ACTION.search(text):
            yield text
    fixtures = (folder / "test/e2e/llmisvc/fixtures.py").read_text()
    yield from (
        one for one in re.findall(r'"""(.*?)"""|"(.*?)"', fixtures, re.DOTALL) for one in one if "{{" in one
    )


def service(source: random.Random) -> Struct:
    """Return an LLMInferenceService with some of its fields."""

    def size() -> Value:
        return source.choice((None, Pointer(1), Pointer(8)))

    def parallelism() -> Value:
        fields = {name: size() for name in ("Tensor", "Data", "DataLocal", "DataRPCPort", "Pipeline")}
        return source.choice((None, Struct({**fields, "Expert": source.random() < 0.5})))

    def workload() -> dict[str, Value]:
        pods = {name: source.choice((None, Struct({"Containers": []}))) for name in ("Template", "Worker")}
        return {
            **pods,
            "Parallelism": parallelism(),
            "KVCacheOffloading": source.choice((None, Struct({"CPU": None}))),
        }

    spec = {
        **workload(),
        "Model": Struct({"Name": source.choice(("m", 'a/"b"', "x" * 70))}),
        "Prefill": source.choice((None, Struct(workload()))),
    }
    settings = {name: source.choice(("", "x-y")) for name in _SETTINGS}
    return Struct(
        {
            "Spec": Struct(spec),
            "ObjectMeta": Struct({"Name": "qwen", "Namespace": "llm", "Annotations": {"a": "b"}}),
            "GlobalConfig": Struct({**settings, "EnableTLS": source.random() < 0.5}),
        }
    )


_SETTINGS: Final = (
    *("IngressGatewayName", "IngressGatewayNamespace", "ModelBasedRoutingHeaderName", "SystemNamespace"),
    "InferencePoolNamespacedName",
)


# --- random templates --------------------------------------------------------------------------------

DATA: Final = Struct(
    {
        "S": "Meta/Llama-3.1\n",
        "T": " ünïcode \t",
        "E": "",
        "N": 42,
        "Z": 0,
        "B": True,
        "F": False,
        "X": None,
        "L": ["b", "a", ""],
        "M": {"k": "v", "b": 2},
        "U": Struct({"S": "below", "V": Struct({"N": 3}), "X": None}),
    }
)
_TEXTS: Final = (".S", ".T", ".E", ".U.S", ".M.k", '"a"', "`raw\\n`", '""', "`Meta`", '"-"', '"3"')
_NUMBERS: Final = (".N", ".Z", ".U.V.N", ".M.b", "0", "7", "-3")
_PRINTED: Final = (*_TEXTS, *_NUMBERS, ".B", ".F")
_ANY: Final = (*_PRINTED, ".X", ".L", ".M", ".U", ".U.X", ".Nope", ".U.X.Y", "nil")
CALLED: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "not": (_ANY,),
    **dict.fromkeys(("eq", "and", "or", "default"), (_ANY, _ANY, _ANY)),
    "ChildName": (_TEXTS, _TEXTS),
    "kvTransferConfig": (_ANY,),
    "shutdownTimeout": (_ANY, _NUMBERS),
}
"""What random templates call, with the operands that fit."""


def pipeline(source: random.Random) -> str:
    """Return a random pipeline; now and then its values do not fit its functions."""

    def operand(fitting: tuple[str, ...]) -> str:
        return source.choice(_ANY if source.random() < 0.04 else fitting)

    def call(*, last: bool) -> str:
        name = source.choice(tuple(CALLED))
        fitting = CALLED[name]
        given = fitting[: len(fitting) - last + source.choice((0,) * 20 + (-1, 1))]
        return " ".join((name, *map(operand, given)))

    stages = [operand(_PRINTED) if source.random() < 0.6 else call(last=False)]
    while source.random() < 0.4 and len(stages) < 4:
        stages.append(call(last=True))
    return source.choice((" | ", "|", "\n|  ")).join(stages)


def template(source: random.Random, depth: int = 0) -> str:
    """Return a random template."""
    parts = []
    for _ in range(source.randint(1, 3)):
        kind = source.random()
        opened, closed = (
            source.choice(("{{", "{{ ", "{{- ", "{{-\n")),
            source.choice(("}}", " }}", " -}}", "\n-}}")),
        )
        parts.append(source.choice(("", " ", "text", "\n\t", "-", "}", "{", "é ")))
        if kind < 0.55 or depth > 2:
            parts.append(f"{opened}{pipeline(source)}{closed}")
        else:
            other = ""
            if source.random() < 0.6:
                other = f"{opened}else{closed}{template(source, depth + 1)}"
            below = template(source, depth + 1)
            parts.append(f"{opened}if {pipeline(source)}{closed}{below}{other}{opened}end{closed}")
    return "".join(parts)


def edited(source: random.Random, text: str) -> str:
    """Return a template with a few characters changed, removed, or written twice."""
    for _ in range(source.randint(1, 3)):
        at = source.randrange(len(text) + 1)
        end = min(len(text), at + source.randint(0, 6))
        new = source.choice(
            (
                *("", text[at:end] * 2, "}}", "{{", "-", ".", " ", '"', "`", "(", ")", "|", "$x", ":="),
                *("\\", "end", "'a'", "1.5", "/*"),
            )
        )
        text = text[:at] + new + text[end:]
    return text
