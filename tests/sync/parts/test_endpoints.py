"""The pods and ports that the Service and the InferencePool select, by the pods that are there."""

from dataclasses import replace
from typing import Any, Final

import pytest

from catalog.pickers.generations import PICKERS
from intent.annotations import Routing
from intent.served import LEADERS, Serving
from intent.service.member import Member
from intent.service.member import member as read_member
from intent.service.routes import contradictions
from intent.settings import Settings
from sync.observed.pod import ObservedPod, project
from sync.parts.api import api
from sync.parts.endpoints import Endpoints, endpoints
from sync.parts.routes import routes
from tests.builders.lws import container, lws, put, template
from tests.sync.samples import KEY, SETTINGS, decode, member, prefill, seen
from webhook.check import check

ALL: Final = Serving(everywhere=True)
TWO: Final = Serving(everywhere=True, ports=(8000, 8001), supervisor=9256)
ROUTED: Final = Routing("prefix-cache")


def worker(serving: Serving = LEADERS, **fields: Any) -> Member:
    """Return a member that serves so, with routes."""
    return member("w", serving=serving, routing=ROUTED, **fields)


def pod(*, everywhere: bool = True, ports: str = "", **fields: Any) -> ObservedPod:
    """Return a pod with these marks."""
    made = ObservedPod(*KEY, component_type="worker", everywhere=everywhere, ports=ports)
    return replace(made, **fields)


HEADLESS: Final = pod(everywhere=False)
BOTH: Final = pod(ports="8000,8001")


@pytest.mark.parametrize(
    ("serving", "pods", "everywhere"),
    [
        (LEADERS, (), False),
        (LEADERS, (pod(),), False),
        (ALL, (), True),
        (ALL, (pod(), pod()), True),
        (ALL, (pod(), HEADLESS), False),
        (ALL, (pod(), replace(HEADLESS, deleting=True)), True),
        (ALL, (pod(), replace(HEADLESS, component_type="decoder")), True),
        (ALL, None, False),
    ],
)
def test_a_selector_widens_once_every_live_pod_serves_and_narrows_before_one_does_not(
    serving: Serving, pods: tuple[ObservedPod, ...] | None, *, everywhere: bool
) -> None:
    (service,) = api(seen(worker(serving), pods=pods), SETTINGS).objects

    mark = (
        ("fusioninfer.io/serves", "all") if everywhere else ("leaderworkerset.sigs.k8s.io/worker-index", "0")
    )
    assert dict([mark]).items() <= service["spec"]["selector"].items()
    assert len(service["spec"]["selector"]) == 3


@pytest.mark.parametrize(
    ("members", "pods", "picks", "ports"),
    [
        ((worker(),), (HEADLESS,), True, (8000,)),
        ((worker(TWO),), (), True, (8000, 8001)),
        ((worker(TWO),), (BOTH, BOTH), True, (8000, 8001)),
        ((worker(TWO),), (BOTH, HEADLESS), True, (8000,)),
        ((worker(TWO),), (BOTH, pod(ports="8000")), True, (8000, 8001)),
        ((worker(TWO),), (BOTH, pod(ports="8000")), False, (8000,)),
        ((worker(TWO),), None, True, (8000,)),
        ((worker(TWO), worker(replace(TWO, ports=(8000, 8001, 8002)))), (BOTH,), True, (8000, 8001, 8002)),
        ((worker(TWO), worker(replace(TWO, ports=(8000, 8001, 8002)))), (BOTH,), False, (8000, 8001)),
        ((worker(TWO),), (pod(ports="x,9"), BOTH), False, (8000,)),
    ],
)
def test_a_port_is_listed_once_every_live_pod_serves_on_it_or_says_on_which(
    members: tuple[Member, ...], pods: tuple[ObservedPod, ...] | None, ports: tuple[int, ...], *, picks: bool
) -> None:
    assert endpoints(members, pods, picks=picks).ports == ports


