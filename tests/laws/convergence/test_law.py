"""Drawn sequences of writes violate no law.

`python -m tests.laws.convergence --seed S --only N` repeats sequence N of a seed, and shrinks it.
"""

from collections.abc import Callable, Iterator

import pytest

from intent import Object
from tests.builders.lws import changed
from tests.laws.convergence.files import EXPORT, File, Pod, manifest
from tests.laws.convergence.released import drawn_bypassed, drawn_released
from tests.laws.convergence.releases import RELEASE
from tests.laws.convergence.repeated import drawn_repeated
from tests.laws.convergence.schema import copied, templates
from tests.laws.convergence.server import Engine, Server
from tests.laws.convergence.templated import drawn_templated
from tests.laws.convergence.templates import LIBRARIES
from tests.laws.convergence.walk import COMPARED, STALE, Sequence, Step, drawn, run, sequence
from tests.tiers import count

SEQUENCES = count("CONVERGENCE_SEQUENCES")
APPLY = "server-side apply"
CLIENT_SIDE = "client-side apply"
HELM = "helm three-way"
SAME = "the same file"
LORA = "sql=oci://registry/sql,law=hf://org/law:v1,maxCpuAdapters=4"
SINCE = {
    "shared memory": (File(skip="shm"), Step(CLIENT_SIDE, "skip", "")),
    "a model's volume": (File(), Step(CLIENT_SIDE, "source", "hf://org/M1")),
    "an adapter": (File(), Step(CLIENT_SIDE, "lora", "sql=oci://registry/sql")),
    "a leader's template": (File(launcher="vllm-native"), Step(CLIENT_SIDE, "launcher", "ray-start")),
    "a launch": (File(launcher="none"), Step(CLIENT_SIDE, "launcher", "ray-symmetric")),
}
"""What was injected since a file was exported, by the file and a change of it."""
APPLIED_AGAIN = [
    (CLIENT_SIDE, "shared memory"),
    (CLIENT_SIDE, "a launch"),
    *((APPLY, name) for name in SINCE),
]
"""The tool that writes the older file, and what was injected since. Of the others `kubectl apply` leaves
nothing: they are items of lists, which it replaces as a whole."""
FOUND = {
    "a container that an apply adds where it drops one that only a template gives": sequence(
        File(refs="more,base", parallelism="tensor=4,data=4,dataLocal=2"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "sidecar", True),
    ),
    "a list of ours that is emptied by hand, beside another webhook": sequence(
        File(skip="port,dns", source="s3://bucket/m"),
        CLIENT_SIDE,
        Step("json patch", "drop our download"),
        other="after",
    ),
    "a variable of ours that an apply takes over": sequence(
        File(leader=Pod(env=(("HF_HOME", "/model-cache"), ("HF_TOKEN", "mine")))),
        "replace",
        Step(APPLY, "leader env", (("VLLM_HOST_IP", "10.0.0.1"),)),
    ),
    "the leader, which is edited by hand, is recorded as it was made": sequence(
        File(Pod(image="corp/llm:1")),
        CLIENT_SIDE,
        Step("replace by hand", "leader env"),
        Step("replace by hand", "drop our env"),
        other="after",
    ),
    "arguments beside those of a block, after an apply": sequence(
        File(size=1, lora=LORA), APPLY, Step("edit", "append to worker")
    ),
    "a program that equals the injected one, when the annotations go": sequence(
        File(Pod(form="args"), launcher="vllm-native"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "form", "serve"),
        Step(CLIENT_SIDE, "opted_in", value=False),
    ),
    "a launch by hand in place of the injected one": sequence(
        File(Pod(probes=("readinessProbe",)), launcher="ray-symmetric"),
        APPLY,
        Step(APPLY, "form", "by hand"),
        Step(CLIENT_SIDE, "opted_in", value=False),
    ),
    "arguments in place of another client's": sequence(
        File(launcher="none", parallelism="tensor=4"), APPLY, Step("json patch", "append to all")
    ),
    "a variable of the leader that the workers had too": sequence(
        File(launcher="ray-start"),
        "helm",
        Step("json patch", "leader env"),
        Step("replace by hand", "env of all"),
        Step("helm", "env", [["A", "1"]]),
    ),
    "a field of templates that the leader lost, when the workers' author empties its map": sequence(
        File(refs="base"), APPLY, Step("put", "leader node selector"), Step(APPLY, "empty", value=True)
    ),
    "the order of variables that an author and templates have, when the file is applied again": sequence(
        File(Pod(env=(("LOG", "debug"),)), refs="base", size=1), CLIENT_SIDE, Step(CLIENT_SIDE, SAME)
    ),
    "the place of an item that was injected, when its author writes it": sequence(
        File(Pod(volumes=("models",)), Pod(volumes=("models",)), lora=LORA),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "volumes", ("models", "fusioninfer-lora")),
    ),
    "the place of an injected volume beside another webhook's, when its container is edited": sequence(
        File(source="s3://bucket/m"), CLIENT_SIDE, Step("edit", "limit our download"), other="after"
    ),
    "a download with what templates say of the engine, when it is edited": sequence(
        File(source="s3://bucket/m", refs="base"), CLIENT_SIDE, Step("edit", "limit our download")
    ),
    "the place of a variable of templates beside another webhook's, when it becomes its author's": sequence(
        File(Pod(env=(("LOG", "debug"),)), Pod(), refs="base"),
        APPLY,
        Step(APPLY, "leader template", "same"),
        other="after",
    ),
    "the order of variables that an apply adds to templates', behind another webhook's on A": sequence(
        File(refs="base"),
        APPLY,
        Step(APPLY, "env", (("LOG", "debug"), ("HF_HOME", "/models"))),
        other="after",
    ),
    "the place of a variable of the leader behind those of the workers": sequence(
        File(Pod(env=(("LOG", "debug"), ("HF_HOME", "/models")))),
        CLIENT_SIDE,
        Step("replace by hand", "leader env"),
        Step(CLIENT_SIDE, SAME),
    ),
    "the order of variables beside templates', when an injected one gets its author's value": sequence(
        File(source="hf://org/M1", refs="base"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "worker env", (("HF_HOME", "/models"),)),
        Step(APPLY, SAME),
    ),
    "the name of a container, where nothing was injected into its template": sequence(
        File(),
        CLIENT_SIDE,
        Step("replace", "component", "worker"),
        Step(CLIENT_SIDE, EXPORT),
        Step(CLIENT_SIDE, "name", "engine"),
    ),
    "the order of variables that an apply adds beside those of templates": sequence(
        File(leader=Pod(), refs="more,base", parallelism="tensor=16,expert"),
        APPLY,
        Step(APPLY, "env", (("HF_HOME", "/cache"), ("LOG", "debug"))),
    ),
    "templates' fields of a map with one owner, when another webhook has an apply seen twice": sequence(
        File(refs="more,base", parallelism="tensor=16,expert"),
        APPLY,
        Step(APPLY, "empty", value=True),
        Step(APPLY, "spread", value=True),
        Step(APPLY, "node_selector", "b"),
        other="after",
    ),
    "the place of an injected variable beside another webhook's, when it gets another value": sequence(
        File(refs="base"), CLIENT_SIDE, Step(APPLY, "env", (("VLLM_HOST_IP", "10.0.0.1"),)), other="after"
    ),
    "empty maps that the author of a copy had, when Helm adds a template for the leader": sequence(
        File(refs="base", empty=True),
        HELM,
        Step(HELM, "leader template", "same"),
        Step(HELM, "opted_in", value=False),
    ),
    "the order of variables of templates that an author names later": sequence(
        File(spread=True), CLIENT_SIDE, Step(CLIENT_SIDE, "refs", "more,base")
    ),
    "a probe that a launch removes, when another webhook has Helm's write of it seen twice": sequence(
        File(),
        "helm",
        Step("helm", "source", "oci://registry/m"),
        Step("helm", "leader template", "other"),
        Step("helm", "probes", ("readinessProbe",)),
        Step("helm", "launcher", "none"),
        other="after",
    ),
    "a variable that was edited into the leader, behind those of templates": sequence(
        File(refs="base"), CLIENT_SIDE, Step("edit", "leader env")
    ),
    "an image of the leader's own template beside templates whose leader differs": sequence(
        File(leader=Pod(), refs="more,base", parallelism="tensor=4,data=4,dataLocal=2"),
        CLIENT_SIDE,
        Step("put", "leader image"),
    ),
    "an edit of arguments that an apply before it left as injected": sequence(
        File(lora="sql=pvc://files/sql,law=s3://bucket/law,maxRank=64"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "launcher", "none"),
        Step("put", "append to all"),
    ),
    "an init container that a file removes after a default was filled in": sequence(
        File(Pod(probes=("livenessProbe", "readinessProbe"), init=True)),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "volumes", ("memory",)),
        Step(CLIENT_SIDE, "init", value=False),
    ),
    "the mount of an injected volume that an apply writes otherwise": sequence(
        File(lora="sql=pvc://files/sql,law=s3://bucket/law,maxRank=64"),
        "replace",
        Step(APPLY, "volumes", ("models", "fusioninfer-lora")),
    ),
    "an injected value that an apply writes, and nothing else, when the annotations go by hand": sequence(
        File(launcher="none"), APPLY, Step(APPLY, "scheduler", "volcano"), Step("edit", "opt out")
    ),
    "a value of a map with one owner that an apply writes as templates do": sequence(
        File(refs="base"), APPLY, Step(APPLY, "node_selector", "templates"), Step(APPLY, "refs", "")
    ),
    "the order of variables of a part, one of which its author had written": sequence(
        File(Pod(env=(("LOG", "debug"), ("HF_HOME", "/models"))), source="hf://org/M1", token="keys"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "env", (("VLLM_HOST_IP", "10.0.0.1"),)),
    ),
    "what is left of a leader's template that an apply removes with the annotations": sequence(
        File(leader=Pod()),
        CLIENT_SIDE,
        Step("replace", "probes", ()),
        Step(CLIENT_SIDE, "leader template", "none"),
        Step(APPLY, "opted_in", value=False),
    ),
    "the place of a stored volume, which its author has got, beside a new one": sequence(
        File(source="s3://bucket/m"),
        CLIENT_SIDE,
        Step("json patch", "limit our download"),
        Step(CLIENT_SIDE, "lora", "sql=hf://org/sql"),
    ),
    "the model in the arguments of a file, in place of the annotation that injected it": sequence(
        File(size=1, source="hf://org/M1"), CLIENT_SIDE, Step(CLIENT_SIDE, "source", "")
    ),
    "the order of variables beside those of templates, when an injected one becomes its author's": sequence(
        File(Pod(env=(("LOG", "debug"),)), refs="base"),
        "replace",
        Step(APPLY, "worker env", (("VLLM_HOST_IP", "10.0.0.1"),)),
    ),
    "the order of variables beside those of templates, when others that were injected go": sequence(
        File(source="hf://org/M2:v1", parallelism="pipeline=2,dataRPCPort=6000", refs="base,more"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "worker env", (("VLLM_HOST_IP", "10.0.0.1"),)),
        Step(CLIENT_SIDE, "parallelism", "tensor=4,data=4,dataLocal=2"),
    ),
    "an injected init container, of which a replace drops what another webhook wrote": sequence(
        File(component="decoder", leader=Pod()),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "note", "one"),
        Step("replace", SAME),
        other="before",
    ),
    "the export of an object that was ejected before, beside another webhook": sequence(
        File(refs="base", leader=Pod()),
        APPLY,
        Step("edit", "eject"),
        Step(APPLY, "source", "hf://org/M1"),
        Step(APPLY, EXPORT),
        other="after",
    ),
    "a flag that is edited in the leader's copy, which templates without arguments made": sequence(
        File(parallelism="pipeline=2,dataRPCPort=6000", refs="more"),
        CLIENT_SIDE,
        Step("json patch", "flag of leader"),
    ),
    "a field of templates that the leader lost, when others give leaders fields": sequence(
        File(parallelism="tensor=16,expert", refs="base"),
        HELM,
        Step("put", "leader node selector"),
        Step(HELM, "refs", "base,more"),
    ),
    "edits of a leader's template that templates made, beside newer content": sequence(
        File(parallelism="tensor=16,expert", refs="base,more"),
        CLIENT_SIDE,
        Step("put", "leader node selector"),
        Step("put", "leader image"),
        Step("templates", "become", "v2"),
        Step(CLIENT_SIDE, "refresh", "1"),
    ),
    "a field of templates that their leader lost, when the workers' author empties its map": sequence(
        File(parallelism="tensor=16,expert", refs="base,more", empty=True),
        APPLY,
        Step("put", "leader node selector"),
        Step(APPLY, SAME),
    ),
    "an edit of the leader, when its author adds a template for it beside those of both": sequence(
        File(refs="base"),
        CLIENT_SIDE,
        Step("put", "leader node selector"),
        Step(CLIENT_SIDE, "leader template", "same"),
    ),
    **{
        f"{name}, which an older expanded file lacks, by {tool}": sequence(
            SINCE[name][0], CLIENT_SIDE, SINCE[name][1], Step(STALE, tool, 0)
        )
        for tool, name in APPLIED_AGAIN
    },
}
"""Shrunk sequences that violated a law before their rule was mended, or without their rule."""

