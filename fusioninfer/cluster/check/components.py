"""Checks of what FusionInfer needs: Kubernetes, LeaderWorkerSet, Volcano and the Gateway API, by release.

Kubernetes says its version, and the Gateway API and its Inference Extension annotate their definitions. Of
LeaderWorkerSet and Volcano the images of their controllers do.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from catalog.codes import Severity
from catalog.engines import Version, shown
from catalog.versions import EXTENSION, GATEWAY_API, KUBERNETES, LWS, VOLCANO, System
from fusioninfer.cluster.check.facts import OK, Check, Facts, Judgement, check, image_tag
from fusioninfer.cluster.text import name_of
from intent import Object
from intent.shapes import annotations, listed, mapping, number, text

_VERSION: Final = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")
_PROVIDER: Final = re.compile(r"^\s*schedulerProvider:\s*[\"']?([\w-]+)", re.MULTILINE)
"""The scheduler of `gangSchedulingManagement` in LeaderWorkerSet's configuration."""
DEFINITIONS: Final = {
    "lws": ("leaderworkersets.leaderworkerset.x-k8s.io", "v1"),
    "podgroups": ("podgroups.scheduling.volcano.sh", "v1beta1"),
    "inferenceservices": ("inferenceservices.fusioninfer.io", "v1alpha1"),
    "httproutes": ("httproutes.gateway.networking.k8s.io", "v1"),
    "inferencepools": ("inferencepools.inference.networking.k8s.io", "v1"),
}
"""Definitions, by reading, and the version of each that must be served."""
OTHER_RELEASE: Final = (
    "upgrade what is too old; if it is too new, read docs/versions.md of a later FusionInfer: what is new "
    "there is neither checked nor used"
)


# --- what is served -----------------------------------------------------------------------------------


def _version(facts: Facts, reading: str) -> Object:
    """Return the version of a definition that must be served; empty if it is not."""
    versions = map(mapping, listed(mapping(facts.answer(reading).first.get("spec")).get("versions")))
    name = DEFINITIONS[reading][1]
    return next((one for one in versions if one.get("name") == name and one.get("served") is True), {})


def served(facts: Facts, reading: str, severity: Severity = "error") -> Judgement:
    """Judge whether the API server serves the version of a definition; `severity`: how bad it is if not."""
    name, version = DEFINITIONS[reading]
    return OK if _version(facts, reading) else Judgement(severity, f"{version} of {name} is not served")


# --- releases -----------------------------------------------------------------------------------------


def parsed(version: str) -> Version:
    """Return a version as numbers; empty if the text is no version."""
    match = _VERSION.match(version)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def known(system: System) -> str:
    """Return the releases of a system that are known, for a claim."""
    return f"its release is known, {shown(system.oldest)} to {shown(system.newest)}"


def released(system: System, version: str, too_old: Severity = "warning") -> Judgement:
    """Judge whether a release is known. `too_old`: how bad an older one is."""
    numbers = parsed(version)
    if numbers[:2] in {(), (0, 0)}:  # a build without a version is 0.0.0
        return Judgement("unknown", f"nothing names its version: {version or 'no tag'}")
    if numbers[:2] > system.newest:
        return Judgement("warning", f"too new to be known: {version}")
    release = system.release(numbers)
    return (
        Judgement("ok", f"{version}, {release.known}: {release.works}")
        if release
        else Judgement(too_old, f"too old: {version}")
    )


def _runs(deployment: Object, system: System, too_old: Severity) -> Judgement:
    """Judge whether a Deployment has available pods of a known release."""
    if not number(mapping(deployment.get("status")).get("availableReplicas")):
        return Judgement("error", f"Deployment {name_of(deployment)} has no available pod")
    return released(system, image_tag(deployment), too_old)


@check("kubernetes", f"the API server answers; {known(KUBERNETES)}", OTHER_RELEASE)
def kubernetes(facts: Facts) -> Judgement:
    """Judge the release of Kubernetes."""
    return released(KUBERNETES, text(facts.answer("version").first.get("gitVersion")), "error")


# --- LeaderWorkerSet --------------------------------------------------------------------------------


