"""What was edited on the leader alone stays valid whatever its author's file becomes."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from intent import Object
from intent.tree import difference, merge
from tests.builders.lws import changed, container, lws, template
from tests.laws.convergence import clients
from tests.laws.convergence.clients import Write, sent
from tests.laws.convergence.laws import incomplete
from tests.laws.convergence.schema import copied
from tests.laws.convergence.server import Engine, Server
from webhook.overlay.merge3 import carried

TOOLS: Final = ("client-side apply", "server-side apply", "helm")
EXEC: Final[Object] = {"exec": {"command": ["x"]}}
MOUNTS: Final[Object] = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
EMPTY: Final[Object] = {"volumes": [{"name": "v", "emptyDir": {}}]}
CLAIM: Final[Object] = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
LOGGER: Final[Object] = {"name": "logger", "image": "fluentbit:1"}


def file(*more: Object, pods: Object | None = None, **fields: Any) -> Object:
    """Return a file with an engine that has these fields, further containers, and fields of its pods."""
    engine = container(image="vllm/vllm-openai:v0.20.2", **fields)
    made = lws(2, template(engine, *more, **(pods or {})), launcher="vllm-native")
    return changed(made, "metadata.namespace", "llm")


def written(server: Server, stored: Object | None, write: Write) -> Object:
    """Return what is stored after a write."""
    body = sent(stored, write)
    assert body
    return server.admit(body, stored)


def item(items: Any, name: str) -> Any:
    return next(
        one for one in items if name in (one.get("name"), one.get("mountPath"), one.get("containerPort"))
    )


def engine(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda spec: change(item(spec["containers"], "vllm"))


def variable(field: str) -> Callable[[Any], Any]:
    return lambda spec: item(spec[field], "logger").update(env=[{"name": "HAND", "value": "1"}])


CASES: Final[dict[str, tuple[Object, Callable[[Any], Any], Object]]] = {
    "a container goes": (file(LOGGER), variable("containers"), file()),
    "an init container goes": (file(pods={"initContainers": [LOGGER]}), variable("initContainers"), file()),
    "a variable gets another source": (
        file(env=[{"name": "A", "value": "1"}]),
        engine(lambda one: item(one["env"], "A").update(value="2")),
        file(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]),
    ),
    "a probe goes": (
        file(livenessProbe=EXEC | {"periodSeconds": 5}),
        engine(lambda one: one["livenessProbe"].update(periodSeconds=9)),
        file(),
    ),
    "a probe gets another handler": (
        file(livenessProbe=EXEC),
        engine(lambda one: one["livenessProbe"].update(exec={"command": ["y"]})),
        file(livenessProbe={"tcpSocket": {"port": 8000}}),
    ),
    "a hook gets another handler": (
        file(lifecycle={"preStop": EXEC}),
        engine(lambda one: one["lifecycle"].update(preStop={"exec": {"command": ["y"]}})),
        file(lifecycle={"preStop": {"sleep": {"seconds": 3}}}),
    ),
    "a mount goes": (
        file(pods=EMPTY, **MOUNTS),
        engine(lambda one: item(one["volumeMounts"], "/v").update(readOnly=True)),
        file(),
    ),
    "a volume gets another source": (
        file(pods=EMPTY, **MOUNTS),
        lambda spec: item(spec["volumes"], "v").update(emptyDir={"sizeLimit": "1Gi"}),
        file(pods=CLAIM, **MOUNTS),
    ),
    "a container that the leader has by itself comes": (
        file(),
        lambda spec: spec["containers"].append(LOGGER | {"env": [{"name": "A", "value": "1"}]}),
        file(LOGGER | {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}),
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("case", CASES)
def test_a_leader_that_was_edited_alone_stays_whole(case: str, tool: str) -> None:
    first, edit, second = CASES[case]
    server, owned = Server(Engine()), clients.owned(first)
    stored = written(server, None, Write(tool, first))
    edited = copied(stored)
    edit(edited["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"])
    body = clients.edit(stored, edited)
    assert body
    stored = server.admit(body, stored)
    assert "fusioninfer" in str(stored)

    after = written(server, stored, Write(tool, second, owned))

    assert incomplete(after) == ""


def test_a_renamed_engine_of_the_leader_is_launched_there() -> None:
    server = Server(Engine())
    stored = written(server, None, Write("helm", file()))
    renamed = copied(stored)
    renamed["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]["name"] = "main"

    body = clients.put(stored, renamed)
    assert body
    after = server.admit(body, stored)

    leader = after["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]
    assert [(one["name"], "--master-addr" in one["args"]) for one in leader] == [("main", True)]


@pytest.mark.parametrize("tool", ["client-side apply", "server-side apply"])
def test_a_leader_of_a_file_need_not_have_what_the_workers_have(tool: str) -> None:
    server, shared = Server(Engine()), file(LOGGER, pods={"initContainers": [LOGGER | {"name": "download"}]})
    stored = written(server, None, Write(tool, shared))
    own = file()["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    wanted = changed(shared, "spec.leaderWorkerTemplate.leaderTemplate", own)

    after = written(server, stored, Write(tool, wanted, clients.owned(shared)))

    pods = after["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    assert [one["name"] for one in pods["containers"]] == ["vllm"]
    assert "download" not in str(pods.get("initContainers"))


@pytest.mark.parametrize("tool", TOOLS)
def test_an_empty_variable_of_its_author_does_not_stay_beside_the_source_of_ours(tool: str) -> None:
    server, empty = Server(Engine()), file(env=[{"name": "VLLM_HOST_IP", "value": ""}])
    stored = written(server, None, Write(tool, empty))

    after = written(server, stored, Write(tool, file(), clients.owned(empty)))

    assert incomplete(after) == ""


def test_edits_are_carried_as_a_whole_where_nothing_changed() -> None:
    worker: Object = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]}}
    leader: Object = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "containers": [{"name": "a", "image": "y"}, {"name": "c", "image": "x"}],
            "hostNetwork": True,
        },
    }
    edits = difference(worker, leader)

    assert carried(edits, worker, worker) == edits
    assert merge(worker, carried(edits, worker, worker), ()) == leader
