"""Findings about an EndpointPickerConfig, by generation of endpoint pickers."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.pickers.generations import PICKERS, Picker
from intent import Object, yaml
from intent.inferenceservice.crd import schema
from intent.pickers import configuration
from intent.pickers.configuration import KEPT, LONGEST, check_config
from sync.desired.strategies import preset, presets
from tests.builders.pickerconfig import QUEUE, config, profile

CASES = [(row, strategy) for row in PICKERS.values() for strategy in presets(row)]


def said(value: Object | str, row: str = "gie-1.5") -> list[tuple[str, str]]:
    """Return code and message of every finding."""
    text = value if isinstance(value, str) else yaml.dump(value)
    return [(one.code, one.message) for one in check_config(text, PICKERS[row], "at")]


@pytest.mark.parametrize(("row", "strategy"), CASES)
def test_generated_configurations_have_no_findings(row: Picker, strategy: str) -> None:
    assert said(preset(row, strategy) or "", row.name) == []


@pytest.mark.parametrize("row", PICKERS)
def test_a_configuration_of_common_plugins_has_no_findings(row: str) -> None:
    assert said(config(), row) == []


def test_a_configuration_may_be_json() -> None:
    assert said(str(config()).replace("'", '"')) == []


@pytest.mark.parametrize("text", ["", "- a", "plain", "a: 1\n---\nb: 2", "a: [", "a: 1\na: 2"])
def test_a_configuration_must_be_a_map(text: str) -> None:
    assert [code for code, _ in said(text)] == ["FI810"]


def test_a_syntax_error_has_line_and_column() -> None:
    assert "line 2, column 1" in said("a: [\n")[0][1]


@pytest.mark.parametrize("text", ["a: " + "x" * 20_000, "[" * 600, "? " * 8000, "- " * 8000])
def test_an_expensive_text_is_not_parsed(text: str) -> None:
    assert [code for code, _ in said(text)] == ["FI810"]


def test_merge_keys_are_refused() -> None:
    text = "b: {<<: {x: 1}}"

    assert said(text) == [
        ("FI810", "must be YAML or JSON: line 1, column 5: merge keys are not supported here")
    ]


def test_aliases_are_refused() -> None:
    text = "a: &a {x: 1}\nb: *a"

    (found,) = said(text)

    assert found[0] == "FI810"
    assert "line 2, column 4: aliases are not supported here" in found[1]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "? [a]: b",
            "plugins: {{ .Values.plugins }}",
            "{[a]: b}",
            "!!set {a}",
            "!!timestamp 2020-01-01",
            "&a [*a]",
        ),
        *(
            "a: 1e999",
            "a: !!int x",
            "a: !!bool x",
            "a: !!int ''",
            '"\\ud800": x',
            'a: "\\udc00"',
            "a: \ud800",
        ),
        *("a: " + "9" * 5_000, "\n".join(f"k{at}: x" for at in range(600)), "- " * 2_000, "a: \x00"),
    ],
)
def test_values_outside_of_json_are_refused(text: str) -> None:
    assert [code for code, _ in said(text)] == ["FI810"]


def test_values_of_another_type_are_reported() -> None:
    text = "apiVersion: {a: b}\nkind: [x]\nplugins: {a: [b]}\nfeatureGates: [{a: b}]\nschedulingProfiles: x"

    assert {"FI811", "FI812", "FI820"} <= {code for code, _ in said(text)}


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
def test_another_version_or_kind_is_not_read(field: str) -> None:
    assert [code for code, _ in said(config(**{field: "llm-d.ai/v1alpha1"}))] == ["FI811"]


def test_an_unknown_field_is_reported() -> None:
    assert said(config(schedulingProfile=[])) == [
        (
            "FI812",
            "schedulingProfile: gie-1.5 has no such field; did you mean schedulingProfiles?",
        )
    ]


@pytest.mark.parametrize(
    ("field", "knows"),
    [
        ("data", {"gie-1.3", "gie-1.4", "llm-d-0.7"}),
        ("dataLayer", {"gie-1.5"}),
        ("flowControl", {"gie-1.4", "gie-1.5", "llm-d-0.7"}),
        ("parser", {"gie-1.5"}),
    ],
)
def test_generations_have_different_fields(field: str, knows: set[str]) -> None:
    message = f"{field}: must be a map"

    value = config(**{field: "x"})

    assert {row for row in PICKERS if ("FI812", message) in said(value, row)} == knows
    assert all(said(value, row) for row in PICKERS)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            config(plugins=[{"type": "queue-scorer", "nam": "x"}]),
            "plugins[0].nam: gie-1.5 has no such field",
        ),
        (config(plugins=["queue-scorer"]), "plugins[0]: must be a map"),
        (config(schedulingProfiles=[{"name": 5}]), "schedulingProfiles[0].name: must be text"),
        (
            config(schedulingProfiles=[profile({"pluginRef": "queue-scorer", "weight": "2"})]),
            "schedulingProfiles[0].plugins[0].weight: must be a number",
        ),
        (
            config(saturationDetector={"queueDepthThreshold": 5}),
            "saturationDetector.queueDepthThreshold: gie-1.5 has no such field",
        ),
    ],
)
def test_unknown_fields_are_reported_at_any_depth(value: Object, message: str) -> None:
    found = [(code, one.partition(";")[0]) for code, one in said(value)]

    assert ("FI812", message) in found


def test_weights_may_have_fractions_since_1_4() -> None:
    value = config(schedulingProfiles=[profile({"pluginRef": "queue-scorer", "weight": 1.5})])

    assert {row for row in PICKERS if said(value, row)} == {"gie-1.2", "gie-1.3", "llm-d-0.4"}


@pytest.mark.parametrize("field", ["apiVersion", "kind", "plugins", "featureGates", "saturationDetector"])
def test_null_is_an_absent_field(field: str) -> None:
    assert said(config(schedulingProfiles=[]) | {field: None}) == []


def test_a_second_picker_plugin_of_a_profile_is_refused() -> None:
    value = config(*QUEUE, {"type": "random-picker"})

    assert said(value) == [
        ("FI816", "schedulingProfiles[0]: needs one picker plugin, not max-score-picker and random-picker")
    ]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"parser": {}}, ("FI815", "parser.pluginRef: it is not among the plugins")),
        ({"parser": {"pluginRef": "queue-scorer"}}, None),
        ({"dataLayer": {}}, ("FI812", "dataLayer.sources: gie-1.5 needs at least one source")),
        (
            {"dataLayer": {"sources": [{"pluginRef": "x"}]}},
            ("FI815", "dataLayer.sources[0].pluginRef: x is not among the plugins"),
        ),
    ],
)
def test_references_outside_of_profiles_are_checked(fields: Object, found: tuple[str, str] | None) -> None:
    assert said(config(**fields)) == ([found] if found else [])


@pytest.mark.parametrize(
    ("parameters", "must"),
    [
        ({"maxPrefixBlocksToMatch": "many"}, "maxPrefixBlocksToMatch: must be a whole number"),
        ({"autoTune": "no"}, "autoTune: must be true or false"),
    ],
)
def test_a_parameter_of_another_type_is_reported(parameters: Object, must: str) -> None:
    plugin = {"type": "prefix-cache-scorer", "parameters": parameters}

    assert said(config(*QUEUE, plugin)) == [("FI817", f"plugins[2].parameters.{must}")]


OLD_HANDLER: Object = {"type": "pd-profile-handler", "parameters": {"threshold": 0}}
ALWAYS: Object = {"type": "always-disagg-pd-decider"}


@pytest.mark.parametrize(
    ("plugins", "asked"),
    [
        ((OLD_HANDLER,), "plugins[2]: pd-profile-handler needs prefix-based-pd-decider"),
        (
            (
                {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": ALWAYS["type"]}}},
                ALWAYS,
            ),
            "plugins[2]: disagg-profile-handler needs always-disagg-pd-decider",
        ),
    ],
)
def test_a_decider_must_precede_its_handler(plugins: tuple[Object, ...], asked: str) -> None:
    found = [one for one in said(config(*QUEUE, *plugins), "llm-d-0.7") if one[0] == "FI815"]

    assert found == [("FI815", f"{asked} among the plugins before it")]


def test_a_decider_may_have_a_name() -> None:
    plugins = (ALWAYS | {"name": "x"}, OLD_HANDLER | {"parameters": {"deciderPluginName": "x"}})

    assert said(config(*QUEUE, *plugins), "llm-d-0.7") == []


def test_the_data_layer_of_1_3_needs_its_feature_gate() -> None:
    value = config(data={"sources": []})

    assert said(value, "gie-1.3") == [("FI820", "data: gie-1.3 needs the feature gate dataLayer with it")]
    assert said(value, "gie-1.4") == []


def test_the_feature_gate_of_the_data_layer_needs_its_field() -> None:
    value = config(featureGates=["dataLayer"])

    assert {row for row in PICKERS if said(value, row)} == {"gie-1.3", "gie-1.4", "llm-d-0.7"}


@pytest.mark.parametrize(
    ("sizes", "code"),
    [
        ({"blockSize": 0}, "FI818"),
        ({"blockSize": 64, "blockSizeTokens": 0}, "FI817"),
    ],
)
def test_a_block_size_of_zero_is_absent(sizes: Object, code: str) -> None:
    plugin = {"type": "prefix-cache-scorer", "parameters": sizes}

    assert [code for code, _ in said(config(*QUEUE, plugin), "gie-1.4")] == [code]


def test_a_separator_at_the_end_starts_no_document() -> None:
    assert said(f"{yaml.dump(config())}---\n") == []


def test_plugins_are_a_list() -> None:
    assert ("FI812", "plugins: must be a list") in said(config(plugins={}, schedulingProfiles=[]))


def test_two_plugins_of_one_name_are_refused() -> None:
    assert [code for code, _ in said(config(*QUEUE, {"type": "queue-scorer"}))] == ["FI813"]


def test_two_plugins_of_one_type_may_have_two_names() -> None:
    assert said(config(*QUEUE, {"type": "queue-scorer", "name": "other-scorer"})) == []


def test_an_unknown_type_is_reported_with_the_most_similar_one() -> None:
    assert said(config(*QUEUE, {"type": "que-scorer"})) == [
        ("FI814", "plugins[2].type: gie-1.5 has no que-scorer; did you mean queue-scorer?")
    ]


def test_a_type_of_another_generation_is_reported_with_the_generation() -> None:
    assert said(config(*QUEUE, {"type": "always-disagg-pd-decider"})) == [
        (
            "FI814",
            "plugins[2].type: gie-1.5 has no always-disagg-pd-decider; use fusioninfer.io/picker: llm-d-0.7",
        )
    ]


def test_a_plugin_needs_a_type() -> None:
    found = said(config(plugins=[{"name": "x"}], schedulingProfiles=[]))

    assert [code for code, _ in found] == ["FI814"]


@pytest.mark.parametrize("plugin", ["prefill-filter", "decode-filter", "pd-profile-handler"])
def test_gie_has_no_plugins_for_prefill_and_decode(plugin: str) -> None:
    assert [code for code, _ in said(config(*QUEUE, {"type": plugin}), "gie-1.2")] == ["FI814"]


def test_a_reference_to_an_undeclared_plugin_is_refused() -> None:
    profile = {"name": "default", "plugins": [{"pluginRef": "queue-scorers"}]}

    where = "schedulingProfiles[0].plugins[0].pluginRef"
    message = f"{where}: queue-scorers is not among the plugins; did you mean queue-scorer?"
    assert said(config(schedulingProfiles=[profile])) == [("FI815", message)]


@pytest.mark.parametrize("names", [("a", "a"), ("", "b")])
def test_profiles_need_unique_names(names: tuple[str, str]) -> None:
    profiles: list[Object] = [{"name": name, "plugins": []} for name in names]
    handler = {"type": "data-parallel-profile-handler"}

    assert [code for code, _ in said(config(*QUEUE, handler, schedulingProfiles=profiles), "llm-d-0.7")] == [
        "FI816"
    ]


@pytest.mark.parametrize("handler", [(), ({"type": "single-profile-handler"},)])
def test_several_profiles_need_a_handler_that_supports_them(handler: tuple[Object, ...]) -> None:
    profiles: list[Object] = [{"name": name, "plugins": []} for name in ("a", "b")]

    assert said(config(*QUEUE, *handler, schedulingProfiles=profiles), "llm-d-0.4") == [
        ("FI816", "schedulingProfiles: 2 profiles need data-parallel-profile-handler, pd-profile-handler")
    ]


def test_one_handler_is_enough() -> None:
    handlers = ({"type": "single-profile-handler"}, {"type": "pd-profile-handler"})

    found = said(config(*QUEUE, *handlers), "llm-d-0.4")

    assert [code for code, _ in found] == ["FI816"]


def test_the_old_block_size_is_refused_by_later_generations() -> None:
    plugin = {"type": "prefix-cache-scorer", "parameters": {"blockSize": 64}}

    codes = {row: [code for code, _ in said(config(*QUEUE, plugin), row)] for row in PICKERS}

    assert codes == {
        "gie-1.2": [],
        "gie-1.3": [],
        "gie-1.4": ["FI817"],
        "gie-1.5": ["FI818"],
        "llm-d-0.4": [],
        "llm-d-0.7": ["FI817"],
    }


def test_the_old_block_size_has_no_effect_together_with_the_new_one() -> None:
    plugin = {"type": "prefix-cache-scorer", "parameters": {"blockSize": 64, "blockSizeTokens": 16}}

    assert [code for code, _ in said(config(*QUEUE, plugin), "gie-1.4")] == ["FI818"]


def test_a_parameter_without_effect_is_a_warning() -> None:
    plugin = {"type": "prefix-cache-scorer", "parameters": {"hashBlockSize": 5}}

    assert [
        one.severity for one in check_config(yaml.dump(config(*QUEUE, plugin)), PICKERS["gie-1.2"], "")
    ] == ["warning"]


def test_a_picker_plugin_before_a_scorer_without_a_weight_is_refused() -> None:
    references = [{"pluginRef": "max-score-picker"}, {"pluginRef": "queue-scorer"}]
    value = config(schedulingProfiles=[{"name": "default", "plugins": references}])

    assert {row for row in PICKERS if [code for code, _ in said(value, row)] == ["FI819"]} == {
        "gie-1.2",
        "llm-d-0.4",
    }


@pytest.mark.parametrize("weight", [{}, {"weight": 2}])
def test_a_picker_plugin_after_its_scorers_is_accepted(weight: Object) -> None:
    references = [{"pluginRef": "queue-scorer", **weight}, {"pluginRef": "max-score-picker"}]
    value = config(schedulingProfiles=[{"name": "default", "plugins": references}])

    assert said(value, "gie-1.2") == []


def test_older_generations_need_a_profile() -> None:
    value = config(schedulingProfiles=None)

    assert {row for row in PICKERS if said(value, row)} == {"gie-1.2", "llm-d-0.4"}


def test_generations_have_different_feature_gates() -> None:
    value = config(featureGates=["prepareDataPlugins"])

    assert {row for row in PICKERS if not said(value, row)} == {"gie-1.3", "gie-1.4", "llm-d-0.7"}


def test_the_number_of_findings_is_bounded() -> None:
    assert len(said("plugins:\n" + "- name: x\n" * 100)) == 20


def test_the_path_is_that_of_the_field() -> None:
    assert [one.path for one in check_config("-", PICKERS["gie-1.5"], "here")] == ["here"]


# --- bounds -----------------------------------------------------------------------------------------


def test_a_configuration_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def load(text: str, loader: type[yaml.Loader]) -> Iterator[Any]:
        reads.append(text)
        return yaml.load(text, loader)

    monkeypatch.setattr(configuration, "_FOUND", {})
    monkeypatch.setattr(configuration, "yaml", SimpleNamespace(**vars(yaml) | {"load": load}))

    for row in ("gie-1.5", "gie-1.5", "llm-d-0.7", "gie-1.5"):
        assert said("plugins: 5", row)

    assert len(reads) == 2


def test_the_cache_of_findings_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[tuple[bytes, str], tuple[tuple[str, str], ...]] = {}
    monkeypatch.setattr(configuration, "_FOUND", kept)
    name = "x" * 2000

    for at in range(KEPT + 5):
        said(f"plugins: [{{type: {name}{at}}}]")

    assert len(kept) == KEPT
    assert max(len(message) for found in kept.values() for message, _ in found) <= 1000


def test_the_crd_has_the_same_length_limit() -> None:
    role = schema()["properties"]["spec"]["properties"]["roles"]["items"]

    assert role["properties"]["endpointPickerConfig"]["maxLength"] == LONGEST
