"""Read what the checks need. Objects are read by name where possible, so that few rights are needed."""

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from catalog.release import VERSION
from fusioninfer.cluster.answers import Answer, Right
from fusioninfer.cluster.check.components import SERVED
from fusioninfer.cluster.check.controller import controller_rights, lease_path, user_rights
from fusioninfer.cluster.check.facts import DryRun, Facts, lws_webhooks, our_webhooks, service_of, volume
from fusioninfer.cluster.check.row import When
from fusioninfer.cluster.check.versions import DEFINITIONS, OBJECTIVES
from fusioninfer.cluster.reader import Reader, why
from intent import Object
from intent.annotations import PICKER, SERVICE
from intent.names import api_path
from intent.shapes import mapping, text
from kube.client import NO_ANSWER, ApiError
from kube.request import create
from sync.kinds import DEPLOYMENT, LWS, OUTPUTS
from sync.observed.volcano import SCHEDULER
from webhook.review import CALLED_FROM

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
CUSTOM: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LWS_NAMESPACE: Final = "lws-system"
WEBHOOK: Final = "fusioninfer-webhook"
SECRET: Final = "fusioninfer-webhook-tls"  # noqa: S105 - a name
SETTINGS: Final = "fusioninfer-settings"
CONFIG_MAP: Final = OUTPUTS["ConfigMap"]
ALL_SETS: Final = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"
ALL_DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
SERVICES: Final = "/apis/fusioninfer.io/v1alpha1/inferenceservices"
TRIAL: Final[Object] = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {
        "generateName": "fusioninfer-check-",
        "annotations": {SERVICE: "fusioninfer-check", CALLED_FROM: ""},
    },
    "spec": {
        "replicas": 0,
        "leaderWorkerTemplate": {
            "size": 1,
            "workerTemplate": {
                "spec": {
                    "containers": [{"name": "vllm", "image": "corp/llm", "command": ["vllm", "serve", "m"]}]
                }
            },
        },
    },
}
"""The LeaderWorkerSet of the dry run. It asks from where its review comes."""
TIMES: Final = 4
"""Dry runs, which may reach several API servers, and come through several agents of a tunnel."""
_PEER: Final = re.compile(r"called from ([0-9A-Fa-f.:]+)")


async def collect(reader: Reader, when: When, namespace: str, home: str) -> Facts:
    """Read everything that the checks need. Raises `UnreachableError`."""
    version = await reader.reach()
    answers = {"version": Answer((version,))} | await _both(reader)
    facts = Facts(answers, namespace, home, VERSION, datetime.now(UTC))
    if when == "pre":
        return replace(facts, answers=answers | await _of_lws(reader, facts))
    more, own, trial, rights = await asyncio.gather(
        _of_lws(reader, facts),
        _installed(reader, facts),
        _trial(reader, home),
        reader.granted(user_rights(home)),
    )
    account = _controller(namespace, Facts(own).named("deployments", "fusioninfer-sync"))
    controller = await reader.granted_to(*account, controller_rights(namespace))
    return Facts(answers | more | own, namespace, home, VERSION, datetime.now(UTC), rights, controller, trial)


def _controller(namespace: str, deployment: Object) -> tuple[str, tuple[str, ...]]:
    """Return the user name and the groups of the controller's service account."""
    pod = mapping(mapping(mapping(deployment.get("spec")).get("template")).get("spec"))
    name = text(pod.get("serviceAccountName")) or "fusioninfer-sync"
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return f"system:serviceaccount:{namespace}:{name}", groups


async def _both(reader: Reader) -> dict[str, Answer]:
    """Read what does not depend on another reading."""
    single = {f"resources/{name}": f"/apis/{version}" for name, (version, _) in SERVED.items()}
    groups = {f"group/{name}": f"/apis/{version.partition('/')[0]}" for name, (version, _) in SERVED.items()}
    known = {
        **{reading: f"{CUSTOM}/{name}" for reading, name in DEFINITIONS.items()},
        **{reading: f"/apis/{version}" for reading, version in OBJECTIVES.items()},
        "scheduler": SCHEDULER,
        "queue": "/apis/scheduling.volcano.sh/v1beta1/queues/default",
    }
    lists = {
        "mutating": f"{ADMISSION}/mutatingwebhookconfigurations",
        "validating": f"{ADMISSION}/validatingwebhookconfigurations",
    }
    names = {**single, **groups, **known}
    read = await asyncio.gather(*map(reader.one, names.values()), *map(reader.every, lists.values()))
    return dict(zip((*names, *lists), read, strict=True))


async def _of_lws(reader: Reader, facts: Facts) -> dict[str, Answer]:
    """Read what is in the namespace of LeaderWorkerSet's manager, which its webhooks name."""
    named = next((found[0] for one in lws_webhooks(facts) if (found := service_of(one))), LWS_NAMESPACE)
    deployments, configs = await asyncio.gather(
        reader.every(DEPLOYMENT.path(named)),
        reader.every(CONFIG_MAP.path(named)),
    )
    return {"lws-deployments": deployments, "lws-config": configs}


async def _installed(reader: Reader, facts: Facts) -> dict[str, Answer]:
    """Read our own objects."""
    space = facts.namespace
    service = next((found for one in our_webhooks(facts) if (found := service_of(one))), (space, WEBHOOK))
    deployments = await reader.every(DEPLOYMENT.path(space))
    own = Facts({"deployments": deployments})
    secret = volume(own.named("deployments", WEBHOOK), "secret", "secretName") or SECRET
    settings = volume(own.named("deployments", "fusioninfer-sync"), "configMap", "name") or SETTINGS
    paths = {
        "lease": lease_path(space),
        "secret": api_path("/api/v1/namespaces", service[0], "secrets", secret),
        "settings": CONFIG_MAP.path(space, settings),
        "network-policy": api_path(
            "/apis/networking.k8s.io/v1/namespaces", space, "networkpolicies", WEBHOOK
        ),
        "policy": f"{ADMISSION}/validatingadmissionpolicies/backstop.fusioninfer.io",
        "policy-binding": f"{ADMISSION}/validatingadmissionpolicybindings/backstop.fusioninfer.io",
    }
    slices = api_path("/apis/discovery.k8s.io/v1/namespaces", service[0], "endpointslices")
    lists = {
        "services": (SERVICES, ""),
        "sets": (ALL_SETS, SERVICE),
        "pickers": (ALL_DEPLOYMENTS, PICKER),
        "slices": (slices, f"kubernetes.io/service-name={service[1]}"),
    }
    read = await asyncio.gather(
        *map(reader.one, paths.values()), *(reader.every(*asked) for asked in lists.values())
    )
    return dict(zip((*paths, *lists), read, strict=True)) | {"deployments": deployments}


async def _trial(reader: Reader, home: str) -> DryRun:
    """Create an annotated LeaderWorkerSet as a dry run, which the webhook must answer."""
    right = Right("create", "leaderworkerset.x-k8s.io", "leaderworkersets", home)
    if not (await reader.granted([right]))[right]:
        return DryRun(unknown=f"you may not {right}, so no dry run was sent")
    sent = create(LWS.path(home), TRIAL, dry_run=True)
    try:
        stored = await reader.send(sent)
        warned = await asyncio.gather(*(reader.warnings(sent) for _ in range(TIMES)))
        return DryRun(stored, peers=tuple(sorted({*_PEER.findall(str(warned))})))
    except ApiError as error:
        return DryRun(problem=str(error))
    except NO_ANSWER as error:
        return DryRun(unknown=why(error))
