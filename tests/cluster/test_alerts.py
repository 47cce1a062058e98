"""Each alert on Prometheus' own rule engine: it fires when it should, and not before.

A row gives the series as they are scraped every 30 s, and the minutes at which the alert is silent and fires.
`a+bxn` begins with a and rises n times by b; `axn` is a, n + 1 times; `_` is no sample, `stale` a target that
is gone.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from hack.manifests.objects import find
from intent import Object

EVERY: Final = "30s"
GROUPS: Final = find("PrometheusRule", "fusioninfer", "monitoring")["spec"]["groups"]
RULES: Final = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}

_APISERVER: Final = 'instance="a",job="apiserver"'
_REJECTIONS: Final = (
    f'apiserver_admission_webhook_rejection_count{{{_APISERVER},name="mutate.fusioninfer.io",'
    'type="admit",operation="CREATE",error_type="calling_webhook_error",rejection_code="0"}'
)
_UP: Final = f"up{{{_APISERVER}}}"
_REQUESTS: Final = 'fusioninfer_admission_requests_total{path="/mutate",outcome="%s"}'
_BUCKETS: Final = 'fusioninfer_admission_duration_seconds_bucket{path="/mutate",le="%s"}'
_LOOKS: Final = 'fusioninfer_sync_reconciles_total{outcome="%s"}'
_CERTIFICATES: Final = 'fusioninfer_sync_certificate_reconciles_total{outcome="%s"}'
_LEADS: Final = 'fusioninfer_sync_is_leader{pod="%s"}'
_ENDS: Final = 'fusioninfer_tls_not_after_seconds{pod="%s"}'
_DAY: Final = 86400


@dataclass(frozen=True, slots=True)
class Case:
    """One row: the alert, the series, a minute of silence, a minute at which it fires, with which labels."""

    alert: str
    series: Mapping[str, str]
    silent: int
    fires: int
    labels: Mapping[str, str] = field(default_factory=dict)


CASES: Final = (
    Case("FusionInferWebhookDown", {"fusioninfer_admission_inflight": "0x4 stale"}, 4, 5),
    Case("FusionInferWebhookUnreachable", {_REJECTIONS: "7x10 8x30", _UP: "1x40"}, 5, 6),
    # the first refusals of all
    Case("FusionInferWebhookUnreachable", {_REJECTIONS: "_x20 3x30", _UP: "1x50"}, 9, 11),
    Case("FusionInferWebhookBug", {_REQUESTS % "error": "0x10 1x30"}, 5, 6, {"path": "/mutate"}),
    Case("FusionInferWebhookOverloaded", {_REQUESTS % "late": "0x10 0+1x40"}, 14, 17),
    Case(
        "FusionInferWebhookSlow",
        {_BUCKETS % "1.0": "0+90x60", _BUCKETS % "2.5": "0+100x60", _BUCKETS % "+Inf": "0+100x60"},
        9,
        12,
    ),
    Case("FusionInferCertificateMissing", {_ENDS % "b": "0x30"}, 4, 6, {"pod": "b"}),
    # time begins at 0: this one ends within seven days from the tenth minute on
    Case("FusionInferCertificateExpires", {_ENDS % "b": f"{7 * _DAY + 600}x60"}, 14, 17, {"pod": "b"}),
    Case(
        "FusionInferCertificateRefused",
        {'fusioninfer_tls_reloads_total{result="refused"}': "0x10 1x30"},
        5,
        6,
    ),
    # nobody
    Case("FusionInferControllerNotLeading", {_LEADS % "a": "1x10 0x30", _LEADS % "b": "0x40"}, 6, 8),
    # two
    Case("FusionInferControllerNotLeading", {_LEADS % "a": "1x40", _LEADS % "b": "0x10 1x30"}, 6, 8),
    # none is scraped
    Case("FusionInferControllerNotLeading", {_LEADS % "a": "1x10 stale"}, 6, 8),
    Case("FusionInferControllerBug", {_LOOKS % "bug": "0x10 1x30"}, 5, 6),
    Case("FusionInferControllerRetries", {_LOOKS % "retry": "0+1x120"}, 20, 30),
    Case(
        "FusionInferControllerSlow",
        {'fusioninfer_sync_queue_oldest_seconds{pod="a"}': "0x10 30+30x60"},
        10,
        13,
    ),
    Case(
        "FusionInferWatchSilent",
        {'fusioninfer_sync_watch_age_seconds{kind="Pod"}': "60x10 0+30x60"},
        14,
        17,
        {"kind": "Pod"},
    ),
    Case("FusionInferLeaseNotRenewed", {"fusioninfer_sync_lease_failures_total": "0+1x120"}, 14, 17),
    Case("FusionInferCertificatesNotReconciled", {_CERTIFICATES % "failed": "0+3x120"}, 10, 15),
    Case(
        "FusionInferKindUnavailable",
        {'fusioninfer_sync_kind_unavailable{kind="Gateway"}': "0x10 1x60"},
        19,
        21,
        {"kind": "Gateway"},
    ),
    Case(
        "FusionInferFindings",
        {'fusioninfer_sync_findings{code="FI870"}': "0x10 2x60"},
        19,
        21,
        {"code": "FI870"},
    ),
)

CALM: Final = {
    "fusioninfer_admission_inflight": "1x120",
    _REJECTIONS: "7x120",
    _UP: "1x120",
    _REQUESTS % "patched": "0+5x120",
    _REQUESTS % "denied": "0+5x120",
    _REQUESTS % "error": "3x120",
    _REQUESTS % "late": "0x40 1x80",  # one, once
    _BUCKETS % "0.05": "0+100x120",
    _BUCKETS % "1.0": "0+100x120",
    _BUCKETS % "+Inf": "0+100x120",
    "fusioninfer_tls_not_after_seconds": f"{30 * _DAY}x120",
    'fusioninfer_tls_reloads_total{result="refused"}': "2x120",
    'fusioninfer_tls_reloads_total{result="loaded"}': "0+1x120",
    _LEADS % "a": "1x40 0x80",  # it hands over
    _LEADS % "b": "0x42 1x78",
    _LOOKS % "done": "0+9x120",
    _LOOKS % "retry": "0x40 15x80",  # fifteen, at once
    _LOOKS % "bug": "1x120",
    'fusioninfer_sync_findings{code="FI870"}': "0x40 1x20 0x60",  # for ten minutes
    'fusioninfer_sync_findings{code="FI401"}': "3x120",  # for their authors to repair, as are the next three
    'fusioninfer_sync_findings{code="FI410"}': "3x120",
    'fusioninfer_sync_findings{code="FI415"}': "3x120",
    'fusioninfer_sync_findings{code="FI872"}': "3x120",
    'fusioninfer_sync_kind_unavailable{kind="Gateway"}': "0x40 1x10 0x70",  # for ten minutes
    'fusioninfer_sync_queue_oldest_seconds{pod="a"}': "0x40 0+30x6 0x74",  # a slow resync
    'fusioninfer_sync_watch_age_seconds{kind="Pod"}': "60x40 60+30x11 60x60",  # the API server is restarted
    "fusioninfer_sync_lease_failures_total": "0x40 0+1x9 9x70",
    _CERTIFICATES % "unchanged": "0+3x120",
    _CERTIFICATES % "failed": "0x40 0+1x9 9x70",
}
"""An hour in which nothing is wrong for long."""

STARTED: Final = {_REJECTIONS: "_x20 3x30", _UP: "_x20 1x30", "fusioninfer_admission_inflight": "0x60"}
"""A Prometheus that begins to scrape an API server, which refused something long ago."""


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what the Prometheus operator would hand on: the groups."""
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(json.dumps({"groups": GROUPS}))
    return file


