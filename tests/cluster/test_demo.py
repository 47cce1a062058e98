"""The demo on real components shows every row of the documents, and judges each group of a row."""

from io import StringIO

import pytest
import yaml
from rich.console import Console

from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Table
from tests.cluster.demo import STEPS, run
from tests.cluster.testbed.cluster import Cluster

PREFILL, DECODE_0, DECODE_1 = DISAGGREGATED.groups


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


@pytest.mark.usefixtures("add_nodes")
def test_it_ends_with_0_and_shows_the_pod_group_of_the_controller(
    fusioninfer: Cluster, namespace: str
) -> None:
    stream = StringIO()

    code = run(fusioninfer, namespace, Console(file=stream))

    assert (code, stream.getvalue().count(": right;")) == (0, len(STEPS)), stream.getvalue()
    assert f"$ kubectl get podgroup -n {namespace}\nNAME " in stream.getvalue()
