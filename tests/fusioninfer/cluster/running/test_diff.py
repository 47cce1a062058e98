"""`fusioninfer diff`: what a file changes in its object and in the controller's, and what is noise."""

import json
from typing import Any, Final

import orjson
import pytest
from aiohttp import web
from click.testing import Result

from fusioninfer.cluster.diff import Comparison, applied_patch, cleaned, file_request
from fusioninfer.cluster.reader import Reader
from intent import Object
from sync.kinds import INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP
from tests.builders.lws import lws as authored
from tests.fusioninfer.cluster.test_eject import FILES, SERVER
from tests.fusioninfer.cluster.test_eject import stored as in_cluster
from tests.fusioninfer.conftest import Command
from tests.laws.convergence.clients import merge_patch
from tests.laws.convergence.files import File, manifest
from tests.sync.fake_api import Api, status
from tests.sync.samples import APPLIED, inference_service
from tests.sync.served import admit
from webhook.overlay.written import LAST_APPLIED

# --- pure -------------------------------------------------------------------------------------------


def test_a_client_side_apply_removes_what_only_the_last_file_had() -> None:
    last, file = {"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 3}, "e": {"f": 4}}

    assert applied_patch(last, file) == {"a": None, "b": {"c": None, "d": 3}, "e": {"f": 4}}


def stored(**fields: Any) -> Object:
    metadata = {
        "name": "x",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "managedFields": [{}],
        "annotations": {"fusioninfer.io/expansion": "{}", LAST_APPLIED: "{}", "a": "b"},
        "ownerReferences": [{"kind": "LeaderWorkerSet", "name": "p", "uid": "made-up"}],
    }
    return {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": metadata,
        "status": {"x": 1},
        "spec": {"b": 1},
    } | fields


def test_noise_is_left_out() -> None:
    assert cleaned(stored()) == {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"annotations": {"a": "b"}, "name": "x", "namespace": "n"},
        "spec": {"b": 1},
    }


def test_a_change_of_noise_alone_is_no_difference() -> None:
    after = stored(status={"x": 2})
    after["metadata"]["resourceVersion"] = "8"

    assert not differs(stored(), after)
    assert differs(stored(), stored(spec={"b": 2}))
    assert differs({}, stored())


NO_CLIENT: Final[Any] = None


def differs(before: Object, after: Object) -> bool:
    """Return whether a change is reported."""
    compared = Comparison(Reader(NO_CLIENT))
    compared.store(before, after)
    return bool(compared.changes)


FILE: Final[Object] = {"metadata": {"name": "x", "namespace": "n"}, "spec": {}}
APPLIES: Final = [{"manager": name, "operation": "Apply"} for name in ("fusioninfer", "flux")]


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        ({"metadata": {"annotations": {LAST_APPLIED: "{}"}}}, ("patch", "kubectl")),
        ({"metadata": {"managedFields": APPLIES}}, ("apply", "flux")),
        ({"metadata": {"managedFields": [{"manager": "helm", "operation": "Update"}]}}, ("apply", "kubectl")),
    ],
)
def test_a_dry_run_is_that_of_the_client_which_applied_the_object(
    live: Object, expected: tuple[str, str]
) -> None:
    request = file_request(LWS, FILE, live)

    assert (request.verb, request.query["fieldManager"]) == expected
    assert request.query["dryRun"] == "All"


@pytest.mark.parametrize("annotations", [{}, {"annotations": None}, {"annotations": "x"}])
def test_a_client_side_apply_sends_its_file_as_the_last_one(annotations: Object) -> None:
    last = json.dumps({"metadata": {"name": "x", "annotations": {"a": "b"}}})
    live = {"metadata": {"name": "x", "annotations": {LAST_APPLIED: last, "a": "b"}}}

    request = file_request(LWS, FILE | {"metadata": FILE["metadata"] | annotations}, live)

    assert isinstance(request.body, dict)
    assert request.body["metadata"]["annotations"]["a"] is None
    assert json.loads(request.body["metadata"]["annotations"][LAST_APPLIED])["metadata"]["name"] == "x"


