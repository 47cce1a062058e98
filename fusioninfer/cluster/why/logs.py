"""Find the telling line of a container's log, and what it usually means."""

import re
from typing import Final

LONGEST: Final = 200
TELLING: Final = re.compile(r"\b(\w*(Error|Exception)|error|fatal|panic|Killed)\b")
HINTS: Final = (
    (
        r"CUDA out of memory|OutOfMemoryError|No available memory for the cache blocks",
        "the GPUs lack memory: lower --max-model-len, or use more GPUs",
    ),
    (
        r"GatedRepo|gated repo|401 Client Error|Repository Not Found",
        "the model cannot be read: set HF_TOKEN from a Secret, and check the name",
    ),
    (r"No space left on device", "a volume is full: enlarge the cache volume or /dev/shm"),
    (
        r"unrecognized arguments|no such option|error: argument",
        "this version of the engine does not know an argument",
    ),
    (
        r"Temporary failure in name resolution|Name or service not known",
        "a name cannot be resolved: check DNS, and that the headless Service of the LeaderWorkerSet exists",
    ),
    (
        r"[Tt]imed? ?out waiting|TimeoutError|placement group|Not enough nodes",
        "pods of the group did not join in time: look at the other pods of the group",
    ),
    (r"executable file not found|command not found", "the image lacks the program that is started"),
)
"""Patterns of log lines, and what they usually mean."""


def telling_line(log: str) -> str:
    """Return the last line of a log that names an error; the last line if none does."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    found = next((line for line in reversed(lines) if TELLING.search(line)), lines[-1] if lines else "")
    printable = "".join(character if character.isprintable() else " " for character in found)
    return printable if len(printable) <= LONGEST else f"{printable[: LONGEST - 3]}..."


def hint(log: str) -> str:
    """Return what a log usually means; empty if no pattern matches."""
    return next((meaning for pattern, meaning in HINTS if re.search(pattern, log)), "")
