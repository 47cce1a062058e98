"""Checks of what FusionInfer needs: Kubernetes, LeaderWorkerSet, Volcano, the Gateway API."""

from collections.abc import Iterator
from typing import Any, Final

from catalog.pickers.generations import is_gone
from catalog.versions import KUBERNETES, LWS
from fusioninfer.cluster.check.facts import (
    LWS_RESOURCE,
    OURS,
    Facts,
    available,
    handles,
    image_version,
    images,
    lws_manager,
    lws_webhooks,
    parsed,
    webhooks,
)
from fusioninfer.cluster.check.row import BOTH, INSTALLED, Check, Judgement, fails, first_of, holds, unknown
from fusioninfer.cluster.text import name_of
from intent import Object, yaml
from intent.shapes import listed, mapping, text
from sync.observed import volcano

SERVED: Final = {
    "lws": ("leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "podgroups": ("scheduling.volcano.sh/v1beta1", "podgroups"),
    "inferenceservices": ("fusioninfer.io/v1alpha1", "inferenceservices"),
    "httproutes": ("gateway.networking.k8s.io/v1", "httproutes"),
    "inferencepools": ("inference.networking.k8s.io/v1", "inferencepools"),
}
"""Kinds that must be served: group and version, and plural. The key is the name of the reading."""


def is_served(reading: str) -> Any:
    """Return the judgement of whether the API server serves a kind of `SERVED`."""
    version, plural = SERVED[reading]

    def judge(facts: Facts) -> Judgement:
        answer = facts.answer(f"resources/{reading}")
        there = {text(mapping(one).get("name")) for one in listed(answer.first.get("resources"))}
        if plural in there:
            return holds(version)
        others = _versions(facts.answer(f"group/{reading}").first)
        return fails(f"{version} {plural} is not served{f', but {others}' if others else ''}")

    return judge


def _versions(group: Object) -> str:
    found = (text(mapping(one).get("groupVersion")) for one in listed(group.get("versions")))
    return ", ".join(one for one in found if one)


def _kubernetes(facts: Facts) -> Judgement:
    version = facts.answer("version").first
    release = text(version.get("gitVersion"))
    found = parsed(release)
    if found[:2] in {(), (0, 0)}:  # a build without a version is 0.0.0
        return unknown(f"the API server reports version {release or 'none'}")
    return holds(release) if found[:2] >= KUBERNETES.oldest else fails(release)


# --- LeaderWorkerSet --------------------------------------------------------------------------------


def _lws_version(facts: Facts) -> Judgement:
    release = image_version(lws_manager(facts), "manager")
    if not parsed(release):
        return unknown(f"the image of LeaderWorkerSet's manager names no version: {release or 'no tag'}")
    return holds(release) if parsed(release) >= LWS.oldest else fails(release)


def _lws_available(facts: Facts) -> Judgement:
    manager = lws_manager(facts)
    if not manager:
        return fails("there is no Deployment *controller-manager in its namespace")
    count = available(manager)
    return (
        holds(f"{count} available") if count else fails(f"Deployment {name_of(manager)} has no available pod")
    )


def _lws_admission(facts: Facts) -> Judgement:
    own = list(lws_webhooks(facts))
    missing = [
        resource for resource in (LWS_RESOURCE, "pods") if not any(handles(one, resource) for one in own)
    ]
    return (
        fails(f"no mutating webhook of LeaderWorkerSet for {' and '.join(missing)}") if missing else holds()
    )


def _lws_gang(facts: Facts) -> Judgement:
    for config in facts.answer("lws-config").objects:
        for name, content in mapping(config.get("data")).items():
            if "gangSchedulingManagement" in text(content) and (provider := _provider(text(content))):
                return fails(f"ConfigMap {name_of(config)}, {name}: schedulerProvider is {provider}")
    return holds()


def _provider(content: str) -> str:
    """Return the scheduler of `gangSchedulingManagement`; empty if it is not set."""
    try:
        documents = [mapping(one) for one in yaml.load(content)]
    except yaml.UNREADABLE:
        return ""
    found = (mapping(one.get("gangSchedulingManagement")) for one in documents)
    return next((provider for one in found if (provider := text(one.get("schedulerProvider")))), "")


# --- Volcano ----------------------------------------------------------------------------------------


def _sub_groups(facts: Facts) -> Judgement:
    definition = facts.answer("podgroup-definition").first
    versions = (mapping(one) for one in listed(mapping(definition.get("spec")).get("versions")))
    return holds() if any(map(_has_sub_groups, versions)) else fails("the definition lacks the field")


def _has_sub_groups(version: Object) -> bool:
    root = mapping(mapping(mapping(version.get("schema")).get("openAPIV3Schema")).get("properties"))
    spec = mapping(mapping(root.get("spec")).get("properties"))
    return version.get("name") == "v1beta1" and "subGroupPolicy" in spec


def _volcano_version(facts: Facts) -> Judgement:
    deployment = facts.answer("scheduler").first
    if not deployment:
        return unknown("there is no Deployment volcano-system/volcano-scheduler")
    release = image_version(deployment)
    if not parsed(release):
        return unknown(f"the scheduler's image names no version: {release or 'no tag'}")
    return fails(release) if volcano.too_old(release) else holds(release)


def _volcano_available(facts: Facts) -> Judgement | None:
    deployment = facts.answer("scheduler").first
    if not deployment:
        return None
    count = available(deployment)
    return (
        holds(f"{count} available") if count else fails("Deployment volcano-scheduler has no available pod")
    )


def _queue(facts: Facts) -> Judgement:
    queue = facts.answer("queue").first
    if not queue:
        return fails("there is no Queue default")
    state = text(mapping(queue.get("status")).get("state"))
    return holds() if state == "Open" else fails(f"its state is {state or 'not set'}")


def _volcano_admission(facts: Facts) -> Judgement:
    configurations = [*facts.answer("mutating").objects, *facts.answer("validating").objects]
    names = (text(one.get("name")) for each in configurations for one in webhooks(each))
    found = any("podgroup" in name and name.endswith(".volcano.sh") for name in names)
    return holds() if found else fails("no webhook of Volcano for PodGroups")


# --- routes -----------------------------------------------------------------------------------------


def _picker_images(facts: Facts) -> Judgement:
    found = [
        f"{text(mapping(one.get('metadata')).get('namespace'))}/{name_of(one)} {image}"
        for one in facts.answer("pickers").objects
        for image in images(one)
        if is_gone(image)
    ]
    return fails(first_of(found)) if found else holds()


# --- others -----------------------------------------------------------------------------------------


def others(facts: Facts) -> Iterator[str]:
    """Yield the mutating webhooks for LeaderWorkerSets that are neither ours nor LeaderWorkerSet's."""
    own = {text(one.get("name")) for one in lws_webhooks(facts)}
    for configuration in facts.answer("mutating").objects:
        for webhook in webhooks(configuration):
            name = text(webhook.get("name"))
            if handles(webhook, LWS_RESOURCE) and name not in own and not name.endswith(OURS):
                yield f"{name_of(configuration)}/{name}" if name != name_of(configuration) else name


def _no_other_mutators(facts: Facts) -> Judgement:
    found = ", ".join(others(facts))
    return fails(found) if found else holds()


CHECKS: Final = (
    Check(
        "kubernetes-version",
        "Kubernetes",
        "Kubernetes is 1.30 or later",
        _kubernetes,
        "upgrade the cluster: matchConditions and ValidatingAdmissionPolicy need 1.30",
        needs=("version",),
    ),
    Check(
        "lws-served",
        "LeaderWorkerSet",
        "LeaderWorkerSet v1 is served",
        is_served("lws"),
        "install LeaderWorkerSet: https://lws.sigs.k8s.io/docs/installation",
        needs=("resources/lws",),
    ),
    Check(
        "lws-manager",
        "LeaderWorkerSet",
        "the manager of LeaderWorkerSet is available",
        _lws_available,
        "check the pods of that Deployment: without the manager no pods are created",
        needs=("mutating", "lws-deployments"),
        after=("lws-served",),
    ),
    Check(
        "lws-version",
        "LeaderWorkerSet",
        "LeaderWorkerSet is 0.9.0 or later, as tested",
        _lws_version,
        "upgrade LeaderWorkerSet: earlier releases were not tested",
        "warning",
        needs=("mutating", "lws-deployments"),
        after=("lws-served", "lws-manager"),
    ),
    Check(
        "lws-webhooks",
        "LeaderWorkerSet",
        "the webhooks of LeaderWorkerSet are there",
        _lws_admission,
        "install LeaderWorkerSet with its webhooks: they label the pods of a group",
        needs=("mutating",),
        after=("lws-served",),
    ),
    Check(
        "lws-gang-scheduling",
        "LeaderWorkerSet",
        "LeaderWorkerSet's own gang scheduling is off",
        _lws_gang,
        "remove gangSchedulingManagement from that ConfigMap and restart the manager: two gangs deadlock",
        needs=("mutating", "lws-config"),
        after=("lws-served",),
    ),
    Check(
        "volcano-served",
        "Volcano",
        "PodGroup v1beta1 is served",
        is_served("podgroups"),
        "install Volcano 1.14.1 or later: https://volcano.sh/en/docs/installation",
        needs=("resources/podgroups",),
    ),
    Check(
        "podgroup-fields",
        "Volcano",
        "PodGroup has the field subGroupPolicy",
        _sub_groups,
        "upgrade Volcano to 1.14.1 or later, with its custom resource definitions",
        needs=("podgroup-definition",),
        after=("volcano-served",),
    ),
    Check(
        "volcano-version",
        "Volcano",
        "the Volcano scheduler is 1.14.1 or later",
        _volcano_version,
        "upgrade Volcano to 1.14.1 or later: earlier releases schedule no gang of several roles",
        needs=("scheduler",),
        after=("volcano-served",),
    ),
    Check(
        "volcano-scheduler",
        "Volcano",
        "the Volcano scheduler is available",
        _volcano_available,
        "check the pods of Deployment volcano-system/volcano-scheduler",
        needs=("scheduler",),
        after=("volcano-served",),
    ),
    Check(
        "volcano-queue",
        "Volcano",
        "the Queue default is open",
        _queue,
        "check that volcano-controllers runs: it creates and opens queues; no pod of a closed queue starts",
        needs=("queue",),
        after=("volcano-served",),
    ),
    Check(
        "volcano-webhooks",
        "Volcano",
        "the webhooks of Volcano are there",
        _volcano_admission,
        "install Volcano with its admission: without it a PodGroup of a missing queue is accepted, and waits",
        "warning",
        needs=("mutating", "validating"),
        after=("volcano-served",),
    ),
    Check(
        "gateway-api",
        "Routes",
        "HTTPRoute v1 is served",
        is_served("httproutes"),
        "install the Gateway API if services need routes (docs/routing.md)",
        "warning",
        needs=("resources/httproutes",),
    ),
    Check(
        "inference-extension",
        "Routes",
        "InferencePool v1 is served",
        is_served("inferencepools"),
        "install the Gateway API Inference Extension if services need routes (docs/routing.md)",
        "warning",
        needs=("resources/inferencepools",),
    ),
    Check(
        "picker-images",
        "Routes",
        "no endpoint picker has an image that is gone from its registry",
        _picker_images,
        "set pickerRegistry to a mirror, or choose another fusioninfer.io/picker (docs/routing.md)",
        "warning",
        INSTALLED,
        needs=("pickers",),
    ),
    Check(
        "other-webhooks",
        "Webhook",
        "no other product mutates LeaderWorkerSets",
        _no_other_mutators,
        "check with `kubectl apply --dry-run=server` that it leaves command, args and schedulerName alone",
        "warning",
        BOTH,
        needs=("mutating",),
    ),
)
