# ruff: noqa: F811 - fixtures are arguments
"""Templates give the same bytes to every input: admission, an InferenceService, and files.

Each case has templates, LeaderWorkerSets that their author writes, and an InferenceService that means the
same. Admission reads the templates from a fake API server, by the requests of the webhook; the controller
writes the service to one; the command reads both from files.
"""

from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jsonpatch
import orjson
import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.lint import documents
from intent import Object
from intent.annotations import EXPANSION
from intent.settings import Settings
from server.template_reader import reader
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, templates
from tests.builders.documents import read_files
from tests.builders.isvc import isvc
from tests.builders.reviews import review
from tests.builders.templates import template
from tests.sync.conftest import (  # noqa: F401 - fixtures
    Start,
    api,
    background,
    client,
    clients,
    eventually,
    kubeconfig,
    make,
    start,
)
from tests.sync.fake_api import Api
from webhook import templated
from webhook.review import mutate
from webhook.templates.content import needed

SHARED: Final = "fusioninfer-system"
SETTINGS: Final = Settings(templates_namespace=SHARED)
OF_THE_SERVER: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
OF_A_SERVICE: Final = ("labels", "ownerReferences")
"""Metadata of a rendered object that its author does not write."""
ROUTE: Final = {"parentRefs": [{"name": "shared", "namespace": "infra"}], "hostnames": ["a.example"]}


@dataclass(frozen=True, slots=True)
class Case:
    """Templates, and two ways to write one service."""

    templates: tuple[Object, ...]
    sets: tuple[Object, ...]
    service: Object


def platform(name: str, *pods: Object, namespace: str = "llm", **spec: Any) -> Object:
    """Return a template as an API server has it."""
    made = template(*pods, name=name, namespace=namespace, **spec)
    made["metadata"] |= {"uid": f"uid-{namespace}-{name}", "generation": 3}
    return made


def pods(spec: Object, metadata: Object | None = None, **fields: Any) -> Object:
    return {"template": {"spec": spec, **({"metadata": metadata} if metadata else {})}, **fields}


def engine(**fields: Any) -> Object:
    return {"containers": [{"name": "vllm", **fields}]}


def written(role: str, refs: str, worker: Object, /, **notes: str) -> Object:
    """Return the LeaderWorkerSet of a role as its author writes it."""
    known = {"service": "svc", "component-type": "worker", "role-name": role, "base-refs": refs}
    named = {key.replace("_", "-"): value for key, value in (known | notes).items()}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": f"svc-{role}",
            "namespace": "llm",
            "annotations": {f"fusioninfer.io/{key}": value for key, value in named.items()},
        },
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": worker}},
    }


def service(*roles: Object, **spec: Any) -> Object:
    made = isvc(*roles, **spec)
    made["metadata"] |= {"namespace": "llm", "uid": "uid-svc", "generation": 1}
    return made


def role(worker: Object, name: str = "main", **fields: Any) -> Object:
    known = {"name": name, "componentType": "worker", "replicas": 1, "multinode": {"nodeCount": 2}}
    return {**known, "template": worker, **fields}


