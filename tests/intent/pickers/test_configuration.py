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
from sync.parts.strategies import preset, presets
from tests.builders.pickerconfig import QUEUE, config, profile

CHECKED = ("gie-1.5", "llm-d-0.7", "llm-d-0.10")
CASES = [(row, strategy) for row in PICKERS.values() for strategy in presets(row)]


def said(value: Object | str, row: str = "gie-1.5") -> list[tuple[str, str]]:
    """Return code and message of every finding."""
    text = value if isinstance(value, str) else yaml.dump(value)
    return [(one.code, one.message) for one in check_config(text, PICKERS[row], "at")]


@pytest.mark.parametrize(("row", "strategy"), CASES)
def test_generated_configurations_have_no_findings(row: Picker, strategy: str) -> None:
    assert said(preset(row, strategy) or "", row.name) == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "- a", "plain", "a: 1\n---\nb: 2", "a: [", "a: 1\na: 2"),
        *("a: " + "x" * 20_000, "[" * 600, "? " * 8000, "- " * 8000),
        *("? [a]: b", "plugins: {{ .Values.plugins }}", "{[a]: b}", "!!set {a}", "!!timestamp 2020-01-01"),
        *("&a [*a]", "a: 1e999", "a: !!int x", "a: !!bool x", "a: !!int ''", '"\\ud800": x'),
        *('a: "\\udc00"', "a: \ud800", "a: " + "9" * 5_000, "- " * 2_000, "a: \x00"),
        "\n".join(f"k{at}: x" for at in range(600)),
    ],
)
def test_a_configuration_is_a_map_of_json_that_is_cheap_to_parse(text: str) -> None:
    assert [code for code, _ in said(text)] == ["FI812"]


def test_a_syntax_error_has_line_and_column() -> None:
    assert "line 2, column 1" in said("a: [\n")[0][1]


def test_aliases_are_refused() -> None:
    text = "a: &a {x: 1}\nb: *a"

    (found,) = said(text)

    assert found[0] == "FI812"
    assert "line 2, column 4: aliases are not supported here" in found[1]


def test_values_of_another_type_are_reported() -> None:
    text = "apiVersion: {a: b}\nkind: [x]\nplugins: {a: [b]}\nfeatureGates: [{a: b}]\nschedulingProfiles: x"

    assert {"FI812"} <= {code for code, _ in said(text)}


@pytest.mark.parametrize(
    ("field", "knows"),
    [
        ("data", {"llm-d-0.7"}),
        ("dataLayer", {"gie-1.5", "llm-d-0.10"}),
        ("flowControl", set(CHECKED)),
        ("parser", {"gie-1.5", "llm-d-0.10"}),
        ("requestHandler", {"llm-d-0.10"}),
    ],
)
def test_generations_have_different_fields(field: str, knows: set[str]) -> None:
    message = f"{field}: must be an object"

    value = config(**{field: "x"})

    assert {row for row in CHECKED if ("FI812", message) in said(value, row)} == knows
    assert all(said(value, row) for row in CHECKED)


@pytest.mark.parametrize("row", sorted(PICKERS.keys() - set(CHECKED)))
def test_of_an_older_generation_only_the_kind_is_checked(row: str) -> None:
    value = config(data="x", plugins=[{"type": "no-such"}])

    assert said(value, row) == []
    assert [code for code, _ in said(value | {"kind": "Other"}, row)] == ["FI812"]
    assert [code for code, _ in said("- a", row)] == ["FI812"]


ALWAYS: Object = {"type": "always-disagg-pd-decider"}


def also(plugin: str, row: str = "gie-1.5", **parameters: Any) -> tuple[Object, str]:
    """Return a configuration with a further plugin, and a generation."""
    return config(*QUEUE, {"type": plugin, "parameters": parameters}), row


def profiles(*names: str, handlers: tuple[str, ...] = (), row: str = "llm-d-0.7") -> tuple[Object, str]:
    """Return a configuration with profiles of these names, and a generation."""
    listed = [{"name": name, "plugins": []} for name in names]
    return config(*QUEUE, *({"type": one} for one in handlers), schedulingProfiles=listed), row


