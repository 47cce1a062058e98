"""`fusioninfer check` and `why` as text, beside the fake API server: lines, remedies, exit codes."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from sync.kinds import LWS
from tests.sync.conftest import api, kubeconfig  # noqa: F401 - fixtures
from tests.sync.fake_api import Api, status
from tests.sync.samples import KEY, lws


async def run(config: Path, *words: str) -> Result:
    """Run a subcommand beside the fake API server."""
    return await asyncio.to_thread(CliRunner().invoke, main, [*words, "--kubeconfig", str(config)])


@pytest.fixture
def cluster(api: Api) -> Api:  # noqa: F811 - the fixture
    """A cluster that has two LeaderWorkerSets, and answers nothing but lists of watched kinds."""
    api.put(LWS.path(KEY[0], "p"), lws("p"))
    api.put(LWS.path(KEY[0], "d"), lws("d", "decoder"))
    api.fault = answers
    return api


def answers(request: web.Request) -> web.StreamResponse | None:
    """Answer requests for the version, and refuse those for Events, which the user may not list."""
    if request.path == "/version":
        return web.json_response({"gitVersion": "v1.29.0"})
    if request.path.endswith("/events"):
        return status(403, "Forbidden", "events is forbidden")
    return None


def disconnect(config: Path, url: str) -> None:
    """Have a kubeconfig name a port on which nothing listens."""
    config.write_text(config.read_text().replace(url, "http://127.0.0.1:1"))


@pytest.mark.usefixtures("cluster")
async def test_each_check_is_a_line_and_an_error_has_its_remedy(kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    result = await run(kubeconfig, "check")

    lines = result.stdout.splitlines()
    assert lines[:2] == ["Kubernetes", "  error    Kubernetes is known: 1.30 to 1.37: too old: v1.29.0"]
    assert lines[2].startswith("           remedy: upgrade what is too old; ")
    assert "\nWebhook\n" in result.stdout
    assert lines[-1].endswith(" unknown")
    assert result.exit_code == 1


@pytest.mark.usefixtures("cluster")
async def test_the_dominant_cause_is_printed_with_its_remedy(kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    result = await run(kubeconfig, "why", "r1", "-n", KEY[0])

    assert result.stdout.startswith("cause: service r1: missing: PodGroup r1, ")
    assert "(ControllerNotRunning)\n  remedy: check the pods of Deployment fusioninfer-sync" in result.stdout
    assert "more causes: --all shows them" in result.stdout
    assert "unknown: events: 403 Forbidden: events is forbidden" in result.stderr
    assert result.exit_code == 1


@pytest.mark.usefixtures("cluster")
async def test_all_causes_are_printed_if_asked(kubeconfig: Path, cluster: Api) -> None:  # noqa: F811 - the fixture
    cluster.put(LWS.path(KEY[0], "e"), lws("e", "encoder"))
    result = await run(kubeconfig, "why", "lws/p", "-n", KEY[0], "--all")

    assert result.stdout.count("cause: ") > 1
    assert "--all" not in result.stdout
    assert "serves: e: an encoder serves no clients\n" in result.stdout


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("word", ["nothing", "lws/nothing", "isvc/p", "pods/p"])
async def test_what_is_not_there_is_exit_code_2(kubeconfig: Path, word: str) -> None:  # noqa: F811 - the fixture
    result = await run(kubeconfig, "why", word, "-n", KEY[0])

    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{word}: not found in namespace {KEY[0]}" in result.stderr


@pytest.mark.usefixtures("cluster")
async def test_a_misspelt_service_gets_the_nearest_name(kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    known = (await run(kubeconfig, "why", "lws/p", "-n", KEY[0])).exit_code
    result = await run(kubeconfig, "why", "lws/P", "-n", KEY[0])

    assert known != result.exit_code == 2
    assert "did you mean p?" in result.stderr


async def test_pods_that_cannot_be_listed_are_exit_code_2(cluster: Api, kubeconfig: Path) -> None:  # noqa: F811 - the fixture
    def refuse(request: Any) -> Any:
        is_pods = request.path.endswith("/pods") and "labelSelector" in request.query
        return status(403, "Forbidden", "no pods") if is_pods else answers(request)

    cluster.fault = refuse

    result = await run(kubeconfig, "why", "r1", "-n", KEY[0])

    assert (result.exit_code, "cannot list pods in namespace team-a" in result.stderr) == (2, True)


@pytest.mark.parametrize("words", [("check",), ("check", "--pre"), ("why", "r1"), ("diff", "-f", "-")])
async def test_an_unreachable_cluster_is_exit_code_2(
    kubeconfig: Path,  # noqa: F811 - the fixture
    api: Api,  # noqa: F811 - the fixture
    words: tuple[str, ...],
) -> None:
    disconnect(kubeconfig, api.url)

    result = await run(kubeconfig, *words)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot read the cluster" in result.stderr


@pytest.mark.usefixtures("cluster")
async def test_control_characters_of_the_cluster_are_not_printed(kubeconfig: Path, api: Api) -> None:  # noqa: F811 - the fixture
    api.fault = lambda request: (
        web.json_response({"gitVersion": "1\x1b[31m"}) if request.path == "/version" else None
    )

    result = await run(kubeconfig, "check")

    assert "\x1b[31m" not in result.stdout
