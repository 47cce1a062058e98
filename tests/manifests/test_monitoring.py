"""Alerts and dashboard use series that exist, and each alert has a chapter for those on call."""

import re
from collections.abc import Iterator
from typing import Final

import pytest
from prometheus_client import CollectorRegistry

from catalog.release import VERSION
from certs import reload
from hack.manifests.dashboard import PANELS, Panel
from hack.manifests.objects import DOCS, find
from hack.manifests.values import RUNBOOKS
from intent import Object
from sync.metrics import OPERATORS, ControllerMetrics
from tests.manifests.pages import chapters
from webhook.server import metrics as webhook_metrics

SERIES: Final = re.compile(r"\b((?:fusioninfer|apiserver)_[a-z_]+)(?:\{([^}]*)\})?")
MATCHER: Final = re.compile(r'([a-z_]+)(=~?)"([^"]*)"')
FOREIGN: Final = {
    "apiserver_admission_webhook_rejection_count",
    "apiserver_admission_webhook_admission_duration_seconds_bucket",
}
"""Metrics of the API server (`k8s.io/apiserver` `pkg/admission/metrics/metrics.go`)."""
LABELLED_LATER: Final = {
    "fusioninfer_sync_api_request_seconds_bucket",
    "fusioninfer_sync_api_request_seconds_count",
    "fusioninfer_sync_findings",
    "fusioninfer_sync_kind_unavailable",
    "fusioninfer_sync_objects",
    "fusioninfer_sync_repairs_total",
    "fusioninfer_sync_unreadable_objects",
    "fusioninfer_sync_watch_age_seconds",
    "fusioninfer_sync_writes_total",
}
"""Metrics whose series appear only with their label values: codes, kinds."""


def alerts() -> list[Object]:
    """Return the rules of the alerts."""
    groups = find("PrometheusRule", "fusioninfer", "monitoring")["spec"]["groups"]
    return [rule for group in groups for rule in group["rules"]]


def registries() -> tuple[CollectorRegistry, CollectorRegistry]:
    """Return the registries of both processes, as they are at the start."""
    webhook = webhook_metrics.WebhookMetrics(("/mutate", "/validate"), reload.RESULTS, VERSION)
    return webhook.registry, ControllerMetrics().registry


def samples() -> list[tuple[str, dict[str, str]]]:
    """Return every series that exists from the start."""
    families = (family for registry in registries() for family in registry.collect())
    return [(sample.name, sample.labels) for family in families for sample in family.samples]


def names() -> set[str]:
    return {name for name, _ in samples()} | LABELLED_LATER


def asked(expression: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the series of an expression: names, and patterns of labels."""
    for name, matchers in SERIES.findall(expression):
        found = MATCHER.findall(matchers)
        yield name, [(key, value if kind == "=~" else re.escape(value)) for key, kind, value in found]


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_the_series_of_an_alert_exist_from_the_start(rule: Object) -> None:
    own = [(name, labels) for name, labels in asked(rule["expr"]) if name not in FOREIGN]

    assert {name for name, _ in own} <= names()
    assert [one for one in selected(own) if not exists(*one)] == []


def test_operators_are_alerted_of_findings_that_they_can_repair() -> None:
    (rule,) = (rule for rule in alerts() if rule["alert"] == "FusionInferFindings")
    ((_, ((label, pattern),)),) = asked(rule["expr"])

    assert (label, tuple(pattern.split("|"))) == ("code", OPERATORS)


def selected(series: list[tuple[str, list[tuple[str, str]]]]) -> Iterator[tuple[str, str, str]]:
    """Yield each label value that an expression selects: name, label, pattern."""
    for name, labels in series:
        for label, pattern in labels:
            yield from ((name, label, value) for value in pattern.split("|"))


def exists(name: str, label: str, pattern: str) -> bool:
    """Return whether a series with a matching label value exists."""
    values = [labels.get(label, "") for sample, labels in samples() if sample == name]
    return any(re.fullmatch(pattern, value) for value in values)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_the_series_of_a_panel_exist(panel: Panel) -> None:
    found = [name for name, _ in asked(panel.expression)]

    assert found
    assert set(found) <= names() | FOREIGN


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_has_severity_summary_and_remedy(rule: Object) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "remedy", "runbook_url"}


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_the_runbook_of_an_alert_is_a_chapter_of_the_documentation(rule: Object) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")

    assert page == RUNBOOKS
    assert rule["alert"] in chapters(DOCS / RUNBOOKS.rpartition("/")[2])
    assert anchor == rule["alert"].lower()


def test_every_runbook_is_that_of_an_alert() -> None:
    assert set(chapters(DOCS / RUNBOOKS.rpartition("/")[2])) == {rule["alert"] for rule in alerts()}