@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_the_file_that_was_applied_last_changes_nothing(file: File) -> None:
    """Though it is noted with other blanks, so that admission takes it for another one."""
    live = in_cluster(file)
    request = file_request(LWS, manifest(file), live)
    assert isinstance(request.body, dict)

    sent = merge_patch(live, request.body)

    assert sent["metadata"]["annotations"][LAST_APPLIED] != live["metadata"]["annotations"][LAST_APPLIED]
    assert not differs(live, SERVER.admit(sent, live))


# --- with a cluster ---------------------------------------------------------------------------------


@pytest.fixture
def cluster(api: Api) -> Api:
    """An empty cluster with admission."""
    api.prune = admit
    api.fault = reviews
    return api


def reviews(request: web.Request) -> web.StreamResponse | None:
    """Answer that there are no ConfigMaps."""
    return web.json_response({"items": [], "metadata": {}}) if "/configmaps" in request.path else None


def service(name: str = "p", size: int = 2) -> Object:
    made = authored(size=size, service="r1", component_type="worker")
    made["metadata"] |= {"name": name, "namespace": "team-a"}
    return made


async def diff(command: Command, *objects: Object, words: tuple[str, ...] = ()) -> Result:
    """Run the command on objects."""
    text = "\n---\n".join(orjson.dumps(one).decode() for one in objects)
    return await command("diff", "-f", "-", *words, text=text)


async def changes(command: Command, *objects: Object) -> dict[tuple[str, str], str]:
    """Return what happens to each object, by kind and name."""
    result = await diff(command, *objects, words=("-o", "json"))
    assert result.exit_code in {0, 1}, result.output
    found = {}
    for one in json.loads(result.stdout)["changes"]:
        obj = one["after"] or one["before"]
        action = "create" if not one["before"] else "update" if one["after"] else "delete"
        found[obj["kind"], obj["metadata"]["name"]] = action
    return found


async def test_a_new_service_would_create_its_object_and_those_of_the_controller(
    cluster: Api, command: Command
) -> None:
    assert await changes(command, service()) == {
        ("LeaderWorkerSet", "p"): "create",
        ("PodGroup", "r1"): "create",
        ("Service", "r1-api"): "create",
    }
    assert cluster.writes == []


async def test_a_new_inferenceservice_creates_its_leaderworkersets_without_the_right_to_patch(
    cluster: Api, command: Command
) -> None:
    cluster.fault = refusing("PATCH", LWS.path_of(service(name="r1-prefill")))

    found = await changes(command, inference_service())

    assert found["LeaderWorkerSet", "r1-prefill"] == "create"
    assert found["PodGroup", "r1"] == "create"


async def put_whole(cluster: Api, command: Command) -> None:
    """Store a service with what the controller makes of it, after which nothing differs."""
    stored_set = service()
    admit(stored_set)
    cluster.put(LWS.path("team-a", "p"), stored_set)
    uid = cluster.objects[LWS.path("team-a", "p")]["metadata"]["uid"]
    owner = {"apiVersion": "x/v1", "kind": LWS.kind, "name": "p", "uid": uid}
    result = await diff(command, service(), words=("-o", "json"))
    for obj in (one["after"] for one in json.loads(result.stdout)["changes"]):
        obj["metadata"] |= {"managedFields": APPLIED, "ownerReferences": [owner]}
        cluster.put(OUTPUTS[obj["kind"]].path_of(obj), obj)
    same = await diff(command, service())
    assert (same.exit_code, same.stdout) == (0, ""), same.stdout


async def test_another_size_changes_the_object_and_the_gang(cluster: Api, command: Command) -> None:
    await put_whole(cluster, command)

    result = await diff(command, service(size=4))

    assert result.exit_code == 1
    assert "--- LIVE PodGroup team-a/r1\n+++ MERGED PodGroup team-a/r1\n" in result.stdout
    assert "-    size: 2\n+    size: 4\n" in result.stdout
    assert "-  minMember: 2\n+  minMember: 4\n" in result.stdout


