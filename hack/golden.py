"""The expected files of the golden cases, and the digests of their inputs."""

from collections.abc import Mapping
from typing import Final

import yaml

from hack.manifests.objects import DOCS
from intent.read import read
from tests.golden.test_golden import CASES, expected, leaderworkersets
from webhook.digest import digest, facts
from webhook.overlay.record import READING

ROOT: Final = DOCS.parent
DIGESTS: Final = "tests/webhook/digests.yaml"


def texts() -> Mapping[str, str]:
    """Return the expected files of each case."""
    return {
        str((case / name).relative_to(ROOT)): text for case in CASES for name, text in expected(case).items()
    }


def kept_digests() -> Mapping[str, str]:
    """Return the file of digests: those that it has stay, unless their reading is another one."""
    kept = yaml.safe_load((ROOT / DIGESTS).read_text(encoding="utf-8"))
    known = kept["digests"] if kept["reading"] == READING else {}
    return {DIGESTS: yaml.safe_dump({"reading": READING, "digests": digests() | known})}


def digests() -> dict[str, str]:
    """Return the digest of each golden LeaderWorkerSet that opts in and has no errors."""
    found = [(case.name, one.object) for case in CASES for one in leaderworkersets(case)]
    readings = {f"{case}/{lws['metadata'].get('name', '')}": read(lws) for case, lws in found}
    return {
        name: digest(facts(one.intent)) for name, one in readings.items() if one.intent and not one.errors
    }
