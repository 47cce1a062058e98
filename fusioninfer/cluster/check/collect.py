"""Read what the checks need. Objects are read by name where possible, so that few rights are needed."""

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from catalog.release import VERSION
from fusioninfer.cluster.answers import Answer
from fusioninfer.cluster.check.components import DEFINITIONS
from fusioninfer.cluster.check.controller import lease_path
from fusioninfer.cluster.check.facts import DryRun, Facts, service_of, webhooks
from fusioninfer.cluster.reader import Reader, why
from intent import Object
from intent.annotations import SERVICE
from intent.names import api_path
from kube.client import NO_ANSWER, ApiError
from kube.request import create
from sync.kinds import DEPLOYMENT, LWS, OUTPUTS
from sync.observed.volcano import SCHEDULER
from webhook.review import CALLED_FROM

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LWS_NAMESPACE: Final = "lws-system"
LWS_WEBHOOK: Final = "mleaderworkerset.kb.io"
WEBHOOK: Final = "fusioninfer-webhook"
SECRET: Final = "fusioninfer-webhook-tls"  # noqa: S105 - a name
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
FORBIDDEN: Final = 403
_PEER: Final = re.compile(r"called from ([0-9A-Fa-f.:]+)")


async def collect_needed(reader: Reader) -> Facts:
    """Read what an installation needs. Raises `UnreachableError`."""
    version = await reader.reach()
    single = {reading: f"{DEFINITION}/{name}" for reading, (name, _) in DEFINITIONS.items()}
    single["scheduler"] = SCHEDULER
    read = await asyncio.gather(
        *map(reader.one, single.values()), reader.every(f"{ADMISSION}/mutatingwebhookconfigurations")
    )
    answers = {"version": Answer((version,))} | dict(zip((*single, "mutating"), read, strict=True))
    namespace = _lws_namespace(answers["mutating"])
    deployments, configs = await asyncio.gather(
        reader.every(DEPLOYMENT.path(namespace)), reader.every(OUTPUTS["ConfigMap"].path(namespace))
    )
    return Facts(
        answers | {"lws-deployments": deployments, "lws-config": configs},
        release=VERSION,
        now=datetime.now(UTC),
    )


def _lws_namespace(mutating: Answer) -> str:
    """Return the namespace of LeaderWorkerSet's manager, which its webhook names."""
    own = (one for each in mutating.objects for one in webhooks(each) if one.get("name") == LWS_WEBHOOK)
    return next((service[0] for one in own if (service := service_of(one))), LWS_NAMESPACE)


async def collect(reader: Reader, namespace: str, home: str) -> Facts:
    """Read everything that the checks need. Raises `UnreachableError`.

    `namespace`: that of FusionInfer; `home`: the one in which the user works.
    """
    facts = await collect_needed(reader)
    deployments = await reader.every(DEPLOYMENT.path(namespace))
    facts = replace(facts, answers={**facts.answers, "deployments": deployments})
    own, trial = await asyncio.gather(_installed(reader, namespace), _trial(reader, home))
    return replace(facts, answers={**facts.answers, **own}, trial=trial)


async def _installed(reader: Reader, namespace: str) -> dict[str, Answer]:
    """Read our own objects."""
    policies = "/apis/networking.k8s.io/v1/namespaces"
    paths = {
        "lease": lease_path(namespace),
        "secret": api_path("/api/v1/namespaces", namespace, "secrets", SECRET),
        "network-policy": api_path(policies, namespace, "networkpolicies", WEBHOOK),
    }
    read = await asyncio.gather(
        *map(reader.one, paths.values()), reader.every(f"{ADMISSION}/validatingwebhookconfigurations")
    )
    return dict(zip((*paths, "validating"), read, strict=True))


async def _trial(reader: Reader, home: str) -> DryRun:
    """Create an annotated LeaderWorkerSet as a dry run, which the webhook must answer."""
    sent = create(LWS.path(home), TRIAL, dry_run=True)
    try:
        stored = await reader.send(sent)
        warned = await asyncio.gather(*(reader.warnings(sent) for _ in range(TIMES)))
        return DryRun(stored, peers=tuple(sorted({*_PEER.findall(str(warned))})))
    except ApiError as error:
        return DryRun(unknown=str(error)) if error.code == FORBIDDEN else DryRun(problem=str(error))
    except NO_ANSWER as error:
        return DryRun(unknown=why(error))
