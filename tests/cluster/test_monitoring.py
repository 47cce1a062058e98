"""What alerts and dashboard ask for, asked of a real Prometheus that scrapes ours and the API server."""

import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest

from hack.manifests.dashboard import PANELS, Panel
from hack.manifests.objects import find
from intent import Object
from tests.cluster.testbed.cluster import Cluster, KubectlError
from tests.cluster.testbed.components import http_ok
from tests.cluster.testbed.control_plane import kill_process, start_process, wait_ready
from tests.cluster.testbed.controllers import MONOLITHIC
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.ours import start_webhook, wait_admission
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.wait import until
from tests.cluster.testbed.written import CLIENT_SIDE, named, put, read
from tests.manifests.test_monitoring import SERIES

# --- a real Prometheus with our rules -----------------------------------------------------------------
# It scrapes the webhook, the controller and the API server. Series get the label that the Prometheus operator
# gives them and our queries use: the pod.

NAME: Final = "prometheus"
EVERY: Final = "1s"


def start_prometheus(cluster: Cluster, binary: Path, groups: list[Object]) -> int:
    """Start it with groups of rules, and wait until it has scraped all; return its port."""
    port = free_ports((NAME,))[NAME]
    folder = cluster.directory / NAME
    folder.mkdir()
    (folder / "rules.yaml").write_text(json.dumps({"groups": groups}))
    (folder / "prometheus.yaml").write_text(json.dumps(_configuration(cluster)))
    flags = {
        "config.file": folder / "prometheus.yaml",
        "storage.tsdb.path": folder / "data",
        "web.listen-address": f"127.0.0.1:{port}",
        "log.level": "warn",
    }
    start_process(cluster, NAME, [str(binary), *(f"--{flag}={value}" for flag, value in flags.items())])
    wait_ready(cluster, NAME, lambda _: http_ok(port, "/-/ready"))
    until(lambda: len(query(port, "up == 1")) == len(_targets(cluster)), "every target is scraped")
    return port


def query(port: int, expression: str) -> list[Object]:
    """Evaluate an expression now; return its series, each with `metric` and `value`."""
    return list(_get(port, "query", query=expression)["result"])


def rules(port: int) -> list[Object]:
    """Return every rule, with its state and its health."""
    return [rule for group in _get(port, "rules")["groups"] for rule in group["rules"]]


def _configuration(cluster: Cluster) -> Object:
    return {
        "global": {"scrape_interval": EVERY, "evaluation_interval": EVERY},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            {
                "job_name": name,
                "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": {"pod": name}}],
            }
            for name, port in _targets(cluster).items()
            if name != "apiserver"
        ]
        + [_apiserver(cluster)],
    }


def _targets(cluster: Cluster) -> dict[str, int]:
    ports = cluster.ports
    return {
        "webhook": ports["webhook-metrics"],
        "sync": ports["sync-metrics"],
        "apiserver": ports["kube-apiserver"],
    }


def _apiserver(cluster: Cluster) -> Object:
    return {
        "job_name": "apiserver",
        "scheme": "https",
        "authorization": {"credentials": cluster.tokens["admin"]},
        "tls_config": {"ca_file": str(cluster.directory / "ca.crt"), "server_name": "localhost"},
        "static_configs": [{"targets": [f"127.0.0.1:{cluster.ports['kube-apiserver']}"]}],
    }


def _get(port: int, what: str, **words: str) -> Object:
    """Ask its HTTP API; raise ValueError with what it says of a bad question."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    try:
        connection.request("GET", f"/api/v1/{what}?{urlencode(words)}")
        answer = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    if answer["status"] != "success":
        raise ValueError(answer["error"])
    return dict(answer["data"])


GROUPS: Final = find("PrometheusRule", "fusioninfer", "monitoring")["spec"]["groups"]
EXPRESSIONS: Final = [rule["expr"] for group in GROUPS for rule in group["rules"]]
ASKED: Final = sorted({found[0] for expression in EXPRESSIONS for found in SERIES.finditer(expression)})
WINDOW: Final = "5m"
"""What Grafana puts in the place of its variable."""
DOWN: Final = "FusionInferWebhookDown"
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
    start_webhook(fusioninfer)
    wait_admission(fusioninfer)
    yield Watched(port, calm, gone)
    kill_process(fusioninfer, NAME)
    empty_namespace(fusioninfer, namespace)


def refused(cluster: Cluster, namespace: str) -> bool:
    """Write what cannot be reviewed."""
    with pytest.raises(KubectlError, match="failed calling webhook"):
        put(cluster, namespace, CLIENT_SIDE, named(read(MONOLITHIC), "third"))
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
