"""The table of `fusioninfer check`: each row holds in a sound cluster, and fails without what it claims."""

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import trustme
import yaml
from cryptography.x509 import load_pem_x509_certificate

from catalog.pickers.generations import OBJECTIVES_API, PICKERS, ROUTER_OBJECTIVES_API
from catalog.versions import SYSTEMS, System
from fusioninfer.cluster.answers import ABSENT, NOT_SERVED, Answer, Rights
from fusioninfer.cluster.check.admission import CONDITIONS
from fusioninfer.cluster.check.certificates import Chain, is_trusted
from fusioninfer.cluster.check.collect import TRIAL, collect
from fusioninfer.cluster.check.controller import controller_rights
from fusioninfer.cluster.check.facts import DryRun, Facts
from fusioninfer.cluster.check.row import CheckResult, results
from fusioninfer.cluster.check.table import CHECKS
from fusioninfer.cluster.reader import Reader
from intent import Object
from intent.settings import Settings
from tests.fusioninfer.cluster import healthy
from tests.fusioninfer.cluster.healthy import BASE, LWS_CONFIG, NOW, deployment, facts, one
from webhook.check import check
from webhook.expand import expanded

Change = Callable[[Facts], Facts]


class Paths(Reader):
    """A cluster in which nothing is: what was asked of it."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def reach(self) -> Object:
        return {"gitVersion": "v1.35.0"}

    async def one(self, path: str) -> Answer:
        self.paths.append(path)
        return ABSENT

    async def every(self, path: str, label: str = "", fields: str = "") -> Answer:
        self.paths.append(f"{path}{label}{fields}")
        return Answer(())


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


def with_mutator(known: Facts) -> Facts:
    more = healthy.foreign("kyverno", "mutate.kyverno.svc", resource="*", group="*")
    found = (*known.answer("mutating").objects, more)
    return replace(known, answers={**known.answers, "mutating": Answer(found)})


def first_denied(rights: Rights) -> Rights:
    """Withdraw one right."""
    return {**rights, next(iter(rights)): False}


def user_denied(known: Facts) -> Facts:
    return replace(known, rights=first_denied(known.rights))


def controller_denied(known: Facts) -> Facts:
    return replace(known, controller_rights=first_denied(known.controller_rights))


def trial(known: Facts) -> Facts:
    return replace(known, trial=DryRun(problem="500 InternalError: failed calling webhook"))


GANG: Final = f"{LWS_CONFIG}gangSchedulingManagement:\n  schedulerProvider: volcano\n"
OTHER_CA: Final = healthy.encoded(healthy.authority(3651).certificate)
OUR_PODS: Final = (
    deployment("fusioninfer-webhook", "webhook", "fusioninfer:0.1.0", 0),
    deployment("fusioninfer-sync", "sync", "fusioninfer:0.1.0", 0),
)
GONE: Final = PICKERS["llm-d-0.7"].image, "ghcr.io/llm-d/llm-d-inference-scheduler@sha256:1"


def picker(generation: str, namespace: str = "a", service: str = "r1") -> Object:
    """Return the Deployment of an endpoint picker."""
    labels = {"fusioninfer.io/picker": generation, "fusioninfer.io/service": service}
    return {"metadata": {"namespace": namespace, "name": f"{service}-epp", "labels": labels}}


def prioritized(name: str = "r1", **spec: Any) -> Object:
    """Return an InferenceService with a priority."""
    return {"metadata": {"namespace": "a", "name": name}, "spec": spec or {"priority": "Critical"}}


FAILURES: Final[dict[str, tuple[Change, str]]] = {
    "kubernetes-known": (reading("version", {"gitVersion": "v1.38.0-gke.1"}), "too new to be known: v1.38.0"),
    "leaderworkerset-known": (
        reading("lws-deployments", deployment("lws-controller-manager", "manager", "lws:v0.11.0")),
        "too new to be known: v0.11.0",
    ),
    "volcano-known": (
        reading("podgroup-definition", healthy.pod_group_definition("minMember", "subGroupPolicy", "quota")),
        "too new to be known: spec.quota",
    ),
    "gateway-api-known": (
        reading("route-definition", healthy.definition("v2.0.0", "gateway.networking.k8s.io")),
        "too new to be known: v2.0.0",
    ),
    "inference-extension-known": (
        reading("pool-definition", healthy.definition("v1.7.0-rc.1", "inference.networking.k8s.io")),
        "too new to be known: v1.7.0-rc.1",
    ),
    "priorities": (
        lambda known: reading("pickers", picker("gie-1.2"))(
            reading(f"resources/{OBJECTIVES_API}", ABSENT)(known)
        ),
        "a/r1: gie-1.2 does not start without inferenceobjectives.inference.networking.x-k8s.io",
    ),
    "lws-served": (
        reading("resources/lws", NOT_SERVED),
        "leaderworkerset.x-k8s.io/v1 leaderworkersets is not",
    ),
    "lws-manager": (
        reading("lws-deployments", deployment("lws-controller-manager", "manager", "lws:v0.9.0", 0)),
        "Deployment lws-controller-manager has no available pod",
    ),
    "lws-webhooks": (
        without("mutating", "lws-mutating-webhook-configuration"),
        "for leaderworkersets and pods",
    ),
    "lws-gang-scheduling": (
        reading("lws-config", {"metadata": {"name": "c"}, "data": {"a.yaml": GANG}}),
        "ConfigMap c, a.yaml: schedulerProvider is volcano",
    ),
    "volcano-served": (reading("resources/podgroups", NOT_SERVED), "podgroups is not served"),
    "podgroup-fields": (
        reading("podgroup-definition", healthy.pod_group_definition("minMember")),
        "lacks the field",
    ),
    "volcano-scheduler": (
        reading("scheduler", deployment("volcano-scheduler", "v", "vc-scheduler:v1.14.1", 0)),
        "no available pod",
    ),
    "volcano-queue": (reading("queue", {"status": {"state": "Closed"}}), "its state is Closed"),
    "volcano-webhooks": (reading("validating", ABSENT), "no webhook of Volcano for PodGroups"),
    "gateway-api": (reading("resources/httproutes", NOT_SERVED), "httproutes is not served"),
    "inference-extension": (reading("resources/inferencepools", NOT_SERVED), "inferencepools is not served"),
    "picker-images": (
        reading(
            "pickers",
            {
                "metadata": {"namespace": "a", "name": "r1-epp"},
                "spec": {"template": {"spec": {"containers": [{"image": one} for one in GONE]}}},
            },
        ),
        ", ".join(f"a/r1-epp {one}" for one in GONE),
    ),
    "other-webhooks": (with_mutator, "kyverno/mutate.kyverno.svc"),
    "webhook-configurations": (
        without("validating", "validate.fusioninfer.io"),
        "there is no webhook inferenceservices.validate.fusioninfer.io, inferencetemplates.",
    ),
    "failure-policy": (webhook(failurePolicy="Ignore"), "failurePolicy is Ignore: mutate.fusioninfer.io"),
    "match-conditions": (webhook(matchConditions=[]), "those of mutate.fusioninfer.io differ"),
    "webhook-endpoints": (
        reading("slices", {"endpoints": [{"conditions": {"ready": False}}]}),
        "Service fusioninfer-system/fusioninfer-webhook has no ready endpoint",
    ),
    "serving-certificate": (reading("secret", healthy.secret(healthy.serving(-2))), "expired 2 days ago"),
    "ca-bundle": (
        webhook(caBundle=OTHER_CA),
        "caBundle of mutate.fusioninfer.io does not trust the serving certificate",
    ),
    "webhook-answers": (trial, "failed calling webhook"),
    "webhook-callers": (
        reading("deployments", Answer((deployment("fusioninfer-webhook", "webhook", "fusioninfer:0.1.0"),))),
        "any pod of the cluster can slow admission",
    ),
    "release": (lambda known: replace(known, release="0.2.0"), "the webhook is 0.1.0, this command 0.2.0"),
    "fallback-policy": (reading("policy", ABSENT), "ValidatingAdmissionPolicy backstop.fusioninfer.io"),
    "inferenceservice-served": (reading("resources/inferenceservices", NOT_SERVED), "is not served"),
    "controller-deployment": (
        reading("deployments", Answer(OUR_PODS)),
        "Deployment fusioninfer-sync has no available pod",
    ),
    "lease": (reading("lease", healthy.lease(120)), "pod-1 renewed it 120 s ago"),
    "settings": (
        reading("settings", {"metadata": {"name": "s"}, "data": {"settings.yaml": "launchr: auto"}}),
        "ConfigMap s, settings.yaml: launchr: unknown field; did you mean launcher?",
    ),
    "object-sizes": (
        reading(
            "services",
            {"metadata": {"namespace": "a", "name": "x"}, "spec": {"roles": [{"name": "z" * 300_000}]}},
        ),
        "a/x spec has 300023 bytes, and the limit is 262144",
    ),
    "controller-rights": (controller_denied, "missing: get leaderworkersets"),
    "user-rights": (user_denied, "missing: create leaderworkersets in namespace llm"),
}
"""For each row of an installed cluster: what makes it fail, and a part of its detail."""
FAILURES_BEFORE: Final[dict[str, tuple[Change, str]]] = {
    "no-remains": (lambda known: known, "webhook configuration mutate.fusioninfer.io, validate.")
}


def state(found: tuple[CheckResult, ...]) -> dict[str, str]:
    return {one.name: one.state for one in found}


def test_every_check_holds_in_a_sound_cluster() -> None:
    found = state(results(CHECKS, facts(), "installed"))

    assert set(found.values()) == {"ok"}
    assert found.keys() == {check.name for check in ROWS if "installed" in check.when}


@pytest.mark.parametrize("name", FAILURES)
def test_a_check_fails_with_its_cause_and_its_remedy(name: str) -> None:
    change, detail = FAILURES[name]
    (row,) = (check for check in ROWS if check.name == name)

    (found,) = (one for one in results(CHECKS, change(facts()), "installed") if one.name == name)

    assert (found.state, found.remedy) == (row.severity, row.remedy)
    assert detail in found.detail


@pytest.mark.parametrize("name", FAILURES_BEFORE)
def test_a_check_before_an_installation_fails(name: str) -> None:
    change, detail = FAILURES_BEFORE[name]

    (found,) = (one for one in results(CHECKS, change(facts()), "pre") if one.name == name)

    assert found.state in {"warning", "error"}
    assert detail in found.detail


@pytest.mark.parametrize(
    ("lease", "state", "detail"),
    [
        (ABSENT, "error", "Lease fusioninfer-system/fusioninfer-sync does not exist"),
        (one(healthy.lease(holder="")), "error", "the Lease has no holder"),
        (one({"spec": {"holderIdentity": "pod-1"}}), "unknown", "the Lease has no readable renewTime"),
        (one(healthy.lease(15)), "ok", "held by pod-1"),
    ],
)
def test_a_lease_tells_whether_a_controller_runs(lease: Answer, state: str, detail: str) -> None:
    found = {one.name: one for one in results(CHECKS, reading("lease", lease)(facts()), "installed")}

    assert (found["lease"].state, found["lease"].detail) == (state, detail)


def test_a_dry_run_without_an_expansion_shows_that_the_webhook_is_not_called() -> None:
    known = replace(facts(), trial=DryRun(stored=TRIAL))

    (found,) = (one for one in results(CHECKS, known, "installed") if one.name == "webhook-answers")

    assert (found.state, found.detail) == ("error", "the dry run was stored without an expansion")


async def test_before_an_installation_nothing_of_ours_is_read_or_tried() -> None:
    reader = Paths()
    await collect(reader, "pre", "fusioninfer-system", "default")

    assert "/apis/apps/v1/namespaces/lws-system/deployments" in reader.paths
    assert [path for path in reader.paths if "fusioninfer-system" in path or "fusioninfer-sync" in path] == []


def test_every_row_fails_in_a_test() -> None:
    assert FAILURES.keys() | FAILURES_BEFORE.keys() == {check.name for check in ROWS}


def test_every_row_says_what_holds_and_what_helps() -> None:
    assert [check.name for check in ROWS if not (check.claim and check.remedy)] == []


@pytest.mark.parametrize("name", [check.name for check in ROWS if check.needs and "installed" in check.when])
def test_a_reading_that_was_refused_is_unknown_and_not_absent(name: str) -> None:
    (row,) = (check for check in ROWS if check.name == name)
    known = facts()
    for needed in row.needs[:1]:
        known = reading(needed, Answer(unknown="403 Forbidden: you may not"))(known)

    found = state(results(CHECKS, known, "installed"))

    assert found.get(name, "unknown") == "unknown"
    assert "error" not in found.values()


def test_an_api_server_that_was_built_without_a_version_is_unknown() -> None:
    known = reading("version", {"gitVersion": "v0.0.0-master+$Format:%H$"})(facts())

    assert state(results(CHECKS, known, "installed"))["kubernetes-known"] == "unknown"


def of_lws(image: str, *fields: str) -> Change:
    """Replace the image of LeaderWorkerSet's manager, and add fields to roles of a DisaggregatedSet."""
    items: Object = {"properties": {name: {} for name in fields}}
    there = reading("set-definition", healthy.definition("", fields={"roles": {"items": items}}))
    manager = reading("lws-deployments", deployment("lws-controller-manager", "manager", image))
    return lambda known: manager(there(known))


