"""A real Prometheus with our rules, which scrapes the webhook, the controller and the API server.

Series get the label that the Prometheus operator gives them and our queries use: the pod.
"""

import http.client
import json
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from intent import Object
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import http_ok
from tests.cluster.testbed.control_plane import start_process, wait_ready
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.wait import until

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