IMAGE: Final = "vllm/vllm-openai:v0.17.1"
LIMITS: Final = {"limits": {"nvidia.com/gpu": "8"}, "requests": {"cpu": "8", "memory": "64Gi"}}
VLLM: Final = platform(
    "vllm",
    pods(
        {
            **engine(
                image=IMAGE,
                command=["vllm", "serve"],
                args=["org/M", "--max-model-len", "4096", "-tp", "16"],
                env=[{"name": "LOG", "value": "info"}, {"name": "DEBUG", "value": "1"}],
                ports=[{"containerPort": 8000, "name": "http"}],
                resources=LIMITS,
            ),
            "terminationGracePeriodSeconds": 90,
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "nodeSelector": {"gpu": "h100"},
        },
        {"labels": {"team": "platform"}},
    ),
)
TEAM: Final = platform(
    "team",
    pods(
        engine(env=[{"name": "LOG", "value": "debug"}], args=["--seed", "7"]),
        remove=["containers/vllm/env/DEBUG", "nodeSelector/gpu"],
    ),
    pods({"runtimeClassName": "leaders"}, part="leader"),
    {"for": "decoder", **pods({"runtimeClassName": "decoders"})},
)
VARIABLES: Final = platform(
    "variables",
    pods(
        {
            "containers": [
                {
                    "name": "vllm",
                    "args": ["--served-model-name", "$(service.name)-$(role.name)"],
                    "env": [
                        {"name": "WHERE", "value": "$(service.namespace) of $(group.size), $(HOME)"},
                        {"name": "ESCAPED", "value": "$$(model.name) ünïcode"},
                        {"name": "TENSOR", "value": "$(parallelism.tensor|1)"},
                    ],
                }
            ],
            "terminationGracePeriodSeconds": "$(group.size)",
        }
    ),
)
BLOCKS: Final = platform(
    "blocks",
    pods(engine(image=IMAGE, command=["vllm", "serve"], resources=LIMITS)),
    model={"uri": "hf://org/M", "name": "chat", "secretName": "token"},
    parallelism={"tensor": 8, "pipeline": 2},
    lora={"adapters": [{"name": "sql", "uri": "hf://org/sql"}], "maxRank": 64},
)
ROUTED: Final = platform("routed", router={"strategy": "queue-size", "httproute": ROUTE})
ZEROS: Final = {
    "spec": {
        **engine(args=["--max-model-len", "0"], env=[{"name": "LOG", "value": ""}]),
        "tolerations": [],
        "terminationGracePeriodSeconds": 0,
        "hostNetwork": False,
    }
}
OTHER_SHARED: Final = platform("vllm", pods({"hostPID": True}), namespace=SHARED)
BOTH_ROLES: Final = {"roles": "prefill,decode"}
CASES: Final = {
    "one template": Case((VLLM,), (written("main", "vllm", {}),), service(role({}), baseRefs=["vllm"])),
    "several, with removals and parts": Case(
        (VLLM, TEAM), (written("main", "vllm,team", {}),), service(role({}), baseRefs=["vllm", "team"])
    ),
    "in the other order": Case(
        (VLLM, TEAM), (written("main", "team,vllm", {}),), service(role({}), baseRefs=["team", "vllm"])
    ),
    "zeros of the author": Case(
        (VLLM,), (written("main", "vllm", ZEROS),), service(role(ZEROS), baseRefs=["vllm"])
    ),
    "variables": Case(
        (VLLM, VARIABLES),
        (written("main", "vllm,variables", {}),),
        service(role({}), baseRefs=["vllm", "variables"]),
    ),
    "blocks": Case((BLOCKS,), (written("main", "blocks", {}),), service(role({}), baseRefs=["blocks"])),
    "of the operator's namespace": Case(
        (platform("vllm", *VLLM["spec"]["pods"], namespace=SHARED),),
        (written("main", "vllm", {}),),
        service(role({}), baseRefs=["vllm"]),
    ),
    "of both namespaces": Case(
        (OTHER_SHARED, VLLM), (written("main", "vllm", {}),), service(role({}), baseRefs=["vllm"])
    ),
    "of roles": Case(
        (VLLM, TEAM, VARIABLES),
        (
            written("prefill", "vllm", {}, component_type="prefiller", **BOTH_ROLES),
            written("decode", "vllm,team,variables", {}, component_type="decoder", **BOTH_ROLES),
        ),
        service(
            role({}, "prefill", componentType="prefiller"),
            role({}, "decode", componentType="decoder", baseRefs=["team", "variables"]),
            baseRefs=["vllm"],
        ),
    ),
    "a router": Case(
        (VLLM, ROUTED),
        (written("main", "vllm,routed", {}, strategy="prefix-cache"),),
        service(role({}), {"name": "router", "componentType": "router"}, baseRefs=["vllm", "routed"]),
    ),
}

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


# --- the inputs --------------------------------------------------------------------------------------


def store(there: Api, case: Case) -> None:
    for one in case.templates:
        there.put(templates(SHARED).path(one["metadata"]["namespace"], one["metadata"]["name"]), one)