def of_routes(release: str) -> Change:
    """Replace the annotation of HTTPRoutes, of which v1 is served by releases that drop timeouts too."""
    return reading("route-definition", healthy.definition(release, "gateway.networking.k8s.io"))


DENIED: Final = reading("lws-deployments", Answer(unknown="403 Forbidden: you may not"))


@pytest.mark.parametrize(
    ("system", "change", "state", "detail"),
    [
        ("leaderworkerset", lambda known: known, "ok", "v0.9.0, tested on 0.9.0: all"),
        ("leaderworkerset", of_lws("lws@sha256:1", "scaling"), "ok", "0.10, by its sources: all"),
        ("leaderworkerset", of_lws("a:5000/lws:v0.9.0", "scaling"), "ok", "0.10, by its sources: all"),
        ("leaderworkerset", of_lws("lws:main", "scaling"), "ok", "0.10, by its sources: all"),
        (
            "leaderworkerset",
            of_lws("lws", "scaling", "new"),
            "warning",
            "too new to be known: spec.roles[].new",
        ),
        ("leaderworkerset", of_lws("lws@sha256:1"), "unknown", "nothing names a version"),
        ("leaderworkerset", of_lws("lws:v0.6.2"), "warning", "too old: v0.6.2"),
        ("kubernetes", reading("version", {"gitVersion": "v1.29.9"}), "error", "too old: v1.29.9"),
        (
            "volcano",
            reading("scheduler", deployment("volcano-scheduler", "v", "vc-scheduler:v1.14.0")),
            "error",
            "too old: v1.14.0",
        ),
        ("leaderworkerset", DENIED, "unknown", "403 Forbidden: you may not"),
        ("gateway-api", of_routes("v1.1.0"), "warning", "too old: v1.1.0"),
        ("gateway-api", of_routes("v1.4.0-eks-1"), "ok", "v1.4.0-eks-1, tested on 1.4.1: routes"),
        ("gateway-api", of_routes(f"v1.{'9' * 5000}"), "warning", "too new to be known: v1.9"),
    ],
)
def test_a_release_is_known_by_an_image_fields_or_an_annotation(
    system: str, change: Change, state: str, detail: str
) -> None:
    found = {one.name: one for one in results(CHECKS, change(facts()), "installed")}[f"{system}-known"]

    assert (found.state, found.detail.startswith(detail)) == (state, True), found


