"""A field that names another object has any text, and no admission is asked: nothing leaves the namespace.

Each text of an InferenceService, and each annotation, label and reference of a LeaderWorkerSet, is hostile.
"""

import asyncio
import copy
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import main
from fusioninfer.cluster.reader import Answer
from fusioninfer.cluster.service import Live, snapshot_of
from intent import Object
from intent.annotations import EXPANSION, GROUP_NAME, KEYS, QUEUE_NAME, REVISION, ROLE_NAME, SERVICE
from intent.inferenceservice.crd import schema
from intent.inferenceservice.read import read
from intent.inferenceservice.v1alpha1 import ENGINE_FIELDS, ROUTER_FIELDS
from intent.names import is_label_value
from intent.settings import Settings
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, POD
from sync.observed.configuration import reference
from sync.parts.service import desired_state
from sync.parts.sets import sets
from tests.builders.bounds import Place, fields, with_field
from tests.builders.tenant import beyond
from tests.hostile.names import IMPOSSIBLE
from tests.sync.conftest import Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import APPLIED, inference_service, lws, role, router, seen
from tests.sync.served import HOME, LISTENER, admit
from tests.tiers import WHOLE

OTHER: Final = "team-b"
HOSTILE: Final = (*IMPOSSIBLE[:-9], f"{OTHER}/x", "x,y", "x in (y)")
"""The last ones are names in another namespace, and what selectors split."""
ROUTER: Final = router(gateway={"gatewayClassName": "istio", "listeners": [LISTENER]})
WORKER: Final = role("inference")
SPEC: Final = schema()["properties"]["spec"]
ROLE: Final = SPEC["properties"]["roles"]["items"]
DISABLED: Final = {"fusioninfer.io/inject": "disabled"}
NAMES: Final = re.compile(r"\.(name|namespace|key|\w*[nN]ame|\w*Refs?\.0|hostnames\.0)$")
"""Paths of the fields that name something."""


def _leaves(within: Object, *above: str | int) -> Iterator[Place]:
    for place, one in fields(within):
        if one.get("type") == "string" and not one.get("enum"):
            yield (*above, *place)


def _of_services() -> Iterator[tuple[str, Callable[[str], Object]]]:
    """Yield each text of an InferenceService with a service that has a value there.

    Of pods all names at once: the controller copies them.
    """
    parts = {
        (*ROUTER_FIELDS, "template"): [ROUTER, WORKER],
        (*ENGINE_FIELDS, "name", "template"): [WORKER, ROUTER],
    }
    for names, roles in parts.items():
        within = {"properties": {name: ROLE["properties"][name] for name in names}}
        places = list(_leaves(within, "roles", 0))
        for pods in ("template", "worker"):
            inside = [place for place in places if place[2] == pods and NAMES.search(_shown(place))]
            yield f"{roles[0]['name']}: all names of {pods}", _written(roles, inside)
        for place in (place for place in places if place[2] not in {"template", "worker"}):
            yield f"{roles[0]['name']}: {_shown(place)}", _written(roles, [place])
    for place in _leaves({"properties": {**SPEC["properties"], "roles": {}}}):
        yield f"spec: {_shown(place)}", _written([WORKER, ROUTER], [place])
    for key in (*(one.key for one in KEYS.values()), QUEUE_NAME):
        yield f"annotation {key}", partial(_annotated, key)


def _shown(place: Place) -> str:
    return "".join(f".{step}" for step in place)


def _written(roles: list[Object], places: list[Place]) -> Callable[[str], Object]:
    def make(value: str) -> Object:
        spec: Object = {"roles": copy.deepcopy(roles)}
        for place in places:
            spec = with_field(spec, SPEC, place, value)
        return inference_service(annotations={}) | {"spec": spec}

    return make


def _annotated(key: str, value: str) -> Object:
    return inference_service(WORKER, ROUTER, annotations={key: value})


def _of_sets() -> Iterator[tuple[str, Callable[[str], Object]]]:
    """Yield each text of a LeaderWorkerSet that names something, with the LeaderWorkerSet."""
    annotated = (*(one.key for one in KEYS.values()), QUEUE_NAME, EXPANSION)
    yield from (
        *((f"annotation {key}", partial(_with_mark, "annotations", key)) for key in annotated),
        *((f"label {key}", partial(_with_mark, "labels", key)) for key in (SERVICE, ROLE_NAME, REVISION)),
        *(
            (f"template {field} {key} {kept}", partial(_with_template, field, key, kept))
            for field, key in (("labels", SERVICE), ("annotations", GROUP_NAME))
            for kept in ("of a member", "ejected")
        ),
        *((field, partial(_with_pods, field)) for field in ("schedulerName", "priorityClassName")),
    )


def _with_mark(field: str, key: str, value: str) -> Object:
    one = lws("r1-w", "worker")
    if field == "annotations" or is_label_value(value):  # the API server checks labels of objects
        one["metadata"][field][key] = value
    return one