MENDED = {
    "templates' fields of an ejected object, into which nothing else is injected, seen twice": sequence(
        File(refs="base"),
        CLIENT_SIDE,
        Step("json patch", "eject"),
        Step(CLIENT_SIDE, "refresh", ""),
        other="after",
    ),
    "the model in the arguments of an ejected object, whose file had it in an annotation": sequence(
        File(Pod(form="list")),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "source", "hf://org/M2:v1"),
        Step("put", "eject"),
        Step("edit", "opt in"),
    ),
    "empty mounts, when the same file is applied after another release came": sequence(
        File(),
        CLIENT_SIDE,
        Step(RELEASE, "becomes", "without memory"),
        Step("edit", "drop our mount"),
        Step(CLIENT_SIDE, SAME),
    ),
    "the launch of an ejected object, when another webhook has the apply of its file seen twice": sequence(
        File(),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "leader template", "other"),
        Step("edit", "eject"),
        Step(CLIENT_SIDE, SAME),
        Step("put", "skip shm"),
        other="after",
    ),
    "an upgrade, and an apply beside another webhook, whose items were part of the input": sequence(
        File(),
        CLIENT_SIDE,
        Step(RELEASE, "becomes", "without memory"),
        Step(CLIENT_SIDE, SAME),
        other="after",
    ),
    "memory in an older expanded file, after a release that injected none": sequence(
        File(),
        CLIENT_SIDE,
        Step(RELEASE, "becomes", "without memory"),
        Step(CLIENT_SIDE, "refresh", "0"),
        Step(RELEASE, "becomes", "with another launch text"),
        Step(STALE, "replace", 0),
    ),
    "the launch that a write past the webhooks removed, beside another webhook": sequence(
        File(), HELM, Step(HELM, "hook", value=True, bypasses=True), Step(HELM, SAME), other="after"
    ),
    "the image of an init container after a write past the webhooks, beside another webhook": sequence(
        File(Pod(probes=("readinessProbe", "startupProbe"), note="two")),
        HELM,
        Step(HELM, "node_selector", "b", bypasses=True),
        Step(HELM, "note", ""),
        other="after",
    ),
    "what a write past the webhooks removed, when the same file is applied": sequence(
        File(), CLIENT_SIDE, Step("server-side apply", SAME, bypasses=True), Step(CLIENT_SIDE, SAME)
    ),
    "the leader, which a write past the webhooks left behind its workers": sequence(
        File(launcher="ray-start"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "sidecar", value=True, bypasses=True),
        Step("edit", "append to all"),
    ),
    "arguments of the workers that such a write changed, when both templates are edited": sequence(
        File(launcher="ray-start"),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "length", 8192, bypasses=True),
        Step("edit", "append to all"),
        Step(CLIENT_SIDE, "refresh", "0"),
    ),
    "a volume without fields that such a write left": sequence(
        File(source="hf://org/M1"),
        APPLY,
        Step(APPLY, "note", "one", bypasses=True),
        Step(CLIENT_SIDE, "token", ""),
    ),
    "the whole record, which such a write lost, beside another webhook": sequence(
        File(),
        "replace",
        Step("replace", "source", "oci://registry/m", bypasses=True),
        Step("replace", SAME),
        other="after",
    ),
    "a variable that another release injected, when it is removed by hand beside another webhook": sequence(
        File(),
        CLIENT_SIDE,
        Step(RELEASE, "becomes", "with a variable more"),
        Step("json patch", "drop our env"),
        other="after",
    ),
    "templates that were named past the webhooks, when nothing else changes": sequence(
        File(),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "refs", "base", bypasses=True),
        Step(CLIENT_SIDE, "replicas", 3),
    ),
    "an image that first the leader gets, and then all, while another release is there": sequence(
        File(Pod(probes=("readinessProbe",))),
        CLIENT_SIDE,
        Step("json patch", "leader image"),
        Step(RELEASE, "becomes", "with another launch text"),
        Step("edit", "image of all"),
        Step(CLIENT_SIDE, "refresh", "4"),
    ),
    "an init container that another webhook edited, where another release injects none": sequence(
        File(),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "form", "args"),
        Step(RELEASE, "becomes", "of other settings"),
        Step(CLIENT_SIDE, SAME),
        other="after",
    ),
    "the leader, of which another webhook edited an init container past ours": sequence(
        File(),
        CLIENT_SIDE,
        Step(RELEASE, "becomes", "of other settings"),
        Step(CLIENT_SIDE, "refresh", "3"),
        Step(CLIENT_SIDE, "image", "vllm/vllm-openai:v0.10.2", bypasses=True),
        Step(CLIENT_SIDE, SAME),
        other="before",
    ),
    "an init container that another webhook edits, where another release gets the same file": sequence(
        File(Pod(form="args")),
        "replace",
        Step(RELEASE, "becomes", "of other settings"),
        Step("replace", SAME),
        other="after",
    ),
    "the blocks of templates, when its author applies the exported object": sequence(
        File(spread=True, refs="base,more"), CLIENT_SIDE, Step(CLIENT_SIDE, EXPORT)
    ),
    "an ejected object without its labels that gets its file back": sequence(
        File(), CLIENT_SIDE, Step("replace", EXPORT), Step(APPLY, "opted_in", value=True)
    ),
    "the token of a model that the file of an ejected object gets": sequence(
        File(source="s3://bucket/m", refs="base"),
        CLIENT_SIDE,
        Step("edit", "eject"),
        Step(CLIENT_SIDE, "token", "keys"),
    ),
    "a leader that its author adds past the webhooks, when the same file is replaced": sequence(
        File(Pod(probes=("readinessProbe", "startupProbe"))),
        CLIENT_SIDE,
        Step(APPLY, "leader template", "same", bypasses=True),
        Step("replace", "replicas", 2),
    ),
    "an edit of the leader's copy in an object that was stored past the webhooks": sequence(
        File(Pod(image="vllm/vllm-openai:v0.10.2")),
        HELM,
        Step(HELM, "note", "two", bypasses=True),
        Step("put", "leader env"),
        Step(HELM, "refresh", "2"),
    ),
    "a launch that a write past the webhooks removed, where the annotations are as before": sequence(
        File(parallelism="tensor=8,pipeline=2"),
        APPLY,
        Step(APPLY, "parallelism", "tensor=4,data=4,dataLocal=2", bypasses=True),
        Step("json patch", "parallelism of all"),
    ),
    "a leader that its author adds past the webhooks, when the engine is renamed": sequence(
        File(Pod(probes=("readinessProbe",))),
        "helm",
        Step("helm", "leader template", "same", bypasses=True),
        Step("edit", "rename engine"),
    ),
    "an edit of a leader that its author added past the webhooks": sequence(
        File(Pod(probes=("readinessProbe",))),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "leader template", "other", bypasses=True),
        Step("edit", "append to leader"),
    ),
    "an edit of the leader's arguments, after its author wrote the workers' past the webhooks": sequence(
        File(Pod(probes=("readinessProbe",))),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, SAME, bypasses=True),
        Step("edit", "flag of leader"),
    ),
    "the order of the leader's variables beside templates', where an apply puts some before others": sequence(
        File(refs="base"),
        APPLY,
        Step("replace by hand", "env of all"),
        Step(APPLY, "worker env", (("HF_HOME", "/cache"), ("LOG", "debug"))),
    ),
    "the order of an author's variable among injected ones, when the launcher changes": sequence(
        File(source="hf://org/M2:v1", refs="base", leader=Pod()),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "leader env", (("VLLM_HOST_IP", "10.0.0.1"),)),
        Step(CLIENT_SIDE, "parallelism", "tensor=4,data=4,dataLocal=2"),
        Step(CLIENT_SIDE, "parallelism", "pipeline=2,dataRPCPort=6000"),
    ),
    "the order of variables where another webhook's changes places": sequence(
        File(Pod(env=(("HF_HOME", "/cache"), ("LOG", "debug"))), leader=Pod(), refs="base"),
        CLIENT_SIDE,
        Step(APPLY, "worker env", (("HF_HOME", "/model-cache"), ("HF_TOKEN", "mine"))),
        Step(CLIENT_SIDE, "empty", value=True),
        other="before",
    ),
    "a probe that a launch removed, when its author removes it past the webhooks": sequence(
        File(Pod(probes=("readinessProbe",))),
        CLIENT_SIDE,
        Step(CLIENT_SIDE, "probes", (), bypasses=True),
        Step(CLIENT_SIDE, "refresh", "4"),
    ),
    "what templates add to an ejected object that gets its annotations back": sequence(
        File(refs="base"), APPLY, Step("put", "eject"), Step(APPLY, "form", "command"), other="after"
    ),
}
"""The same with another release, a write past the webhooks, or an ejection, which are compared in part."""


