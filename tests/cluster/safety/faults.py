"""The kinds of faults: one row each. A fault is a context; it ends, and what was changed by hand is undone.

None of them changes the template or the replicas of a LeaderWorkerSet that runs, as its author wants them.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from intent import Object
from tests.builders.isvc import isvc, router, worker
from tests.builders.lws import template
from tests.cluster.chaos.people import Service, files
from tests.cluster.safety.definitions import definition_remade
from tests.cluster.safety.proxy import READS, Fault, Proxy
from tests.cluster.safety.scene import LIVE, Scene, until
from tests.cluster.testbed.admissions import CONFIGURATIONS
from tests.cluster.testbed.api import create, delete, get
from tests.cluster.testbed.groups import pods
from tests.cluster.testbed.wait import kept_doing
from tests.cluster.testbed.written import CLIENT_SIDE, SERVER_SIDE

Act = Callable[[Scene, Random], AbstractContextManager[str]]
"""Begins a fault and says in words which one it is; on leaving, the fault ends."""
LISTED: Final = (
    *("leaderworkersets", "inferenceservices", "podgroups", "pods", "deployments", "services"),
    *("configmaps", "inferencepools", "httproutes", "gateways", "serviceaccounts", "roles", "rolebindings"),
)
"""Kinds that the controller lists."""
MEMBERS: Final = ("leaderworkersets", "inferenceservices")
"""Kinds whose objects say that a service is there: half of the lies are about them."""
OF_ROUTES: Final = ("httproutes", "inferencepools", "gateways", "deployments", "configmaps", "roles")
CODES: Final = (403, 404, 429, 500)
ROLES: Final = frozenset({"replicas let go", "role too large"})
"""Faults that change the roles of the InferenceService: two at once would undo each other."""
RENDERED: Final = ("leaderworkersets/isvc-prefill", "leaderworkersets/isvc-decode-0")
INJECT: Final = "fusioninfer.io/inject"
TOUCH: Final = 0.7
"""Seconds between two edits of a hostile tenant's object."""
STARTED: Final = 30.0
"""Seconds that a controller may take to start and to hold the Lease."""
LATE: Final = 0.55
"""Seconds of a late call. With the Lease's times of the tests two such calls take longer than a try may."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault."""

    name: str
    act: Act
    bearable: bool = False
    """Whether a new service of another tenant is served while it lasts."""


def _kind(random: Random) -> str:
    return random.choice(MEMBERS if random.random() < 0.5 else LISTED)


# --- between the controllers and the API server ---------------------------------------------------------


@contextmanager
def _through(proxies: tuple[Proxy, ...], *faults: Fault) -> Iterator[None]:
    for line in proxies:
        line.begin(*faults)
    try:
        yield
    finally:
        for line in proxies:
            line.end(*faults)


def _everywhere(one: Scene) -> tuple[Proxy, ...]:
    return tuple(one.proxies.values())


@contextmanager
def refused_lists(one: Scene, random: Random, kind: str = "", code: int = 0) -> Iterator[str]:
    """Refuse the lists and watches of a kind."""
    kind, code = kind or _kind(random), code or random.choice(CODES)
    with _through(_everywhere(one), Fault("refuse", READS, frozenset({kind}), code=code)):
        yield f"{code} on lists of {kind}"


@contextmanager
def refused_gets(one: Scene, random: Random, kind: str = "", code: int = 0) -> Iterator[str]:
    """Refuse to give single objects of a kind."""
    kind, code = kind or _kind(random), code or random.choice(CODES)
    with _through(_everywhere(one), Fault("refuse", frozenset({"get"}), frozenset({kind}), code=code)):
        yield f"{code} on single {kind}"


@contextmanager
def empty_list(one: Scene, random: Random, kind: str = "") -> Iterator[str]:
    """List nothing of a kind, once."""
    kind = kind or _kind(random)
    with _through(_everywhere(one), Fault("empty", READS, frozenset({kind}), times=1)):
        yield f"an empty list of {kind}, once"


