"""The generated files of the tree: one table, and what differs from it.

A generator returns texts by path; a file with an empty text must not exist. The order of the rows is that of
`make generate`: a generator may read what an earlier one writes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from hack.manifests import chart, crds, dashboard, uninstall
from hack.pages import blocks

ROOT: Final = Path(__file__).parents[1]
SHOWN: Final = 20
"""Lines of the difference of a file that are shown."""
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Generator:
    """A row: what returns the texts of some files, and what it needs; `go` builds upstream's modules."""

    name: str
    texts: Callable[[], Texts]
    needs: Literal["python", "go", "network"] = "python"


GENERATORS: Final = (
    Generator("crds", crds.texts),
    Generator("dashboard", dashboard.texts),
    Generator("uninstall", uninstall.texts),
    Generator("chart", chart.texts),
    *(Generator(page, partial(blocks.texts, page)) for page in blocks.PAGES),
)


def named(names: tuple[str, ...]) -> list[Generator]:
    """Return the generators of these names; without names those that need Python alone."""
    return [row for row in GENERATORS if (row.name in names if names else row.needs == "python")]


def stale(texts: Texts, root: Path = ROOT) -> Iterator[str]:
    """Yield the paths of the files that have other texts."""
    return (path for path, text in texts.items() if _there(root / path) != text)


def write(texts: Texts, root: Path = ROOT) -> list[str]:
    """Write the files that have other texts, delete those that must not exist, and return their paths."""
    paths = list(stale(texts, root))
    for path in paths:
        file = root / path
        if texts[path]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[path], encoding="utf-8")
        else:
            file.unlink()
    return paths


def differences(texts: Texts, root: Path = ROOT) -> Iterator[str]:
    """Yield of each file that has another text the first lines of the difference."""
    for path in stale(texts, root):
        lines = unified_diff(
            _there(root / path).splitlines(), texts[path].splitlines(), path, "generated", lineterm="", n=1
        )
        yield "\n".join(islice(lines, SHOWN))


def _there(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""
