"""Another release: a copy of our source with a few lines changed, run in place of this one or beside it."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.cluster.testbed.ours import ROOT

PACKAGES: Final = ("catalog", "certs", "fusioninfer", "intent", "kube", "sync", "webhook")


@dataclass(frozen=True, slots=True)
class Change:
    """Text that is in one file of the source, and what another release has there."""

    text: str
    instead: str


OTHER_RECORDS: Final = (Change("RULES: Final = 1\n", "RULES: Final = 2\n"),)
OTHER_RULES: Final = (
    Change('_WAIT: Final = "1800"', '_WAIT: Final = "3600"'),
    Change(
        "start, executor(launch), (PORT,))",
        'start, (*executor(launch), "--disable-log-stats"), (PORT, 8265))',
    ),
)
STRICTER: Final = (
    Change(
        "    yield from _reserved(inputs)\n",
        "    yield from _reserved(inputs)\n"
        "    for engine in [template.engine for template in inputs.intent.templates if template.engine]:\n"
        '        if engine.image.endswith(":v0.17.1"):\n'
        '            yield FieldError(SERVICE, engine.image, "must be v0.17.2 or later", "FI108")\n',
    ),
    Change(
        "            is_dns_1035_label,\n",
        '            lambda name: set(name) <= set("-abcdefghijklmnopqrstuvwxyz"),\n',
    ),
    Change(
        "    return _service(service) if service else None, (*unreadable, *rules)\n",
        '    if service and service.metadata.get("name") == "out-of-date":\n'
        '        rules.append(FieldError("spec", 1, "is out of date", "FI703"))\n'
        "    return _service(service) if service else None, (*unreadable, *rules)\n",
    ),
)
NEXT: Final = (*OTHER_RECORDS, *OTHER_RULES, *STRICTER)
"""What the next release does otherwise: it injects another value, and refuses old images and some names."""


class ChangeMissedError(Exception):
    """The text is not in one file of the source, and once."""


def release(directory: Path, changes: tuple[Change, ...] = NEXT) -> Path:
    """Copy the source with changes; return where the copy is."""
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, directory / package, ignore=ignored)
    for change in changes:
        _make(change, directory)
    return directory


def _make(change: Change, directory: Path) -> None:
    texts = {file: file.read_text() for file in directory.rglob("*.py")}
    places = [file for file, text in texts.items() if change.text in text]
    if len(places) != 1 or texts[places[0]].count(change.text) != 1:
        raise ChangeMissedError(change.text, places)
    places[0].write_text(texts[places[0]].replace(change.text, change.instead))
