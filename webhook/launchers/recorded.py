"""Which launcher wrote a launch that is recorded."""

from collections.abc import Iterator

from intent.shapes import listed, mapping
from webhook.launchers import LAUNCHERS
from webhook.overlay.overlay import Overlay


def recorded_launcher(put_on: Overlay) -> str:
    """Name the launcher whose words are put on; empty if none are. The overlay is a record's: any JSON."""
    text = "\n".join(_words(put_on))
    return next((name for name, row in LAUNCHERS.items() if any(mark in text for mark in row.marks)), "")


def _words(put_on: Overlay) -> Iterator[str]:
    templates = mapping(mapping(put_on.get("spec")).get("leaderWorkerTemplate"))
    for template in templates.values():
        for container in listed(mapping(mapping(template).get("spec")).get("containers")):
            for field in ("command", "args"):
                yield from map(str, listed(mapping(container).get(field)))
