"""The clients write what the real ones do."""

import copy
from typing import Any

import orjson
import pytest

from intent import Object
from tests.laws.convergence import clients
from tests.laws.convergence.clients import merge_patch, three_way, two_way
from tests.laws.convergence.managed import LAST_APPLIED, managers_of, update, without_managers

Stored = dict[str, Any]


def lws(containers: list[Object], **spec: Any) -> Object:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "x", "namespace": "llm", "annotations": {"team": "a"}},
        "spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": containers}}}, **spec},
    }


def worker(live: Object | None) -> Any:
    assert live is not None
    return live["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]


ENGINE: Object = {"name": "vllm", "args": ["a"]}


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_gives_the_results_of_rfc_7386(target: Any, patch: Any, result: Any) -> None:
    assert merge_patch(target, patch) == result


def test_a_two_way_patch_leads_from_one_object_to_the_other() -> None:
    old = {"a": 1, "b": {"c": 1, "d": 2}, "e": [1]}
    new = {"a": 1, "b": {"c": 3}, "e": [1, 2]}

    assert two_way(old, new) == {"b": {"c": 3, "d": None}, "e": [1, 2]}
    assert merge_patch(old, two_way(old, new)) == new


def test_a_three_way_patch_deletes_only_what_the_last_file_had() -> None:
    original, modified = {"mine": 1, "kept": 1}, {"kept": 1}
    current = {"mine": 1, "kept": 2, "theirs": 3}

    assert three_way(original, modified, current) == {"mine": None, "kept": 1}


def test_client_side_apply_replaces_lists_and_keeps_fields_of_others() -> None:
    file = lws([ENGINE])
    stored = clients.client_side_apply(None, file)
    assert stored is not None
    expanded = copy.deepcopy(stored)
    worker(expanded)["containers"][0]["env"] = [{"name": "OURS", "value": "1"}]
    worker(expanded)["schedulerName"] = "volcano"

    applied = clients.client_side_apply(expanded, file)

    assert worker(applied) == {"containers": [ENGINE], "schedulerName": "volcano"}


def test_client_side_apply_removes_what_the_last_file_had() -> None:
    stored = clients.client_side_apply(None, lws([ENGINE], replicas=3, startupPolicy="LeaderReady"))

    applied = clients.client_side_apply(stored, lws([ENGINE], replicas=3))

    assert applied is not None
    assert applied["spec"]["startupPolicy"] == "LeaderCreated", "the default"
    assert applied["spec"]["replicas"] == 3
    assert orjson.loads(applied["metadata"]["annotations"][LAST_APPLIED])["spec"]["replicas"] == 3


def test_client_side_apply_of_the_same_file_sends_nothing() -> None:
    stored = clients.client_side_apply(None, lws([ENGINE]))

    assert clients.client_side_apply(stored, lws([ENGINE])) is None


def test_client_side_apply_deletes_nothing_after_a_replace() -> None:
    replaced = clients.replace(clients.client_side_apply(None, lws([ENGINE])), lws([ENGINE], replicas=3))

    applied = clients.client_side_apply(replaced, lws([ENGINE]))

    assert applied is not None
    assert applied["spec"]["replicas"] == 3


def test_replace_sends_the_file_alone_and_keeps_the_owners() -> None:
    stored = clients.client_side_apply(None, lws([ENGINE], replicas=3))

    replaced = clients.replace(stored, lws([ENGINE]))

    assert replaced is not None
    assert replaced["spec"]["replicas"] == 1, "the default"
    assert LAST_APPLIED not in replaced["metadata"]["annotations"]
    assert ("kubectl-client-side-apply", "Update") in managers_of(replaced)


def test_helm_ignores_the_live_object_and_restores_it_with_three_ways() -> None:
    old, new = lws([ENGINE], replicas=1), lws([ENGINE], replicas=1, startupPolicy="LeaderReady")
    live = update(None, lws([ENGINE], replicas=7), "helm")

    two, three = clients.helm(live, old, new), clients.helm_three_way(live, old, new)

    assert two is not None
    assert three is not None
    assert (two["spec"]["replicas"], three["spec"]["replicas"]) == (7, 1)


def test_helm_writes_its_label_and_annotations_with_every_upgrade() -> None:
    file = lws([ENGINE])
    live = clients.install(file)
    assert live["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
    del live["metadata"]["labels"]

    for client in (clients.helm, clients.helm_three_way):
        upgraded = client(live, file, file)
        assert upgraded is not None
        assert upgraded["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
        assert upgraded["metadata"]["annotations"] == live["metadata"]["annotations"]


def test_every_change_by_hand_sends_the_wanted_object() -> None:
    stored = clients.client_side_apply(None, lws([ENGINE, {"name": "proxy"}]))
    assert stored is not None
    wanted = copy.deepcopy(stored)
    worker(wanted)["containers"].pop()
    wanted["metadata"]["annotations"]["team"] = "b"

    for client in (clients.edit, clients.put, clients.json_patch):
        live = client(stored, wanted)
        assert live is not None
        assert live["spec"] == wanted["spec"]
        assert live["metadata"]["annotations"] == wanted["metadata"]["annotations"]


def test_a_replaced_export_is_the_last_applied_file() -> None:
    stored = clients.client_side_apply(None, lws([ENGINE]))
    plain = clients.replace(None, lws([ENGINE]))
    assert stored is not None
    assert plain is not None

    found, unnoted = (clients.exported(one, one) for one in (stored, plain))

    assert found is not None
    text = found["metadata"]["annotations"].pop(LAST_APPLIED)
    assert orjson.loads(text) == without_managers(found)
    assert unnoted is not None
    assert LAST_APPLIED not in unnoted["metadata"]["annotations"]


def test_an_edit_without_a_change_sends_nothing() -> None:
    stored = clients.client_side_apply(None, lws([ENGINE]))
    assert stored is not None

    assert clients.edit(stored, stored) is None
    assert clients.json_patch(stored, stored) is None
