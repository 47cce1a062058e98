"""A pod's init container that downloads, and what its engine then finds, with directories for volumes.

What a kubelet does besides: mounts. Here a path of a container is the directory of the volume that is
mounted there, so the arguments that name such a path are translated, and nothing else is.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from intent import Object
from intent.model import INITIALIZER
from tests.builders import kubelet

Secrets = Mapping[str, Mapping[str, str]]
"""The keys of each Secret, by name."""
LEFT: Final = ("PATH", "LD_LIBRARY_PATH")
"""Variables that a process has of this machine."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod spec, with the directory that holds its volumes."""

    spec: Object
    root: Path

    @property
    def initializer(self) -> Object:
        """The init container that downloads."""
        named: list[Object] = [one for one in self.spec["initContainers"] if one["name"] == INITIALIZER]
        (found,) = named
        return found

    @property
    def engine(self) -> Object:
        """The container of the engine."""
        found: Object = self.spec["containers"][0]
        return found

    def place(self, container: Object, path: str) -> Path:
        """Return the directory or file that a path of a container is; it must be in a mounted volume."""
        for mount in container["volumeMounts"]:
            if path == mount["mountPath"] or path.startswith(mount["mountPath"] + "/"):
                there: Path = self.root / mount["name"] / mount.get("subPath", "")
                there.mkdir(parents=True, exist_ok=True)
                return there / path.removeprefix(mount["mountPath"]).lstrip("/")
        raise LookupError(f"{container['name']} mounts nothing at {path}")

    def with_files(self, secrets: Secrets) -> "Pod":
        """Write the files of the Secrets that are volumes."""
        for volume in self.spec["volumes"]:
            for key, value in secrets.get(volume.get("secret", {}).get("secretName", ""), {}).items():
                file = self.root / volume["name"] / key
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(value)
        return self

    def download(self, entrypoint: Sequence[str], secrets: Secrets) -> subprocess.CompletedProcess[str]:
        """Run the init container: its image's entrypoint, with its arguments and variables."""
        container = self.initializer
        uri, path = container["args"]
        return subprocess.run(
            [*entrypoint, uri, str(self.place(container, path))],
            env={key: os.environ[key] for key in LEFT if key in os.environ} | environment(container, secrets),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


def environment(container: Object, secrets: Secrets) -> dict[str, str]:
    """Return the variables of a container, those of Secrets too."""
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        found |= secrets[source["secretRef"]["name"]]
    for item in container.get("env", ()):
        ref = item.get("valueFrom", {}).get("secretKeyRef")
        if ref:
            found[item["name"]] = secrets[ref["name"]][ref["key"]]
    plain = [item for item in container.get("env", ()) if "valueFrom" not in item]
    return found | kubelet.environment({"env": plain}, {})
