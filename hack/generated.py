"""The generated files of the tree: one table, and what differs from it.

A generator returns texts by path; a file with an empty text must not exist. The order of the rows is that of
`make generate`: a generator may read what an earlier one writes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from hack import golden, schemas, transcripts
from hack.image import lock, sbom
from hack.manifests import chart, crds, dashboard, uninstall, version
from hack.pages import blocks, shown

ROOT: Final = Path(__file__).parents[1]
SHOWN: Final = 20
"""Lines of the difference of a file that are shown."""
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Generator:
    """A row: what returns the texts of some files, and what it needs.

    `go` builds upstream's modules; `network` asks a package index, whose answer is another one each day.
    """

    name: str
    texts: Callable[[], Texts]
    needs: Literal["python", "go", "network"] = "python"


GENERATORS: Final = (
    Generator("lock", lock.texts, needs="network"),
    Generator("sbom", sbom.texts),
    Generator("schemas", schemas.texts, needs="go"),
    Generator("version", version.texts),
    Generator("crds", crds.texts),
    Generator("dashboard", dashboard.texts),
    Generator("uninstall", uninstall.texts),
    Generator("chart", chart.texts),
    *(Generator(page, partial(blocks.texts, page)) for page in blocks.WRITTEN),
    Generator("demo", shown.demo),
    Generator("golden", golden.texts),
    Generator("transcripts", transcripts.texts),
)


def named(names: tuple[str, ...]) -> list[Generator]:
    """Return the generators of these names; without names those that need Python alone."""
    return [row for row in GENERATORS if (row.name in names if names else row.needs == "python")]


def report(rows: Iterable[Generator]) -> str:
    """Return what differs, with the remedy; nothing if nothing does."""
    found = {row.name: list(differences(row.texts())) for row in rows}
    names = " ".join(name for name, parts in found.items() if parts)
    shown = [one for parts in found.values() for one in parts]
    remedy = f'Not up to date: run make generate NAME="{names}", and read the difference.'
    return "\n".join((*shown, remedy)) if names else ""


def stale(texts: Texts, root: Path = ROOT) -> Texts:
    """Return the texts of the files that have other ones."""
    found = {path: (root / path).read_text("utf-8") if (root / path).exists() else "" for path in texts}
    return {path: text for path, text in found.items() if texts[path] != text}


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
    for path, text in stale(texts, root).items():
        pair = text.splitlines(), texts[path].splitlines()
        lines = unified_diff(*pair, path, "generated", lineterm="", n=1)
        yield "\n".join(islice(lines, SHOWN))