async def by_admission(config: Path, lws: Object) -> Object:
    """Return an object as /mutate leaves it, which reads templates by requests."""
    body = orjson.dumps(review(lws))
    async with reader(SHARED, str(config)) as read:
        found = await read(templated.read_asked(templated.asked(body).body))
    return patched(lws, templated.answered(templated.packed(body, found)).body)


def patched(lws: Object, answer: bytes) -> Object:
    operations = orjson.loads(b64decode(orjson.loads(answer)["response"]["patch"]))
    made: Object = jsonpatch.apply_patch(lws, operations)
    return made


def admitting(there: Api) -> None:
    """Expand what the controller writes as /mutate does, with the templates that are stored."""

    def admit(obj: Object) -> None:
        if obj["kind"] != "LeaderWorkerSet":
            return
        paths = {
            name: [templates(SHARED).path(where, name) for where in ("llm", SHARED)] for name in needed(obj)
        }
        known = {
            name: next(there.objects[one] for one in each if one in there.objects)
            for name, each in paths.items()
        }
        obj.update(patched(obj, mutate(orjson.dumps(review(obj)), templates=known).body))

    there.prune = admit


def by_files(folder: Path, objects: Iterable[Object]) -> dict[tuple[str, str], Object]:
    """Return what the command prints for files, by kind and name."""
    file = folder / "files.yaml"
    file.write_text(documents.write_yaml(list(objects)))
    done = CliRunner().invoke(main, ["expand", str(file), "-o", "yaml"])
    assert done.exit_code == 0, done.stderr
    (folder / "made.yaml").write_text(done.stdout)
    made = [one.object for one in read_files([str(folder / "made.yaml")])]
    return {(one["kind"], one["metadata"]["name"]): one for one in made}


def stored(whole: Object) -> str:
    """Return an object as an API server stores it, keys sorted."""
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2).decode()


def authored(whole: Object) -> str:
    """Return an object without what its API server and its service add, and the record, which notes both."""
    left = (*OF_THE_SERVER, *OF_A_SERVICE)
    metadata = {key: value for key, value in whole["metadata"].items() if key not in left}
    annotations = {key: value for key, value in metadata["annotations"].items() if key != EXPANSION}
    return stored({**whole, "metadata": {**metadata, "annotations": annotations}})


# --- they are the same -------------------------------------------------------------------------------


@each_case
async def test_files_become_what_admission_stores(
    case: Case, api: Api, kubeconfig: Path, tmp_path: Path
) -> None:
    store(api, case)

    made = by_files(tmp_path, (*case.sets, *case.templates))

    for one in case.sets:
        admitted = await by_admission(kubeconfig, one)
        assert stored(made["LeaderWorkerSet", one["metadata"]["name"]]) == stored(admitted)


@each_case
async def test_an_inferenceservice_becomes_what_its_author_could_write(
    case: Case, api: Api, kubeconfig: Path, tmp_path: Path, start: Start
) -> None:
    store(api, case)
    admitting(api)
    api.put(INFERENCE_SERVICE.path("llm", "svc"), case.service)
    start(settings=SETTINGS)
    paths = [LWS.path("llm", one["metadata"]["name"]) for one in case.sets]

    await eventually(lambda: all(path in api.objects for path in paths))
    made = by_files(tmp_path, (case.service, *case.templates))

    for path, one in zip(paths, case.sets, strict=True):
        by_hand = authored(await by_admission(kubeconfig, one))
        assert authored(api.objects[path]) == by_hand
        assert authored(made["LeaderWorkerSet", one["metadata"]["name"]]) == by_hand


async def test_the_router_of_a_template_gives_the_same_route(api: Api, tmp_path: Path, start: Start) -> None:
    case, path = CASES["a router"], OUTPUTS["HTTPRoute"].path("llm", "svc-httproute")
    store(api, case)
    admitting(api)
    api.put(INFERENCE_SERVICE.path("llm", "svc"), case.service)
    start(settings=SETTINGS)

    await eventually(lambda: path in api.objects)
    made = by_files(tmp_path, (case.service, *case.templates))

    spec = api.objects[path]["spec"]
    assert spec["hostnames"] == ROUTE["hostnames"]
    assert made["HTTPRoute", "svc-httproute"]["spec"] == spec
