"""The table of `fusioninfer check`: each row holds in a sound cluster, and fails without what it claims."""

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from catalog.release import VERSION
from catalog.versions import SYSTEMS, System
from fusioninfer.cluster.check.collect import TRIAL, collect_needed
from fusioninfer.cluster.check.facts import CheckResult, Facts, results
from fusioninfer.cluster.check.installed import CHECKS, WEBHOOKS
from fusioninfer.cluster.reader import ABSENT, Answer, Reader
from intent import Object
from intent.settings import Settings
from tests.fusioninfer.cluster import healthy
from tests.fusioninfer.cluster.healthy import LWS_CONFIG, NOW, deployment, facts, one
from webhook.check import check
from webhook.expand import expanded

Change = Callable[[Facts], Facts]


class Paths(Reader):
    """A cluster in which LeaderWorkerSet alone is, in its own namespace: what was asked of it."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def reach(self) -> Object:
        return {"gitVersion": "v1.35.0"}

    async def one(self, path: str) -> Answer:
        self.paths.append(path)
        return ABSENT

    async def every(self, path: str, label: str = "", fields: str = "") -> Answer:
        self.paths.append(f"{path}{label}{fields}")
        service = {"clientConfig": {"service": {"namespace": "openshift-lws-operator", "name": "lws"}}}
        return one({"webhooks": [{"name": "mleaderworkerset.kb.io"} | service]})


ROWS: Final = [check for checks in CHECKS.values() for check in checks]


def reading(name: str, answer: Answer | Object) -> Change:
    """Replace what a reading returned."""
    made = answer if isinstance(answer, Answer) else one(answer)
    return lambda known: replace(known, answers={**known.answers, name: made})


def webhook(**fields: Any) -> Change:
    """Change fields of the mutating webhook; `caBundle` is one of its clientConfig."""

    def change(known: Facts) -> Facts:
        own, *others = copy.deepcopy(known.answer("mutating").objects)
        for name, value in fields.items():
            (own["webhooks"][0]["clientConfig"] if name == "caBundle" else own["webhooks"][0])[name] = value
        return replace(known, answers={**known.answers, "mutating": Answer((own, *others))})

    return change


def without(reading: str, name: str) -> Change:
    """Remove an object from a list."""

    def change(known: Facts) -> Facts:
        kept = [obj for obj in known.answer(reading).objects if obj["metadata"]["name"] != name]
        return replace(known, answers={**known.answers, reading: Answer(tuple(kept))})

    return change


GANG: Final = f"{LWS_CONFIG}gangSchedulingManagement:\n  schedulerProvider: volcano\n"
AGING: Final = healthy.encoded(healthy.authority(20).certificate)
FAILURES: Final[dict[str, tuple[Change, str]]] = {
    "kubernetes": (reading("version", {"gitVersion": "v1.38.0-gke.1"}), "too new to be known: v1.38.0"),
    "lws-served": (reading("lws", ABSENT), "v1 of leaderworkersets.leaderworkerset.x-k8s.io is not served"),
    "lws-manager": (
        reading("lws-deployments", deployment("lws-controller-manager", "lws:v0.9.0", 0)),
        "Deployment lws-controller-manager has no available pod",
    ),
    "lws-gang-scheduling": (
        reading("lws-config", {"metadata": {"name": "c"}, "data": {"a.yaml": GANG}}),
        "ConfigMap c, a.yaml: schedulerProvider is volcano",
    ),
    "volcano-served": (
        reading("podgroups", healthy.definition("podgroups", "minMember")),
        "lacks the field",
    ),
    "volcano-scheduler": (
        reading("scheduler", deployment("volcano-scheduler", "vc-scheduler:v1.14.1", 0)),
        "no available pod",
    ),
    "gateway-api": (
        reading("httproutes", healthy.definition("httproutes", release="v2.0.0")),
        "too new to be known: v2.0.0",
    ),
    "inference-extension": (
        reading("inferencepools", ABSENT),
        "v1 of inferencepools.inference.networking.k8s.io is not served",
    ),
    "webhook-configurations": (
        without("validating", "validate.fusioninfer.io"),
        "there is no webhook inferenceservices.validate.fusioninfer.io, inferencetemplates.",
    ),
    "certificates": (
        reading("secret", healthy.secret(healthy.serving(-2))),
        "the serving certificate expired 2 days ago",
    ),
    "webhook-answers": (
        lambda known: replace(reading("trial", ABSENT)(known), problem="500: failed calling webhook"),
        "failed calling webhook",
    ),
    "webhook-callers": (
        reading("deployments", deployment("fusioninfer-webhook", "fusioninfer:0.1.0")),
        "any pod of the cluster can slow admission",
    ),
    "release": (
        reading("deployments", deployment("fusioninfer-webhook", "fusioninfer:0.0.9")),
        f"the webhook is 0.0.9, this command {VERSION}",
    ),
    "inferenceservice-served": (reading("inferenceservices", ABSENT), "is not served"),
    "lease": (reading("lease", healthy.lease(120)), "pod-1 renewed the Lease fusioninfer-sync 120 s ago"),
}
"""For each row: what makes it fail, and a part of its detail."""


DENIED: Final = Answer(unknown="403 Forbidden: you may not")


def of_lws(tag: str) -> Change:
    """Replace the tag of LeaderWorkerSet's manager."""
    return reading("lws-deployments", deployment("lws-controller-manager", f"a:5000/lws:{tag}"))