def violations(seed: int, sequences: int, draw: Callable[[int, int], Sequence] = drawn) -> Iterator[str]:
    """Yield the violations of the first sequences of a seed, each with the options that repeat it."""
    for number in range(sequences):
        sequence = draw(seed, number)
        for found in run(sequence).violations:
            steps = sequence.up_to(found.step)
            yield f"--seed {seed} --only {number}: {found.law}: {found.detail}\n{steps}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_stored_object_is_the_expansion_of_the_author_s(seed: int) -> None:
    assert list(violations(seed, SEQUENCES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_so_with_templates_that_change(seed: int) -> None:
    assert list(violations(seed, SEQUENCES, drawn_templated)) == []


@pytest.mark.slow
def test_it_is_so_where_authors_write_what_was_injected() -> None:
    assert list(violations(1, SEQUENCES, drawn_repeated)) == []


@pytest.mark.slow
def test_pods_that_nobody_changed_stay_across_releases() -> None:
    assert list(violations(1, SEQUENCES, drawn_released)) == []


@pytest.mark.slow
def test_pods_that_nobody_changed_stay_after_writes_past_the_webhooks() -> None:
    found = violations(1, SEQUENCES, drawn_bypassed)

    assert [one for one in found if "pods that nobody changed stay" in one] == []


@pytest.mark.parametrize("name", MENDED)
def test_a_sequence_compared_in_part_that_violated_a_law_does_not_any_more(name: str) -> None:
    assert run(MENDED[name]).violations == []


@pytest.mark.parametrize("name", FOUND)
def test_a_sequence_that_violated_a_law_does_not_any_more(name: str) -> None:
    walk = run(FOUND[name])

    assert walk.violations == []
    assert {taken.outcome for taken in walk.taken} <= {*COMPARED, "no write"}


def test_a_leader_that_is_no_copy_any_more_keeps_its_edits_over_templates() -> None:
    own = (Step("put", "leader node selector"), Step("put", "launcher none"))
    walk = run(sequence(File(refs="base"), CLIENT_SIDE, *own, Step(CLIENT_SIDE, "refs", ""), other="after"))
    specs = [
        taken.b["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"] for taken in walk.taken if taken.b
    ]

    assert walk.violations == []
    assert [one.get("nodeSelector") for one in specs] == [
        {"pool": "templates", "disk": "v1"},
        {"pool": "leaders"},
        {"pool": "leaders", "disk": "v1"},
        {"pool": "leaders"},
    ]
    assert "terminationGracePeriodSeconds" in specs[2].keys() - specs[3].keys()


def test_an_edited_launch_is_its_author_s_when_another_launcher_is_named() -> None:
    steps = (Step(HELM, "volumes", ("dshm",)), Step(HELM, "form", "by hand"), Step("put", "launcher none"))

    assert run(sequence(File(), HELM, *steps, other="after")).violations == []


def test_what_an_earlier_call_injected_beside_a_launch_by_hand_goes_with_the_annotations() -> None:
    edits = (("form", "by hand"), ("source", "hf://org/M1"), ("opted_in", False))
    steps = tuple(Step(CLIENT_SIDE, *edit) for edit in edits)
    file = File(worker=Pod(form="args"), launcher="ray-symmetric", named=True)

    assert run(sequence(file, CLIENT_SIDE, *steps, other="after")).violations == []


def test_a_variable_of_templates_that_leader_and_workers_lose_comes_back_in_both() -> None:
    server = Server(Engine(), "", LIBRARIES["v1"])
    stored = server.admit(manifest(File(refs="base", launcher="ray-start")))
    edited = copied(stored)
    for _, template in templates(edited):
        template["spec"]["containers"][0]["env"].remove({"name": "LOG", "value": "v1"})

    assert server.admit(edited, stored) == stored


@pytest.mark.parametrize("field", ["leaderTemplate", "workerTemplate"])
def test_an_edit_of_a_container_that_only_templates_give_stays_while_they_give_it(field: str) -> None:
    def logs(lws: Object) -> list[Object]:
        found: list[Object] = lws["spec"]["leaderWorkerTemplate"][field]["spec"]["containers"][1:]
        return found

    server, keys = Server(Engine(), "", LIBRARIES["v1"]), "metadata.annotations.fusioninfer.io"
    stored = server.admit(manifest(File(refs="more,base", parallelism="tensor=16", launcher="ray-start")))
    edited = copied(stored)
    logs(edited)[0] |= {"env": [{"name": "A", "value": "1"}], "args": ["--mine"]}
    edited = server.admit(edited, stored)
    newer = Server(Engine(), "", LIBRARIES["v2"]).admit(changed(edited, f"{keys}/refresh", "1"), edited)
    mine = {"name": "logs", "args": ["--mine"], "env": [{"name": "A", "value": "1"}]}

    assert logs(edited) == [{**mine, "image": "fluentbit:1"}]
    assert logs(newer) == [{**mine, "image": "fluentbit:2"}]
    assert logs(server.admit(changed(newer, f"{keys}/base-refs", "base"), newer)) == []
