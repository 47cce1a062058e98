"""The commands of a page: what stands behind `$ ` in its consoles, by chapter; and its files of YAML."""

import re
from pathlib import Path
from typing import Final

CHAPTER: Final = re.compile(r"^## (.+)$", re.MULTILINE)
CONSOLE: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND: Final = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
FILE: Final = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def chapters(page: Path) -> dict[str, str]:
    """Give the text of each chapter; what stands before the first is left out."""
    _, *parts = CHAPTER.split(page.read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def commands(page: Path) -> dict[str, tuple[str, ...]]:
    """Give the commands of each chapter that has some; one may go on over several lines."""
    found = {name: _commands(text) for name, text in chapters(page).items()}
    return {name: each for name, each in found.items() if each}


def files(page: Path, chapter: str) -> tuple[str, ...]:
    """Give the files that a chapter tells to write."""
    return tuple(FILE.findall(chapters(page)[chapter]))


def _commands(text: str) -> tuple[str, ...]:
    found = (command for console in CONSOLE.findall(text) for command in COMMAND.findall(console))
    return tuple(re.sub(r"\\\n *", "", command) for command in found)
