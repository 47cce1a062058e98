"""What the controller deletes, of any objects in a namespace; and that `fusioninfer diff` says the same."""

import asyncio
import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from aiohttp import web
from click.testing import CliRunner

from fusioninfer.cli import main
from intent import Object
from intent.settings import Settings
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS
from tests.sync.conftest import Background, Start, eventually, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import APPLIED, inference_service, lws, routed
from tests.sync.served import DECODE, HOME, PG, PREFILL, ROUTES, SERVICE

STATUS: Final = [APPLIED[0] | {"subresource": "status"}]
UPDATED: Final = [APPLIED[0] | {"operation": "Update"}]
ENTRIES: Final[tuple[list[Object], ...]] = (*[APPLIED] * 6, STATUS, UPDATED, [])
"""Entries of `managedFields`; most objects have ours."""
NAMES: Final = {
    "LeaderWorkerSet": "r1-removed",
    "HorizontalPodAutoscaler": "r1-removed",
    "PodGroup": "r1-0123abcd",
    "InferencePool": "r1-pool",
    "RoleBinding": "r1-epp",
    "ConfigMap": "r1-epp-config",
    "Gateway": "r1-gateway",
    "HTTPRoute": "r1-httproute",
    "Ingress": "r1-ingress",
    "InferenceObjective": "r1.sql",
}
"""By kind, a name that the rules make and that the service lacks without routes; else the picker's."""
OTHERS: Final = ("of-another-team", "r2-epp", "r11-pool")


def allowed(request: web.Request) -> web.StreamResponse | None:
    """Answer the reviews of rights."""
    is_review = request.path.endswith("selfsubjectaccessreviews")
    return web.json_response({"status": {"allowed": True}}) if is_review else None


def owner(kind: str, name: str, uid: str) -> Object:
    return {"apiVersion": "x/v1", "kind": kind, "name": name, "uid": uid}


def owners(api: Api) -> dict[str, list[Object]]:
    """Return lists of owners: alive, gone, of another service."""
    uid = api.objects[SERVICE]["metadata"]["uid"]
    member = api.objects[PREFILL]["metadata"]["uid"]
    return {
        "the service": [owner("InferenceService", "r1", uid)],
        "a member": [owner("LeaderWorkerSet", "r1-prefill", member)],
        "one that opted out": [owner("LeaderWorkerSet", "out", "uid-out")],
        "one that is gone": [owner("LeaderWorkerSet", "gone", "uid-gone")],
        "a member of another service": [owner("LeaderWorkerSet", "other", "uid-other")],
        "another service": [owner("InferenceService", "r2", "uid-r2")],
        "both": [owner("InferenceService", "r1", uid), owner("InferenceService", "r2", "uid-r2")],
        "nobody": [],
    }


KEPT: Final = {("DestinationRule", True)}
"""What a service keeps if it has routes: gateways of Istio may still need it."""
ALIVE: Final = ("the service", "a member", "one that opted out")


def drawn(draw: random.Random, api: Api, numbers: Iterator[int], *, routes: bool) -> tuple[str, Object, bool]:
    """Return a random object, where it is stored, and whether it is to be deleted."""
    kind = draw.choice(list(OUTPUTS))
    made = draw.random() < 0.6 or kind == "PodGroup"  # any name is one that a service's PodGroup may have
    name = NAMES.get(kind, "r1-epp") if made else f"{draw.choice(OTHERS)}-{next(numbers)}"
    entries = draw.choice(ENTRIES)
    whose = draw.choice([*owners(api), *ALIVE, *ALIVE])
    references = owners(api)[whose]
    obj: Object = {
        "apiVersion": OUTPUTS[kind].resource.api_version,
        "kind": kind,
        "metadata": {
            "namespace": HOME,
            "name": name,
            "labels": {"fusioninfer.io/service": "r1"},
            "managedFields": entries,
            "ownerReferences": references,
        },
        "spec": {},
    }
    is_ours = made and entries is APPLIED and whose in ALIVE and (kind, routes) not in KEPT
    if kind == "PodGroup":  # only LeaderWorkerSets own one
        is_ours = is_ours and references[0]["kind"] == LWS.kind
    return OUTPUTS[kind].path(HOME, name), obj, is_ours


async def announced(config: Path, *objects: Object) -> set[str]:
    """Return the paths of the objects of which `fusioninfer diff` says that they are deleted."""
    text = "\n---\n".join(orjson.dumps(one).decode() for one in objects)
    words = ["diff", "-", "--kubeconfig", str(config), "-o", "json"]
    result = await asyncio.to_thread(CliRunner().invoke, main, words, input=text)
    changes: list[Any] = json.loads(result.stdout)["changes"]
    deleted = [one["before"] for one in changes if one["after"] is None]
    return {OUTPUTS[one["kind"]].path(HOME, one["metadata"]["name"]) for one in deleted}


@pytest.mark.usefixtures("admission")
@pytest.mark.parametrize("seed", range(6))
async def test_exactly_what_is_proved_ours_is_deleted_and_announced(
    api: Api, kubeconfig: Path, make: Start, background: Background, seed: int
) -> None:
    draw, numbers = random.Random(seed), count()  # noqa: S311 - examples
    asked = [inference_service, routed][seed % 2]()
    api.fault = allowed
    api.put(SERVICE, asked)
    there = {PREFILL, DECODE, PG, *(ROUTES.values() if seed % 2 else ())}
    running = background(make(settings=Settings()).run())
    await eventually(lambda: there <= api.objects.keys())
    await quiet()
    running.cancel()
    out = lws("out") | {"metadata": lws("out")["metadata"] | {"labels": {}, "annotations": {}}}
    out["spec"]["leaderWorkerTemplate"]["workerTemplate"] = {"spec": {}}
    other = json.loads(json.dumps(lws("other")).replace('"r1"', '"r2"'))
    for one in (out, other):
        api.put(LWS.path_of(one), one)
    api.put(
        INFERENCE_SERVICE.path(HOME, "r2"),
        {**asked, "metadata": {"name": "r2", "uid": "uid-r2", "namespace": HOME}, "spec": {"roles": []}},
    )
    ours = set()
    for _ in range(60):
        path, obj, is_ours = drawn(draw, api, numbers, routes=bool(seed % 2))
        if path not in api.objects:
            api.put(path, obj)
            ours |= {path} if is_ours else set()

    said = await announced(kubeconfig, asked)
    api.writes.clear()
    background(make(settings=Settings()).run())
    await eventually(lambda: ours <= {path for verb, path in api.writes if verb == "DELETE"})
    await quiet(2)

    assert {path for verb, path in api.writes if verb == "DELETE"} == ours
    assert said == ours
    assert ours
