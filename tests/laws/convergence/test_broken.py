"""The law of convergence detects each broken rule of the engine."""

import pytest

from tests.laws.convergence.broken import ENGINES, TEMPLATED
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.walk import drawn, run


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_with_a_broken_rule_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ENGINES[name]
    sequence = drawn(broken.seed, broken.number)
    assert run(sequence, broken.engine).violations == []

    broken.rule(monkeypatch)

    assert run(sequence, broken.engine).violations != []


@pytest.mark.parametrize("rule", TEMPLATED)
def test_a_broken_rule_about_templates_is_detected(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = TEMPLATED[rule]
    sequence = drawn_templated(broken.seed, broken.number)
    assert not run(sequence).violations

    broken.rule(monkeypatch)

    assert run(sequence, broken.engine).violations
