"""Sequences are repeatable, servers are those of a cluster, and each law detects an engine that breaks it."""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest

from intent import Object
from tests.laws.convergence import __main__ as command
from tests.laws.convergence import laws
from tests.laws.convergence.clients import BY_HAND, SCALE, TOOLS
from tests.laws.convergence.files import File, Pod, changed, draw_file, manifest, simpler
from tests.laws.convergence.hands import HANDS, UNMAPPED
from tests.laws.convergence.schema import Refused, templates
from tests.laws.convergence.server import Denied, Engine, Server, allow, injector
from tests.laws.convergence.walk import Sequence, Step, draw, run, shrunk
from webhook import review
from webhook.review import AdmissionAnswer

PROBED = File(worker=Pod(probes=("readinessProbe",)))
"""A file whose template is split: workers have no probe."""
APPLY = "client-side apply"


def sequence(*steps: Step, file: File = PROBED, tool: str = APPLY, other: str = "") -> Sequence:
    return Sequence(file, tool, other, steps)


def first_law(one: Sequence, engine: Engine | None = None) -> str:
    return next((found.law for found in run(one, engine).violations), "")


# --- the generator --------------------------------------------------------------------------------------


def random(number: int) -> Random:
    return Random(number)  # noqa: S311 - examples, which are to be repeatable


def test_a_seed_gives_the_same_sequence_again() -> None:
    assert [draw(random(7)), draw(random(7))] == [draw(random(7))] * 2
    assert draw(random(7)) != draw(random(8))


def test_a_sequence_has_three_to_eight_steps_or_as_many_as_asked() -> None:
    assert {len(draw(random(number)).steps) for number in range(100)} == {3, 4, 5, 6, 7, 8}
    assert len(draw(random(1), 12).steps) == 12


def test_the_generator_draws_every_client_change_and_mapping() -> None:
    drawn = [draw(random(number)) for number in range(400)]
    changes = {step.change for one in drawn for step in one.steps}

    assert {step.client for one in drawn for step in one.steps} == {*TOOLS, *BY_HAND, SCALE}
    assert {one.other for one in drawn} == {"", "before", "after"}
    assert changes >= HANDS.keys()
    assert changes >= {"opted_in", "leader template", "launcher", "size", "export", "the same file"}


def test_most_files_are_accepted_and_all_have_their_volumes() -> None:
    server, outcomes = Server(Engine()), Counter[bool]()
    for number in range(60):
        file = manifest(draw_file(random(number)))
        assert laws.mounts(file) == ""
        try:
            server.admit(file)
        except Denied:
            outcomes[False] += 1
        else:
            outcomes[True] += 1

    assert outcomes[True] > 40


def test_a_simpler_file_differs_less() -> None:
    file = File(worker=Pod(model="org/M2", sidecar=True), leader=Pod(), size=3)

    assert len(simpler(file)) == 4
    assert changed(file, "size", 2) in simpler(file)


# --- the server -------------------------------------------------------------------------------------------


