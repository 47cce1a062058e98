"""Each case of a write without a mapping, and a similar write that is compared."""

import pytest

from tests.laws.convergence.files import EXPORT, File, Pod
from tests.laws.convergence.releases import RELEASE
from tests.laws.convergence.unknowable import (
    ALIKE,
    APPLY,
    BESIDE,
    CASES,
    CLIENT_SIDE,
    COPY,
    EDITED,
    INJECTED,
    LAUNCHED,
    NOTED,
    OWNERS,
    PAST,
    REMOVED,
    RETURNED,
    UNPROVEN,
    WITHDRAWN,
)
from tests.laws.convergence.walk import STALE, Step, run, sequence

PROBED = File(worker=Pod(probes=("readinessProbe",)))
ANNOTATED = File(worker=Pod(note="two"), leader=Pod(note="two"), launcher="vllm-native")


UNKNOWABLE = {
    "a probe of another owner": (OWNERS, sequence(PROBED, "replace", Step(APPLY, "probes", ()))),
    "arguments of another owner": (
        OWNERS,
        sequence(File(), APPLY, Step("replace", "component", "worker"), Step(APPLY, "form", "command")),
    ),
    "fields of an ejected object": (
        OWNERS,
        sequence(File(size=1), APPLY, Step("edit", "eject"), Step(APPLY, EXPORT), Step(APPLY, "note", "one")),
    ),
    "an injected scheduler": (INJECTED, sequence(File(), "helm", Step("helm", "scheduler", "volcano"))),
    "an injected volume": (INJECTED, sequence(File(), "helm", Step("helm", "volumes", ("dshm",)))),
    "an empty map of templates": (INJECTED, sequence(File(refs="base"), "helm", Step("helm", "empty", True))),
    "injected accelerators, by the same file": (
        INJECTED,
        sequence(
            File(parallelism="tensor=8,pipeline=2"),
            CLIENT_SIDE,
            Step("put", "drop accelerators"),
            Step(CLIENT_SIDE, "the same file"),
        ),
    ),
    "injected arguments": (
        LAUNCHED,
        sequence(File(size=1, source="s3://bucket/m"), "replace", Step(APPLY, EXPORT)),
    ),
    "a launch by hand": (ALIKE, sequence(File(), "helm", Step("helm", "form", "by hand"))),
    "what is left of the copy": (
        COPY,
        sequence(
            ANNOTATED, "helm", Step("put", "drop leader template"), Step("helm", "leader template", "other")
        ),
    ),
    "an edit that is left of the copy": (
        COPY,
        sequence(
            File(refs="base"),
            "helm",
            Step("put", "leader node selector"),
            Step("helm", "leader template", "same"),
        ),
    ),
    "probes beside a program without arguments": (
        REMOVED,
        sequence(
            File(worker=Pod(form="command", probes=("readinessProbe",)), launcher="vllm-native"),
            APPLY,
            Step(APPLY, "probes", ()),
        ),
    ),
    "a container in every template": (
        EDITED,
        sequence(
            File(launcher="vllm-native"),
            APPLY,
            Step("put", "container in all"),
            Step(APPLY, "leader template", "same"),
        ),
    ),
    "the file of an ejected object": (
        RETURNED,
        sequence(File(), CLIENT_SIDE, Step("edit", "eject"), Step(CLIENT_SIDE, "note", "one")),
    ),
    "the file of an ejected object, with another field in a map that templates fill": (
        RETURNED,
        sequence(
            File(refs="base", leader=Pod()),
            APPLY,
            Step("replace by hand", "eject"),
            Step(APPLY, "node_selector", "a"),
        ),
    ),
    "an injected scheduler, past the webhooks": (
        PAST,
        sequence(File(), APPLY, Step(APPLY, "scheduler", "volcano", bypasses=True)),
    ),
    "a handler beside an injected one, past the webhooks": (
        PAST,
        sequence(
            File(leader=Pod(probes=("readinessProbe",))),
            APPLY,
            Step(APPLY, "probes", ("readinessProbe", "startupProbe"), bypasses=True),
        ),
    ),
    "annotations that go past the webhooks": (
        WITHDRAWN,
        sequence(File(), CLIENT_SIDE, Step(APPLY, "opted_in", False, bypasses=True)),
    ),
    "a toleration of workers, past the webhooks, beside an edited leader": (
        BESIDE,
        sequence(
            File(launcher="ray-start"),
            APPLY,
            Step("edit", "leader env"),
            Step(APPLY, "toleration", value=True, bypasses=True),
        ),
    ),
    "an older expanded file, of arguments that give the same launch": (
        UNPROVEN,
        sequence(
            File(),
            CLIENT_SIDE,
            Step(CLIENT_SIDE, "form", "command"),
            Step(RELEASE, "becomes", "of other settings"),
            Step(STALE, "replace", 0),
        ),
    ),
    "an older expanded file, after an export": (
        UNPROVEN,
        sequence(
            File(),
            CLIENT_SIDE,
            Step(RELEASE, "becomes", "of other settings"),
            Step(CLIENT_SIDE, EXPORT),
            Step(STALE, "replace", 0),
        ),
    ),
    "an export that was replaced": (
        NOTED,
        sequence(
            File(), CLIENT_SIDE, Step("replace by hand", "container in all"), Step(CLIENT_SIDE, "note", "one")
        ),
    ),
}
COMPARED = {
    "a probe of the same owner": sequence(PROBED, APPLY, Step(APPLY, "probes", ())),
    "an injected scheduler, applied": sequence(File(), "helm", Step(APPLY, "scheduler", "volcano")),
    "a node selector": sequence(File(), "helm", Step("helm", "node_selector", "a")),
    "a leader without fields of the copy": sequence(File(), "helm", Step("helm", "leader template", "other")),
    "a launch by hand, replaced": sequence(File(), "helm", Step("replace", "form", "by hand")),
    "a launch by hand of another launcher": sequence(
        File(launcher="vllm-native"), "helm", Step("helm", "form", "by hand")
    ),
    "an empty map of templates, applied": sequence(
        File(refs="base"), CLIENT_SIDE, Step(CLIENT_SIDE, "empty", True), Step(CLIENT_SIDE, "refs", "")
    ),
    "the file of an ejected object, replaced": sequence(
        File(), CLIENT_SIDE, Step("edit", "eject"), Step("replace", "note", "one")
    ),
    "the file of an ejected object, which expands to more": sequence(
        File(), CLIENT_SIDE, Step("edit", "eject"), Step(CLIENT_SIDE, "source", "hf://org/M1")
    ),
    "the file of an ejected object, by Helm": sequence(
        File(), "helm", Step("edit", "eject"), Step("helm", "note", "one")
    ),
    "the whole file, with another owner": sequence(PROBED, "replace", Step(APPLY, "note", "one")),
}


@pytest.mark.parametrize("name", UNKNOWABLE)
def test_a_write_that_no_admission_can_map_is_counted_and_only_the_side_laws_hold(name: str) -> None:
    case, one = UNKNOWABLE[name]
    walk = run(one)

    assert (walk.unmapped, walk.violations) == ([case], [])
    assert walk.outcomes[-1][1] == "side laws"


@pytest.mark.parametrize("name", COMPARED)
def test_a_similar_write_is_compared(name: str) -> None:
    walk = run(COMPARED[name])

    assert (walk.unmapped, walk.violations) == ([], [])
    assert walk.outcomes[-1][1] == "compared"


def test_every_case_has_an_example() -> None:
    assert {case for case, _ in UNKNOWABLE.values()} == {*CASES}
