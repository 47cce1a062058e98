"""The configuration of each strategy for each generation of endpoint pickers."""

import pytest

from catalog.pickers.generations import PICKERS, Picker
from catalog.pickers.plugins import CACHE_SCORER, LORA_SCORER, MAX_SCORE, QUEUE_SCORER
from intent import yaml
from intent.annotations import DISAGGREGATION, STRATEGIES
from sync.parts.strategies import MEANING, WEIGHTS, preset, preset_text, presets

CASES = [(row, strategy) for row in PICKERS.values() for strategy in presets(row)]
each_preset = pytest.mark.parametrize(
    ("row", "strategy"), CASES, ids=lambda value: value if isinstance(value, str) else value.name
)


def made(row: Picker, strategy: str) -> dict[str, list[dict[str, object]]]:
    """Return plugin references by profile."""
    config = preset(row, strategy)
    assert config is not None
    return {profile["name"]: profile["plugins"] for profile in config["schedulingProfiles"]}


@each_preset
def test_every_profile_has_a_load_term(row: Picker, strategy: str) -> None:
    for plugins in made(row, strategy).values():
        assert {QUEUE_SCORER, CACHE_SCORER} <= {plugin["pluginRef"] for plugin in plugins}


@each_preset
def test_every_scorer_has_a_weight_and_the_picker_plugin_is_last(row: Picker, strategy: str) -> None:
    for plugins in made(row, strategy).values():
        names = [str(plugin["pluginRef"]) for plugin in plugins]
        assert [name == MAX_SCORE for name in names] == [False] * (len(names) - 1) + [True]
        weighted = [name for name, plugin in zip(names, plugins, strict=True) if "weight" in plugin]
        assert [name for name in names if name.endswith("-scorer")] == weighted


@each_preset
def test_adapters_are_scored_once_in_every_profile_and_the_rest_stays(row: Picker, strategy: str) -> None:
    config = preset(row, strategy, adapters=True)
    assert config is not None

    for profile in config["schedulingProfiles"]:
        names = [plugin["pluginRef"] for plugin in profile["plugins"]]
        without = [plugin["pluginRef"] for plugin in made(row, strategy)[profile["name"]]]
        assert names.count(LORA_SCORER) == 1
        assert [name for name in names if name != LORA_SCORER] == [
            name for name in without if name != LORA_SCORER
        ]
        assert set(names) <= {plugin.get("name", plugin["type"]) for plugin in config["plugins"]}


def test_every_generation_supports_all_strategies_but_disaggregation() -> None:
    able = {row.name: set(STRATEGIES) - presets(row).keys() for row in PICKERS.values()}

    assert able == {
        "gie-1.2": {DISAGGREGATION},
        "gie-1.3": {DISAGGREGATION},
        "gie-1.4": {DISAGGREGATION},
        "gie-1.5": {DISAGGREGATION},
        "llm-d-0.4": set(),
        "llm-d-0.7": set(),
        "llm-d-0.9": set(),
        "llm-d-0.10": set(),
    }


def test_a_generation_with_disaggregation_has_a_sidecar() -> None:
    assert {row.name for row in PICKERS.values() if row.disaggregation} == {
        row.name for row in PICKERS.values() if row.sidecar
    }


@pytest.mark.parametrize(
    "row", [row for row in PICKERS.values() if row.disaggregation], ids=lambda row: row.name
)
def test_the_profiles_have_the_names_that_the_prefix_index_knows_and_no_primary_port(row: Picker) -> None:
    assert list(made(row, DISAGGREGATION)) == ["prefill", "decode"]
    assert "primaryPort" not in repr(preset(row, DISAGGREGATION))


def test_every_strategy_has_weights_and_a_meaning() -> None:
    assert set(WEIGHTS) == set(MEANING) == set(STRATEGIES)


def score(weights: dict[str, int], **scores: float) -> float:
    """Return the score of a pod."""
    return sum(weights[scorer] * scores[scorer.partition("-")[0]] for scorer in weights)


@pytest.mark.parametrize(
    ("strategy", "chosen", "other"),
    [
        ("lora-affinity", {"lora": 1.0, "queue": 0.0, "kv": 0.9}, {"lora": 0.8, "queue": 1.0, "kv": 1.0}),
        ("lora-affinity", {"lora": 0.8, "queue": 1.0, "kv": 1.0}, {"lora": 1.0, "queue": 0.0, "kv": 0.1}),
        ("prefix-cache", {"prefix": 0.0, "queue": 1.0, "kv": 1.0}, {"prefix": 1.0, "queue": 0.0, "kv": 0.3}),
        ("queue-size", {"queue": 1.0, "kv": 0.0}, {"queue": 0.5, "kv": 1.0}),
        ("kv-cache-utilization", {"queue": 1.0, "kv": 0.9}, {"queue": 1.0, "kv": 0.3}),
    ],
    ids=["its adapter", "not a full pod", "not a warm pod under load", "short queue", "empty cache"],
)
def test_the_weights_choose(strategy: str, chosen: dict[str, float], other: dict[str, float]) -> None:
    weights = dict(WEIGHTS[strategy])

    assert score(weights, **chosen) > score(weights, **other)


def test_each_configuration_is_formatted_once() -> None:
    preset_text.cache_clear()

    texts = [[preset_text(row.name, strategy) for row, strategy in CASES] for _ in range(3)]

    found = preset_text.cache_info()
    assert texts == [[yaml.dump(preset(row, strategy)) for row, strategy in CASES]] * 3
    assert (found.misses, found.hits, found.currsize) == (len(CASES), 2 * len(CASES), len(CASES))
