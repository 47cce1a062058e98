"""A container as its pod says, run as a process: its words, variables, mounted ConfigMaps and Secrets.

What is mounted lies in a folder of the testbed instead; words that name the mount name that folder.
"""

import base64
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from intent import Object
from tests.builders.kubelet import environment, words
from tests.cluster.testbed.api import get, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.images import Program, program
from tests.cluster.testbed.network import Network, file_of, start_container
from tests.cluster.testbed.processes import Process


def run_container(
    there: Network,
    pod: Object,
    container: Object,
    more: Mapping[str, str] | None = None,
    own: Program | None = None,
) -> Process:
    """Run a container of a pod whose network is there, with more variables than it says.

    What its image runs, or `own` in place of that, takes the place of its command, if it has one; where this
    machine has the programs of the image, the command runs as written.
    """
    variables = environment(container, _fields(there, pod))
    runs = own or program(there.cluster.built, container["image"])
    replaced = len(container.get("command", ())) if runs.begins else 0
    said = words(container, variables)[replaced:]
    command = [*runs.begins, *_with_mounts(said, _mounts(there, pod, container))]
    seen = {"PATH": os.environ["PATH"], **runs.variables, **variables, **(more or {})}
    return start_container(there, name_of(pod), container["name"], command, seen)


def report(cluster: Cluster, pod: Object, address: str, *, ready: bool = True) -> None:
    """Write a pod's status as its kubelet would: it runs, where, and whether it is ready."""
    metadata = pod["metadata"]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": str(ready), "lastTransitionTime": now},
        ],
    }
    where = path("pods", metadata["namespace"], metadata["name"], "status")
    patch(cluster.api, where, {"status": status})


def name_of(pod: Object) -> str:
    """Return what a pod is called on the network."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def port_number(container: Object, port: int | str) -> int:
    """Return a port of a container: a number, or a name that it gives one."""
    if isinstance(port, int):
        return port
    return next(int(each["containerPort"]) for each in container["ports"] if each.get("name") == port)


def _fields(there: Network, pod: Object) -> dict[str, str]:
    metadata = pod["metadata"]
    return {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "status.podIP": there.addresses[name_of(pod)],
    }


def _mounts(there: Network, pod: Object, container: Object) -> dict[str, Path]:
    """Write what the container mounts; return the folder of each path."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", ())}
    mounts = container.get("volumeMounts", ())
    return {mount["mountPath"]: _written(there, pod, volumes[mount["name"]]) for mount in mounts}


def _written(there: Network, pod: Object, volume: Object) -> Path:
    metadata = pod["metadata"]
    folder = file_of(there, name_of(pod), f"{volume['name']}.volume")
    folder.mkdir(exist_ok=True)
    if "configMap" in volume:
        where = path("configmaps", metadata["namespace"], volume["configMap"]["name"])
        for name, text in get(there.cluster.api, where)["data"].items():
            (folder / name).write_text(text)
            (folder / name).chmod(volume["configMap"].get("defaultMode", 0o644))
    elif "secret" in volume:
        where = path("secrets", metadata["namespace"], volume["secret"]["secretName"])
        for name, encoded in get(there.cluster.api, where)["data"].items():
            (folder / name).write_bytes(base64.b64decode(encoded))
    elif "emptyDir" not in volume:
        raise ValueError(f"only configMap, secret and emptyDir are known here: {volume}")
    return folder


def _with_mounts(said: list[str], mounts: Mapping[str, Path]) -> list[str]:
    """Return words with the folders of mounts, in one pass: a folder may begin as another mount does."""
    if not mounts:
        return said
    folders = {place.rstrip("/"): str(folder) for place, folder in mounts.items()}
    longest = sorted(map(re.escape, folders), key=len, reverse=True)
    mounted = re.compile(rf"(?:{'|'.join(longest)})(?=/|$)")
    return [mounted.sub(lambda found: folders[found[0]], word) for word in said]
