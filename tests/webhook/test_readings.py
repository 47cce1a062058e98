"""An old input keeps its digest while `READING` is the same; otherwise an upgrade would restart its pods.

`digests.yaml` has the digests of the golden files. `make generate` adds missing ones, and writes all of them
again when `READING` changes. Remove the line of a golden file by hand if its input was changed.
"""

from pathlib import Path
from typing import Final

import yaml

from hack.golden import digests
from webhook.overlay.record import READING

FILE: Final = Path(__file__).parent / "digests.yaml"


def test_no_digest_has_changed_under_this_reading() -> None:
    kept = yaml.safe_load(FILE.read_text())
    now = digests()

    changed = {name for name, value in kept["digests"].items() if now.get(name, value) != value}

    assert (kept["reading"], changed) == (READING, set())
