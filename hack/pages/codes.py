"""The codes: an entry for each finding, and for each rule that injects a field."""

from collections.abc import Mapping
from typing import Final

from fusioninfer.codes import ENTRIES, RULE, Entry

CHAPTERS: Final = {
    "1": "Annotations and types",
    "2": "The gang",
    "3": "The launch",
    "4": "The service as a whole",
    "5": "Warnings",
    "6": "Injected fields",
    "7": "The InferenceService",
    "8": "Routes and other objects of the controller",
    "9": "The webhook, and files",
}
"""The chapters by the first digit of their codes."""


def blocks() -> Mapping[str, str]:
    """Return the block of the page."""
    chapters = (
        f"\n## {title}\n\n" + "\n".join(_entry(ENTRIES[code]) for code in sorted(ENTRIES) if code[2] == digit)
        for digit, title in CHAPTERS.items()
    )
    return {"codes": "".join(chapters)}


def _entry(one: Entry) -> str:
    said, remedy = (
        (f"{one.title}.", "To opt out")
        if one.severity == RULE
        else (f"{one.title[:1].upper()}{one.title[1:]} ({one.severity}).", "What to do")
    )
    cause = f"**Cause:** {one.cause}.\n\n" if one.cause else ""
    return f"### {one.code}\n\n{said}\n\n{cause}**{remedy}:** {one.remedy}.\n"