@contextmanager
def stale_lists(one: Scene, random: Random, kind: str = "") -> Iterator[str]:
    """List what was there before the live services were."""
    kind = kind or _kind(random)
    deaf = Fault("deaf", frozenset({"watch"}), frozenset({kind}))
    with _through(_everywhere(one), Fault("stale", READS, frozenset({kind})), deaf):
        yield f"stale lists of {kind}, and no news"


@contextmanager
def deaf_watches(one: Scene, random: Random) -> Iterator[str]:
    """Silence the watches of a kind, or of all."""
    kinds = frozenset({_kind(random)}) if random.random() < 0.5 else frozenset[str]()
    with _through(_everywhere(one), Fault("deaf", frozenset({"watch"}), kinds)):
        yield f"deaf watches of {'/'.join(kinds) or 'all kinds'}"


@contextmanager
def cut_lines(one: Scene, _random: Random) -> Iterator[str]:
    """Break each watch in the middle of its next line."""
    with _through(_everywhere(one), Fault("cut", frozenset({"watch"}))):
        yield "lines cut in the middle"


@contextmanager
def late_calls(one: Scene, _random: Random) -> Iterator[str]:
    """Have each call wait, those of the Lease too, from the start of the controllers."""
    with _through(_everywhere(one), Fault("delay", frozenset({"get", "list", "write"}), seconds=LATE)):
        one.start_anew()
        yield f"calls late by {LATE} s, controllers started anew"


@contextmanager
def unlisted_routes(one: Scene, random: Random, kind: str = "", code: int = 0) -> Iterator[str]:
    """Refuse the lists of a kind of the routes, also at the start of the controllers."""
    kind, code = kind or random.choice(OF_ROUTES), code or random.choice(CODES)
    with _through(_everywhere(one), Fault("refuse", READS, frozenset({kind}), code=code)):
        one.start_anew()
        yield f"{code} on lists of {kind} from the start"


# --- processes ------------------------------------------------------------------------------------------


@contextmanager
def leader_killed(one: Scene, _random: Random) -> Iterator[str]:
    """Kill the holder of the Lease."""
    name = one.leader
    one.kubelet.kill(name)
    yield f"{name} killed, the holder of the Lease"


@contextmanager
def all_killed(one: Scene, _random: Random) -> Iterator[str]:
    """Kill both controllers."""
    one.start_anew()
    yield "both controllers killed"


@contextmanager
def blind_standby(one: Scene, random: Random, kind: str = "") -> Iterator[str]:
    """Kill the holder of the Lease, while the other controller has an old copy of a kind and no news."""
    kind = kind or _kind(random)
    lies = (Fault("stale", READS, frozenset({kind})), Fault("deaf", frozenset({"watch"}), frozenset({kind})))
    name, other = one.leader, one.proxies[one.standby]
    with _through((other,), *lies):
        one.rest(2.0)
        began = time.monotonic()
        one.kubelet.kill(name)
        one.free_lease()
        one.kubelet.tend_until(lambda: other.renewed > began, STARTED)
        yield f"{name} killed, the standby leads with an old copy of {kind}"


@contextmanager
def webhook_killed(one: Scene, _random: Random) -> Iterator[str]:
    """Kill the webhook."""
    one.kubelet.kill("webhook")
    yield "webhook killed"


@contextmanager
def configurations_deleted(one: Scene, random: Random, *, restart: bool | None = None) -> Iterator[str]:
    """Delete the webhook configurations, and start the controllers anew or not."""
    restart = random.random() < 0.5 if restart is None else restart
    stored = [get(one.cluster.api, where) for where in CONFIGURATIONS]
    for where in CONFIGURATIONS:
        delete(one.cluster.api, where)
    began = time.monotonic()
    if restart:
        one.start_anew()
        one.kubelet.tend_until(lambda: one.is_tried_since(began, "leaderworkersets"), STARTED)
    try:
        yield f"webhook configurations deleted, controllers {'started anew' if restart else 'left alone'}"
    finally:
        for where, configuration in zip(CONFIGURATIONS, stored, strict=True):
            metadata = {key: configuration["metadata"].get(key) for key in ("name", "labels", "annotations")}
            named = {key: value for key, value in metadata.items() if value}
            create(one.cluster.api, where.rpartition("/")[0], {**configuration, "metadata": named})


