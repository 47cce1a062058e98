"""The chart, rendered by Helm."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from hack.manifests.objects import MANIFESTS
from intent import Object

NAMESPACE: Final = "fusioninfer-system"
Values = Mapping[str, Any]
"""Values by their paths."""


def rendering(
    helm: Path, values: Values, *how: str, release: str = "release"
) -> subprocess.CompletedProcess[str]:
    """Render the chart with values; by default as `helm template` does."""
    verb, *flags = how or ("template",)
    words = [word for path, value in values.items() for word in ("--set-json", f"{path}={json.dumps(value)}")]
    where = (release, str(MANIFESTS / "chart"), "--namespace", NAMESPACE)
    command = [str(helm), verb, *where, *words, *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rendered(helm: Path, values: Values, *flags: str, release: str = "release") -> list[Object]:
    """Return the objects of the chart with values."""
    done = rendering(helm, values, "template", *flags, release=release)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, yaml.CSafeLoader) if each]
