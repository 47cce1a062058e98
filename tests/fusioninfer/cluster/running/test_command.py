"""`fusioninfer check` and `why` as text, beside the fake API server: lines, remedies, exit codes."""

from typing import Any

import pytest
from aiohttp import web

from sync.kinds import LWS
from tests.fusioninfer.conftest import Command
from tests.sync.fake_api import Api, status
from tests.sync.samples import KEY, lws


@pytest.fixture
def cluster(api: Api) -> Api:
    """A cluster that has two LeaderWorkerSets, and answers nothing but lists of watched kinds."""
    api.put(LWS.path(KEY[0], "p"), lws("p"))
    api.put(LWS.path(KEY[0], "d"), lws("d", "decoder"))
    api.fault, api.version = answers, "v1.29.0"
    return api


def answers(request: web.Request) -> web.StreamResponse | None:
    """Refuse requests for Events, which the user may not list."""
    return status(403, "Forbidden", "events is forbidden") if request.path.endswith("/events") else None


@pytest.mark.usefixtures("cluster")
async def test_each_check_is_a_line_and_an_error_has_its_remedy(command: Command) -> None:
    result = await command("check")

    lines = result.stdout.splitlines()
    claim = "the API server answers; its release is known, 1.30 to 1.37"
    assert lines[:2] == ["Kubernetes", f"  error    {claim}: too old: v1.29.0"]
    assert lines[2].startswith("           remedy: upgrade what is too old; ")
    assert "\nWebhook\n" in result.stdout
    assert lines[-1].endswith(" unknown")
    assert result.exit_code == 1


@pytest.mark.usefixtures("cluster")
async def test_the_dominant_cause_is_printed_with_its_remedy(command: Command) -> None:
    result = await command("why", "r1", "-n", KEY[0])

    assert result.stdout.startswith("cause: service r1: missing: PodGroup r1, ")
    assert "(ControllerNotRunning)\n  remedy: check the pods of Deployment fusioninfer-sync" in result.stdout
    assert "1 more cause: --all shows it" in result.stdout
    assert "unknown: events: 403 Forbidden: events is forbidden" in result.stderr
    assert result.exit_code == 1


@pytest.mark.usefixtures("cluster")
async def test_all_causes_are_printed_if_asked(command: Command) -> None:
    result = await command("why", "lws/p", "-n", KEY[0], "--all")

    assert result.stdout.count("cause: ") > 1
    assert "--all" not in result.stdout


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("word", ["nothing", "lws/nothing", "isvc/p", "pods/p"])
async def test_what_is_not_there_is_exit_code_2(command: Command, word: str) -> None:
    result = await command("why", word, "-n", KEY[0])

    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{word}: not found in namespace {KEY[0]}" in result.stderr


async def test_pods_that_cannot_be_listed_are_exit_code_2(cluster: Api, command: Command) -> None:
    def refuse(request: Any) -> Any:
        return status(403, "Forbidden", "no pods") if request.path.endswith("/pods") else answers(request)

    cluster.fault = refuse

    result = await command("why", "r1", "-n", KEY[0])

    assert (result.exit_code, "cannot list pods in namespace team-a" in result.stderr) == (2, True)


@pytest.mark.usefixtures("cluster")
async def test_control_characters_of_the_cluster_are_not_printed(command: Command, api: Api) -> None:
    api.version = "1\x1b[31m"

    result = await command("check")

    assert "\x1b[31m" not in result.stdout


@pytest.mark.parametrize("words", [("check",), ("why", "r1"), ("eject", "r1"), ("refresh", "--dry-run")])
async def test_a_page_in_place_of_json_is_said_with_its_remedy(
    api: Api, command: Command, words: tuple[str, ...]
) -> None:
    """So answers a proxy that asks for a login, or another server at the address."""
    api.fault = lambda _request: web.Response(text="<html>", content_type="text/html")

    result = await command(*words)

    problem = "cannot read the cluster: the answer is not JSON; check the server of the context"
    assert (result.exit_code, problem in result.stderr) == (2, True), result.stderr


async def test_a_page_in_place_of_the_dry_run_is_unknown(cluster: Api, command: Command) -> None:
    def page(request: web.Request) -> web.StreamResponse | None:
        return web.Response(text="<html>") if request.method == "POST" else None

    cluster.fault = page

    result = await command("check", "-o", "json")

    assert "internal error" not in result.stderr
    assert result.exit_code == 1
