"""What alerts and dashboard ask for, asked of a real Prometheus that scrapes ours and the API server."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from hack.manifests.dashboard import PANELS, Panel
from hack.manifests.objects import find
from intent import Object
from tests.cluster.testbed.cluster import Cluster, KubectlError, kubeconfig
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import MONOLITHIC
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import READS as TEMPLATES
from tests.cluster.testbed.ours import start_webhook, wait_admission
from tests.cluster.testbed.prometheus import NAME, query, rules, start_prometheus
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, named, put, read
from tests.manifests.test_monitoring import SERIES

GROUPS: Final = find("PrometheusRule", "fusioninfer", "monitoring")["spec"]["groups"]
EXPRESSIONS: Final = [rule["expr"] for group in GROUPS for rule in group["rules"]]
ASKED: Final = sorted({found[0] for expression in EXPRESSIONS for found in SERIES.finditer(expression)})
WINDOW: Final = "5m"
"""What Grafana puts in the place of its variable."""
DOWN: Final = "FusionInferWebhookDown"
READS: Final = f"rate(fusioninfer_template_reads_total[{WINDOW}]) > 0"
LABEL: Final = re.compile(r"\{\{([a-z]+)\}\}")


@dataclass(frozen=True, slots=True)
class Watched:
    """The port of a Prometheus, and which alerts fired while all was well, and once the webhook was gone."""

    port: int
    calm: frozenset[str]
    gone: frozenset[str]


@pytest.fixture(scope="module")
def watched(fusioninfer: Cluster, prometheus: Path) -> Iterator[Watched]:
    """Watch a service with a finding, and a write that is refused while the webhook is gone."""
    port = start_prometheus(fusioninfer, prometheus, GROUPS)
    namespace = add_namespace(fusioninfer)
    for name in ("first", "second"):  # two workers of one service
        put(fusioninfer, namespace, CLIENT_SIDE, named(read(MONOLITHIC), name))
    until(lambda: query(port, "fusioninfer_sync_findings > 0"), "the finding is scraped")
    calm = in_state(port, "firing")
    kill_process(fusioninfer, "webhook")
    until(
        lambda: refused(fusioninfer, namespace) and in_state(port, "firing") - calm, "an alert fires", every=1
    )
    until(lambda: DOWN in in_state(port, "pending"), "its metrics are missed")
    gone = in_state(port, "firing")
    start_webhook(fusioninfer, flags={**TEMPLATES, "--kubeconfig": str(kubeconfig(fusioninfer))})
    wait_admission(fusioninfer)
    until(
        lambda: denied(fusioninfer, namespace) and shown(port, READS),
        "reads of templates are scraped",
        every=1,
    )
    yield Watched(port, calm, gone)
    kill_process(fusioninfer, NAME)
    kill_process(fusioninfer, "webhook")
    start_webhook(fusioninfer)
    wait_admission(fusioninfer)
    empty_namespace(fusioninfer, namespace)


def refused(cluster: Cluster, namespace: str) -> bool:
    """Write what cannot be reviewed."""
    with pytest.raises(KubectlError, match="failed calling webhook"):
        put(cluster, namespace, CLIENT_SIDE, named(read(MONOLITHIC), "third"))
    return True


def denied(cluster: Cluster, namespace: str) -> bool:
    """Write what names a template that does not exist: the webhook reads it."""
    with pytest.raises(KubectlError, match="FI951"):
        put(cluster, namespace, CLIENT_SIDE, named(read(MONOLITHIC), "templated", base_refs="absent"))
    return True


def in_state(port: int, state: str) -> frozenset[str]:
    return frozenset(rule["name"] for rule in rules(port) if rule["state"] == state)


def test_every_rule_is_evaluated(watched: Watched) -> None:
    health = {rule["name"]: (rule["health"], rule.get("lastError")) for rule in rules(watched.port)}

    assert set(health.values()) == {("ok", None)}, health


def test_nothing_fires_while_all_is_well(watched: Watched) -> None:
    assert watched.calm == set()


def test_writes_that_are_refused_without_the_webhook_fire_the_alert_of_that(watched: Watched) -> None:
    assert watched.gone == {"FusionInferWebhookUnreachable"}


@pytest.mark.parametrize("series", ASKED)
def test_every_series_of_an_alert_is_scraped(watched: Watched, series: str) -> None:
    assert until(lambda: query(watched.port, series), f"{series} is scraped")


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_a_panel_shows_lines_by_their_names(watched: Watched, panel: Panel) -> None:
    expression = panel.expression.replace("$__rate_interval", WINDOW)

    lines = until(lambda: shown(watched.port, expression), f"{panel.title} shows something")
    assert all(set(LABEL.findall(panel.legend)) <= line["metric"].keys() for line in lines)


def shown(port: int, expression: str) -> list[Object]:
    """Evaluate an expression; what is no number is not drawn."""
    return [line for line in query(port, expression) if line["value"][1] != "NaN"]
