"""Tables of what benchmarks measured, and of the examples; the copies of the demo."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fusioninfer.cli.demo import SHOWN
from hack.manifests.objects import DOCS
from hack.markdown import table
from tests.bench.__main__ import PARTS
from tests.bench.report import markdown, read
from tests.builders.examples import EXAMPLES, FILES

COMMENT: Final = re.compile(r"\A((?:# .*\n)+)")
"""The description of an example, at its beginning."""


def demo() -> Mapping[str, str]:
    """Return the copies of examples that are installed with the command."""
    folder = "fusioninfer/examples"
    return {f"{folder}/{file.name}": (EXAMPLES / file.name).read_text(encoding="utf-8") for file in SHOWN}


def performance() -> Mapping[str, str]:
    """Return the tables of all parts of the benchmark."""
    parts = read((DOCS / "performance.json").read_bytes())
    return {"results": "".join(f"{markdown(PARTS[name].title, rows)}\n" for name, rows in parts.items())}


def examples() -> Mapping[str, str]:
    """Return the table of the examples, each with the comment at its beginning."""
    rows = [
        {"file": f"[{file.name}](examples/{file.name})", "what it shows": _description(file)}
        for file in FILES
    ]
    return {"examples": table(rows)}


def _description(file: Path) -> str:
    found = COMMENT.findall(file.read_text(encoding="utf-8"))
    return " ".join("".join(found).replace("\n# ", " ").removeprefix("# ").split())
