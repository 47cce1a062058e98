"""Find words that this project does not use (banned_words.yaml) in everything that a reader meets.

    python -m tests.checks.words

prints each place with what to write instead, and exits with 1 if there is one.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = Path(__file__).parent / "banned_words.yaml"
SKIPPED: Final = ("tests/cluster/components/", str(TABLE.relative_to(ROOT)))
"""Files of others, and the table itself."""
GOLDEN: Final = "tests/golden/"
"""Objects as users write them; only the messages are ours."""
PROSE: Final = (".md", ".txt")
COMMENTED: Final = (".yaml", ".yml", "Makefile", "Dockerfile", "pyproject.toml")
READ: Final = re.compile(r"#|(message|description|summary|name|reason):")
"""Lines of those files that people read: comments and messages."""
SPOKEN: Final = re.compile(
    r'"{3}(?:\\.|.)*?"{3}|'
    r"'{3}(?:\\.|.)*?'{3}|"
    r'"(?:\\.|[^"\\\n])*"|'
    r"'(?:\\.|[^'\\\n])*'|"
    r"#[^\n]*|\bdef (?P<name>test_\w+)",
    re.DOTALL,
)
"""Strings, comments and names of tests in Python."""


@dataclass(frozen=True, slots=True)
class Word:
    """A row of the table."""

    pattern: re.Pattern[str]
    instead: str
    within: tuple[str, ...]
    """Prefixes of the paths in which the word is wrong; empty if it is wrong everywhere."""
    outside: tuple[str, ...]
    """Prefixes of the paths in which it is right."""

    def concerns(self, file: str) -> bool:
        """Return whether the word is wrong in a file."""
        return (not self.within or file.startswith(self.within)) and not file.startswith(self.outside)


@dataclass(frozen=True, slots=True)
class Found:
    """A place where a banned word stands."""

    file: str
    line: int
    text: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}: write {self.instead}"


def table(path: Path = TABLE) -> tuple[Word, ...]:
    """Read the table."""
    return tuple(
        Word(
            re.compile(row["pattern"], re.IGNORECASE),
            row["instead"],
            tuple(row.get("in", ())),
            tuple(row.get("not_in", ())),
        )
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    )


def files(root: Path = ROOT) -> list[str]:
    """List the files of the repository that hold text for readers, new ones too."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted({file for file in listed if _is_read(file) and (root / file).is_file()})


def find(words: Sequence[Word], file: str, text: str) -> Iterator[Found]:
    """Find banned words in the text of a file."""
    numbered = list(lines(file, text))
    joined = "\n".join(line for _, line in numbered)
    for word in words:
        for match in word.pattern.finditer(joined) if word.concerns(file) else ():
            number, _ = numbered[joined.count("\n", 0, match.start())]
            yield Found(file, number, match[0], word.instead)


def lines(file: str, text: str) -> Iterable[tuple[int, str]]:
    """Return the lines of a file that people read, with their numbers."""
    if file.endswith(".py"):
        return _python_lines(text)
    numbered = enumerate(text.splitlines(), 1)
    return numbered if file.endswith(PROSE) else [(at, line) for at, line in numbered if READ.search(line)]


def _python_lines(text: str) -> Iterator[tuple[int, str]]:
    number, end = 1, 0
    for match in SPOKEN.finditer(text):
        number, end = number + text.count("\n", end, match.start()), match.start()
        name = match["name"]
        yield from enumerate((name.replace("_", " ") if name else match[0]).splitlines(), number)


def _is_read(file: str) -> bool:
    if file.startswith(SKIPPED) or (file.startswith(GOLDEN) and not file.endswith((".txt", ".py"))):
        return False
    return file.endswith((".py", *PROSE, *COMMENTED))


def main() -> int:
    """Print every place; return 1 if there is one."""
    words = table()
    found = [one for file in files() for one in find(words, file, (ROOT / file).read_text(encoding="utf-8"))]
    sys.stdout.writelines(f"{one}\n" for one in found)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
