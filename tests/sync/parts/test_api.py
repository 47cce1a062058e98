"""The plan of the Service `<service>-api`, and how it is rendered."""

from dataclasses import replace
from typing import Any, Final

import pytest

from intent import Object
from intent.errors import Subject
from intent.inferenceservice.read import InferenceServiceIntent, Router
from intent.service.member import Member
from intent.settings import Settings
from sync.parts.api import api
from sync.parts.desired import Desired
from sync.preview import preview
from tests.sync.samples import KEY, SETTINGS, decode, member, prefill, seen

LEADERS = "leaderworkerset.sigs.k8s.io/worker-index"
ISVC = InferenceServiceIntent(*KEY, uid="uid-isvc")


UNCHANGED: Final = Desired(held=frozenset({"Ingress"}), held_objects=frozenset({("Service", "r1-api")}))


def plan(*members: Member, settings: Settings = SETTINGS, **known: Any) -> Desired:
    """Desire the Service of these members."""
    return api(seen(*members, **known), settings)


def rendered(*members: Member, **known: Any) -> Object:
    """Return the Service, which must exist."""
    return plan(*members, **known).objects[0]


def said(found: Desired) -> set[tuple[str, str, str]]:
    """Return subject, code and severity of the findings."""
    return {(one.subject.name, one.error.code, one.error.severity) for one in found.all_findings}


def test_a_worker_gets_a_service_on_its_leaders() -> None:
    spec = rendered(member("w", port=8080))["spec"]

    assert spec == {
        "selector": {"fusioninfer.io/service": "r1", "fusioninfer.io/component-type": "worker", LEADERS: "0"},
        "ports": [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}],
    }


def test_of_prefillers_and_decoders_the_decoders_are_selected() -> None:
    spec = rendered(prefill(port=9000), decode(port=8000))["spec"]

    assert (spec["selector"]["fusioninfer.io/component-type"], spec["ports"][0]["targetPort"]) == (
        "decoder",
        8000,
    )


def test_its_inference_service_owns_it_or_its_members_do() -> None:
    members = rendered(prefill(), decode())["metadata"]["ownerReferences"]
    service = rendered(member("w"), service=ISVC)["metadata"]["ownerReferences"]

    named = [[(one["kind"], one["name"]) for one in owners] for owners in (members, service)]
    assert named == [[("LeaderWorkerSet", "d"), ("LeaderWorkerSet", "p")], [("InferenceService", "r1")]]


def test_what_is_gone_changes_nothing_but_the_owners() -> None:
    before, after = rendered(prefill(), decode()), rendered(decode())

    assert (after["spec"], len(after["metadata"]["ownerReferences"])) == (before["spec"], 1)
    assert plan(prefill()) == plan(service=ISVC) == UNCHANGED


def test_a_member_that_breaks_a_rule_is_not_selected() -> None:
    found = rendered(member("w", created="2026-01-01"), decode(created="2026-01-02"))

    assert found["spec"]["selector"]["fusioninfer.io/component-type"] == "worker"
    assert [one["name"] for one in found["metadata"]["ownerReferences"]] == ["w"]


def test_decoders_on_different_ports_leave_it_as_it_is() -> None:
    found = plan(prefill(), decode("d1", role_name="a", port=1), decode("d2", role_name="b", port=2))

    assert replace(found, findings=()) == UNCHANGED
    assert said(found) == {(name, "FI832", "warning") for name in ("p", "d1", "d2")}


def test_a_port_counts_for_no_longer_than_its_decoder_or_revision_has_replicas() -> None:
    old = decode("old", role_name="a", port=1, replicas=0)
    revisions = [
        make(f"{make().name}-{revision}", revision=revision, group=f"r1-{revision}", **fields)
        for revision, port in (("a", 1), ("b", 2))
        for make, fields in ((prefill, dict[str, Any]()), (decode, {"port": port}))
    ]
    scaled = [replace(one, replicas=int(one.revision == "b")) for one in revisions]

    assert [one.error.code for one in plan(*revisions).findings] == ["FI832"] * 4
    for members in ([prefill(), old, decode("new", role_name="b", port=2)], scaled):
        assert rendered(*members)["spec"]["ports"][0]["targetPort"] == 2


