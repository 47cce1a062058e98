"""The committed chart and dashboard equal the generated ones."""

import re
from functools import cache
from typing import Final

import pytest

from intent import yaml
from tests.manifests import values
from tests.manifests.chart import AS_THEY_ARE, ONLY_IN_CHART, OWN, SOURCES, Source, escaped, files, template
from tests.manifests.dashboard import config_map
from tests.manifests.objects import MANIFESTS
from tests.manifests.rules import Rule, replaced
from tests.manifests.values import VALUES

CHART: Final = MANIFESTS / "chart"
DASHBOARD: Final = MANIFESTS / "monitoring" / "dashboard.yaml"
MADE: Final = "# generated from tests/manifests/dashboard.py by `make manifests`\n"
NOT_IN_THE_CHART: Final = {"base/namespace.yaml", "base/settings.yaml", "cert-manager/inject.yaml"}
"""Helm creates the namespace; settings are values; the annotation has a rule of its own."""


def test_the_dashboard_is_generated_from_the_table(request: pytest.FixtureRequest) -> None:
    made = MADE + yaml.dump(config_map())
    if request.config.getoption("--refresh"):
        DASHBOARD.write_text(made, encoding="utf-8")

    assert DASHBOARD.read_text(encoding="utf-8") == made


def test_the_chart_is_generated_from_the_manifests(request: pytest.FixtureRequest) -> None:
    made = dict(files())
    if request.config.getoption("--refresh"):
        _write(made)

    assert written() == made


def written() -> dict[str, str]:
    """Read the committed chart."""
    found = (file for file in sorted(CHART.rglob("*")) if file.is_file())
    return {str(file.relative_to(CHART)): file.read_text(encoding="utf-8") for file in found}


def _write(made: dict[str, str]) -> None:
    for name in written().keys() - made.keys():
        (CHART / name).unlink()
    for name, text in made.items():
        (CHART / name).parent.mkdir(parents=True, exist_ok=True)
        (CHART / name).write_text(text, encoding="utf-8")


def test_every_manifest_is_in_the_chart() -> None:
    folders = ("base", "cert-manager", "self-signed", "ownership", "templates", "monitoring")
    there = {f"{folder}/{file.name}" for folder in folders for file in (MANIFESTS / folder).glob("*.yaml")}
    kustomizations = {f"{folder}/kustomization.yaml" for folder in folders}

    assert {source.path for source in SOURCES} == there - kustomizations - NOT_IN_THE_CHART


def test_every_file_of_the_chart_alone_is_used() -> None:
    used = {*AS_THEY_ARE, *(source.path for source in OWN), "test.py"}

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


def test_a_rule_without_a_match_is_an_error() -> None:
    rule = Rule("^replicas: 2$", "replicas: {{ .Values.replicas }}")

    with pytest.raises(ValueError, match="0 times, not 1"):
        replaced("base/x.yaml", rule, "replicas: many\n")


def test_an_object_without_a_component_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no label app\.kubernetes\.io/component"):
        template(
            Source("x.yaml"), "metadata:\n  name: x\n  labels:\n    app.kubernetes.io/name: fusioninfer\n"
        )


def test_braces_of_alerts_are_escaped() -> None:
    assert escaped("summary: code {{ $labels.code }}\n") == 'summary: code {{ "{{" }} $labels.code }}\n'


def test_only_the_metadata_of_objects_and_pods_are_those_of_templates() -> None:
    """The schema of InferenceServices has fields of that name too."""
    name = "base/inferenceservice.crd.yaml"
    (source,) = (each for each in SOURCES if each.path == name)
    text = (MANIFESTS / name).read_text(encoding="utf-8")

    assert template(source, escaped(text)).partition("\nspec:\n")[2] == text.partition("\nspec:\n")[2]
