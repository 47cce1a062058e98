"""Findings about an EndpointPickerConfig, by generation of endpoint pickers."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from catalog.pickers.generations import CONFIG_API, PICKERS, Picker
from intent import Object, yaml
from intent.inferenceservice.crd import schema
from intent.pickers import configuration
from intent.pickers.configuration import KEPT, LONGEST, check_config
from sync.parts.strategies import preset, presets
from tests.builders.pickerconfig import config

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
    assert "line 2, column 4: aliases expand to more than 0 values" in found[1]


@pytest.mark.parametrize(
    ("value", "row", "message"),
    [
        *((config(), row, "") for row in PICKERS),
        (str(config()).replace("'", '"'), "gie-1.5", ""),
        (f"{yaml.dump(config())}---\n", "gie-1.5", ""),
        (config(apiVersion=None, kind=None, plugins=None), "gie-1.5", ""),
        (config(data="x", plugins=[{"type": "no-such"}]), "gie-1.5", ""),
        (config(apiVersion="llm-d.ai/v1alpha1"), "llm-d-0.10", ""),
        (config(apiVersion="llm-d.ai/v1"), "llm-d-0.10", "apiVersion: must be llm-d.ai/v1alpha1"),
        (config(apiVersion="llm-d.ai/v1alpha1"), "gie-1.5", f"apiVersion: must be {CONFIG_API}"),
        (config(kind="Other"), "llm-d-0.4", "kind: must be EndpointPickerConfig"),
        ({"apiVersion": {"a": "b"}}, "gie-1.5", f"apiVersion: must be {CONFIG_API}"),
    ],
)
def test_kind_and_version_are_those_of_the_generation(value: Object | str, row: str, message: str) -> None:
    found = [one for _, one in said(value, row)]

    assert len(found) == bool(message)
    assert message in str(found)


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
        assert said("kind: 5", row)

    assert len(reads) == 2


def test_the_cache_of_findings_is_bounded() -> None:
    name = "x" * 2000

    for at in range(KEPT + 5):
        assert all(len(message) <= 1000 for _, message in said(f"a: !!{name}{at} x"))

    assert configuration.checked.cache_info().currsize == KEPT
    assert said("a" * (LONGEST + 1)) == [("FI812", f"has {LONGEST + 1} characters; the limit is {LONGEST}")]


def test_the_crd_has_the_same_length_limit() -> None:
    role = schema()["properties"]["spec"]["properties"]["roles"]["items"]

    assert role["properties"]["endpointPickerConfig"]["maxLength"] == LONGEST
