"""The Dockerfile, read: its stages and their instructions."""

import json
import re
import shlex
from dataclasses import dataclass
from typing import Final

from hack.image.lock import ROOT

DOCKERFILE: Final = ROOT / "Dockerfile"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its keyword, and its words."""

    keyword: str
    text: str

    @property
    def words(self) -> list[str]:
        """Split it as it would be: a list in JSON, or words of a shell."""
        found: list[str] = json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)
        return found


def stages() -> list[list[Instruction]]:
    """Read the stages, each with its FROM; what stands before the first is left out."""
    found: list[list[Instruction]] = []
    for instruction in instructions():
        if instruction.keyword == "FROM":
            found.append([])
        if found:
            found[-1].append(instruction)
    return found


def instructions() -> list[Instruction]:
    """Read every instruction; a backslash at its end continues a line."""
    lines = (line for line in DOCKERFILE.read_text().splitlines() if line and not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in joined.splitlines()]


def of(stage: list[Instruction], keyword: str) -> list[Instruction]:
    """Return the instructions of one keyword."""
    return [one for one in stage if one.keyword == keyword]
