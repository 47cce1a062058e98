"""Read what `why` needs about one service."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from fusioninfer.cluster.check.installed import lease_path
from fusioninfer.cluster.nodes import NOT_ENDED
from fusioninfer.cluster.reader import Answer, Reader
from fusioninfer.cluster.service import find, read_live, require
from fusioninfer.cluster.text import name_of
from fusioninfer.cluster.why.case import Case
from intent.annotations import LWS_NAME, SERVICE
from intent.names import SYSTEM_NAMESPACE, api_path
from intent.shapes import labels
from sync.kinds import INFERENCE_SERVICE, LWS, POD
from sync.observed.pod import project

MOST_LOGS: Final = 3
PLACED: Final = f"spec.nodeName!=,{NOT_ENDED}"
"""The pods that use nodes."""


async def read_case(reader: Reader, word: str, namespace: str) -> Case:
    """Read a service, named by its name or by an object: NAME, lws/NAME or isvc/NAME.

    Raises `NotFoundError`, or `UnreachableError` if what is essential cannot be read.
    """
    await reader.reach()
    live = await read_live(reader, namespace)
    require(live.objects, (LWS, INFERENCE_SERVICE), namespace)
    obj, service = find(live, word, namespace)
    read = Case(namespace, service, live, obj, now=datetime.now(UTC))
    listed = (await reader.every(POD.path(namespace))).known(f"pods in namespace {namespace}")
    sets = {name_of(lws) for lws in read.sets}
    of_service = {service} - {""}
    pods = tuple(
        pod for pod in listed if labels(pod).get(LWS_NAME) in sets or labels(pod).get(SERVICE) in of_service
    )
    waits = any(not project(pod).scheduled for pod in pods)
    read = replace(read, pods=pods, answers=await _others(reader, namespace, with_nodes=waits))
    return replace(read, logs=await _logs(reader, read))


async def _others(reader: Reader, namespace: str, *, with_nodes: bool) -> dict[str, Answer]:
    """Read what is beside the service. The pods on all nodes are many: they are read if capacity counts."""
    nodes = {"nodes": ("/api/v1/nodes", ""), "placed": ("/api/v1/pods", PLACED)} if with_nodes else {}
    lists = nodes | {
        "events": (api_path("/api/v1/namespaces", namespace, "events"), "type=Warning"),
        "queues": ("/apis/scheduling.volcano.sh/v1beta1/queues", ""),
    }
    *answers, lease = await asyncio.gather(
        *(reader.every(path, fields=fields) for path, fields in lists.values()),
        reader.one(lease_path(SYSTEM_NAMESPACE)),
    )
    return dict(zip(lists, answers, strict=True)) | {"lease": lease}


async def _logs(reader: Reader, read: Case) -> dict[tuple[str, str], str]:
    """Read the logs of the first containers that crashed: of the previous run, else of the present one."""
    failing = [(pod.name, pod.failure.container) for pod in map(project, read.pods) if pod.failure]

    async def log(pod: str, container: str) -> str:
        read_log = partial(reader.log, POD.path(read.namespace, pod), container)
        return await read_log(previous=True) or await read_log(previous=False)

    wanted = [(pod, container) for pod, container in failing if container][:MOST_LOGS]
    return dict(zip(wanted, await asyncio.gather(*(log(*of) for of in wanted)), strict=True))