def of_volcano(tag: str) -> Change:
    """Replace the tag of Volcano's scheduler."""
    return reading("scheduler", deployment("volcano-scheduler", f"vc-scheduler:{tag}"))


def of_routes(release: str) -> Change:
    """Replace the annotation of HTTPRoutes."""
    return reading("httproutes", healthy.definition("httproutes", release=release))


def judged(name: str, known: Facts) -> CheckResult:
    """Return the result of a check."""
    return next(one for one in results(CHECKS, known) if one.name == name)


def state(found: tuple[CheckResult, ...]) -> dict[str, str]:
    return {one.name: one.state for one in found}


def test_every_check_holds_in_a_sound_cluster() -> None:
    found = state(results(CHECKS, facts()))

    assert found == dict.fromkeys((row.name for row in ROWS), "ok")


@pytest.mark.parametrize("name", FAILURES)
def test_a_check_fails_with_its_cause_and_its_remedy(name: str) -> None:
    change, detail = FAILURES[name]
    (row,) = (check for check in ROWS if check.name == name)

    found = judged(name, change(facts()))

    assert (found.state in {"warning", "error"}, found.remedy) == (True, row.remedy)
    assert detail in found.detail


async def test_before_an_installation_nothing_of_ours_is_read_or_tried() -> None:
    reader = Paths()
    await collect_needed(reader)

    assert "/apis/apps/v1/namespaces/openshift-lws-operator/deployments" in reader.paths
    assert [path for path in reader.paths if "fusioninfer-system" in path or "fusioninfer-sync" in path] == []


def test_every_row_fails_in_a_test() -> None:
    assert FAILURES.keys() == {row.name for row in ROWS}


@pytest.mark.parametrize("name", [row.name for row in ROWS if row.needs])
def test_a_reading_that_was_refused_is_unknown_and_not_absent(name: str) -> None:
    (row,) = (check for check in ROWS if check.name == name)

    found = state(results(CHECKS, reading(row.needs[0], DENIED)(facts())))

    assert found.get(name, "unknown") == "unknown"
    assert "error" not in found.values()


AT_THE_END: Final = NOW.replace(year=2036, month=5, day=20)
SOON: Final = reading("secret", healthy.secret(healthy.serving(3)))
NO_RELEASE: Final = {"gitVersion": "v0.0.0-master+$Format:%H$"}
NOBODY: Final = "nobody holds the Lease fusioninfer-sync"
STATES: Final = (
    ("kubernetes", reading("version", NO_RELEASE), "unknown", "nothing names its version"),
    ("kubernetes", reading("version", {"gitVersion": "v1.29.9"}), "error", "too old: v1.29.9"),
    ("lws-manager", of_lws("v0.9.0"), "ok", "v0.9.0, tested on 0.9.0: all"),
    ("lws-manager", of_lws("v0.10.0"), "ok", "v0.10.0, by its sources: all"),
    ("lws-manager", of_lws("v0.11.0"), "warning", "too new to be known: v0.11.0"),
    ("lws-manager", of_lws("v0.6.2"), "warning", "too old: v0.6.2"),
    ("lws-manager", of_lws("main"), "unknown", "nothing names its version: main"),
    ("volcano-scheduler", of_volcano("v1.14.0"), "error", "too old: v1.14.0"),
    ("volcano-scheduler", reading("scheduler", ABSENT), "unknown", "there is no Deployment volcano-system/"),
    ("gateway-api", of_routes("v1.1.0"), "warning", "too old: v1.1.0"),
    ("gateway-api", of_routes("v1.4.0-eks-1"), "ok", "v1.4.0-eks-1, tested on 1.4.1: routes"),
    ("gateway-api", of_routes(f"v1.{'9' * 5000}"), "warning", "too new to be known: v1.9"),
    (
        "webhook-configurations",
        webhook(failurePolicy="Ignore"),
        "warning",
        "failurePolicy is Ignore: mutate.",
    ),
    ("certificates", SOON, "warning", "the serving certificate expires in 3.0 days"),
    (
        "certificates",
        webhook(caBundle=""),
        "error",
        "caBundle of mutate.fusioninfer.io is not there, or no PEM",
    ),
    (
        "certificates",
        webhook(caBundle="bm90IFBFTQ=="),
        "error",
        "caBundle of mutate.fusioninfer.io is not there",
    ),
    ("certificates", webhook(caBundle=AGING), "warning", "caBundle of mutate.fusioninfer.io expires in 20.0"),
    ("certificates", reading("secret", ABSENT), "error", "the serving certificate is not there"),
    (
        "certificates",
        lambda known: replace(SOON(known), now=AT_THE_END),
        "error",
        "the serving certificate expired",
    ),
    ("webhook-answers", reading("trial", TRIAL), "error", "the dry run was stored without an expansion"),
    ("webhook-answers", reading("trial", DENIED), "unknown", "403 Forbidden: you may not"),
    ("lease", reading("lease", ABSENT), "error", NOBODY),
    ("lease", reading("lease", healthy.lease(holder="")), "error", NOBODY),
    ("lease", reading("lease", {"spec": {"holderIdentity": "pod-1"}}), "error", NOBODY),
)


