"""`make soak` runs the parts that are named, shows what they say, and repeats their summaries at the end."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests import soak
from tests.soak import PARTS, Run


def script(tmp_path: Path, text: str) -> tuple[str, ...]:
    file = tmp_path / "part.py"
    file.write_text(text)
    return (str(file),)


def test_summaries_come_again_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = script(tmp_path, "import os; print('progress'); print('summary: all', os.environ['LONG'])")
    monkeypatch.setitem(PARTS, "safety", lambda: iter([Run("safety", words, {"LONG": "well"})]))

    assert soak.main(["safety"]) == 0
    said = capfd.readouterr().out.splitlines()
    assert said[:2] == ["progress", "summary: all well"]
    assert said[-1] == "  all well"
    assert said[-2].startswith("safety: passed after")


def test_one_part_that_fails_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing, passing = script(tmp_path, "raise SystemExit(1)"), ("-c", "pass")
    monkeypatch.setitem(PARTS, "safety", lambda: iter([Run("a", failing), Run("b", passing)]))

    assert soak.main(["safety"]) == 1


def test_a_part_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main(["chaos", "safty"]) == 2
    assert "no such part: safty" in capsys.readouterr().err


def test_all_parts_run_unless_some_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def part(name: str) -> Iterator[Run]:
        ran.append(name)
        return iter([])

    for name in PARTS:
        monkeypatch.setitem(PARTS, name, partial(part, name))

    assert soak.main([]) == 0
    assert ran == [*PARTS]


def test_the_environment_sets_rounds_and_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "SEEDS", ("4", "5"))
    monkeypatch.setattr(soak, "ROUNDS", "7")

    runs = [run.environment for name in ("safety", "chaos") for run in PARTS[name]()]

    assert runs == [
        {"SAFETY_ROUNDS": "7", "SAFETY_SEED": "4"},
        {"SAFETY_ROUNDS": "7", "SAFETY_SEED": "5"},
        {"CHAOS_ROUNDS": "7", "CHAOS_SEED": "4"},
        {"CHAOS_ROUNDS": "7", "CHAOS_SEED": "5"},
    ]


def test_convergence_is_simulated_and_then_run_on_the_real_api_server() -> None:
    words = [run.arguments[1:4] for run in PARTS["convergence"]()]

    assert words == [
        ("tests.laws.convergence", "--sequences", "5000"),
        ("tests.laws.convergence", "--sequences", "5000"),
        ("tests.cluster.convergence", "--sequences", "100"),
        ("tests.cluster.convergence", "--sequences", "100"),
    ]