# --- by hand --------------------------------------------------------------------------------------------


@contextmanager
def inject_on_sets(one: Scene, _random: Random) -> Iterator[str]:
    """Disable injection on LeaderWorkerSets that the controller rendered."""
    one.insist("annotate", "--overwrite", *RENDERED, f"{INJECT}=disabled")
    yield "inject: disabled on rendered LeaderWorkerSets"
    one.insist("annotate", *RENDERED, f"{INJECT}-")


@contextmanager
def inject_on_service(one: Scene, _random: Random) -> Iterator[str]:
    """Disable injection on the InferenceService."""
    one.insist("annotate", "--overwrite", "inferenceservices/isvc", f"{INJECT}=disabled")
    yield "inject: disabled on the InferenceService"
    one.insist("annotate", "inferenceservices/isvc", f"{INJECT}-")


LABELLED: Final = (
    "podgroups/{}",
    "deployments/{}-epp",
    "httproutes/{}-httproute",
    "configmaps/{}-epp-config",
)
"""Objects that carry our label, by the name of their service."""


@contextmanager
def label_lost(one: Scene, random: Random, of: str = "") -> Iterator[str]:
    """Remove our label from an object that the controller created; the controller restores it."""
    chosen = of or random.choice(LABELLED)
    name = chosen.format(random.choice(LIVE).name)
    one.insist("label", name, "fusioninfer.io/service-")
    yield f"label of {name} removed"


@contextmanager
def pod_group_edited(one: Scene, random: Random) -> Iterator[str]:
    """Edit a PodGroup; the controller repairs it."""
    name, minimum = random.choice(LIVE).name, random.randint(20, 40)
    edit = json.dumps({"spec": {"minMember": minimum}})
    one.insist("patch", f"podgroups/{name}", "--type=merge", f"--patch={edit}")
    yield f"minMember {minimum} in podgroups/{name}"


def _amend(one: Scene, *operations: Object) -> None:
    one.insist("patch", "inferenceservices/isvc", "--type=json", f"--patch={json.dumps(operations)}")


@contextmanager
def replicas_let_go(one: Scene, _random: Random) -> Iterator[str]:
    """Leave the replicas of a role to others: the number that runs stays."""
    _amend(one, {"op": "remove", "path": "/spec/roles/2/replicas"})
    yield "a role lets go of replicas"
    one.apply(LIVE[1])


@contextmanager
def role_too_large(one: Scene, random: Random) -> Iterator[str]:
    """Add a role for which there is no room, and lose a pod of a running group: that group comes back."""
    engine = template({**_container(), "resources": {"limits": {"nvidia.com/gpu": "8"}}})
    role = {"name": "large", "componentType": "decoder", "multinode": {"nodeCount": 6}, "template": engine}
    group = f"isvc-decode-0-{random.randint(0, 1)}"
    one.license("isvc-large")
    _amend(one, {"op": "add", "path": "/spec/roles/3", "value": role})
    one.rest(2.0)
    before = _uids(one, group)
    one.spare(group)  # its StatefulSet may make the lost pod again before LWS deletes the whole group
    one.insist("delete", f"pods/{group}-1", "--wait=false")
    yield f"a role is added that does not fit, and {group}-1 is lost"
    try:
        until(one, lambda: _is_back(one, group, before), f"{group} is bound again beside a role that waits")
    finally:
        one.apply(LIVE[1])


def _container() -> Object:
    found: Object = files(LIVE[1])[0]["spec"]["roles"][1]["template"]["spec"]["containers"][0]
    return found


def _group(one: Scene, group: str) -> list[Object]:
    there = pods(one.cluster, one.namespace)
    return [each for each in there if each["metadata"]["name"] in (group, f"{group}-1")]


