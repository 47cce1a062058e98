"""The commands in the consoles of a page, by chapter (lines that begin with `$ `), and its YAML files."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Final

CHAPTER: Final = re.compile(r"^## (.+)$", re.MULTILINE)
CONSOLE: Final = re.compile(r"^( *)```console\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
COMMAND: Final = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
FILE: Final = re.compile(r"^( *)```yaml\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
"""A block in a tab is indented."""


def chapters(page: Path) -> dict[str, str]:
    """Return the text of each chapter, without the text before the first."""
    _, *parts = CHAPTER.split(page.read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def commands(page: Path) -> dict[str, tuple[str, ...]]:
    """Return the commands of each chapter that has any; a command may continue on the next line."""
    found = {name: _commands(text) for name, text in chapters(page).items()}
    return {name: each for name, each in found.items() if each}


def files(page: Path, chapter: str) -> tuple[str, ...]:
    """Return the YAML files of a chapter."""
    return tuple(dedent(file) for _, file in FILE.findall(chapters(page)[chapter]))


def _commands(text: str) -> tuple[str, ...]:
    consoles = (dedent(console) for _, console in CONSOLE.findall(text))
    found = (command for console in consoles for command in COMMAND.findall(console))
    return tuple(re.sub(r"\\\n *", "", command) for command in found)