async def test_an_object_that_is_no_longer_desired_is_deleted(cluster: Api, command: Command) -> None:
    await put_whole(cluster, command)
    alone = service(size=1)
    alone["metadata"]["annotations"]["fusioninfer.io/scheduler-name"] = "default-scheduler"

    found = await changes(command, alone)

    assert found["PodGroup", "r1"] == "delete"


async def test_what_was_made_of_the_service_that_an_object_leaves_is_deleted(
    cluster: Api, command: Command
) -> None:
    await put_whole(cluster, command)
    file = service()
    file["metadata"]["annotations"] = {"fusioninfer.io/service": "r2"}

    found = await changes(command, file)

    assert found["Service", "r1-api"] == "delete"
    assert found["Service", "r2-api"] == "create"


async def test_without_the_right_to_write_a_gang_it_is_a_note(cluster: Api, command: Command) -> None:
    await put_whole(cluster, command)
    cluster.fault = refusing("PATCH", POD_GROUP.path("team-a", "r1"))

    result = await diff(command, service(size=4))

    assert result.exit_code == 1, result.output
    assert "PodGroup team-a/r1: not compared: 403 Forbidden: denied the request" in result.stderr


async def test_an_object_of_others_is_a_note(cluster: Api, command: Command) -> None:
    await put_whole(cluster, command)
    stored_service = cluster.objects[OUTPUTS["Service"].path("team-a", "r1-api")]
    stored_service["metadata"] |= {"managedFields": [], "ownerReferences": []}

    result = await diff(command, service(size=4))

    assert "LIVE Service" not in result.stdout
    assert "Service r1-api was not made for this service; it is left alone" in result.stderr


async def test_an_object_of_which_the_api_server_drops_fields_is_a_note(
    cluster: Api, command: Command
) -> None:
    await put_whole(cluster, command)

    def prune(obj: Object) -> None:
        admit(obj)
        if obj["kind"] == "PodGroup":
            obj["spec"].pop("subGroupPolicy")

    cluster.prune = prune
    result = await diff(command, service(size=4))

    assert "LIVE PodGroup" not in result.stdout
    assert "this cluster's PodGroup does not keep spec.subGroupPolicy" in result.stderr


def refusing(method: str, path: str, code: int = 403, reason: str = "Forbidden") -> Any:
    """Refuse requests, and answer what a cluster without admission of ours answers to others."""

    def answer(request: web.Request) -> web.StreamResponse | None:
        is_refused = (request.method, request.path) == (method, path)
        return status(code, reason, "denied the request") if is_refused else reviews(request)

    return answer


@pytest.mark.usefixtures("cluster")
async def test_other_kinds_are_counted(command: Command) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}

    result = await diff(command, config_map)

    assert (result.exit_code, "1 object of other kinds left out" in result.stderr) == (0, True)


@pytest.mark.parametrize("name", ["", "../pods/x", 7])
async def test_a_name_that_is_none_is_in_no_path(cluster: Api, command: Command, name: Any) -> None:
    cluster.fault = refusing("POST", LWS.path("team-a"), 422, "Invalid")
    unnamed = service()
    unnamed["metadata"]["name"] = name

    result = await diff(command, unnamed)

    assert (result.exit_code, "not compared: 422 Invalid: denied the request" in result.stderr) == (2, True)


async def test_a_kind_that_is_not_served_is_a_note(cluster: Api, command: Command) -> None:
    cluster.absent.add("podgroups")

    result = await diff(command, service())

    assert "PodGroup team-a/r1: not compared: scheduling.volcano.sh/v1beta1 is not served" in result.stderr


async def test_a_list_that_is_refused_is_exit_code_2(cluster: Api, command: Command) -> None:
    cluster.fault = refusing("GET", INFERENCE_SERVICE.path("team-a"))

    result = await diff(command, service())

    assert (result.exit_code, "cannot list inferenceservices" in result.stderr) == (2, True)
