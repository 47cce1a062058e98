"""Random edits in git, synchronized by GitOps tools in turn: a sync ends, and a second one changes nothing.

The files and their changes are those of `tests.laws.convergence`. `make soak SOAK=gitops` runs more of them.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

import pytest

from intent import Object
from tests.cluster.testbed.api import delete, get, items, path
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.cluster import Cluster, KubectlError
from tests.cluster.testbed.gitops import GitOpsError, Options, Program, answering
from tests.cluster.testbed.namespaces import add_namespace, empty_namespace
from tests.cluster.testbed.written import CLIENT_SIDE, put
from tests.laws.convergence import laws
from tests.laws.convergence.files import changed, draw_change, draw_file, manifest
from tests.tiers import count

SEED: Final = int(os.environ.get("GITOPS_SEED", "1"))
SEQUENCES: Final = count("GITOPS_SEQUENCES")
STEPS: Final = 4
NAME: Final = "x"
CONFLICT: Final = "the object has been modified"


class DeniedError(Exception):
    """The API server or our webhook refused a file."""


@dataclass(frozen=True, slots=True)
class Writers:
    """The programs, and the namespace in which they write one object."""

    cluster: Cluster
    argo_cd: Program
    flux: Program
    namespace: str

    def live(self) -> Object | None:
        """Read the object."""
        found = items(self.cluster.api, path("leaderworkersets", self.namespace))
        return found[0] if found else None

    def argo_cd_syncs(self, target: Object, options: Options) -> None:
        """Have Argo CD synchronize a file."""
        for _ in range(8):
            done = self.argo_cd.ask("sync", target=target, live=self.live(), options=options)
            if done["phase"] == "Succeeded":
                return
            if CONFLICT not in done["message"]:
                raise DeniedError(done["message"])

    def flux_applies(self, target: Object) -> None:
        """Have Flux apply a file."""
        try:
            self.flux.ask("apply", target=target)
        except GitOpsError as error:
            raise DeniedError(str(error)) from error

    def kubectl_applies(self, target: Object) -> None:
        """Have a person apply a file client-side."""
        try:
            put(self.cluster, self.namespace, CLIENT_SIDE, target)
        except KubectlError as error:
            raise DeniedError(str(error)) from error

    def shown(self, options: Options, target: Object) -> list[str]:
        """Return what Argo CD shows."""
        found = self.argo_cd.ask("diff", target=target, live=self.live(), options=options)
        return ["differs"] if found["modified"] else []


RECOMMENDED: Final = Options(serverSideDiff=True, serverSideApply=True)
Sync = Callable[[Writers, Object], None]
SYNCS: Final[dict[str, Sync]] = {
    "Argo CD": lambda writers, target: writers.argo_cd_syncs(target, RECOMMENDED),
    "Argo CD client-side": lambda writers, target: writers.argo_cd_syncs(target, Options()),
    "Argo CD with replace": lambda writers, target: writers.argo_cd_syncs(target, Options(replace=True)),
    "Flux": Writers.flux_applies,
    "kubectl": Writers.kubectl_applies,
}
HABITS: Final = (
    ("Argo CD",),
    ("Flux",),
    ("Argo CD client-side",),
    ("Argo CD client-side", "Argo CD"),
    ("kubectl", "Argo CD"),
    ("kubectl", "Flux"),
    ("Argo CD", "Argo CD with replace"),
    tuple(SYNCS),
)
"""The tools of a sequence."""


@dataclass(slots=True)
class Sequence:
    """The steps of a sequence, and what was wrong after one."""

    number: int
    steps: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join((f"sequence {self.number} of seed {SEED}:", *self.steps, *self.wrong))


@pytest.fixture(scope="module")
def writers(admission: Cluster, gitops: Built) -> Iterator[Writers]:
    namespace = add_namespace(admission)
    with (
        answering(admission, gitops.binary("argo-cd")) as argo_cd,
        answering(admission, gitops.binary("flux")) as flux,
    ):
        yield Writers(admission, argo_cd, flux, namespace)
    empty_namespace(admission, namespace)


@pytest.mark.parametrize("number", range(SEQUENCES))
def test_each_sync_ends_and_repeating_it_changes_nothing(writers: Writers, number: int) -> None:
    found = run(writers, number)

    assert not found.wrong, str(found)


def run(writers: Writers, number: int) -> Sequence:
    """Run a sequence up to the first violation."""
    random, found = Random(f"gitops/{SEED}/{number}"), Sequence(number)  # noqa: S311 - to be repeatable
    habit, now = HABITS[number % len(HABITS)], draw_file(random)
    delete(writers.cluster.api, path("leaderworkersets", writers.namespace, NAME))
    for step in range(STEPS + 1):
        change = draw_change(random, now) if step else ("create", None)
        following = changed(now, *change) if step else now
        tool = random.choice(habit)
        found.steps.append(f"{tool}: {change[0]} {change[1]}")
        try:
            SYNCS[tool](writers, placed(writers, manifest(following)))
        except DeniedError as error:
            found.steps.append(f"  refused: {str(error)[:200]}")
            if writers.live() is None:
                break
            continue
        now = following
        found.wrong = list(wrong(writers, tool, placed(writers, manifest(now))))
        if found.wrong:
            break
    return found


def wrong(writers: Writers, tool: str, target: Object) -> Iterator[str]:
    """Yield what is wrong after a sync: a difference that is left, or a change by the same sync again.

    LWS itself writes empty `resources` at creation, which the next client-side apply removes: a generation.
    """
    before = get(writers.cluster.api, where(writers))
    if tool == "Argo CD":
        yield from (f"Argo CD shows {one}" for one in writers.shown(RECOMMENDED, target))
    if tool == "Flux" and (action := writers.flux.ask("diff", target=target)["action"]) != "unchanged":
        yield f"Flux would have {action} it"
    SYNCS[tool](writers, target)
    again = get(writers.cluster.api, where(writers))
    SYNCS[tool](writers, target)
    last = get(writers.cluster.api, where(writers))
    yield from laws.difference(laws.compared(before), laws.compared(again))
    if written(again) != written(last):
        yield f"each sync changes it: {[*laws.difference(written(again), written(last))]}"
    law, detail = laws.violation(last, None, laws.violated(target))
    if law:
        yield f"{law}: {detail}"


def written(live: Object) -> Object:
    """Return the generation, and what a writer determines."""
    metadata = live["metadata"]
    return {key: metadata.get(key) for key in ("generation", "annotations", "labels")} | {
        "spec": live["spec"]
    }


def where(writers: Writers) -> str:
    return path("leaderworkersets", writers.namespace, NAME)


def placed(writers: Writers, target: Object) -> Object:
    """Return a file in the namespace of the writers."""
    return {**target, "metadata": {**target["metadata"], "name": NAME, "namespace": writers.namespace}}
