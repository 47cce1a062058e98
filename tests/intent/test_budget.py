"""Limits on the size of an object, and the treatment of an object over one."""

from typing import Any, Final

import orjson
import pytest

from fusioninfer.lint.offline import is_lws
from intent import Object, budget
from tests.builders.isvc import isvc, worker
from tests.builders.lws import changed, container, lws, put, template
from tests.golden.test_golden import CASES, inferenceservices, leaderworkersets
from webhook import inferenceservice
from webhook.check import check
from webhook.expand import expand

ROOM: Final = 20
"""The least ratio of a limit to the largest example."""


def many(count: int) -> Object:
    """Build an object with a number of containers."""
    return lws(
        worker=template(container(), *(container(f"c{at}", resources=None) for at in range(count - 1)))
    )


def words(count: int, word: str = "x") -> Object:
    """Build an object with a number of arguments after its command."""
    return lws(worker=template(container(args=[word] * count)))


def annotated(count: int) -> Object:
    """Build an object with a number of annotations under our prefix."""
    ours = {f"fusioninfer.io/x-{at}": "x" for at in range(count - 1)}
    return changed(lws(), "metadata.annotations", {"fusioninfer.io/service": "svc"} | ours)


def tolerating(count: int, launcher: str = "auto") -> Object:
    """Build an object with a number of empty tolerations."""
    return lws(worker=template(container(), tolerations=[{}] * count), launcher=launcher)


OVER: Final[dict[str, Object]] = {
    "containers": many(budget.CONTAINERS.most + 1),
    "arguments": words(budget.ARGUMENTS.most),
    "characters": words(1, "x" * budget.CHARACTERS.most),
    "blanks and operators": words(1, " " * budget.BREAKS.most + "x" * 10 + ";"),
    "variables": lws(
        worker=template(container(env=[{"name": f"A{at}"} for at in range(budget.VARIABLES.most + 1)]))
    ),
    "annotations": annotated(budget.KEYS.most + 1),
    "characters of annotations": lws(refresh="x" * budget.VALUES.most),
    "declared roles": lws(roles=",".join(f"r{at}" for at in range(budget.NAMES.most + 1))),
    "items and fields": tolerating(budget.ITEMS.most),
}


def test_every_limit_has_a_test_object() -> None:
    assert list(OVER) == [limit.name for limit in budget.LIMITS if limit is not budget.BYTES]


@pytest.mark.parametrize("name", OVER)
def test_over_a_limit_an_object_is_denied_with_one_error_and_not_changed(name: str) -> None:
    live = OVER[name]

    (error,) = check(live)

    assert (error.code, error.severity, f" {name}, and the limit is" in error.message) == (
        "FI904",
        "error",
        True,
    )
    assert "fusioninfer.io/inject: disabled" in error.message
    assert expand(live) == []


@pytest.mark.parametrize(
    "live",
    [many(budget.CONTAINERS.most), words(budget.ARGUMENTS.most - 2), tolerating(budget.ITEMS.most - 40)],
    ids=["100", "4096", "8152"],
)
def test_an_object_at_a_limit_is_read(live: Object) -> None:
    assert "FI904" not in {one.code for one in check(live)}


@pytest.mark.parametrize("name", OVER)
def test_an_object_over_a_limit_can_bypass_the_webhooks(name: str) -> None:
    left_alone = changed(OVER[name], "metadata.annotations.fusioninfer.io/inject", "disabled")

    assert (check(left_alone, OVER[name]), expand(left_alone, OVER[name])) == ([], [])


@pytest.mark.parametrize("name", OVER)
def test_a_stored_object_over_a_limit_can_be_scaled_and_deleted(name: str) -> None:
    old = OVER[name]
    scaled = changed(changed(old, "spec.replicas", 5), "metadata.labels.team", "x")
    ended = changed(old, "metadata.deletionTimestamp", "2026-01-01T00:00:00Z")

    assert [(one.code, one.severity) for one in check(scaled, old)] == [("FI904", "warning")]
    assert (check(ended, old), expand(scaled, old)) == ([], [])


@pytest.mark.parametrize("name", OVER)
def test_a_change_of_an_object_over_a_limit_is_denied(name: str) -> None:
    live = changed(OVER[name], "spec.leaderWorkerTemplate.size", 3)

    assert [one.severity for one in check(live, OVER[name])] == ["error"]


def test_opting_in_over_a_limit_is_denied() -> None:
    old = changed(OVER["containers"], "metadata.annotations", {})

    assert [one.severity for one in check(OVER["containers"], old)] == ["error"]


def test_templates_of_an_object_that_opts_out_are_not_counted() -> None:
    live = changed(OVER["containers"], "metadata.annotations", {})

    assert check(live, OVER["containers"]) == []


