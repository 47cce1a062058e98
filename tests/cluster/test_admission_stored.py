"""Admitted objects equal the offline output of the command, with what the API server and LWS add to anything.

What they add is seen on a twin: the offline outcome, written without our annotations, so that we see nothing.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import yaml

from fusioninfer.lint.offline import compose
from intent import Object
from intent.annotations import EXPANSION
from intent.settings import Settings
from tests.builders.documents import read_files
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.differences import Differences, differences
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.written import EXAMPLES, WHOLE, listed, unannotated, written_part

GOLDEN: Final = ROOT / "tests" / "golden"
DRY: Final = "--dry-run=server"


def is_plain(file: Path) -> bool:
    """Return whether a file holds nothing but LeaderWorkerSets."""
    return {each["kind"] for each in yaml.safe_load_all(file.read_text())} == {"LeaderWorkerSet"}


FILES: Final = (*filter(is_plain, sorted(EXAMPLES.glob("*.yaml"))), WHOLE)


def test_every_file_is_admitted_as_it_is_expanded_offline(admission: Cluster, namespace: str) -> None:
    files = [*accepted(GOLDEN), *FILES]
    offline = [each for file in files for each in composed(file)]

    admitted = created(admission, namespace, files, DRY)

    assert records(admitted) == records(offline)
    assert gained(offline, admitted) == gained(offline, created_plain(admission, namespace, offline, DRY))


def composed(file: Path) -> tuple[Object, ...]:
    """Return the objects of a file as the command expands them. Golden cases share names, so one by one."""
    return compose(read_files([str(file)]), Settings(), admission_only=True).objects


def accepted(folder: Path) -> Iterable[Path]:
    """Return the golden inputs that are accepted and hold nothing but LeaderWorkerSets."""
    for case in sorted(folder.iterdir()):
        if (case / "expected.yaml").exists() and is_plain(case / "input.yaml"):
            yield case / "input.yaml"


def created(cluster: Cluster, namespace: str, files: Iterable[Path], *words: str) -> list[Object]:
    """Have kubectl create what files hold; return what the API server answers."""
    written = [each for file in files for each in yaml.safe_load_all(file.read_text())]
    return _created(cluster, namespace, written, *words)


def created_plain(cluster: Cluster, namespace: str, objects: Iterable[Object], *words: str) -> list[Object]:
    """Have kubectl create objects under other names and without our annotations."""
    plain = [unannotated(each) for each in objects]
    for each in plain:
        each["metadata"]["name"] += "-plain"
    return _created(cluster, namespace, plain, *words)


def _created(cluster: Cluster, namespace: str, objects: Iterable[Object], *words: str) -> list[Object]:
    """Have kubectl create objects in our namespace, whichever they name."""
    placed = [each | {"metadata": each["metadata"] | {"namespace": namespace}} for each in objects]
    text = "\n---\n".join(map(json.dumps, placed))
    return listed(kubectl(cluster, "create", "-o", "json", *words, "--filename=-", stdin=text))


def gained(written: list[Object], stored: list[Object]) -> list[Differences]:
    """Return what each object has that was not written: in spec, labels and annotations of others."""
    pairs = zip(written, stored, strict=True)
    return [differences(others(one), others(other)) for one, other in pairs]


def others(lws: Object) -> Object:
    """Return what its author can write, without our annotations."""
    return written_part(unannotated(lws))


def records(objects: list[Object]) -> list[Object]:
    """Return original and expansion of each, without the fields that LWS defaulted before."""
    read = [json.loads(each["metadata"].get("annotations", {}).get(EXPANSION, "{}")) for each in objects]
    return [{key: record[key] for key in record if key != "was"} for record in read]