def expected(case: Case) -> Object:
    """Return the alert as it would be sent: words in braces are its labels."""
    rule, labels = RULES[case.alert], dict(case.labels)
    texts = {
        name: re.sub(r"\{\{ \$labels\.([a-z]+) \}\}", lambda found: labels[found[1]], text)
        for name, text in rule["annotations"].items()
    }
    return {"exp_labels": {**rule["labels"], **labels}, "exp_annotations": texts}


def trial(series: Mapping[str, str], asked: list[Object]) -> Object:
    """Ask for alerts after some minutes of series."""
    rows = [{"series": name, "values": values} for name, values in series.items()]
    return {"interval": EVERY, "input_series": rows, "alert_rule_test": asked}


def at(minute: int, alert: str, *alerts: Object) -> Object:
    return {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": list(alerts)}


def run(promtool: Path, rules: Path, trials: list[Object]) -> subprocess.CompletedProcess[str]:
    """Have promtool make trials of the rules."""
    file = rules.with_name("trials.yaml")
    file.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": EVERY, "tests": trials}))
    return subprocess.run(
        [str(promtool), "test", "rules", str(file)], capture_output=True, text=True, check=False
    )


def test_prometheus_takes_the_rules_and_has_nothing_to_say(promtool: Path, rules: Path) -> None:
    done = subprocess.run(
        [str(promtool), "check", "rules", "--lint=all", "--lint-fatal", str(rules)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, f"SUCCESS: {len(RULES)} rules found" in done.stdout) == (0, True), done.stderr


def test_every_alert_has_its_rows() -> None:
    assert {case.alert for case in CASES} == RULES.keys()


def test_each_fires_when_it_should_and_is_silent_before(promtool: Path, rules: Path) -> None:
    asked = [
        trial(case.series, [at(case.silent, case.alert), at(case.fires, case.alert, expected(case))])
        for case in CASES
    ]

    done = run(promtool, rules, asked)

    assert done.returncode == 0, done.stdout + done.stderr


def test_all_are_silent_while_nothing_is_wrong_for_long(promtool: Path, rules: Path) -> None:
    silent = [at(minute, alert) for alert in RULES for minute in range(1, 60)]

    done = run(promtool, rules, [trial(CALM, silent)])
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_was_refused_before_prometheus_came_is_no_news(promtool: Path, rules: Path) -> None:
    silent = [at(minute, "FusionInferWebhookUnreachable") for minute in range(1, 25)]

    done = run(promtool, rules, [trial(STARTED, silent)])
    assert done.returncode == 0, done.stdout + done.stderr