BOTH: Final = (OBJECTIVES_API, ROUTER_OBJECTIVES_API)


@pytest.mark.parametrize(
    ("generation", "service", "served", "detail"),
    [
        ("gie-1.5", prioritized(), (OBJECTIVES_API,), ""),
        ("gie-1.5", prioritized(), (), "a/r1: gie-1.5 finds no InferenceObjectives"),
        ("gie-1.5", prioritized(lora={"adapters": [{"priority": 1}]}), (), "a/r1: gie-1.5 finds no"),
        ("gie-1.5", prioritized("other"), (), ""),
        ("gie-1.5", prioritized(), BOTH, ""),
        ("llm-d-0.10", prioritized(), BOTH, "a/r1: llm-d-0.10 reads llm-d.ai/v1alpha2 alone"),
        ("llm-d-0.10", prioritized(roles=[]), BOTH, ""),
        ("llm-d-0.10", prioritized(), (OBJECTIVES_API,), ""),
        ("llm-d-9", prioritized(), (), ""),
    ],
)
def test_priorities_need_inference_objectives_that_the_endpoint_picker_reads(
    generation: str, service: Object, served: tuple[str, ...], detail: str
) -> None:
    known = reading("services", service)(reading("pickers", picker(generation))(facts()))
    for version in BOTH:
        there = one({"resources": [{"name": "inferenceobjectives"}]}) if version in served else NOT_SERVED
        known = reading(f"resources/{version}", there)(known)

    (found,) = (one for one in results(CHECKS, known, "installed") if one.name == "priorities")

    assert (found.state, found.detail[: len(detail) or None]) == ("warning" if detail else "ok", detail)


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
    found = state(results(CHECKS, reading("resources/lws", NOT_SERVED)(facts()), "installed"))

    assert found["lws-served"] == "error"
    assert "lws-manager" not in found