def using(*references: Object, row: str = "gie-1.5") -> tuple[Object, str]:
    """Return a configuration whose profile has these references, and a generation."""
    return config(schedulingProfiles=[profile(*references)]), row


FIRST: Object = {"pluginRef": "max-score-picker"}
SCORER: Object = {"pluginRef": "queue-scorer"}
WHERE = "schedulingProfiles[0].plugins[0]"
HANDLERS = (
    "schedulingProfiles: 2 profiles need data-parallel-profile-handler, pd-profile-handler, "
    "disagg-profile-handler"
)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            ("b: {<<: {x: 1}}", "gie-1.5"),
            "FI812 must be YAML or JSON: line 1, column 5: merge keys are not supported here",
        ),
        ((config(apiVersion="llm-d.ai/v1alpha1"), "gie-1.5"), "FI812"),
        ((config(kind="llm-d.ai/v1alpha1"), "gie-1.5"), "FI812"),
        (
            (config(schedulingProfile=[]), "gie-1.5"),
            "FI812 schedulingProfile: gie-1.5 has no such field; did you mean schedulingProfiles?",
        ),
        (
            (config(saturationDetector={"queueDepthThreshold": 5}), "gie-1.5"),
            "FI812 saturationDetector.queueDepthThreshold: gie-1.5 has no such field",
        ),
        (using(SCORER | {"weight": "2"}), f"FI812 {WHERE}.weight: must be a number"),
        ((config(*QUEUE, {"type": "queue-scorer"}), "gie-1.5"), "FI812"),
        ((config(plugins=[{"name": "x"}], schedulingProfiles=[]), "gie-1.5"), "FI812"),
        (also("que-scorer"), "FI812 plugins[2].type: gie-1.5 has no que-scorer; did you mean queue-scorer?"),
        (
            also(ALWAYS["type"]),
            f"FI812 plugins[2].type: gie-1.5 has no {ALWAYS['type']}; use fusioninfer.io/picker: llm-d-0.10",
        ),
        (also("prefill-filter"), "FI812"),
        (also("decode-filter"), "FI812"),
        (also("pd-profile-handler"), "FI812"),
        (
            using({"pluginRef": "queue-scorers"}),
            f"FI812 {WHERE}.pluginRef: queue-scorers is not among the plugins; did you mean queue-scorer?",
        ),
        (profiles("a", "a", handlers=("data-parallel-profile-handler",)), "FI812"),
        (profiles("", "b", handlers=("data-parallel-profile-handler",)), "FI812"),
        (profiles("a", "b"), f"FI812 {HANDLERS}"),
        (profiles("a", "b", handlers=("single-profile-handler",)), f"FI812 {HANDLERS}"),
        (profiles("a", handlers=("single-profile-handler", "data-parallel-profile-handler")), "FI812"),
        (also("prefix-cache-scorer", "llm-d-0.7", blockSize=64), "FI812"),
        (also("prefix-cache-scorer", "llm-d-0.10", autoTune=True), "FI812"),
        (also("pd-profile-handler", "llm-d-0.10", threshold=0), "FI812"),
    ],
)
def test_a_mistake_is_one_finding_with_its_place(given: tuple[Object | str, str], says: str) -> None:
    ((code, text),) = said(*given)

    assert says in {code, f"{code} {text}"}


