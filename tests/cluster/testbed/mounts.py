"""A Secret as a directory, kept as the kubelet keeps it.

The files are links to `..data/FILE`, and `..data` is a link to a folder; new content is a new folder, to
which the link is then moved in one step (`k8s.io/kubernetes` `pkg/volume/util/atomic_writer.go`).
"""

import base64
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.cluster.testbed.api import get_or_none, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.wait import kept_doing

PAIR: Final = ("tls.crt", "tls.key")
EVERY: Final = 0.2


@contextmanager
def mounted(
    cluster: Cluster, namespace: str, name: str, directory: Path, late: float = 0.0
) -> Iterator[Path]:
    """Keep a directory as the pair of a Secret, `late` seconds behind it."""
    directory.mkdir()
    held = dict[str, bytes]()

    def follow() -> None:
        found = _read(cluster, path("secrets", namespace, name))
        if found and found != held:
            time.sleep(late)
            swap(directory, found)
            held.update(found)

    with kept_doing(follow, every=EVERY):
        yield directory


def swap(directory: Path, content: Mapping[str, bytes]) -> None:
    """Replace what a directory holds, in one step."""
    folder = Path(tempfile.mkdtemp(prefix="..", dir=directory))
    for name, value in content.items():
        (folder / name).write_bytes(value)
    data, before = directory / "..data", (directory / "..data").resolve()
    (directory / "..data_tmp").symlink_to(folder.name)
    (directory / "..data_tmp").replace(data)
    for name in content:
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")
    if before != data:
        shutil.rmtree(before)


def _read(cluster: Cluster, where: str) -> dict[str, bytes]:
    """Read the pair; nothing unless it is whole: until then the kubelet mounts nothing."""
    data = (get_or_none(cluster.api, where) or {}).get("data", {})
    return {key: base64.b64decode(data[key]) for key in PAIR} if set(PAIR) <= data.keys() else {}
