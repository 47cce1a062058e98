"""The expected files of the golden cases."""

from collections.abc import Mapping
from typing import Final

from hack.manifests.objects import DOCS
from tests.golden.test_golden import CASES, expected

ROOT: Final = DOCS.parent


def texts() -> Mapping[str, str]:
    """Return the expected files of each case."""
    return {
        str((case / name).relative_to(ROOT)): text for case in CASES for name, text in expected(case).items()
    }
