"""The pods of these tests: as the kubelet and LWS make them, and gone when the run is."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pytest

from intent import Object
from tests.builders.kubelet import expand
from tests.builders.lws import container, lws, template
from tests.cluster.testbed.processes import alive, tail
from tests.cluster.testbed.wait import until
from tests.ray.dns import answer
from tests.ray.group import pods
from tests.ray.running import TIMED_OUT, ended, publish, recorded, running

PROGRAMS: Final = Path("/usr/bin")
RUN: Final = """
import os, sys
from pathlib import Path
from tests.cluster.testbed.processes import tail
from tests.cluster.testbed.wait import until
from tests.ray.running import running
from tests.ray.test_pods import sleeping, PROGRAMS
with running(sleeping(), PROGRAMS, Path(sys.argv[1])) as group:
    until(lambda: all("up" in tail(pod) for pod in group.pods), "all pods run")
    print(*(os.readlink(f"/proc/{each.pid}/ns/net") for each in (group.switch, *group.pods)), flush=True)
    group.switch.popen.wait()
"""


def shell(script: str, **spec: Object) -> Object:
    """A group of two, of which each pod runs a script."""
    return lws(size=2, worker=template(container(command=["sh", "-c", script], args=None), **spec))


def sleeping() -> Object:
    return shell("echo up; sleep 300; :")


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A):6379", "a:6379"),
        ("$(B) $A ${A} `A`", "$(B) $A ${A} `A`"),
        ("$$(A) $$$(A)", "$(A) $a"),
        ("$(A", "$(A"),
    ],
)
def test_variables_are_expanded_as_the_kubelet_does(text: str, expanded: str) -> None:
    assert expand(text, {"A": "a"}) == expanded


def test_the_variables_of_lws_stand_first_in_every_container() -> None:
    env = [{"name": "B", "value": "$(LWS_LEADER_ADDRESS)"}]
    asked = lws(
        size=2, worker=template(container(command=["c"], args=["$(B)", "$(LWS_WORKER_INDEX)"], env=env))
    )

    _, worker = pods(asked)

    assert worker.containers[-1][0] == ["c", "x-0.x.default", "1"]


def test_a_name_that_is_not_there_is_an_error_of_the_name() -> None:
    query = bytes.fromhex("abcd 0100 0001 0000 0000 0000 01 78 00 0001 0001".replace(" ", ""))

    assert answer(query, {}) == bytes.fromhex("abcd8583") + query[4:]


@pytest.mark.usefixtures("namespaces")
def test_a_pod_sees_itself_and_no_other(tmp_path: Path) -> None:
    script = "hostname; ls -d /proc/[0-9]* | wc -l; ls /dev/shm /tmp; getent hosts x-0.x.default"

    with running(shell(script), PROGRAMS, tmp_path) as group:
        statuses = [ended(pod) for pod in group.pods]
        said = tail(group.pods[1]).split()

    assert (statuses, said[0], said[-2:]) == (
        [0, 0],
        "x-0-1",
        ["10.99.0.10", "x-0.x.default.svc.cluster.local"],
    )


@pytest.mark.usefixtures("namespaces")
def test_a_name_is_found_once_it_is_published(tmp_path: Path) -> None:
    script = 'until getent hosts "$LWS_LEADER_ADDRESS"; do echo none; sleep 0.1; done'

    with running(shell(script), PROGRAMS, tmp_path, named=False) as group:
        until(lambda: "none" in tail(group.pods[1]), "the name is not there")
        publish(group)
        statuses = [ended(pod) for pod in group.pods]

    assert statuses == [0, 0]


@pytest.mark.usefixtures("namespaces")
def test_init_containers_end_before_the_engine_starts(tmp_path: Path) -> None:
    init = [{"name": word, "command": ["sh", "-c", f"sleep 0.2; echo {word}"]} for word in ("one", "two")]
    engine = container(command=["echo", "engine"], args=None)

    with running(
        lws(size=2, worker={"spec": {"initContainers": init, "containers": [engine]}}), PROGRAMS, tmp_path
    ) as group:
        statuses = [ended(pod) for pod in group.pods]
        said = tail(group.pods[1]).split()

    assert (statuses, said) == ([0, 0], ["one", "two", "engine"])


@pytest.mark.usefixtures("namespaces")
def test_a_group_whose_node_times_out_is_recreated(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as seen:
        fails_once = f"if mkdir {seen}/$LWS_WORKER_INDEX; then echo '{TIMED_OUT}'; exit 1; fi"
        script = f"{fails_once}; echo '{{}}' >/tmp/record.json; sleep 300; :"

        with running(shell(script), PROGRAMS, tmp_path) as group:
            first = group.pods
            record = recorded(group)

    assert (record, [alive(pod) for pod in first]) == ({}, [False, False])
    assert first != group.pods


@pytest.mark.usefixtures("namespaces")
def test_nothing_is_left_of_a_run_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        mine = set(run.stdout.readline().split())
        there = inhabited() & mine

        run.send_signal(signal.SIGKILL)

    until(lambda: not inhabited() & mine, "no process is in a namespace of the run")
    assert (len(mine), there) == (3, mine)


def inhabited() -> set[str]:
    """Return the network namespaces that processes are in; one without any is gone."""
    return {found for process in Path("/proc").glob("[0-9]*") if (found := _namespace(process))}


def _namespace(process: Path) -> str:
    try:
        return str((process / "ns" / "net").readlink())
    except OSError:
        return ""