@pytest.mark.parametrize(("length", "trusted"), [(2, True), (1, False)])
def test_intermediate_certificates_are_followed(length: int, trusted: bool) -> None:  # noqa: FBT001 - a case
    root = trustme.CA()
    pems = root.create_child_ca().issue_cert("a.example").cert_chain_pems[:length]
    chain = Chain(tuple(load_pem_x509_certificate(one.bytes()) for one in pems))
    roots = Chain((load_pem_x509_certificate(root.cert_pem.bytes()),))

    assert is_trusted(chain, roots) is trusted


AT_THE_END: Final = NOW.replace(year=2036, month=5, day=20)
SOON: Final = reading("secret", healthy.secret(healthy.serving(3)))


@pytest.mark.parametrize(
    ("name", "change", "state", "detail"),
    [
        ("serving-certificate", SOON, "warning", "it expires in 3.0 days"),
        ("ca-bundle", webhook(caBundle=""), "error", "mutate.fusioninfer.io: caBundle is empty"),
        ("ca-bundle", webhook(caBundle="bm90IFBFTQ=="), "error", "caBundle is not a PEM certificate"),
        ("ca-bundle", lambda known: replace(known, now=AT_THE_END), "warning", "it expires in"),
    ],
)
def test_certificates_are_there_and_last(name: str, change: Change, state: str, detail: str) -> None:
    (found,) = (one for one in results(CHECKS, change(facts()), "installed") if one.name == name)

    assert (found.state, detail in found.detail) == (state, True), found