def test_a_server_fills_in_the_defaults_of_the_definition_and_of_lws() -> None:
    stored = Server().admit(manifest(File(replicas=None)))

    assert stored["spec"]["replicas"] == 1
    assert stored["spec"]["networkConfig"] == {"subdomainPolicy": "Shared"}
    [container] = stored["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    assert container["ports"] == [{"containerPort": 8000, "name": "http", "protocol": "TCP"}]


def test_a_server_with_our_webhooks_expands_and_one_without_does_not() -> None:
    file = manifest(File())

    assert len(list(templates(Server().admit(manifest(PROBED))))) == 1
    assert len(list(templates(Server(Engine()).admit(manifest(PROBED))))) == 2
    assert Server(Engine()).admit(file) == Server(Engine()).admit(Server().admit(file))


def test_a_template_without_containers_is_refused() -> None:
    file = manifest(File())
    file["spec"]["leaderWorkerTemplate"]["leaderTemplate"] = {"spec": {"schedulerName": "volcano"}}

    with pytest.raises(Refused, match="containers: Required value"):
        Server().admit(file)


def test_a_write_that_the_validating_webhook_denies_is_denied() -> None:
    file = manifest(File())
    file["metadata"]["annotations"]["fusioninfer.io/launcher"] = "unknown"

    with pytest.raises(Denied, match="launcher"):
        Server(Engine()).admit(file)


def test_lws_writes_the_form_of_go_only_where_it_sets_a_default() -> None:
    file = manifest(File(worker=Pod(sidecar=True, probes=("livenessProbe",))))
    stored = Server().admit(file)
    [(_, template)] = templates(stored)
    engine, sidecar = template["spec"]["containers"]
    assert (template["metadata"], sidecar["resources"]) == ({}, {})
    assert engine["livenessProbe"]["initialDelaySeconds"] == 0

    del sidecar["resources"]

    assert Server().admit(stored, stored) == stored


@pytest.mark.parametrize("other", ["before", "after"])
def test_another_webhook_writes_once_into_every_template(other: str) -> None:
    stored = Server(Engine(), other).admit(manifest(PROBED))

    assert injector(stored) == stored
    assert len(list(templates(stored))) == 2


# --- the laws ---------------------------------------------------------------------------------------------


CONVERGING = {
    "applied again": sequence(Step(APPLY, "the same file")),
    "another model": sequence(Step(APPLY, "model", "org/M2")),
    "server-side": sequence(Step("server-side apply", "env", [["A", "1"]]), tool="server-side apply"),
    "replaced": sequence(Step("replace", "size", 3), tool="replace"),
    "upgraded by helm": sequence(Step("helm", "launcher", "vllm-native"), tool="helm"),
    "opted out and back": sequence(Step(APPLY, "opted_in", False), Step(APPLY, "opted_in", True)),
    "ejected": sequence(Step("put", "eject")),
    "scaled": sequence(Step("scale", "replicas", 4), Step("edit", "replicas")),
    "plain, our variable dropped": sequence(Step("put", "drop our env"), file=File()),
}


def test_what_the_author_wrote_is_removed_on_both_servers() -> None:
    brought = File(worker=Pod(volumes=("dshm",)), opted_in=False)

    assert first_law(sequence(Step("put", "drop our memory"), file=brought)) == ""
    assert first_law(sequence(Step("put", "drop leader template"), file=File(leader=Pod(), size=1))) == ""


@pytest.mark.parametrize("name", CONVERGING)
def test_a_simple_sequence_converges(name: str) -> None:
    found = run(CONVERGING[name])

    assert found.violations == []
    assert found.outcomes[-1][1] == "compared"


def patched(change: Callable[[list[Object]], list[Object]]) -> Engine:
    """Return an engine that changes the patch of every update, and denies nothing."""

    def mutate(body: bytes) -> AdmissionAnswer:
        answer = review.mutate(body)
        if orjson.loads(body)["request"]["oldObject"] is None:
            return answer
        found: Any = orjson.loads(answer.body)
        response = found["response"]
        operations = orjson.loads(b64decode(response.get("patch", b64encode(b"[]"))))
        response["patch"] = b64encode(orjson.dumps(change(operations))).decode()
        return AdmissionAnswer(orjson.dumps(found), "patched")

    return Engine(mutate, allow)


def without_volumes(operations: list[Object]) -> list[Object]:
    """Mount a volume that is not written."""
    return [one for one in operations if "workerTemplate/spec/volumes" not in one["path"]]


def without_leader(operations: list[Object]) -> list[Object]:
    """Leave the leader's template as it is."""
    return [one for one in operations if "leaderTemplate" not in one["path"]]


def launching_leaders(operations: list[Object]) -> list[Object]:
    """Launch the leader alone."""
    launch = ("workerTemplate/spec/containers/0/args", "workerTemplate/spec/containers/0/command")
    return [one for one in operations if not one["path"].endswith(launch)]


def labelling(operations: list[Object]) -> list[Object]:
    """Write one more label."""
    return [*operations, {"op": "add", "path": "/metadata/labels/more", "value": "x"}]


def nothing(_operations: list[Object]) -> list[Object]:
    """Expand new objects only."""
    return []


def emptied(_operations: list[Object]) -> list[Object]:
    """Write a leader's template without containers."""
    path = "/spec/leaderWorkerTemplate/leaderTemplate"
    return [{"op": "add", "path": path, "value": {"spec": {}}}]


def in_another_order(operations: list[Object]) -> list[Object]:
    """Move the author's second container to the front."""
    path = "/spec/leaderWorkerTemplate/workerTemplate/spec/containers/"
    return [*operations, {"op": "move", "from": f"{path}1", "path": f"{path}0"}]


def replaced(file: File) -> Sequence:
    return sequence(Step("replace", "the same file"), tool="replace", file=file)


BROKEN = {
    "mount without volume": (without_volumes, replaced(File())),
    "image or model differs": (without_leader, CONVERGING["another model"]),
    "launch on one side": (launching_leaders, replaced(PROBED)),
    "converges": (labelling, CONVERGING["applied again"]),
    "refused by the schema": (emptied, CONVERGING["another model"]),
    "order": (in_another_order, replaced(File(worker=Pod(sidecar=True)))),
}


@pytest.mark.parametrize("law", BROKEN)
def test_a_law_detects_an_engine_that_breaks_it(law: str) -> None:
    change, broken = BROKEN[law]

    assert first_law(broken) == ""
    assert first_law(broken, patched(change)) == law


@pytest.mark.parametrize("name", ["another model", "opted out and back", "replaced", "upgraded by helm"])
def test_an_engine_that_expands_new_objects_only_is_detected(name: str) -> None:
    assert first_law(CONVERGING[name], patched(nothing)) != ""


def test_a_violation_by_the_author_is_none() -> None:
    file = manifest(File(worker=Pod(), leader=Pod(model="org/M2")))

    assert laws.violation(file, None)[0] == "image or model differs"
    assert laws.violation(file, file) == ("", "")


def test_only_changes_without_a_mapping_leave_the_comparison() -> None:
    for name in sorted(HANDS):
        found = run(sequence(Step("put", name), file=File(leader=Pod())))
        if found.outcomes[-1][1] == "side laws":
            assert name in UNMAPPED


# --- shrinking and the report -----------------------------------------------------------------------------


def test_a_failing_sequence_is_shrunk_to_the_steps_that_it_needs() -> None:
    engine = patched(nothing)
    steps = (Step("scale", "replicas", 3), Step(APPLY, "the same file"), Step(APPLY, "model", "org/M2"))
    file = File(worker=Pod(sidecar=True, note="one", node_selector="a"))

    small = shrunk(sequence(*steps, file=file, tool="helm three-way", other="before"), engine)

    assert (len(small.steps), small.steps[-1].change) == (1, "the same file")
    assert (small.file, small.tool, small.other) == (File(), APPLY, "")
    assert str(small) == f"{APPLY}: create the plain file\n{APPLY}: the same file"


def test_carrying_on_creates_the_object_again() -> None:
    engine = patched(nothing)
    steps = [Step(APPLY, "model", model) for model in ("org/M2", "org/M1", "org/M2")]

    assert len(run(sequence(*steps), engine).violations) == 1
    assert len(run(sequence(*steps), engine, carry_on=True).violations) == 3


def test_the_command_prints_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["--sequences", "2", "--steps", "2", "--seed", "3", "--examples", "0"])

    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("summary: convergence, seed 3:")
    assert "of 2 sequences" in printed[0]
    assert any(line.startswith("summary: by law:") for line in printed)
