"""The bill of materials of the image, made from requirements.lock: CycloneDX 1.6, without clock and chance.

It has what we install. What the base image brings is in that image's own.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from catalog.release import VERSION
from hack.image.lock import LOCK, Locked, locked
from intent import Object

OURS: Final = "fusioninfer"


def texts() -> Mapping[str, str]:
    """Return the file."""
    rows = tuple(locked(LOCK.read_text(encoding="utf-8")))
    return {"sbom.cdx.json": json.dumps(sbom(rows), indent=1) + "\n"}


def sbom(rows: Sequence[Locked]) -> Object:
    """Return the whole document."""
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": OURS,
                "name": OURS,
                "version": VERSION,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [_component(row) for row in rows],
        "dependencies": [_dependencies(name, rows) for name in (OURS, *(row.name for row in rows))],
    }


def _component(row: Locked) -> Object:
    purl = f"pkg:pypi/{row.name}@{row.version}"
    return {"type": "library", "bom-ref": row.name, "name": row.name, "version": row.version, "purl": purl}


def _dependencies(name: str, rows: Sequence[Locked]) -> Object:
    return {"ref": name, "dependsOn": [row.name for row in rows if name in row.via]}
