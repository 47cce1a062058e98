"""The rows of the comparison with Kyverno, and its policy. Nothing is started and nothing is timed."""

import io
from collections.abc import Sequence
from typing import TextIO

import pytest
from rich.console import Console

from intent import Object
from tests.bench import peers
from tests.bench.histogram import Calls
from tests.bench.peers import ASKS, LWS, NOT_BUILT, OURS, Peer
from tests.bench.run import QUICK, Run
from tests.bench.stages import leaderworkerset
from tests.bench.writes import Round, alone, create
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.kyverno import KYVERNO
from tests.cluster.testbed.modules import MODULES, Module
from tests.cluster.testbed.toolchain import ModulesUnavailableError
from webhook.expand import DEFAULTS, change
from webhook.state import state

MUTATE = {"mutate": ("mutate.kyverno.svc-fail",)}


def merged(live: Object, patch: Object) -> Object:
    """Apply a patch that only adds to maps."""
    return live | {
        key: merged(live.get(key, {}), value) if isinstance(value, dict) else value
        for key, value in patch.items()
    }


def resolved(tree: Object, value: str) -> Object:
    """Put the name of the service where the policy reads it."""
    return {
        key: resolved(each, value) if isinstance(each, dict) else each.replace(peers.VALUE, value)
        for key, each in tree.items()
    }


def test_the_policy_adds_the_labels_group_annotations_and_schedulers_that_our_webhook_adds() -> None:
    live = alone(leaderworkerset())
    expanded = change(live, state(live), DEFAULTS)
    rule = peers.policy()["spec"]["rules"][0]["mutate"]["patchStrategicMerge"]

    admitted = merged(live, resolved(rule, "deepseek-r1"))

    assert peers.gang(admitted) == peers.gang(expanded)
    template = admitted["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert template["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "deepseek-r1"
    assert template["spec"]["schedulerName"] == "volcano"
    assert admitted["metadata"]["labels"]["fusioninfer.io/service"] == "deepseek-r1"


def test_no_write_is_admitted_by_both_our_webhooks_and_the_policy() -> None:
    assert f"'{ASKS}' in object.metadata.annotations" in peers.condition()["expression"]
    assert not ASKS.startswith("fusioninfer.io/")


def a_round(process: str, seconds: float, calls: dict[str, Calls]) -> Round:
    """Return a round of ten writes; LWS spends a second for each, in two requests."""
    of_lws = {name: Calls(10, 20.0) for names in LWS.webhooks.values() for name in names}
    return Round({process: seconds, "lws": 1.0}, of_lws | calls, 1.0, 10)


def measured(names: Sequence[str], seconds: float) -> dict[str, Calls]:
    return {name: Calls(10, seconds * 10) for name in names}


def test_every_peer_is_compared_with_lws_and_ours_with_the_others() -> None:
    live = alone(leaderworkerset())
    asked = {name: create(name, live, peers.gang, None) for name in ("ours", "Kyverno")}
    two = [
        Peer("ours", "webhook", OURS, [asked["ours"]]),
        Peer("Kyverno", KYVERNO, MUTATE, [asked["Kyverno"]]),
    ]
    called = [*OURS["mutate"], *OURS["validate"]]
    found = {
        "ours": [a_round("webhook", 0.5, measured(called, 1.0))],
        "Kyverno": [a_round(KYVERNO, 2.0, {MUTATE["mutate"][0]: Calls(20, 80.0)})],
    }

    rows = {row.name: row.value for row in peers.rows(two, found)}

    assert rows == {
        "CPU of a CREATE, ours beside LWS": 0.5,
        "CPU of a request, CREATE, ours beside LWS": 0.5,
        "mean of mutate, CREATE, ours beside LWS": 0.5,
        "mean of validate, CREATE, ours beside LWS": 0.5,
        "CPU of a CREATE, Kyverno beside LWS": 2.0,
        "CPU of a request, CREATE, Kyverno beside LWS": 2.0,
        "mean of mutate, CREATE, Kyverno beside LWS": 2.0,
        "CPU of a CREATE, ours beside Kyverno": 0.25,
        "CPU of a request, CREATE, ours beside Kyverno": 0.25,
        "mean of mutate, CREATE, ours beside Kyverno": 0.25,
    }


def test_without_kyverno_the_run_says_so_and_compares_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(_stream: TextIO, modules: Sequence[Module]) -> Built:
        if tuple(modules) != MODULES:
            raise ModulesUnavailableError("no network")
        return Built({})

    monkeypatch.setattr(peers, "build", build)
    out = io.StringIO()
    live = alone(leaderworkerset())
    one = Peer("ours", "webhook", OURS, [create("ours", live, peers.gang, None)])
    found = {"ours": [a_round("webhook", 0.5, measured([*OURS["mutate"], *OURS["validate"]], 1.0))]}

    _built, has_kyverno = peers.obtained(Run(QUICK, console=Console(file=out)))
    rows = peers.noted(list(peers.rows([one], found)))

    assert not has_kyverno
    assert out.getvalue().startswith(f"{NOT_BUILT}: no network")
    assert rows[0].beside["note"] == NOT_BUILT
    assert all("Kyverno" not in row.name for row in rows)
