"""The flags of the servers reach what they are about."""

import logging
from collections.abc import Coroutine
from typing import Any

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from intent.settings import Settings
from server import controller, process


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the arguments with which the controller would run; it is not run."""
    seen: dict[str, Any] = {}

    async def sync(settings: Settings, **named: Any) -> int:
        seen.update(named, settings=settings)
        return 0

    def ended(server: Coroutine[Any, Any, int], level: str = "") -> int:
        with pytest.raises(StopIteration):
            server.send(None)
        seen["level"] = level
        return 0

    monkeypatch.setattr(controller, "sync", sync)
    monkeypatch.setattr(process, "run", ended)
    return seen


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--workers 12 --log-level warning", {"workers": 12, "level": "WARNING"}),
        ("--watch-namespace a --watch-namespace b", {"settings": Settings(namespaces=("a", "b"))}),
        ("--gangs-only", {"settings": Settings(routes=False, api_services=False)}),
    ],
)
def test_the_flags_of_the_controller_reach_it(
    started: dict[str, Any], flags: str, expected: dict[str, Any]
) -> None:
    ended = CliRunner().invoke(main, ["sync", *flags.split()])

    assert ended.exit_code == 0, ended.output
    assert {name: started[name] for name in expected} == expected


@pytest.mark.parametrize("flags", [["--workers", "0"], ["--log-level", "loud"]])
def test_a_flag_without_a_meaning_is_refused(started: dict[str, Any], flags: list[str]) -> None:
    ended = CliRunner().invoke(main, ["sync", *flags])

    assert (ended.exit_code, started) == (2, {})
    assert flags[0] in ended.output


def test_lines_below_the_level_are_not_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(logging, "basicConfig", lambda **named: seen.update(named))
    monkeypatch.setattr("structlog.configure", lambda **_named: None)

    process.log_as_json("WARNING")

    assert seen["level"] == "WARNING"
