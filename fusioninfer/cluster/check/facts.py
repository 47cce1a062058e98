"""What `check` knows about a cluster: one value, from which all checks are judged, each a row of a table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from fusioninfer.cluster.reader import ABSENT, Answer
from intent import Object
from intent.image import read_image
from intent.shapes import listed, mapping, strings, text

CONFIGURATIONS: Final = {"mutating": "mutate.fusioninfer.io", "validating": "validate.fusioninfer.io"}
"""The names of our webhook configurations, by reading."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was read."""

    answers: Mapping[str, Answer] = field(default_factory=dict)
    """By the name of the reading (`collect`)."""
    now: datetime = EPOCH
    problem: str = ""
    """The error with which the API server answered the dry run of an annotated LeaderWorkerSet."""
    peers: tuple[str, ...] = ()
    """The addresses from which the webhook was called for it."""

    def answer(self, reading: str) -> Answer:
        """Return what a reading returned; a reading that was not made counts as absent."""
        return self.answers.get(reading, ABSENT)


# --- Deployments ------------------------------------------------------------------------------------


def _containers(deployment: Object) -> list[Object]:
    template = mapping(mapping(deployment.get("spec")).get("template"))
    return [mapping(one) for one in listed(mapping(template.get("spec")).get("containers"))]


def image_tag(deployment: Object) -> str:
    """Return the tag of the image of a Deployment's first container; empty if there is none."""
    return next((read_image(text(one.get("image"))).tag for one in _containers(deployment)), "")


def flags(deployment: Object) -> list[str]:
    """Return the arguments of a Deployment's containers."""
    return [word for one in _containers(deployment) for word in strings(one.get("args"))]


# --- webhooks ---------------------------------------------------------------------------------------


def webhooks(configuration: Object) -> list[Object]:
    """Return the webhooks of a configuration."""
    return [mapping(one) for one in listed(configuration.get("webhooks"))]


def our_webhooks(facts: Facts) -> list[Object]:
    """Return the webhooks of both our configurations."""
    named = (facts.answer(reading).named(name) for reading, name in CONFIGURATIONS.items())
    return [one for configuration in named for one in webhooks(configuration)]


# --- the table ----------------------------------------------------------------------------------------

CheckState = Literal["ok", "warning", "error", "unknown"]


class Judgement(NamedTuple):
    """The judgement of one check."""

    state: CheckState
    detail: str = ""


OK: Final = Judgement("ok")
Judge = Callable[[Facts], Judgement | None]
"""Judges a claim; None if it does not apply to this cluster."""


@dataclass(frozen=True, slots=True)
class Check:
    """One row."""

    name: str
    claim: str
    """What holds if all is well."""
    remedy: str
    judge: Judge
    needs: tuple[str, ...]
    """The readings without which the check cannot be made."""
    after: str
    """The check without which this one says nothing new, and is left out; empty: none."""


def check(
    name: str, claim: str, remedy: str, *, needs: tuple[str, ...] = (), after: str = ""
) -> Callable[[Judge], Check]:
    """Make the judgement of a claim a row."""
    return lambda judge: Check(name, claim, remedy, judge, needs, after)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check."""

    name: str
    about: str
    """The part of the cluster, under which the row is printed."""
    state: CheckState
    claim: str
    detail: str = ""
    remedy: str = ""
    """Empty if there is nothing to do."""


def results(table: Mapping[str, Iterable[Check]], facts: Facts) -> tuple[CheckResult, ...]:
    """Judge the rows of a table, by the part of the cluster, in their order."""
    judged: dict[str, CheckResult] = {}
    for about, checks in table.items():
        for row in checks:
            if row.after and (row.after not in judged or judged[row.after].state in {"error", "unknown"}):
                continue
            unread = next((why for reading in row.needs if (why := facts.answer(reading).unknown)), "")
            verdict = Judgement("unknown", unread) if unread else row.judge(facts)
            if verdict is not None:
                remedy = row.remedy if verdict.state in {"warning", "error"} else ""
                judged[row.name] = CheckResult(
                    row.name, about, verdict.state, row.claim, verdict.detail, remedy
                )
    return tuple(judged.values())
