"""What the command prints: each transcript has invocations of it, with their outputs and exit codes.

A line `$ fusioninfer …` is run in the folder `inputs` beside it. Below it: the lines of standard output after
`| `, those of standard error after `! `, and the exit code after `= ` if it is not 0. Lines above the first
invocation, and those that begin with `#`, stay as they are.
"""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Final

from click.testing import CliRunner

from fusioninfer.cli import main
from hack.manifests.objects import DOCS

ROOT: Final = DOCS.parent
FOLDER: Final = ROOT / "tests" / "fusioninfer" / "transcripts"
PROMPT: Final = "$ fusioninfer"
WIDTH: Final = 80
OUTPUTS: Final = ("| ", "! ", "= ", "|", "!")
"""How the lines begin that are written anew. An empty line of an output is its mark alone."""


def texts() -> Mapping[str, str]:
    """Return each transcript as the command gives it now."""
    return {str(path.relative_to(ROOT)): transcript(path) for path in sorted(FOLDER.glob("*.txt"))}


def transcript(path: Path) -> str:
    """Return a transcript with the outputs of now."""
    kept = [line for line in path.read_text("utf-8").splitlines() if not line.startswith(OUTPUTS)]
    lines: list[str] = []
    for line in kept:
        lines.append(line)
        if line.startswith(PROMPT):
            lines += answered(line)
    return "".join(f"{line}\n" for line in lines)


def answered(line: str) -> Iterator[str]:
    """Yield what an invocation prints, and its exit code."""
    with chdir(FOLDER / "inputs"):
        words = shlex.split(line.removeprefix(PROMPT))
        result = CliRunner().invoke(main, words, prog_name="fusioninfer", terminal_width=WIDTH)
    for mark, text in (("|", result.stdout), ("!", result.stderr)):
        yield from (f"{mark} {one}".rstrip() for one in text.splitlines())
    if result.exit_code:
        yield f"= {result.exit_code}"
