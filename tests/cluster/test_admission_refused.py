"""The limit of all annotations, where it really is, and what kubectl says at it."""

import json
import re

from intent import Object
from intent.annotations import EXPANSION
from tests.builders.lws import changed
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.written import WHOLE, named, put, read

ANNOTATED = read(WHOLE)
NAME = ANNOTATED["metadata"]["name"]
ANNOTATIONS_LIMIT = 256 * 1024
DRY = ("create", "--dry-run=server")


def test_annotations_may_fill_the_space_beside_the_record_and_no_byte_more(
    admission: Cluster, namespace: str
) -> None:
    admitted = put(admission, namespace, DRY, filled(admission, namespace, 0))
    overfull = json.dumps(filled(admission, namespace, 1))
    refused = run_kubectl(admission, *DRY, "--namespace", namespace, "--filename=-", stdin=overfull)

    annotations = admitted["metadata"]["annotations"]
    size = sum(len(key) + len(value) for key, value in annotations.items())
    assert (EXPANSION in annotations, size) == (True, ANNOTATIONS_LIMIT)
    need, left = map(
        int,
        re.findall(r"needs (\d+) bytes, and the other annotations leave (\d+) of 262144", refused.stderr)[0],
    )
    assert need - left == 1
    assert re.findall(r"\((FI\d+)\)$", refused.stderr, re.MULTILINE) == ["FI903"]


def filled(cluster: Cluster, namespace: str, more: int) -> Object:
    """Return it with an annotation that leaves exactly the record's room, or takes so many bytes more."""
    admitted = put(cluster, namespace, DRY, noted(""))
    used = sum(len(key) + len(value) for key, value in admitted["metadata"]["annotations"].items())
    return noted("x" * (ANNOTATIONS_LIMIT - used + more))


def noted(text: str) -> Object:
    """Return it with an annotation that is not ours."""
    return changed(named(ANNOTATED, NAME), "metadata.annotations.note", text)