def _uids(one: Scene, group: str) -> set[str]:
    return {each["metadata"]["uid"] for each in _group(one, group)}


def _is_back(one: Scene, group: str, before: set[str]) -> bool:
    now = _group(one, group)
    new = not before & {each["metadata"]["uid"] for each in now}
    return new and len(now) == 2 and all(each["spec"].get("nodeName") for each in now)


# --- a hostile tenant -----------------------------------------------------------------------------------


def nested_text(levels: int) -> str:
    """Write the text of an InferenceService with a template that is nested so deep."""
    mark = "NESTED"
    deep = worker(template={**template(), "deep": mark})
    text = json.dumps(isvc(deep, name=f"deep-{levels}", annotations={INJECT: "disabled"}))
    return text.replace(f'"{mark}"', '{"a":' * levels + "1" + "}" * levels)


@contextmanager
def nested(one: Scene, _random: Random, levels: int) -> Iterator[str]:
    """Have a template nested deeper than a parser may like, and touch it again and again."""
    one.kubectl(
        "create", "--validate=false", "--filename=-", stdin=nested_text(levels), namespace=one.hostile
    )
    name = f"inferenceservices/deep-{levels}"
    with _touched(one, name):
        yield f"a template of {levels} levels"
    one.insist("delete", "--ignore-not-found", name, namespace=one.hostile)


def _touched(one: Scene, name: str) -> AbstractContextManager[None]:
    """Label an object of the hostile tenant all the time; the API server may have refused to store it."""
    numbers = itertools.count()

    def touch() -> None:
        one.kubectl("label", "--overwrite", name, f"touched=n{next(numbers)}", namespace=one.hostile)

    return kept_doing(touch, every=TOUCH)


TWICE: Final = [{"name": "gateway"}, {"name": "gateway"}]
ODD: Final[tuple[Object, ...]] = (
    {"parentRefs": 5},
    {"parentRefs": [5, None, "x"]},
    {"parentRefs": TWICE},
    {"parentRefs": [{"name": "gateway"}], "rules": 5},
    {"parentRefs": [{"name": 5, "namespace": ["x"]}], "hostnames": {"a": 1}},
)
ALIASES: Final = "\n".join(
    (
        "a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)),
    )
)
"""Nine to the ninth values, once the aliases are followed."""
LONG: Final = "plugins:\n" + "\n".join(f"- type: p{number}\n  name: n{number}" for number in range(2000))


@contextmanager
def _hostile_services(one: Scene, said: str, *services: Object) -> Iterator[str]:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": services})
    one.kubectl("create", "--validate=false", "--filename=-", stdin=text, namespace=one.hostile)
    yield said
    one.insist("delete", "--ignore-not-found", "--filename=-", stdin=text, namespace=one.hostile)


def odd_routes(one: Scene, _random: Random) -> AbstractContextManager[str]:
    """Have routes of shapes that nobody expects, and HTTPRoutes that name a Gateway twice."""
    disabled = {INJECT: "disabled"}
    odd = [
        isvc(router(httproute=route), worker(), name=f"odd-{number}", annotations=disabled)
        for number, route in enumerate(ODD)
    ]
    own: Object = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}
    metadata = {"name": "twice", "labels": {"fusioninfer.io/service": "odd"}}
    sections = [{"name": "gateway", "sectionName": name} for name in ("a", "b")]
    own = {**own, "metadata": metadata, "spec": {"parentRefs": sections}}
    return _hostile_services(one, "routes of odd shapes", *odd, own)


def odd_configurations(one: Scene, _random: Random) -> AbstractContextManager[str]:
    """Have configurations of endpoint pickers that take long to read."""
    texts = (ALIASES, LONG[:60000], "plugins: " + "[" * 5000)
    odd = [
        isvc(
            router(strategy=None, endpointPickerConfig=text),
            worker(),
            name=f"picker-{number}",
            annotations={INJECT: "disabled"},
        )
        for number, text in enumerate(texts)
    ]
    return _hostile_services(one, "endpoint pickers' configurations of odd shapes", *odd)


