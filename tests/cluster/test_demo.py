"""The demo on real components shows every row of the documents, and judges each group of a row."""

from io import StringIO
from typing import Final

import pytest
import yaml
from rich.console import Console

from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Counted, Row, Table, right
from tests.cluster.demo import STEPS, run
from tests.cluster.testbed.cluster import Cluster

PREFILL, DECODE_0, DECODE_1 = DISAGGREGATED.groups
AT_48: Final[Counted] = {PREFILL: (2, 2), DECODE_0: (4, 4), DECODE_1: (0, 4)}


@pytest.mark.parametrize("table", [MONOLITHIC, DISAGGREGATED])
def test_the_groups_of_a_table_are_those_of_its_files(table: Table) -> None:
    lws = [yaml.safe_load(file.read_text()) for file in table.files]

    groups = {
        f"{one['metadata']['name']}-{index}": one["spec"]["leaderWorkerTemplate"]["size"]
        for one in lws
        for index in range(one["spec"]["replicas"])
    }

    assert groups == table.groups


def test_the_demo_shows_every_row_of_the_documents() -> None:
    assert set(STEPS) == set(DISAGGREGATED.rows)


@pytest.mark.parametrize(
    ("counted", "judged"),
    [
        (AT_48, True),
        ({**AT_48, DECODE_1: (2, 4)}, False),
        ({**AT_48, DECODE_0: (3, 3)}, False),
        ({**AT_48, "another-0": (0, 4)}, False),
        ({PREFILL: (2, 2), DECODE_0: (4, 4)}, False),
    ],
    ids=["as documented", "a stranded half", "a pod too few", "a group too many", "a group too few"],
)
def test_a_row_is_right_only_if_every_group_is_as_documented(counted: Counted, *, judged: bool) -> None:
    assert right(Row(DISAGGREGATED, 48, counted)) is judged


@pytest.mark.usefixtures("add_nodes")
def test_it_ends_with_0_and_shows_the_pod_group_of_the_controller(
    fusioninfer: Cluster, namespace: str
) -> None:
    stream = StringIO()

    code = run(fusioninfer, namespace, Console(file=stream))

    assert (code, stream.getvalue().count(": right;")) == (0, len(STEPS)), stream.getvalue()
    assert f"$ kubectl get podgroup -n {namespace}\nNAME " in stream.getvalue()