@pytest.mark.parametrize(
    ("served", "kind"), [((worker(ALL),), "worker"), ((prefill(serving=ALL), decode(serving=ALL)), "")]
)
def test_an_encoder_is_not_selected_and_changes_no_selector(served: tuple[Member, ...], kind: str) -> None:
    encoder = member("e", "encoder", size=1, port=9, created="2025-12-31")
    pods = (pod(), pod(everywhere=False, component_type="encoder"))

    (made,) = api(seen(encoder, *served, pods=pods), SETTINGS).objects
    pool = endpoints((encoder, *served), pods)

    assert made["spec"]["selector"]["fusioninfer.io/component-type"] == served[-1].component_type
    assert (pool.ports, pool.everywhere) == ((8000,), True)
    assert pool.selector.get("fusioninfer.io/component-type", "") == kind
    assert pool == endpoints(served, pods)  # its pods may be there before it is known, and after it is gone
    assert endpoints((encoder, *served), None) == Endpoints((8000,), kind=kind)


@pytest.mark.parametrize(
    ("other", "counts"), [({"component_type": ""}, set()), ({"component_type": "prefiller"}, {""})]
)
@pytest.mark.parametrize("served", [(worker(TWO),), (prefill(serving=TWO), decode(serving=TWO))])
def test_pods_that_no_selector_finds_change_none(
    served: tuple[Member, ...], other: dict[str, str], counts: set[str]
) -> None:
    pods, is_worker = (BOTH, pod(everywhere=False, **other)), len(served) == 1

    found = endpoints(served, pods, picks=True)

    alone = endpoints(served, (BOTH,), picks=True)
    assert (found.ports == alone.ports and found.everywhere == alone.everywhere) is (is_worker or not counts)
    assert (alone.kind, found.kind) == ("", "worker" if is_worker and counts else "")


def test_each_rank_is_a_port_of_the_service_and_of_the_pool() -> None:
    snapshot = seen(worker(TWO), pods=(BOTH,))
    (service,), found = api(snapshot, SETTINGS).objects, routes(snapshot, Settings(picker="gie-1.5")).objects
    (pool,) = [one for one in found if one["kind"] == "InferencePool"]

    assert [(one["name"], one["port"], one["targetPort"]) for one in service["spec"]["ports"]] == [
        ("http", 80, 8000),
        ("http-1", 81, 8001),
    ]
    assert pool["spec"]["targetPorts"] == [{"number": 8000}, {"number": 8001}]
    assert pool["spec"]["selector"]["matchLabels"]["fusioninfer.io/serves"] == "all"


