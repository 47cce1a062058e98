"""The demo on real components: how rows are judged and shown, and that it says so where they are wrong."""

import os
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Final

import pytest
import yaml
from rich.console import Console

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.board import board, line
from tests.cluster.capacity import DISAGGREGATED, MONOLITHIC, Counted, Row, Table, expected, right
from tests.cluster.demo import CANNOT_RUN_CODE, INTERRUPTED, STEPS, run
from tests.cluster.testbed.api import create, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.wait import until

ROOT: Final = Path(__file__).parents[2]
COMMAND: Final = [sys.executable, "-m", "tests.cluster.demo"]
PREFILL, DECODE_0, DECODE_1 = DISAGGREGATED.groups
AT_48: Final[Counted] = {PREFILL: (2, 2), DECODE_0: (4, 4), DECODE_1: (0, 4)}
ALL_OR_NOTHING: Final[Object] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": DISAGGREGATED.service},
    "spec": {"minMember": DISAGGREGATED.pods, "queue": "default"},
}
"""A wrong PodGroup that requires all replicas at once. The controller does not own it and leaves it alone."""


def test_a_scheduled_group_has_all_its_pods_bound_and_a_pending_one_none() -> None:
    row = expected(DISAGGREGATED, 48)

    assert row == AT_48


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


def test_a_line_has_counted_expected_and_verdict() -> None:
    said = line(Row(DISAGGREGATED, 48, {**AT_48, DECODE_1: (2, 4)}))

    assert said == (
        "48 GPUs: prefill-0 2/2 (expected 2), decode-0 4/4 (expected 4), decode-1 2/4 (expected 0): WRONG; "
        "the documents: Partial (1P + 1D)"
    )


def test_off_a_terminal_a_row_is_printed_once_it_is_settled() -> None:
    stream = StringIO()
    row = Row(DISAGGREGATED, 48, AT_48)

    with board(DISAGGREGATED, Console(file=stream)) as show:
        show([Row(DISAGGREGATED, 48, {}, settled=False)])
        show([row])

    assert stream.getvalue() == line(row) + "\n"


def test_on_a_terminal_the_table_stays_with_its_verdicts() -> None:
    stream = StringIO()
    console = Console(file=stream, force_terminal=True, width=120)

    with board(DISAGGREGATED, console) as show:
        show([Row(DISAGGREGATED, 32, AT_48), Row(DISAGGREGATED, 48, AT_48)])

    last = stream.getvalue().rpartition("bound/there")[2]
    assert (last.count("WRONG"), last.count("right")) == (1, 1)


@pytest.mark.usefixtures("add_nodes")
def test_it_ends_with_0_and_shows_the_pod_group_of_the_controller(
    fusioninfer: Cluster, namespace: str
) -> None:
    stream = StringIO()

    code = run(fusioninfer, namespace, Console(file=stream))

    assert (code, stream.getvalue().count(": right;")) == (0, len(STEPS)), stream.getvalue()
    assert f"$ kubectl get podgroup -n {namespace}\nNAME " in stream.getvalue()


@pytest.mark.usefixtures("add_nodes")
def test_with_a_wrong_pod_group_it_ends_with_1_and_says_where(fusioninfer: Cluster, namespace: str) -> None:
    stream = StringIO()
    create(fusioninfer.api, path("podgroups", namespace), ALL_OR_NOTHING)

    code = run(fusioninfer, namespace, Console(file=stream))

    assert (code, "WRONG with 48, 64 GPUs." in stream.getvalue()) == (1, True), stream.getvalue()


def test_without_go_modules_it_says_so_and_ends_with_2(tmp_path: Path) -> None:
    nothing = {
        "FUSIONINFER_TESTBED_CACHE": str(tmp_path),
        "GOMODCACHE": str(tmp_path / "modules"),
        "GOPROXY": "off",
        "PIP_NO_INDEX": "1",
    }

    demo = subprocess.run(
        COMMAND, cwd=ROOT, env={**os.environ, **nothing}, capture_output=True, text=True, check=False
    )

    assert demo.returncode == CANNOT_RUN_CODE, demo.stderr
    assert demo.stdout.startswith("The demo could not run: ")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("cluster")
def test_an_interrupt_stops_every_process(tmp_path: Path, how: signal.Signals) -> None:
    """A shell has what it starts in the background ignore SIGINT, and so what that starts."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    in_background = ("sh", "-c", "trap '' INT; exec \"$@\"", "sh", *COMMAND)
    with subprocess.Popen(
        in_background, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as demo:
        until(lambda: "kube-apiserver" in "".join(_commands(tmp_path)), "the API server starts")

        demo.send_signal(how)
        said, _ = demo.communicate(timeout=PATIENCE)

    assert said.splitlines()[-1] == "Interrupted; everything is stopped."
    assert (demo.returncode, _commands(tmp_path), list(tmp_path.iterdir())) == (INTERRUPTED, [], [])


def _commands(directory: Path) -> list[str]:
    """Return the command lines, whole, that name a folder."""
    everyone = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    return [command for command in everyone.splitlines() if str(directory) in command]
