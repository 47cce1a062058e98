"""docs/quickstart.md on the testbed: its files are applied and its requests are sent with its own commands.

The containers of the CPU examples run with their own commands. The ready endpoints of the Service replace
kube-proxy and `kubectl port-forward`, and the address of the leader replaces the cluster's DNS.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest

from tests.builders import netns
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.controllers import configured
from tests.cluster.testbed.flows import Service, namespace_on, serve
from tests.cluster.testbed.leaders import ready_endpoint
from tests.cluster.testbed.network import Network
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.ours import ROOT
from tests.cluster.testbed.vllm_pods import run_group
from tests.manifests.pages import commands

PAGE: Final = ROOT / "docs" / "quickstart.md"
COMMANDS: Final = commands(PAGE)
ONE, TWO, GATEWAY = "Serve from one pod", "Serve from two pods that start together", "Through a Gateway"


class Started(NamedTuple):
    """A service of the page: its namespace, and the processes of its pods."""

    there: Network
    namespace: str
    name: str


def applied(cluster: Cluster, namespace: str, chapter: str) -> str:
    """Run the `kubectl apply` of a chapter in a namespace; return the file."""
    (command,) = [one for one in COMMANDS[chapter] if one.startswith("kubectl apply")]
    _, *words, file = shlex.split(command)
    kubectl(cluster, *words, str(ROOT / file), "--namespace", namespace)
    return file


def requests(chapter: str) -> list[tuple[str, str]]:
    """Return each `curl` of a chapter with the line that the page shows below it."""
    text = PAGE.read_text(encoding="utf-8").partition(f"## {chapter}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\$ (curl .*)\n(\{.*)$", text, re.MULTILINE)


def run_curl(there: Network, command: str, address: str) -> str:
    """Run a `curl` of the page on the network of pods, with `localhost` leading to an address."""
    words = shlex.split(command)
    (host,) = re.findall(r"http://(localhost:\d+)", command)
    inside = netns.beside(there.switch.pid, *words, "--connect-to", f"{host}:{address}")
    return subprocess.run(inside, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout


@pytest.fixture(scope="module")
def nodes(served_network: Network) -> Iterator[Network]:
    add_gpu_nodes(served_network.cluster, 4)
    yield served_network
    remove_nodes(served_network.cluster)


@pytest.fixture(scope="module", params=[ONE, TWO])
def started(nodes: Network, request: pytest.FixtureRequest) -> Iterator[tuple[Started, str]]:
    """Apply the file of a chapter and run its pods, each with the command that is stored."""
    with namespace_on(nodes) as namespace:
        applied(nodes.cluster, namespace, request.param)
        (waited,) = re.findall(r"kubectl wait pod/(\S+)-0 ", "\n".join(COMMANDS[request.param]))
        run_group(
            nodes, namespace, {ONE: (f"{waited}-0",), TWO: (f"{waited}-0", f"{waited}-0-1")}[request.param]
        )
        yield Started(nodes, namespace, waited), request.param


def test_curl_through_the_service_prints_what_the_page_shows(started: tuple[Started, str]) -> None:
    there, chapter = started
    (forward,) = [one for one in COMMANDS[chapter] if "port-forward" in one]
    service = forward.split()[2].removeprefix("service/")
    address = ready_endpoint(there.there, there.namespace, service)

    printed = [
        (run_curl(there.there, command, address).strip(), shown) for command, shown in requests(chapter)
    ]

    assert printed
    assert [one for one, _ in printed] == [shown for _, shown in printed]


@pytest.mark.parametrize("started", [TWO], indirect=True)
def test_the_worker_has_the_arguments_that_the_page_shows(started: tuple[Started, str]) -> None:
    there, _ = started
    (shown,) = re.findall(r'^\["--nnodes".*\]$', PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    pod = get(there.there.cluster.api, path("pods", there.namespace, f"{there.name}-0-1"))

    assert pod["spec"]["containers"][0]["args"] == json.loads(shown)


@pytest.fixture(scope="module")
def behind_gateway(nodes: Network) -> Iterator[Service]:
    """Apply prefill and decode of the page; run its sidecars and its endpoint picker, and a gateway.

    The operator has chosen a generation that the testbed has: it has not the one of the defaults.
    """
    with configured(nodes.cluster, disaggregatedPicker="llm-d-0.7"), namespace_on(nodes) as namespace:
        applied(nodes.cluster, namespace, GATEWAY)
        yield serve(nodes, namespace, "qwen-pd", 3)


def test_curl_through_gateway_picker_and_sidecar_is_prefilled_and_decoded(behind_gateway: Service) -> None:
    (command,) = [one for one in COMMANDS[GATEWAY] if one.startswith("curl")]

    answer: Mapping[str, Any] = json.loads(run_curl(behind_gateway.there, command, behind_gateway.gateway))

    handed_over = answer["seen_body"]["kv_transfer_params"]
    assert str(answer["engine"]).startswith("qwen-pd-decode-")
    assert handed_over["remote_engine_id"] == "qwen-pd-prefill-0"


def test_the_objects_that_the_page_lists_exist(behind_gateway: Service) -> None:
    (command,) = [one for one in COMMANDS[GATEWAY] if one.startswith("kubectl get")]

    listed = kubectl(
        behind_gateway.there.cluster, *shlex.split(command)[1:], "-o", "name", "-n", behind_gateway.namespace
    )

    assert {line.partition(".")[0] for line in listed.splitlines()} == {"httproute", "inferencepool"}
