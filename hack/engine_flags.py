"""Generation of `catalog/flags.json` from all releases of vLLM and SGLang in the package index.

    python -m hack.engine_flags

Sources are parsed, never run: calls of `add_argument`, and the fields of the dataclasses that become flags.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from catalog.engines import Version
from hack.wheels import FLAGS, releases, sources

FILE: Final = Path(__file__).parents[1] / "catalog" / "flags.json"
SHOWN: Final = {
    "vllm": "vLLM `vllm/engine/arg_utils.py`, `vllm/entrypoints`: `*/cli_args.py`, `cli/serve.py`",
    "sglang": "SGLang `sglang/srt/server_args.py`, `sglang/srt/arg_groups/fields`",
}


def flags(engine: str, version: Version) -> set[str]:
    """Return the flags that a release defines."""
    texts = sources(engine, version).items()
    return {flag for name, text in texts if name.startswith(FLAGS[engine]) for flag in flags_of(text)}


def _table(engine: str) -> dict[str, object]:
    """Return source, releases, and for each flag the first and the last release that have it."""
    found = {version: flags(engine, version) for version in releases(engine)}
    ordered = sorted(found)
    spans = {
        flag: [
            next(version for version in ordered if flag in found[version]),
            next(version for version in reversed(ordered) if flag in found[version]),
        ]
        for flag in sorted(set().union(*found.values()))
    }
    shown = {
        flag: " ".join(".".join(map(str, version)) for version in dict.fromkeys(span))
        for flag, span in spans.items()
    }
    return {
        "source": SHOWN[engine],
        "releases": [".".join(map(str, version)) for version in ordered],
        "flags": shown,
    }


def flags_of(source: str) -> Iterator[str]:
    """Yield the flags that a Python file defines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _called(node) == "add_argument":
            yield from (text for text in map(_text, node.args) if text.startswith("-"))
        elif isinstance(node, ast.For) and "add_argument(" in ast.unparse(node):
            yield from (text for text in map(_text, ast.walk(node.iter)) if text.startswith("-"))
        elif isinstance(node, ast.ClassDef):
            for field in (one for one in node.body if isinstance(one, ast.AnnAssign)):
                yield from _of_field(field, is_flag=node.name.endswith("FrontendArgs"))


def _of_field(field: ast.AnnAssign, *, is_flag: bool) -> Iterator[str]:
    """Yield the flags of a field: of vLLM's front end, or one with SGLang's `A[type, Arg(...)]`."""
    name = f"--{ast.unparse(field.target).replace('_', '-')}"
    annotation = field.annotation
    if is_flag:
        yield name
    if not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "A"):
        return
    described = annotation.slice.elts[1:] if isinstance(annotation.slice, ast.Tuple) else []
    given = {
        keyword.arg: keyword.value
        for one in described
        if isinstance(one, ast.Call) and _called(one) == "Arg"
        for keyword in one.keywords
    }
    is_derived = any(isinstance(one, ast.Call) and _called(one) == "Derived" for one in described)
    if described and "no_cli" not in given and not is_derived:
        yield _text(given["cli_name"]) if "cli_name" in given else name
        yield from map(_text, getattr(given.get("aliases"), "elts", ()))


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    FILE.write_text(
        json.dumps({engine: _table(engine) for engine in FLAGS}, indent=1) + "\n", encoding="utf-8"
    )