def namesake(name: str) -> tuple[Subject, ...]:
    return (Subject("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", KEY[0], name),)


def test_a_leaderworkerset_of_its_name_is_reported_and_keeps_the_name() -> None:
    found, shown = plan(member("w"), namesakes=namesake("r1-api")), preview([member("r1-api")], SETTINGS)

    assert (found.objects, found.held_objects) == ((), frozenset())
    assert said(found) == {("w", "FI830", "warning")}
    assert [one["kind"] for one in shown.objects] == ["PodGroup"]
    assert {one.error.code for one in shown.all_findings} == {"FI830"}
    assert rendered(member("w"), namesakes=namesake("r1-epp"))


def test_the_operator_can_switch_it_off() -> None:
    off = Settings(api_services=False)

    assert plan(member("w"), settings=off) == UNCHANGED


# --- the Ingress ------------------------------------------------------------------------------------

BACKEND = {"service": {"name": "r1-api", "port": {"name": "http"}}}
OTHER = {"service": {"name": "mine", "port": {"number": 1}}}
WHOLE_HOST = {"path": "/", "pathType": "Prefix", "backend": BACKEND}


def bringing(**spec: Any) -> InferenceServiceIntent:
    """Return an InferenceService with an Ingress."""
    return replace(ISVC, router=Router("router", index=1, ingress=spec))


def ingress(**spec: Any) -> Object:
    """Render the spec of an author's Ingress."""
    _, found = plan(member("w"), service=bringing(**spec)).objects
    assert (found["kind"], found["metadata"]["name"]) == ("Ingress", "r1-ingress")
    rendered: Object = found["spec"]
    return rendered


OWN: Final = {"path": "/own", "pathType": "Exact", "backend": OTHER}
OPEN: Final = {"path": "/v1", "pathType": "Prefix"}


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ({"ingressClassName": "nginx"}, {"ingressClassName": "nginx", "defaultBackend": BACKEND}),
        ({"rules": [{"host": "a.b"}]}, {"rules": [{"host": "a.b", "http": {"paths": [WHOLE_HOST]}}]}),
        (
            {"rules": [{"http": {"paths": [OPEN, OWN]}}]},
            {"rules": [{"http": {"paths": [OPEN | {"backend": BACKEND}, OWN]}}]},
        ),
        ({"defaultBackend": OTHER}, {"defaultBackend": OTHER}),
    ],
    ids=["no rules", "no paths", "a path without a backend", "an own default"],
)
def test_an_ingress_leads_to_the_service_where_its_author_names_no_other(asked: Object, made: Object) -> None:
    assert ingress(**asked) == made


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (Settings(ingresses=False), "FI833"),
        (Settings(ingresses=("other",)), "FI833"),
        (Settings(api_services=False), "FI835"),
    ],
)
def test_an_ingress_that_is_not_to_be_stays_as_it_is_and_is_reported(settings: Settings, code: str) -> None:
    found = plan(member("w"), service=bringing(ingressClassName="nginx"), settings=settings)

    assert ("Ingress" in found.held, said(found)) == (True, {("r1", code, "error")})
    assert "Ingress" not in {one["kind"] for one in found.objects}


def test_an_ingress_to_a_service_whose_name_is_taken_is_reported() -> None:
    found = plan(member("w"), service=bringing(), namesakes=namesake("r1-api"))

    assert (found.objects, said(found)) == ((), {("r1", "FI835", "error")})


def test_without_routes_there_is_no_ingress() -> None:
    found = plan(member("w"), service=bringing(), settings=Settings(routes=False))

    assert [one["kind"] for one in found.objects] == ["Service"]
