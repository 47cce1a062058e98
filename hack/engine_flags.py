"""Generation of `catalog/flags.json` from releases of vLLM (sdists) and SGLang (wheels), as PyPI has them.

    python -m hack.engine_flags vllm-0.33.0.tar.gz sglang-0.5.23-py3-none-any.whl ...

Sources are parsed, never run: calls of `add_argument`, and the fields of the dataclasses that become flags.
"""

import ast
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[1] / "catalog" / "flags.json"
SOURCES: Final = {
    "vllm": (
        "vllm/engine/arg_utils.py",
        "vllm/entrypoints/openai/cli_args.py",
        "vllm/entrypoints/common/cli_args.py",
        "vllm/entrypoints/cli/serve.py",
    ),
    "sglang": ("sglang/srt/server_args.py", "sglang/srt/arg_groups/fields/"),
}
"""The files and folders that define the flags of the server, in at least one release."""
SHOWN: Final = {
    "vllm": "vLLM `vllm/engine/arg_utils.py`, `vllm/entrypoints`: `*/cli_args.py`, `cli/serve.py`",
    "sglang": "SGLang `sglang/srt/server_args.py`, `sglang/srt/arg_groups/fields`",
}
_NAME: Final = re.compile(r"(vllm|sglang)-([0-9.]+)(?:\.?post[0-9]+)?[-.](?:tar\.gz|py3|cp)")


def generate(archives: list[Path]) -> str:
    """Return the text of the file."""
    found: dict[str, dict[tuple[int, ...], set[str]]] = {engine: {} for engine in SOURCES}
    for path in archives:
        engine, version = _named(path)
        found[engine][version] = {flag for source in _sources(path, engine) for flag in flags_of(source)}
    return json.dumps({engine: _table(engine, found[engine]) for engine in found}, indent=1) + "\n"


def _named(path: Path) -> tuple[str, tuple[int, ...]]:
    named = _NAME.match(path.name)
    if named is None:
        raise SystemExit(f"{path.name} is not an archive of vLLM or SGLang")
    return named[1], tuple(int(part) for part in named[2].rstrip(".").split("."))


def _table(engine: str, releases: dict[tuple[int, ...], set[str]]) -> dict[str, object]:
    """Return source, releases, and for each flag the first and the last release that have it."""
    ordered = sorted(releases)
    spans = {
        flag: [
            next(version for version in ordered if flag in releases[version]),
            next(version for version in reversed(ordered) if flag in releases[version]),
        ]
        for flag in sorted(set().union(*releases.values()))
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


def _sources(path: Path, engine: str) -> Iterator[str]:
    """Yield the text of the files that define flags."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if name.startswith(SOURCES[engine]) and name.endswith(".py"):
                    yield wheel.read(name).decode()
        return
    with tarfile.open(path) as sdist:
        for member in sdist:
            name = member.name.partition("/")[2]
            if name.startswith(SOURCES[engine]) and name.endswith(".py"):
                file = sdist.extractfile(member)
                yield file.read().decode() if file else ""


def flags_of(source: str) -> Iterator[str]:
    """Yield the flags that a Python file defines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _called(node) == "add_argument":
            yield from (text for text in map(_text, node.args) if text.startswith("-"))
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
    if described and "no_cli" not in given and not _is_derived(described):
        yield _text(given["cli_name"]) if "cli_name" in given else name
        yield from map(_text, getattr(given.get("aliases"), "elts", ()))


def _is_derived(described: list[ast.expr]) -> bool:
    return any(isinstance(one, ast.Call) and _called(one) == "Derived" for one in described)


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    FILE.write_text(generate([Path(name) for name in sys.argv[1:]]), encoding="utf-8")
