"""An old input keeps its digest while `READING` is the same; otherwise an upgrade would restart its pods.

`digests.yaml` has the digests of the golden files. `make generate` adds missing ones, and writes all of them
again when `READING` changes. Remove the line of a golden file by hand if its input was changed.
"""

from pathlib import Path
from typing import Final

import pytest
import yaml

from intent.read import read
from tests.golden.test_golden import CASES, leaderworkersets
from webhook.digest import digest, facts
from webhook.overlay.record import READING

FILE: Final = Path(__file__).parent / "digests.yaml"


def digests() -> dict[str, str]:
    """Return the digest of each golden LeaderWorkerSet that opts in and has no errors."""
    found = {}
    for case in CASES:
        for document in leaderworkersets(case):
            reading = read(document.object)
            if reading.intent is not None and not reading.errors:
                found[f"{case.name}/{document.object['metadata'].get('name', '')}"] = digest(
                    facts(reading.intent)
                )
    return found


def test_no_digest_has_changed_under_this_reading(request: pytest.FixtureRequest) -> None:
    kept = yaml.safe_load(FILE.read_text())
    now = digests()
    if request.config.getoption("--refresh"):
        known = kept["digests"] if kept["reading"] == READING else {}
        kept = {"reading": READING, "digests": now | known}
        FILE.write_text(yaml.safe_dump(kept))

    changed = {name for name, value in kept["digests"].items() if now.get(name, value) != value}

    assert (kept["reading"], changed) == (READING, set())
