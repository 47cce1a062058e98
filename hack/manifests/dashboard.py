"""The Grafana dashboard, generated from one table of panels."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from intent import Object

WIDTH: Final = 12
HEIGHT: Final = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its title, unit, query and legend."""

    title: str
    unit: str
    expression: str
    legend: str


PANELS: Final = (
    Panel(
        "Admission requests by outcome",
        "reqps",
        "sum by (path, outcome) (rate(fusioninfer_admission_requests_total[$__rate_interval])) > 0",
        "{{path}} {{outcome}}",
    ),
    Panel(
        "Duration of an admission request, p99",
        "s",
        "histogram_quantile(0.99, sum by (le, path)"
        " (rate(fusioninfer_admission_duration_seconds_bucket[$__rate_interval])))",
        "{{path}}",
    ),
    Panel(
        "Duration of a webhook call at the API server, p99",
        "s",
        "histogram_quantile(0.99, sum by (le, name)"
        ' (rate(apiserver_admission_webhook_admission_duration_seconds_bucket{name=~".*fusioninfer[.]io"}'
        "[$__rate_interval])))",
        "{{name}}",
    ),
    Panel("Bodies still arriving", "short", "sum by (pod) (fusioninfer_admission_inflight)", "{{pod}}"),
    Panel(
        "Time until the certificate expires",
        "s",
        "min by (pod) (fusioninfer_tls_not_after_seconds > 0) - time()",
        "{{pod}}",
    ),
    Panel(
        "Reconciles of the webhook's certificates by outcome",
        "ops",
        "sum by (outcome) (rate(fusioninfer_sync_certificate_reconciles_total[$__rate_interval]))",
        "{{outcome}}",
    ),
    Panel("Leader", "short", "sum by (pod) (fusioninfer_sync_is_leader)", "{{pod}}"),
    Panel("Current findings", "short", "max by (code) (fusioninfer_sync_findings) > 0", "{{code}}"),
    Panel(
        "Reconciles by outcome",
        "ops",
        "sum by (outcome) (rate(fusioninfer_sync_reconciles_total[$__rate_interval]))",
        "{{outcome}}",
    ),
    Panel(
        "Duration of a reconcile, p99",
        "s",
        "histogram_quantile(0.99, sum by (le)"
        " (rate(fusioninfer_sync_reconcile_seconds_bucket[$__rate_interval])))",
        "all",
    ),
    Panel(
        "Longest running reconcile",
        "s",
        "max by (pod) (fusioninfer_sync_reconcile_longest_seconds)",
        "{{pod}}",
    ),
    Panel(
        "Services that wait for a reconcile",
        "short",
        "max by (pod) (fusioninfer_sync_queue_services)",
        "{{pod}}",
    ),
    Panel(
        "Longest wait for a reconcile", "s", "max by (pod) (fusioninfer_sync_queue_oldest_seconds)", "{{pod}}"
    ),
    Panel(
        "Requests of the controller by status",
        "reqps",
        "sum by (verb, code) (rate(fusioninfer_sync_api_request_seconds_count[$__rate_interval]))",
        "{{verb}} {{code}}",
    ),
    Panel(
        "Duration of a request of the controller, p99",
        "s",
        "histogram_quantile(0.99, sum by (le, verb)"
        " (rate(fusioninfer_sync_api_request_seconds_bucket[$__rate_interval])))",
        "{{verb}}",
    ),
    Panel(
        "Time since a watch was answered",
        "s",
        "max by (kind) (fusioninfer_sync_watch_age_seconds)",
        "{{kind}}",
    ),
    Panel(
        "Failed attempts to take or renew the Lease",
        "short",
        "sum by (pod) (increase(fusioninfer_sync_lease_failures_total[$__rate_interval]))",
        "{{pod}}",
    ),
    Panel(
        "Repaired objects",
        "ops",
        "sum by (kind) (rate(fusioninfer_sync_repairs_total[$__rate_interval]))",
        "{{kind}}",
    ),
    Panel(
        "Writes of the controller",
        "ops",
        "sum by (kind, verb) (rate(fusioninfer_sync_writes_total[$__rate_interval]))",
        "{{verb}} {{kind}}",
    ),
    Panel("Cached objects", "short", "max by (kind) (fusioninfer_sync_objects)", "{{kind}}"),
    Panel(
        "Unreadable objects",
        "short",
        "max by (kind) (fusioninfer_sync_unreadable_objects)",
        "{{kind}}",
    ),
    Panel(
        "Kinds that cannot be listed",
        "short",
        "max by (kind) (fusioninfer_sync_kind_unavailable)",
        "{{kind}}",
    ),
    Panel("Versions", "short", "count by (version) (fusioninfer_build_info)", "{{version}}"),
)


def dashboard() -> Object:
    """Return the dashboard, with two panels a row."""
    return {
        "title": "FusionInfer",
        "uid": "fusioninfer",
        "schemaVersion": 39,
        "tags": ["fusioninfer"],
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [_SOURCE]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


_SOURCE: Final[Object] = {"name": "datasource", "type": "datasource", "query": "prometheus"}


def _panel(number: int, panel: Panel) -> Object:
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": source,
        "gridPos": {
            "x": number % 2 * WIDTH,
            "y": number // 2 * HEIGHT,
            "w": WIDTH,
            "h": HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": source,
                "expr": panel.expression,
                "legendFormat": panel.legend,
            }
        ],
    }


def texts() -> Mapping[str, str]:
    """Return the file to import."""
    return {"manifests/monitoring/dashboard.json": json.dumps(dashboard(), indent=1) + "\n"}