@pytest.mark.parametrize(
    ("picker", "members", "found"),
    [
        ("gie-1.5", (worker(ALL), worker(ALL)), set()),
        ("gie-1.5", (worker(), worker()), set()),
        ("gie-1.5", (worker(TWO), worker(replace(TWO, ports=(8000, 8001, 8002)))), set()),
        ("gie-1.3", (worker(TWO), worker(replace(TWO, ports=(8000, 8001, 8002)))), {"warning"}),
        ("gie-1.5", (worker(TWO), worker()), {"warning"}),
        ("gie-1.5", (worker(TWO), worker(port=8001)), {"error"}),
        ("gie-1.5", (worker(replace(TWO, ports=tuple(range(8000, 8008)))),), set()),
        ("gie-1.5", (worker(replace(TWO, ports=tuple(range(8000, 8009)))),), {"error"}),
        ("gie-1.3", [worker(Serving(ports=tuple(range(80, 89 + more)))) for more in (0, 1)], {"error"}),
    ],
)
def test_members_with_other_ports_are_reached_on_those_of_all_unless_pickers_read_them_from_pods(
    picker: str, members: tuple[Member, ...], found: set[str]
) -> None:
    revisions = tuple(
        replace(one, name=f"w-{at}", revision=f"{at}" * 8, group=f"r1-{at}") for at, one in enumerate(members)
    )
    pods = tuple(pod(ports=",".join(map(str, one.serving.ports))) for one in members)

    plan = routes(seen(*revisions, pods=pods), Settings(picker=picker))

    assert {one.error.severity for one in plan.of_routes if one.error.code == "FI809"} == found
    pools = [one["spec"]["targetPorts"] for one in plan.objects if one["kind"] == "InferencePool"]
    assert (not pools) is (found == {"error"})
    if found == {"warning"}:
        assert {one["number"] for one in pools[0]} == {*members[0].ports} & {*members[1].ports}


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ((prefill(), decode(serving=ALL)), {"p": "balance the load of both in the same way"}),
        ((prefill(size=1), decode(serving=ALL)), {"p": "write fusioninfer.io/serves: all here too"}),
        ((prefill(serving=ALL), decode(size=1)), {"d": "write fusioninfer.io/serves: all here too"}),
        ((prefill(size=1, serving=ALL), decode(serving=ALL)), {}),
        ((prefill(), decode()), {}),
        ((prefill(revision="a" * 8), decode(serving=ALL, revision="b" * 8)), {}),
        ((prefill(), decode(serving=TWO)), {"d": "on all, or on none", "p": "on all, or on none"}),
        ((prefill(port=7000), decode(serving=TWO)), {"d": "the same --port", "p": "the same --port"}),
        (
            (prefill(serving=replace(TWO, ports=(8000, 8001, 8002))), decode(serving=TWO)),
            {"d": "the same --data-parallel-size-local", "p": "the same --data-parallel-size-local"},
        ),
    ],
)
def test_a_member_is_told_why_pods_of_another_get_no_requests(
    members: tuple[Member, ...], told: dict[str, str]
) -> None:
    routing = Routing("pd-disaggregation", picker="llm-d-0.4")
    found = contradictions(tuple(replace(one, routing=routing) for one in members), routing, SETTINGS)

    said = {one.subject.name: one.error.message for one in found if one.error.code in {"FI809", "FI824"}}
    assert said.keys() == told.keys()
    assert all(said[name].endswith(remedy) for name, remedy in told.items())


@pytest.mark.parametrize(
    ("size", "own", "everywhere"),
    [
        (1, "", False),
        (1, "all", True),
        (2, "--data-parallel-hybrid-lb", True),
        (2, "", False),
        (1, "--data-parallel-hybrid-lb", True),
    ],
)
def test_a_member_serves_everywhere_if_its_pods_will_say_so(size: int, own: str, *, everywhere: bool) -> None:
    flag = () if own in {"", "all"} else (own,)
    pods = template(container(args=["org/M", "-dp", "16", *flag]))
    if own == "all":
        pods["metadata"] = {"labels": {"fusioninfer.io/serves": "all"}}
    one = lws(size, pods, launcher="vllm-native")

    found = read_member(put(one))

    assert (found and found.serving.everywhere) is everywhere
    assert "FI107" not in {error.code for error in check(put(one))}


def test_a_pod_says_whether_all_of_its_group_serve_and_on_which_ports() -> None:
    made = project(
        {
            "metadata": {
                "labels": {"fusioninfer.io/serves": "all", "fusioninfer.io/component-type": "worker"},
                "annotations": {"inference.networking.k8s.io/active-ports": "8000,8001"},
            }
        }
    )

    assert (made.everywhere, made.component_type, made.ports) == (True, "worker", "8000,8001")
    assert not project({"metadata": {"labels": {"fusioninfer.io/serves": "leaders"}}}).everywhere


def test_the_pickers_that_read_ports_from_pods_are_those_since_gie_1_4() -> None:
    assert [name for name, row in PICKERS.items() if not row.active_ports] == [
        "gie-1.2",
        "gie-1.3",
        "llm-d-0.4",
    ]
    assert Endpoints((8000,)).selector == {"leaderworkerset.sigs.k8s.io/worker-index": "0"}