lws_served: Final = check(
    "lws-served",
    "LeaderWorkerSet v1 is served",
    "install LeaderWorkerSet: https://lws.sigs.k8s.io/docs/installation",
    needs=("lws",),
)(partial(served, reading="lws"))


@check(
    "lws-manager",
    f"the manager of LeaderWorkerSet is available; {known(LWS)}",
    f"check the pods of that Deployment: without the manager no pods are created; {OTHER_RELEASE}",
    needs=("mutating", "lws-deployments"),
    after="lws-served",
)
def lws_manager(facts: Facts) -> Judgement:
    """Judge the manager of LeaderWorkerSet."""
    deployments = facts.answer("lws-deployments").objects
    manager = next((one for one in deployments if name_of(one).endswith("controller-manager")), None)
    if manager is None:
        return Judgement("error", "there is no Deployment *controller-manager in its namespace")
    return _runs(manager, LWS, "warning")


@check(
    "lws-gang-scheduling",
    "LeaderWorkerSet's own gang scheduling is off",
    "remove gangSchedulingManagement from that ConfigMap and restart the manager: two gangs deadlock",
    needs=("mutating", "lws-config"),
    after="lws-served",
)
def lws_gang_scheduling(facts: Facts) -> Judgement:
    """Judge whether LeaderWorkerSet makes PodGroups itself."""
    for config in facts.answer("lws-config").objects:
        for name, content in mapping(config.get("data")).items():
            if provider := _PROVIDER.search(text(content)):
                detail = f"ConfigMap {name_of(config)}, {name}: schedulerProvider is {provider[1]}"
                return Judgement("error", detail)
    return OK


# --- Volcano ----------------------------------------------------------------------------------------


@check(
    "volcano-served",
    "PodGroup v1beta1 is served, with the field subGroupPolicy",
    "install Volcano 1.14.1 or later, or upgrade its custom resource definitions, which Helm does not: "
    "https://volcano.sh/en/docs/installation",
    needs=("podgroups",),
)
def volcano_served(facts: Facts) -> Judgement:
    """Judge whether PodGroups of several roles can be created."""
    schema = mapping(mapping(_version(facts, "podgroups").get("schema")).get("openAPIV3Schema"))
    spec = mapping(mapping(schema.get("properties")).get("spec"))
    if schema and "subGroupPolicy" not in mapping(spec.get("properties")):
        return Judgement("error", "the definition lacks the field")
    return served(facts, "podgroups")


@check(
    "volcano-scheduler",
    f"the Volcano scheduler is available; {known(VOLCANO)}",
    f"check the pods of Deployment volcano-system/volcano-scheduler; {OTHER_RELEASE}",
    needs=("scheduler",),
    after="volcano-served",
)
def volcano_scheduler(facts: Facts) -> Judgement:
    """Judge the scheduler."""
    deployment = facts.answer("scheduler").first
    if not deployment:
        return Judgement("unknown", "there is no Deployment volcano-system/volcano-scheduler")
    return _runs(deployment, VOLCANO, "error")


# --- routes -----------------------------------------------------------------------------------------


def _annotated(name: str, reading: str, system: System) -> Check:
    """Return the check of a system whose definition has its release as an annotation."""
    definition, version = DEFINITIONS[reading]
    plural, _, group = definition.partition(".")

    @check(
        name,
        f"{version} of {plural} is served; {known(system)}",
        f"install the {system.name} if services need routes (docs/routing.md); {OTHER_RELEASE}",
        needs=(reading,),
    )
    def judge(facts: Facts) -> Judgement:
        verdict, release = served(facts, reading, "warning"), annotations(facts.answer(reading).first)
        return released(system, text(release.get(f"{group}/bundle-version"))) if verdict == OK else verdict

    return judge


gateway_api: Final = _annotated("gateway-api", "httproutes", GATEWAY_API)
inference_extension: Final = _annotated("inference-extension", "inferencepools", EXTENSION)
NEEDED: Final[Mapping[str, tuple[Check, ...]]] = {
    "Kubernetes": (kubernetes,),
    "LeaderWorkerSet": (lws_served, lws_manager, lws_gang_scheduling),
    "Volcano": (volcano_served, volcano_scheduler),
    "Routes": (gateway_api, inference_extension),
}
"""What an installation needs, by the part of the cluster."""