@pytest.mark.parametrize(("name", "change", "state", "detail"), STATES)
def test_a_check_has_a_state_and_a_detail(name: str, change: Change, state: str, detail: str) -> None:
    found = judged(name, change(facts()))

    assert (found.state, found.detail.startswith(detail)) == (state, True), found


MODULES: Final = {
    "Kubernetes": {"kubernetes"},
    "LeaderWorkerSet": {"lws"},
    "Volcano": {"volcano"},
    "Gateway API": {"gateway-api"},
    "Inference Extension": {"gie-1.5.0", "gie-1.6.0"},
}


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_the_releases_that_are_called_tested_are_those_of_the_tests(system: System) -> None:
    folder = Path(__file__).parents[2] / "cluster" / "components"
    files = [(folder / name / "go.mod").read_text() for name in MODULES[system.name]]
    paths = {"Kubernetes": "k8s.io/kubernetes", "Volcano": "volcano.sh/volcano"}
    path = paths.get(system.name, r"sigs.k8s.io/(?:lws|gateway-api|gateway-api-inference-extension)")

    found = {version for text in files for version in re.findall(rf"{path} v(\S+)", text)}

    assert found == {one.tested for one in system.releases} - {""}


def test_a_check_whose_condition_fails_is_left_out() -> None:
    found = state(results(CHECKS, reading("lws", ABSENT)(facts())))

    assert found["lws-served"] == "error"
    assert "lws-manager" not in found


def test_the_webhooks_are_those_of_the_manifests() -> None:
    assert {webhook["name"] for one in healthy.manifests() for webhook in one["webhooks"]} == WEBHOOKS


CALLERS: Final = "any pod of the cluster can slow admission; a dry run came from 10.1.0.7"
CLOSED: Final = {"spec": {"ingress": [{"ports": [{"port": "https"}], "from": [{"ipBlock": {}}]}]}}
OPEN: Final = {"spec": {"ingress": [{"ports": [{"port": "https"}]}]}}


@pytest.mark.parametrize(
    ("flags", "policy", "state", "detail"),
    [
        ((), ABSENT, "warning", CALLERS),
        ((), Answer((OPEN,)), "warning", CALLERS),
        ((), Answer((CLOSED,)), "ok", "a dry run came from 10.1.0.7"),
        (("--client-ca=/ca.crt",), ABSENT, "ok", "a dry run came from 10.1.0.7"),
        (("--caller-cidr=10.1.0.0/28",), ABSENT, "ok", "a dry run came from 10.1.0.7"),
    ],
)
def test_callers_are_known_by_certificate_or_address_or_the_port_is_closed(
    flags: tuple[str, ...], policy: Answer, state: str, detail: str
) -> None:
    own = deployment("fusioninfer-webhook", "fusioninfer:0.1.0", flags=flags)
    known = reading("network-policy", policy)(reading("deployments", Answer((own,)))(healthy.facts()))
    known = replace(known, peers=("10.1.0.7",))

    found = judged("webhook-callers", known)
    assert (found.state, found.detail.endswith(detail)) == (state, True), found


def test_the_trial_is_expanded_and_has_no_findings() -> None:
    trial = TRIAL | {"metadata": TRIAL["metadata"] | {"name": "x"}}

    assert "fusioninfer.io/expansion" in expanded(trial)["metadata"]["annotations"]
    assert check(trial, None, Settings(), mutated=False) == []