@pytest.mark.parametrize("part", ["containers", "initContainers"])
def test_an_inferenceservice_is_counted_over_all_its_roles(part: str) -> None:
    half = {"spec": {"containers": [container()], part: [container(f"c{at}") for at in range(60)]}}
    roles = [
        {"name": name, "componentType": kind, "template": half}
        for name, kind in (("a", "prefiller"), ("b", "decoder"))
    ]
    live = changed(isvc(), "spec.roles", roles)

    (error,) = inferenceservice.check(live)

    assert (error.path, error.code, error.severity) == ("spec.roles", "FI904", "error")
    scaled = changed(live, "spec.roles.0.replicas", 3)
    assert [one.severity for one in inferenceservice.check(scaled, live)] == ["warning"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.roles.0.template.spec.tolerations", [{}] * budget.ITEMS.most),
        ("spec.roles.0.template.spec.nodeSelector", {str(at): "" for at in range(budget.ITEMS.most)}),
        ("spec.roles", [{}] * budget.ITEMS.most),
        ("spec.anything", [[0] * 100] * 100),
    ],
    ids=["items of a list", "fields of a map", "roles", "nested lists"],
)
def test_all_items_and_fields_of_an_inferenceservice_are_counted(path: str, value: Any) -> None:
    live = changed(isvc(), path, value)

    (error,) = inferenceservice.check(live)

    assert (error.path, error.code, error.severity) == ("spec", "FI904", "error")
    assert " items and fields, and the limit is 8192;" in error.message


@pytest.mark.parametrize(
    "live",
    [
        lws(
            launcher="ray-start",
            worker=template(
                container(),
                *(container(f"c{at}", resources=None) for at in range(budget.CONTAINERS.most - 1)),
            ),
        ),
        tolerating(budget.ITEMS.most - 40, launcher="ray-start"),
    ],
    ids=["containers", "items and fields"],
)
def test_the_controller_reads_what_admission_accepts_though_the_leader_is_a_copy(live: Object) -> None:
    stored = put(live)

    assert "leaderTemplate" in stored["spec"]["leaderWorkerTemplate"]
    assert "FI904" not in {one.code for one in check(live)}
    assert budget.of_leaderworkerset(stored) is not None
    assert budget.of_expanded(stored) is None


def test_the_examples_use_at_most_a_twentieth_of_each_limit() -> None:
    found = [one.object for case in CASES for one in leaderworkersets(case) if is_lws(one.object)]

    for live in (*found, *map(put, found)):
        for limit, count in budget.counted(live):
            assert count * ROOM <= limit.most, (limit.name, count)


def test_the_templates_of_workers_are_counted_with_those_of_leaders() -> None:
    script = {"spec": {"containers": [{"name": "c", "command": ["x" * budget.CHARACTERS.most]}]}}
    half = {"spec": {"containers": [{"name": "c", "command": ["x" * (budget.CHARACTERS.most // 2)]}]}}

    assert budget.of_inferenceservice(isvc(worker(template=half))) is None
    found = budget.of_inferenceservice(isvc(worker(template=half, worker=script)))

    assert found is not None
    assert budget.CHARACTERS.name in found.message


@pytest.mark.parametrize(
    "value", [None, 7, "x", [], [None], [[]], {"containers": 7}, {"containers": [7, None]}]
)
def test_objects_of_any_shape_are_counted(value: Any) -> None:
    live = changed(lws(), "spec.leaderWorkerTemplate.workerTemplate", {"spec": value})

    assert budget.of_leaderworkerset(live) is None
    assert budget.of_inferenceservice(changed(isvc(), "spec.roles", value)) is None


def full(length: int, name: str = "x", **changes: Any) -> Object:
    """Return an InferenceService with a value so long in its environment."""
    env = [{"name": "A", "value": "<" * length}]
    role = worker(multinode=None, template=template(container(args=["m"], resources=None, env=env)))
    return isvc(role | changes, name=name)


LONG: Final = budget.BYTES.most
MORE: Final = changed(full(LONG), "spec.roles.0.template.spec.initContainers", [{}] * budget.CONTAINERS.most)
CHANGES: Final = {
    "created": (None, full(LONG), "error"),
    "over the limit by this change": (full(LONG - 9_000), full(LONG), "error"),
    "enlarged": (full(LONG), full(LONG + 1), "error"),
    "changed": (full(LONG, replicas=1), full(LONG, replicas=2), "warning"),
    "reduced": (full(LONG + 1), full(LONG), "warning"),
    "enlarged in another way": (full(LONG + 99_999), MORE, "error"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_an_inferenceservice_over_the_bytes_is_refused_unless_a_stored_one_is_not_enlarged(case: str) -> None:
    old, live, severity = CHANGES[case]

    (error,) = inferenceservice.check(live, old)

    where = "spec.roles" if live is MORE else "spec"
    assert (error.path, error.code, error.severity) == (where, "FI904", severity)


def test_the_message_names_the_bytes_the_limit_and_the_remedy() -> None:
    (error,) = inferenceservice.check(full(LONG))

    expected = f"has {len(orjson.dumps(full(LONG)['spec']))} bytes, and the limit is 262144; use fewer, keep"
    assert error.message.startswith(expected)
    assert "inject" not in error.message


def test_a_bypass_of_the_webhooks_is_a_remedy_only_for_what_the_controller_then_reads() -> None:
    many: Any = {"spec": {"containers": [{}] * (budget.CONTAINERS.most + 1)}}

    found = budget.of_inferenceservice(isvc(worker(template=many)))
    of_member = budget.of_leaderworkerset(changed(lws(), "spec.leaderWorkerTemplate.workerTemplate", many))

    assert found is not None
    assert found.message == "has 101 containers, and the limit is 100; use fewer"
    assert of_member is not None
    assert of_member.message.endswith("fusioninfer.io/inject: disabled")


def test_the_limit_of_bytes_leaves_room_to_the_largest_example() -> None:
    largest = max(len(orjson.dumps(one.object["spec"])) for case in CASES for one in inferenceservices(case))

    assert largest * ROOM < LONG
