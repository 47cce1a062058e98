"""Checks of what FusionInfer needs: LeaderWorkerSet, Volcano, the Gateway API, and other webhooks."""

from collections.abc import Iterator
from typing import Final

from catalog.codes import Severity
from catalog.pickers.generations import is_gone
from fusioninfer.cluster.check.facts import (
    LWS_RESOURCE,
    OURS,
    Facts,
    handles,
    images,
    lws_manager,
    lws_webhooks,
    specs,
    webhooks,
)
from fusioninfer.cluster.check.row import BOTH, Check, Judgement, When, check, fails, has_pods, holds, none_of
from fusioninfer.cluster.text import name_of
from intent import yaml
from intent.shapes import listed, mapping, metadata, text

SERVED: Final = {
    "lws": ("leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "podgroups": ("scheduling.volcano.sh/v1beta1", "podgroups"),
    "inferenceservices": ("fusioninfer.io/v1alpha1", "inferenceservices"),
    "httproutes": ("gateway.networking.k8s.io/v1", "httproutes"),
    "inferencepools": ("inference.networking.k8s.io/v1", "inferencepools"),
}
"""Kinds that must be served: group and version, and plural. The key is the name of the reading."""


def served(  # noqa: PLR0913 - the cells of a row
    name: str,
    reading: str,
    claim: str,
    remedy: str,
    *,
    severity: Severity = "error",
    when: frozenset[When] = BOTH,
) -> Check:
    """Return the check that the API server serves a kind of `SERVED`."""
    version, plural = SERVED[reading]

    @check(name, claim, remedy, severity=severity, when=when, needs=(f"resources/{reading}",))
    def judge(facts: Facts) -> Judgement:
        answer = facts.answer(f"resources/{reading}")
        if plural in {text(mapping(one).get("name")) for one in listed(answer.first.get("resources"))}:
            return holds(version)
        group = facts.answer(f"group/{reading}").first
        others = ", ".join(text(mapping(one).get("groupVersion")) for one in listed(group.get("versions")))
        return fails(f"{version} {plural} is not served{f', but {others}' if others else ''}")

    return judge


# --- LeaderWorkerSet --------------------------------------------------------------------------------

lws_served: Final = served(
    "lws-served",
    "lws",
    "LeaderWorkerSet v1 is served",
    "install LeaderWorkerSet: https://lws.sigs.k8s.io/docs/installation",
)


@check(
    "lws-manager",
    "the manager of LeaderWorkerSet is available",
    "check the pods of that Deployment: without the manager no pods are created",
    when=BOTH,
    needs=("mutating", "lws-deployments"),
    after=("lws-served",),
)
def _lws_available(facts: Facts) -> Judgement:
    manager = lws_manager(facts)
    if not manager:
        return fails("there is no Deployment *controller-manager in its namespace")
    return has_pods(manager, name_of(manager))


@check(
    "lws-webhooks",
    "the webhooks of LeaderWorkerSet are there",
    "install LeaderWorkerSet with its webhooks: they label the pods of a group",
    when=BOTH,
    needs=("mutating",),
    after=("lws-served",),
)
def _lws_admission(facts: Facts) -> Judgement:
    own, needed = list(lws_webhooks(facts)), (LWS_RESOURCE, "pods")
    missing = [resource for resource in needed if not any(handles(one, resource) for one in own)]
    if not missing:
        return holds()
    return fails(f"no mutating webhook of LeaderWorkerSet for {' and '.join(missing)}")


@check(
    "lws-gang-scheduling",
    "LeaderWorkerSet's own gang scheduling is off",
    "remove gangSchedulingManagement from that ConfigMap and restart the manager: two gangs deadlock",
    when=BOTH,
    needs=("mutating", "lws-config"),
    after=("lws-served",),
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


LWS_CHECKS: Final = (_lws_available, _lws_admission, _lws_gang)

# --- Volcano ----------------------------------------------------------------------------------------

volcano_served: Final = served(
    "volcano-served",
    "podgroups",
    "PodGroup v1beta1 is served",
    "install Volcano 1.14.1 or later: https://volcano.sh/en/docs/installation",
)


@check(
    "podgroup-fields",
    "PodGroup has the field subGroupPolicy",
    "upgrade Volcano to 1.14.1 or later, with its custom resource definitions",
    when=BOTH,
    needs=("podgroup-definition",),
    after=("volcano-served",),
)
def _sub_groups(facts: Facts) -> Judgement:
    fields = [mapping(one.get("properties")) for one in specs(facts, "podgroup-definition")]
    return (
        holds() if any("subGroupPolicy" in one for one in fields) else fails("the definition lacks the field")
    )


@check(
    "volcano-scheduler",
    "the Volcano scheduler is available",
    "check the pods of Deployment volcano-system/volcano-scheduler",
    when=BOTH,
    needs=("scheduler",),
    after=("volcano-served",),
)
def _volcano_available(facts: Facts) -> Judgement | None:
    deployment = facts.answer("scheduler").first
    return has_pods(deployment, "volcano-scheduler") if deployment else None


@check(
    "volcano-queue",
    "the Queue default is open",
    "check that volcano-controllers runs: it creates and opens queues; no pod of a closed queue starts",
    when=BOTH,
    needs=("queue",),
    after=("volcano-served",),
)
def _queue(facts: Facts) -> Judgement:
    queue = facts.answer("queue").first
    if not queue:
        return fails("there is no Queue default")
    state = text(mapping(queue.get("status")).get("state"))
    return holds() if state == "Open" else fails(f"its state is {state or 'not set'}")


@check(
    "volcano-webhooks",
    "the webhooks of Volcano are there",
    "install Volcano with its admission: without it a PodGroup of a missing queue is accepted, and waits",
    severity="warning",
    when=BOTH,
    needs=("mutating", "validating"),
    after=("volcano-served",),
)
def _volcano_admission(facts: Facts) -> Judgement:
    configurations = [*facts.answer("mutating").objects, *facts.answer("validating").objects]
    names = (text(one.get("name")) for each in configurations for one in webhooks(each))
    found = any("podgroup" in name and name.endswith(".volcano.sh") for name in names)
    return holds() if found else fails("no webhook of Volcano for PodGroups")


VOLCANO_CHECKS: Final = (_sub_groups, _volcano_available, _queue, _volcano_admission)

# --- routes, and others -----------------------------------------------------------------------------

gateway_api: Final = served(
    "gateway-api",
    "httproutes",
    "HTTPRoute v1 is served",
    "install the Gateway API if services need routes (docs/routing.md)",
    severity="warning",
)
inference_extension: Final = served(
    "inference-extension",
    "inferencepools",
    "InferencePool v1 is served",
    "install the Gateway API Inference Extension if services need routes (docs/routing.md)",
    severity="warning",
)


@check(
    "picker-images",
    "no endpoint picker has an image that is gone from its registry",
    "set pickerRegistry to a mirror, or choose another fusioninfer.io/picker (docs/routing.md)",
    severity="warning",
    needs=("pickers",),
)
def picker_images(facts: Facts) -> Judgement:
    """Judge the images of endpoint pickers."""
    pickers = facts.answer("pickers").objects
    return none_of(
        [
            f"{text(metadata(one).get('namespace'))}/{name_of(one)} {image}"
            for one in pickers
            for image in images(one)
            if is_gone(image)
        ]
    )


@check(
    "other-webhooks",
    "no other product mutates LeaderWorkerSets",
    "check with `kubectl apply --dry-run=server` that it leaves command, args and schedulerName alone",
    severity="warning",
    when=BOTH,
    needs=("mutating",),
)
def other_webhooks(facts: Facts) -> Judgement:
    """Judge whether there are mutating webhooks that are neither ours nor LeaderWorkerSet's."""
    found = ", ".join(_others(facts))
    return fails(found) if found else holds()


def _others(facts: Facts) -> Iterator[str]:
    own = {text(one.get("name")) for one in lws_webhooks(facts)}
    for configuration in facts.answer("mutating").objects:
        for webhook in webhooks(configuration):
            name = text(webhook.get("name"))
            if handles(webhook, LWS_RESOURCE) and name not in own and not name.endswith(OURS):
                yield f"{name_of(configuration)}/{name}" if name != name_of(configuration) else name