@pytest.mark.parametrize(
    ("value", "row"),
    [
        *((config(), row) for row in PICKERS),
        (str(config()).replace("'", '"'), "gie-1.5"),
        (f"{yaml.dump(config())}---\n", "gie-1.5"),
        *(
            (config(schedulingProfiles=[]) | {field: None}, "gie-1.5")
            for field in ("apiVersion", "kind", "plugins", "featureGates", "saturationDetector")
        ),
        (config(parser=SCORER), "gie-1.5"),
        (config(*QUEUE, {"type": "queue-scorer", "name": "other-scorer"}), "gie-1.5"),
        also("prefix-cache-scorer", "llm-d-0.7", blockSize=64, blockSizeTokens=16),
        (config(featureGates=["flowControl=false"]), "llm-d-0.10"),
        using(SCORER, FIRST),
        using(SCORER | {"weight": 1.5}, FIRST),
        using(FIRST, SCORER),
        (config(schedulingProfiles=None), "gie-1.5"),
    ],
)
def test_what_an_endpoint_picker_reads_has_no_findings(value: Object | str, row: str) -> None:
    assert said(value, row) == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (config(plugins=[{"type": "queue-scorer", "nam": "x"}]), "plugins[0].nam: gie-1.5 has no such field"),
        (config(plugins=["queue-scorer"]), "plugins[0]: must be an object"),
        (config(plugins={}, schedulingProfiles=[]), "plugins: must be a list"),
        (config(schedulingProfiles=[{"name": 5}]), "schedulingProfiles[0].name: must be a string"),
    ],
)
def test_a_mistake_that_has_others_in_its_train_is_reported_too(value: Object, message: str) -> None:
    assert ("FI812", message) in [(code, one.partition(";")[0]) for code, one in said(value)]


def test_the_old_block_size_is_refused_by_later_generations() -> None:
    plugin = {"type": "prefix-cache-scorer", "parameters": {"blockSize": 64}}

    codes = {row: [code for code, _ in said(config(*QUEUE, plugin), row)] for row in CHECKED}

    assert codes == {"gie-1.5": [], "llm-d-0.7": ["FI812"], "llm-d-0.10": ["FI812"]}


@pytest.mark.parametrize(
    ("row", "fields", "message"),
    [
        ("llm-d-0.10", {"apiVersion": "llm-d.ai/v1alpha1"}, ""),
        ("llm-d-0.10", {"apiVersion": "llm-d.ai/v1"}, "apiVersion: must be llm-d.ai/v1alpha1"),
        ("llm-d-0.7", {"apiVersion": "llm-d.ai/v1alpha1"}, "inference.networking.x-k8s.io/v1alpha1"),
        ("llm-d-0.10", {"dataLayer": {"injectDefaults": False}}, ""),
        ("llm-d-0.10", {"requestHandler": {"parsers": [{"pluginRef": "anthropic-parser"}]}}, ""),
        ("llm-d-0.10", {"flowControl": {"saturationDetector": {"pluginRef": "utilization-detector"}}}, ""),
        ("llm-d-0.10", {"flowControl": {"enableEviction": True}}, ""),
        ("llm-d-0.10", {"featureGates": ["haPopulateNonLeaderDatastore=false", "flowControl= True"]}, ""),
    ],
)
def test_a_router_reads_other_configurations(row: str, fields: Object, message: str) -> None:
    found = [one for _, one in said(config(**fields), row)]

    assert len(found) == bool(message)
    assert message in str(found)


def test_generations_have_different_feature_gates() -> None:
    value = config(featureGates=["prepareDataPlugins"])

    assert {row for row in CHECKED if not said(value, row)} == {"llm-d-0.7"}


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

    configuration.checked.cache_clear()
    monkeypatch.setattr(configuration, "yaml", SimpleNamespace(**vars(yaml) | {"load": load}))

    for row in ("gie-1.5", "gie-1.5", "llm-d-0.7", "gie-1.5"):
        assert said("plugins: 5", row)

    assert len(reads) == 2


def test_the_cache_of_findings_is_bounded() -> None:
    name = "x" * 2000

    for at in range(KEPT + 5):
        assert all(len(message) <= 1000 for _, message in said(f"plugins: [{{type: {name}{at}}}]"))

    assert configuration.checked.cache_info().currsize == KEPT
    assert said("a" * (LONGEST + 1)) == [("FI812", f"has {LONGEST + 1} characters; the limit is {LONGEST}")]


def test_the_crd_has_the_same_length_limit() -> None:
    role = schema()["properties"]["spec"]["properties"]["roles"]["items"]

    assert role["properties"]["endpointPickerConfig"]["maxLength"] == LONGEST
