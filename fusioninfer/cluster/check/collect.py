"""Read what the checks need. Objects are read by name where possible, so that few rights are needed."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from fusioninfer.cluster.check.components import DEFINITIONS
from fusioninfer.cluster.check.facts import Facts, webhooks
from fusioninfer.cluster.check.installed import lease_path
from fusioninfer.cluster.reader import FAILED, Answer, Reader, why
from intent import Object
from intent.annotations import SERVICE
from intent.names import api_path
from intent.shapes import mapping, text
from kube.client import FORBIDDEN, ApiError
from kube.request import create
from sync.kinds import DEPLOYMENT, LWS, OUTPUTS
from webhook.review import CALLED_FROM

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
DEFINITION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEDULER: Final = "/apis/apps/v1/namespaces/volcano-system/deployments/volcano-scheduler"
LWS_NAMESPACE: Final = "lws-system"
LWS_WEBHOOK: Final = "mleaderworkerset.kb.io"
WEBHOOK: Final = "fusioninfer-webhook"
SECRET: Final = "fusioninfer-webhook-tls"  # noqa: S105 - a name
_ENGINE: Final[Object] = {"name": "vllm", "image": "corp/llm", "command": ["vllm", "serve", "m"]}
TRIAL: Final[Object] = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {
        "generateName": "fusioninfer-check-",
        "annotations": {SERVICE: "fusioninfer-check", CALLED_FROM: ""},
    },
    "spec": {
        "replicas": 0,
        "leaderWorkerTemplate": {"size": 1, "workerTemplate": {"spec": {"containers": [_ENGINE]}}},
    },
}
"""The LeaderWorkerSet of the dry run. It asks from where its review comes."""
TIMES: Final = 4
"""Dry runs, which may reach several API servers, and come through several agents of a tunnel."""
_PEER: Final = re.compile(r"called from ([0-9A-Fa-f.:]+)")


async def collect_needed(reader: Reader) -> Facts:
    """Read what an installation needs. Raises `UnreachableError`."""
    answers = {"version": Answer((await reader.reach(),))}
    definitions = {reading: f"{DEFINITION}/{name}" for reading, (name, _) in DEFINITIONS.items()}
    lists = {"mutating": f"{ADMISSION}/mutatingwebhookconfigurations"}
    answers |= await _read(reader, definitions | {"scheduler": SCHEDULER}, lists)
    called = (webhook for each in answers["mutating"].objects for webhook in webhooks(each))
    own = (mapping(each.get("clientConfig")) for each in called if each.get("name") == LWS_WEBHOOK)
    namespaces = (text(mapping(each.get("service")).get("namespace")) for each in own)
    namespace = next(filter(None, namespaces), LWS_NAMESPACE)
    config = OUTPUTS["ConfigMap"].path(namespace)
    answers |= await _read(reader, {}, {"lws-deployments": DEPLOYMENT.path(namespace), "lws-config": config})
    return Facts(answers, datetime.now(UTC))


async def collect(reader: Reader, namespace: str, home: str) -> Facts:
    """Read everything that the checks need. Raises `UnreachableError`.

    `namespace`: that of FusionInfer; `home`: the one in which the user works.
    """
    facts = await collect_needed(reader)
    policies = "/apis/networking.k8s.io/v1/namespaces"
    objects = {
        "lease": lease_path(namespace),
        "secret": api_path("/api/v1/namespaces", namespace, "secrets", SECRET),
        "network-policy": api_path(policies, namespace, "networkpolicies", WEBHOOK),
    }
    validating = f"{ADMISSION}/validatingwebhookconfigurations"
    lists = {"deployments": DEPLOYMENT.path(namespace), "validating": validating}
    own, trial = await asyncio.gather(_read(reader, objects, lists), _trial(reader, home))
    return replace(trial, answers={**facts.answers, **own, **trial.answers}, now=facts.now)


async def _read(reader: Reader, objects: Mapping[str, str], lists: Mapping[str, str]) -> dict[str, Answer]:
    """Read objects and lists, by the names of their readings."""
    read = await asyncio.gather(*map(reader.one, objects.values()), *map(reader.every, lists.values()))
    return dict(zip((*objects, *lists), read, strict=True))


async def _trial(reader: Reader, home: str) -> Facts:
    """Create an annotated LeaderWorkerSet as a dry run, which the webhook must answer."""
    sent = create(LWS.path(home), TRIAL, dry_run=True)
    try:
        stored = await reader.send(sent)
        warned = await asyncio.gather(*(reader.warnings(sent) for _ in range(TIMES)))
        return Facts({"trial": Answer((stored,))}, peers=tuple(sorted({*_PEER.findall(str(warned))})))
    except FAILED as error:
        is_answer = isinstance(error, ApiError) and error.code != FORBIDDEN
        return Facts(problem=why(error)) if is_answer else Facts({"trial": Answer(unknown=why(error))})
