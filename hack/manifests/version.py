"""The version, which `catalog/release.py` has, in the files that cannot read it there."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from catalog.release import VERSION

ROOT: Final = Path(__file__).parents[2]
FILES: Final = (
    "Dockerfile",
    "docs/install.md",
    "hack/manifests/only_in_chart/test.yaml",
    "manifests/base/sync-deployment.yaml",
    "manifests/base/webhook-deployment.yaml",
    "manifests/labels/kustomization.yaml",
)
PLACE: Final = re.compile(r"(fusioninfer:|app\.kubernetes\.io/version: |ARG VERSION=)\d+\.\d+\.\d+")


def texts() -> Mapping[str, str]:
    """Return the files with the version of this release."""
    return {name: PLACE.sub(rf"\g<1>{VERSION}", (ROOT / name).read_text("utf-8")) for name in FILES}