MOST: Final = 25
"""Writes for one service that is refused; after these, one a second."""


@contextmanager
def varying_refusals(one: Scene, _random: Random) -> Iterator[str]:
    """Refuse the LeaderWorkerSet of a tenant, each time in other words: it is asked for seldom."""
    fault = Fault("refuse-variously", frozenset({"write"}), frozenset({"leaderworkersets"}), one.hostile, 403)
    varied = isvc(worker(), name="varied")
    began = time.monotonic()
    with _through(_everywhere(one), fault), _hostile_services(one, "", varied):
        yield "refusals that vary"
        one.rest(3.0)
        count, seconds = one.writes(one.hostile, began), time.monotonic() - began
        if count > MOST + seconds:
            raise AssertionError(f"{count} writes in {seconds:.1f} s for a service that is refused")


# --- innocent acts --------------------------------------------------------------------------------------


def innocent(one: Scene, random: Random, faults: frozenset[str]) -> str:
    """Do what pipelines and people do all day, and what changes no template; it may be refused meanwhile.

    Without admission no files of LeaderWorkerSets are applied: that would be their author's own change.
    """
    acts: list[Callable[[Scene, Random], str]] = [_noted, _labelled]
    acts += [] if faults & ROLES else [partial(_again, service=LIVE[1])]
    acts += [] if "configurations deleted" in faults else [partial(_again, service=LIVE[0])]
    return random.choice(acts)(one, random)


def _again(one: Scene, random: Random, service: Service) -> str:
    words = random.choice((CLIENT_SIDE, SERVER_SIDE))
    one.apply(service, words=words, insist=False)
    return f"{' '.join(words)} {service.name} again"


def _noted(one: Scene, random: Random) -> str:
    where = random.choice(
        ("inferenceservices/isvc", "leaderworkersets/lws-prefill", "leaderworkersets/lws-decode")
    )
    one.kubectl("annotate", "--overwrite", where, f"example.com/note=n{random.randint(0, 999)}")
    return f"annotate {where}"


def _labelled(one: Scene, random: Random) -> str:
    one.kubectl("label", "--overwrite", "pods", "--all", f"example.com/seen=n{random.randint(0, 999)}")
    return "label all pods"


# --- the table ------------------------------------------------------------------------------------------

KINDS: Final = (
    Kind("lists refused", refused_lists),
    Kind("single objects refused", refused_gets),
    Kind("list empty", empty_list),
    Kind("lists stale", stale_lists),
    Kind("watches deaf", deaf_watches),
    Kind("lines cut", cut_lines),
    Kind("leader killed", leader_killed),
    Kind("all killed", all_killed),
    Kind("standby blind", blind_standby),
    Kind("webhook killed", webhook_killed),
    Kind("configurations deleted", configurations_deleted),
    Kind("definition remade", definition_remade),
    Kind("inject on sets", inject_on_sets),
    Kind("inject on service", inject_on_service),
    Kind("label lost", label_lost),
    Kind("PodGroup edited", pod_group_edited),
    Kind("replicas let go", replicas_let_go),
    Kind("role too large", role_too_large, bearable=True),
    Kind("calls late", late_calls, bearable=True),
    Kind("routes unlisted", unlisted_routes, bearable=True),
    Kind("nested 1005", partial(nested, levels=1005), bearable=True),
    Kind("nested 1100", partial(nested, levels=1100), bearable=True),
    Kind("routes odd", odd_routes, bearable=True),
    Kind("configurations odd", odd_configurations, bearable=True),
    Kind("refusals varying", varying_refusals, bearable=True),
)
BY_NAME: Final = {kind.name: kind for kind in KINDS}
BY_HAND: Final = frozenset(
    {
        "inject on sets",
        "inject on service",
        "label lost",
        "PodGroup edited",
        "replicas let go",
        "role too large",
    }
)
"""Kinds whose objects the webhook has to admit: they begin before the others, and end after them."""