def _with_template(field: str, key: str, kept: str, value: str) -> Object:
    one = lws("r1-w", "worker")
    _pods(one)["metadata"][field][key] = value
    if kept == "ejected":
        one["metadata"] |= {"labels": {}, "annotations": {}}
    return one


def _with_pods(field: str, value: str) -> Object:
    one = lws("r1-w", "worker")
    _pods(one)["spec"][field] = value
    return one


def _pods(one: Object) -> Object:
    found: Object = one["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    return found


SERVICES: Final = dict(_of_services())
SETS: Final = dict(_of_sets())


def named(one: Object, name: str) -> Object:
    """Return an InferenceService or LeaderWorkerSet as that of another service, `r1` everywhere else."""
    metadata = one["metadata"] | {"name": one["metadata"]["name"].replace("r1", name), "uid": f"uid-{name}"}
    made = copy.deepcopy(one | {"metadata": metadata})
    if one["kind"] == LWS.kind and one["metadata"]["labels"].get(SERVICE) == "r1":
        made["metadata"]["labels"][SERVICE] = name
        if made["metadata"]["annotations"][SERVICE] == "r1":
            made["metadata"]["annotations"][SERVICE] = name
    return made


def members(name: str) -> Iterator[Object]:
    """Yield the LeaderWorkerSet that the service had while it was valid, as it is stored."""
    value, _ = read(inference_service(WORKER, ROUTER, name=name, uid=f"uid-{name}"))
    snapshot = seen(service=value)
    assert snapshot.service
    for one in sets(snapshot, snapshot.service).objects:
        admit(one)
        one["metadata"] |= {"uid": f"uid-of-{one['metadata']['name']}", "managedFields": APPLIED}
        yield one


def live(*objects: Object) -> Live:
    """Return a cluster with these objects."""
    kinds = {one["kind"] for one in objects}
    return Live({kind: Answer(tuple(one for one in objects if one["kind"] == kind)) for kind in kinds})


def identities(cluster: Live, service: str = "r1") -> set[tuple[str, str, str]]:
    """Return kind, namespace and name of all that the controller would write for a service."""
    snapshot = snapshot_of(cluster, (HOME, service))
    assert (ref := reference(snapshot.value)) is None or ref.name not in IMPOSSIBLE
    objects = desired_state(snapshot, Settings()).objects
    assert all(
        (owner["kind"], owner["uid"][:4]) in {("InferenceService", "uid-"), ("LeaderWorkerSet", "uid-")}
        for one in objects
        for owner in one["metadata"].get("ownerReferences", [])
    )
    return {(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"]) for one in objects}


def test_no_text_of_an_inferenceservice_moves_an_object() -> None:
    """The names of what is written follow from the names of the service, its roles and adapters."""
    usual = identities(live(inference_service(WORKER, ROUTER), *members("r1")))
    moving = re.compile(r"\.roles\.0\.name|\.lora\.adapters")
    values = cycle(HOSTILE)
    for where, make in SERVICES.items():
        for _ in range(3 if NAMES.search(where) else 1):
            value = next(values)
            found = identities(live(make(value), *members("r1")))
            new = {one for one in found - usual if not moving.search(where)}
            assert {(kind, namespace) for kind, namespace, _ in new} <= {
                *((kind, HOME) for kind in ("Ingress", "HorizontalPodAutoscaler", "InferenceObjective"))
            }, (where, value)
            assert {name for _, _, name in new} <= {"r1", "r1-ingress", "r1-inference"}, (where, value)


def test_no_text_of_a_leaderworkerset_moves_an_object() -> None:
    for where, make in SETS.items():
        for value in HOSTILE:
            found = identities(live(make(value)))
            assert {namespace for _, namespace, _ in found} <= {HOME}, (where, value)
            assert {name for _, _, name in found if not re.fullmatch("r1(-[a-z]+)*", name)} == set(), where


def victims() -> Iterator[tuple[str, Object]]:
    """Yield objects of another namespace that claim in every way to be the controller's."""
    for kind in (*OUTPUTS.values(), POD):
        owner = {"apiVersion": "fusioninfer.io/v1alpha1", "kind": "InferenceService", "controller": True}
        metadata = {
            "namespace": OTHER,
            "name": "x",
            "labels": {SERVICE: "s0"},
            "managedFields": APPLIED,
            "ownerReferences": [owner | {"name": f"../{HOME}/inferenceservices/s0", "uid": "uid-s0"}],
        }
        yield (
            kind.path(OTHER, "x"),
            {"apiVersion": kind.resource.api_version, "kind": kind.kind, "metadata": metadata, "spec": {}},
        )


def cells() -> Iterator[tuple[str, Object]]:
    """Yield hostile objects, each of a service of its own: every field once, and names with every value."""
    values = cycle(HOSTILE)
    numbers = iter(range(10_000))
    for where, make in SERVICES.items():
        if re.search(r"\.(httproute|gateway|ingress|scaling)\.", where):
            continue  # they are copied: the first test has them
        for _ in range(12 if re.search(r"configRef|pool|baseRefs", where) else 1):
            yield where, named(make(next(values)), f"s{next(numbers)}")
    for where, make in SETS.items():
        for _ in range(6 if GROUP_NAME in where else 1):
            yield where, named(make(next(values)), f"s{next(numbers)}")


CASES: Final = ("inject: disabled", "no webhook configuration", "forged managedFields")


@pytest.mark.parametrize("case", CASES)
async def test_no_request_leaves_the_namespace_but_for_the_list(api: Api, start: Start, case: str) -> None:
    if case != "no webhook configuration":
        api.prune = admit
    stored = dict(victims() if case == "forged managedFields" else ())
    for path, victim in stored.items():
        api.put(path, victim)
    services = []
    for _, one in list(cells()) if WHOLE else list(cells())[CASES.index(case) :: len(CASES)]:
        name = one["metadata"]["name"]
        if one["kind"] == INFERENCE_SERVICE.kind:
            one["metadata"]["annotations"] |= DISABLED if case == "inject: disabled" else {}
            services.append(INFERENCE_SERVICE.path(HOME, name))
            for member in members(name):
                api.put(LWS.path(HOME, member["metadata"]["name"]), member)
        elif case == "inject: disabled":
            one["metadata"].setdefault("annotations", {}).update(DISABLED)
        api.put((INFERENCE_SERVICE if one["kind"] == INFERENCE_SERVICE.kind else LWS).path(HOME, name), one)
    before = {path: api.objects[path]["metadata"]["resourceVersion"] for path in stored}

    start(settings=Settings())

    await eventually(lambda: all("status" in api.objects[path] for path in services))
    await quiet(3)
    assert beyond(api.requests, HOME) == set()
    assert before == {path: api.objects[path]["metadata"]["resourceVersion"] for path in stored}
    assert {path.split("/")[-1][0] for method, path in api.writes if method != "PATCH"} <= {
        "s",
        "r",
        *"abcdefghijklmnop",
    }


# --- the command ------------------------------------------------------------------------------------

OPERATORS: Final = {
    ("GET", "/api/v1/namespaces/fusioninfer-system/configmaps"),
    ("GET", "/apis/coordination.k8s.io/v1/namespaces/fusioninfer-system/leases/fusioninfer-sync"),
    ("GET", "/apis/fusioninfer.io/v1alpha1/namespaces/fusioninfer-system/inferencetemplates"),
}
"""What commands read in the namespaces of operators."""


async def command(config: Path, *words: str) -> Result:
    """Run a subcommand beside the fake API server, as an administrator who may read everything."""
    return await asyncio.to_thread(
        CliRunner().invoke, main, [*words, "-n", HOME, "--kubeconfig", str(config)]
    )


COMMANDS: Final = (("eject", "r1"), ("why", "r1"), ("why", "lws/r1-v"), ("diff", "FILE"))
TRAVERSING: Final = ("../../../../../../api/v1/namespaces/team-b/secrets/x", "..", "x,y in (z)")


@pytest.mark.parametrize("words", COMMANDS)
async def test_no_command_leaves_the_namespace_or_fails(
    api: Api, kubeconfig: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """An administrator may read everything: what a tenant wrote decides nothing of what is read."""
    api.put(LWS.path(HOME, "r1-w"), lws("r1-w", "worker"))
    selectors: list[str] = []

    api.fault = lambda request: selectors.append(request.query.get("labelSelector", ""))
    for at, make in enumerate(
        [
            *(SETS[f"template annotations {GROUP_NAME} {kept}"] for kept in ("of a member", "ejected")),
            SETS[f"template labels {SERVICE} ejected"],
            SETS[f"annotation {SERVICE}"],
            SERVICES["router: .roles.0.configRef.name"],
            SERVICES["inference: .roles.0.baseRefs.0"],
        ]
    ):
        turn = at + COMMANDS.index(words)
        for value in TRAVERSING if WHOLE else TRAVERSING[turn % 3 :][:1]:
            one = make(value)
            kind = INFERENCE_SERVICE if one["kind"] == INFERENCE_SERVICE.kind else LWS
            if kind is LWS:
                one["metadata"]["name"] = "r1-v"
            api.put(kind.path(HOME, one["metadata"]["name"]), one)

            file = tmp_path / "service.json"
            file.write_text(json.dumps(one))
            result = await command(kubeconfig, *(str(file) if word == "FILE" else word for word in words))

            assert isinstance(result.exception, SystemExit | None), (at, value)
            assert not {path for _, path in api.requests if OTHER in path or "//" in path or "/." in path}
            assert beyond({one for one in api.requests if "namespaces" in one[1]}, HOME) <= OPERATORS
            assert not [one for one in selectors if "(z)" in one]
