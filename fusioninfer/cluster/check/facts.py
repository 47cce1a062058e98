"""What `check` knows about a cluster: one value, from which all checks are judged."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from catalog.engines import Version
from fusioninfer.cluster.answers import ABSENT, Answer, Rights
from fusioninfer.cluster.text import name_of
from intent import Object
from intent.image import read_image
from intent.names import SYSTEM_NAMESPACE
from intent.shapes import listed, mapping, strings, text

_VERSION: Final = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")
LWS_RESOURCE: Final = "leaderworkersets"
OURS: Final = ".fusioninfer.io"
"""The ending of the names of our webhooks and configurations."""
MUTATING: Final = "mutate.fusioninfer.io"
VALIDATING: Final = "validate.fusioninfer.io"
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
    namespace: str = SYSTEM_NAMESPACE
    """The namespace of FusionInfer."""
    home: str = "default"
    """The namespace in which the user works."""
    release: str = ""
    """The release of this command."""
    now: datetime = EPOCH
    rights: Rights = field(default_factory=dict)
    """Rights of the user."""
    controller_rights: Rights = field(default_factory=dict)
    """Rights of the controller's service account."""
    trial: DryRun = DryRun()

    def answer(self, reading: str) -> Answer:
        """Return what a reading returned; a reading that was not made counts as absent."""
        return self.answers.get(reading, ABSENT)

    def named(self, reading: str, name: str) -> Object:
        """Return the object of a name among those of a list; empty if it is not there."""
        found = (obj for obj in self.answer(reading).objects if name_of(obj) == name)
        return next(found, {})


def parsed(version: str) -> Version:
    """Return a version as numbers; empty if the text is no version."""
    match = _VERSION.match(version)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def image_version(deployment: Object, container: str = "") -> str:
    """Return the tag of a Deployment's image; of the first container if none has the name."""
    containers = _containers(deployment)
    chosen = [one for one in containers if one.get("name") == container] or containers
    return read_image(text(chosen[0].get("image"))).tag if chosen else ""


def lws_manager(facts: Facts) -> Object:
    """Return the Deployment of LeaderWorkerSet's manager."""
    found = facts.answer("lws-deployments").objects
    return next((one for one in found if name_of(one).endswith("controller-manager")), {})


def images(deployment: Object) -> list[str]:
    """Return the images of a Deployment's containers."""
    return [text(one.get("image")) for one in _containers(deployment)]


def flags(deployment: Object) -> list[str]:
    """Return the arguments of a Deployment's containers."""
    return [word for one in _containers(deployment) for word in strings(one.get("args"))]


def _containers(deployment: Object) -> list[Object]:
    spec = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
    return [mapping(one) for one in listed(spec.get("containers"))]


def available(deployment: Object) -> int:
    """Return the number of available pods of a Deployment."""
    count = mapping(deployment.get("status")).get("availableReplicas")
    return count if type(count) is int else 0


def volume(deployment: Object, kind: str, key: str) -> str:
    """Return the name that the first volume of a kind refers to: `secret.secretName`, `configMap.name`."""
    spec = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
    found = (text(mapping(mapping(one).get(kind)).get(key)) for one in listed(spec.get("volumes")))
    return next((name for name in found if name), "")


def specs(facts: Facts, reading: str) -> Iterator[Object]:
    """Yield the schemas of the specs of a definition, by version."""
    for version in listed(mapping(facts.answer(reading).first.get("spec")).get("versions")):
        root = mapping(mapping(mapping(version).get("schema")).get("openAPIV3Schema"))
        yield mapping(mapping(root.get("properties")).get("spec"))


# --- webhooks ---------------------------------------------------------------------------------------


def webhooks(configuration: Object) -> list[Object]:
    """Return the webhooks of a configuration."""
    return [mapping(one) for one in listed(configuration.get("webhooks"))]


def our_webhooks(facts: Facts) -> list[Object]:
    """Return the webhooks of both our configurations."""
    mutating, validating = facts.named("mutating", MUTATING), facts.named("validating", VALIDATING)
    return [*webhooks(mutating), *webhooks(validating)]


def service_of(webhook: Object) -> tuple[str, str] | None:
    """Return namespace and name of the Service that a webhook calls; None if it calls a URL."""
    service = mapping(mapping(webhook.get("clientConfig")).get("service"))
    return (text(service.get("namespace")), text(service.get("name"))) if service else None


def handles(webhook: Object, resource: str) -> bool:
    """Return whether the rules of a webhook have a resource, or all resources of its group."""
    return any(_matches(mapping(rule), resource) for rule in listed(webhook.get("rules")))


def _matches(rule: Object, resource: str) -> bool:
    groups, resources = strings(rule.get("apiGroups")), strings(rule.get("resources"))
    group = "leaderworkerset.x-k8s.io" if resource == LWS_RESOURCE else ""
    return bool({group, "*"} & set(groups)) and bool({resource, "*", "*/*"} & set(resources))


def lws_webhooks(facts: Facts) -> Iterator[Object]:
    """Yield the mutating webhooks of LeaderWorkerSet itself (`mleaderworkerset.kb.io`, `mpod.kb.io`)."""
    for configuration in facts.answer("mutating").objects:
        own = webhooks(configuration)
        if any(text(one.get("name")) == "mleaderworkerset.kb.io" for one in own):
            yield from own
