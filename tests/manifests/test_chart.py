"""The chart: it has every manifest, and every value has its place in a template."""

import re
from functools import cache
from typing import Final

import pytest

from hack.manifests import values
from hack.manifests.chart import AS_THEY_ARE, ONLY_IN_CHART, OWN, SOURCES, escaped, files, template
from hack.manifests.objects import MANIFESTS
from hack.manifests.values import VALUES

NOT_IN_THE_CHART: Final = {"base/namespace.yaml", "base/settings.yaml", "cert-manager/inject.yaml"}
"""Helm creates the namespace; settings are values; the annotation has a rule of its own."""


def test_every_manifest_is_in_the_chart() -> None:
    folders = ("base", "cert-manager", "self-signed", "ownership", "templates", "monitoring")
    there = {f"{folder}/{file.name}" for folder in folders for file in (MANIFESTS / folder).glob("*.yaml")}
    kustomizations = {f"{folder}/kustomization.yaml" for folder in folders}

    assert {source.path for source in SOURCES} == there - kustomizations - NOT_IN_THE_CHART


def test_every_file_of_the_chart_alone_is_used() -> None:
    used = {*AS_THEY_ARE, *(source.path for source in OWN)}

    assert used == {file.name for file in ONLY_IN_CHART.iterdir()}


@cache
def templates() -> str:
    """Return all templates; an object in parentheses, which may be absent, without these."""
    text = "".join(text for name, text in files().items() if name.startswith("templates/"))
    return re.sub(r"\((\$?\.Values[A-Za-z.]*)\)", r"\1", text)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.path)
def test_every_value_is_used_in_a_template(value: values.Value) -> None:
    assert re.search(rf"\.Values\.{re.escape(value.path)}\b", templates())


def test_every_value_in_a_template_is_documented() -> None:
    known = {value.path for value in VALUES}
    used = set(re.findall(r"\.Values\.([A-Za-z.]+)", templates()))

    assert {path for path in used - known if not any(path.startswith(f"{one}.") for one in known)} <= {
        "webhook"
    }


def test_only_the_metadata_of_objects_and_pods_are_those_of_templates() -> None:
    """The schema of InferenceServices has fields of that name too."""
    name = "base/inferenceservice.crd.yaml"
    (source,) = (each for each in SOURCES if each.path == name)
    text = (MANIFESTS / name).read_text(encoding="utf-8")

    made = template(source, escaped(text)).removesuffix("{{- end }}\n")
    assert made.partition("\nspec:\n")[2] == text.partition("\nspec:\n")[2]


UNQUOTED: Final = (
    *("priorityClassName", "sync.namespaces", "excludedNamespaces", "image.registry", "image.repository"),
    *("image.tag", "image.digest", "sync.serviceAccount.name", "webhook.serviceAccount.name"),
)


@pytest.mark.parametrize("name", [*UNQUOTED, "certificates.caBundle"])
@pytest.mark.parametrize("text", ["x\n---\nkind: Secret", "x: y", "x # y", "{{ x }}", "*", "x y"])
def test_a_value_that_has_no_quotes_needs_none(name: str, text: str) -> None:
    (schema,) = (one.schema for one in values.VALUES if one.path == name)

    assert not re.search(schema.get("items", schema)["pattern"], text)
