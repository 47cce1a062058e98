"""What `check` knows about a cluster: one value, from which all checks are judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from fusioninfer.cluster.answers import ABSENT, Answer
from fusioninfer.cluster.text import name_of
from intent import Object
from intent.image import read_image
from intent.shapes import listed, mapping, strings, text

CONFIGURATIONS: Final = {"mutating": "mutate.fusioninfer.io", "validating": "validate.fusioninfer.io"}
"""The names of our webhook configurations, by reading."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DryRun:
    """The dry run of an annotated LeaderWorkerSet."""

    stored: Object | None = None
    """What the API server would store; None if it answered with an error."""
    problem: str = ""
    """The error."""
    unknown: str = ""
    """Why there was no dry run."""
    peers: tuple[str, ...] = ()
    """The addresses from which the webhook was called for it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that was read."""

    answers: Mapping[str, Answer] = field(default_factory=dict)
    """By the name of the reading (`collect`)."""
    release: str = ""
    """The release of this command."""
    now: datetime = EPOCH
    trial: DryRun = DryRun()

    def answer(self, reading: str) -> Answer:
        """Return what a reading returned; a reading that was not made counts as absent."""
        return self.answers.get(reading, ABSENT)

    def named(self, reading: str, name: str) -> Object:
        """Return the object of a name among those of a list; empty if it is not there."""
        return next((obj for obj in self.answer(reading).objects if name_of(obj) == name), {})


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
    return [one for named in CONFIGURATIONS.items() for one in webhooks(facts.named(*named))]


def service_of(webhook: Object) -> tuple[str, str] | None:
    """Return namespace and name of the Service that a webhook calls; None if it calls a URL."""
    service = mapping(mapping(webhook.get("clientConfig")).get("service"))
    return (text(service.get("namespace")), text(service.get("name"))) if service else None