def test_the_match_conditions_are_those_of_the_manifests() -> None:
    documents: list[Any] = list(yaml.safe_load_all((BASE / "webhooks.yaml").read_text()))
    found = {
        webhook["name"]: tuple(one["name"] for one in webhook["matchConditions"])
        for document in documents
        for webhook in document["webhooks"]
    }

    assert found == CONDITIONS


def test_the_rights_of_the_controller_are_those_of_the_manifests() -> None:
    documents: list[Any] = list(yaml.safe_load_all((BASE / "rbac.yaml").read_text()))
    roles = [one for one in documents if one["metadata"]["name"] == "fusioninfer-sync" and "rules" in one]
    granted = {
        (group, *resource.partition("/")[::2], verb, name)
        for role in roles
        for rule in role["rules"]
        if rule["verbs"] != ["bind"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }

    asked = controller_rights("x")

    assert {(one.group, one.resource, one.subresource, one.verb, one.name) for one in asked} == granted


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
        (("--caller-cidr=10.1.0.0/28", "--caller-cidr=::1"), ABSENT, "ok", "a dry run came from 10.1.0.7"),
        (("--caller-cidr=10.2.0.1",), ABSENT, "warning", "a dry run came from elsewhere: 10.1.0.7"),
        (("--caller-cidr=x",), ABSENT, "warning", "'x' does not appear to be an IPv4 or IPv6 network"),
    ],
)
def test_callers_are_known_by_certificate_or_address_or_the_port_is_closed(
    flags: tuple[str, ...], policy: Answer, state: str, detail: str
) -> None:
    own = deployment("fusioninfer-webhook", "webhook", "fusioninfer:0.1.0", flags=flags)
    known = reading("network-policy", policy)(reading("deployments", Answer((own,)))(healthy.facts()))
    known = replace(known, trial=replace(known.trial, peers=("10.1.0.7",)))

    (found,) = (one for one in results(CHECKS, known, "installed") if one.name == "webhook-callers")
    assert (found.state, found.detail.endswith(detail)) == (state, True), found


def test_the_trial_is_expanded_and_has_no_findings() -> None:
    trial = TRIAL | {"metadata": TRIAL["metadata"] | {"name": "x"}}

    assert "fusioninfer.io/expansion" in expanded(trial)["metadata"]["annotations"]
    assert check(trial, None, Settings(), mutated=False) == []
