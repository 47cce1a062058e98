"""`catalog/schemas.json`, from upstream's Go modules as the testbed builds them."""

import re
import sys
from collections.abc import Mapping

from hack.upstream import generated
from tests.cluster.testbed.build import COMPONENTS, build
from tests.cluster.testbed.modules import SCHEMA_MODULES


def texts() -> Mapping[str, str]:
    """Return the file."""
    return {"catalog/schemas.json": generated(build(sys.stderr, SCHEMA_MODULES).source, _version)}


def _version(component: str, module: str) -> str:
    """Return the version of a module that a component's go.mod requires."""
    required = (COMPONENTS / component / "go.mod").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^(?:require )?\s*{re.escape(module)} (v\S+)$", required, re.MULTILINE)
    return str(found)
