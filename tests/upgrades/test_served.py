"""A decoder with hybrid load balancing that an earlier release stored: its workers have no routing sidecar.

`hybrid_decoder.json` is what an author wrote and what admission at `COMMIT` made of it.
"""

from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from intent import Object
from intent.annotations import LEADER_LABELS
from intent.service.member import member
from sync.observed.pod import project
from sync.parts.endpoints import endpoints
from tests.builders.lws import changed, put
from tests.laws.strategies import TOOLS

DECODER: Final[dict[str, Object]] = orjson.loads(Path(__file__).with_name("hybrid_decoder.json").read_bytes())
WORKERS: Final = "spec.leaderWorkerTemplate.workerTemplate"
ENGINE: Final = f"{WORKERS}.spec.containers.0"
SERVES: Final[Object] = {"metadata": {"labels": {"fusioninfer.io/serves": "all"}}}
EDITS: Final[dict[str, Any]] = {
    "metadata.annotations.fusioninfer.io/strategy": None,
    "metadata.annotations.fusioninfer.io/picker": "llm-d-0.4",
    "metadata.labels": {"a": "b"},
    "spec.replicas": 3,
    "spec.rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": 1}},
    f"{WORKERS}.metadata": {"labels": {"a": "b"}},
    f"{WORKERS}.spec.nodeSelector": {"a": "b"},
    f"{ENGINE}.env": [{"name": "A", "value": "1"}],
    f"{ENGINE}.resources.requests.cpu": "9",
    f"{ENGINE}.readinessProbe.periodSeconds": 3,
}
LAUNCHES: Final[dict[str, Any]] = {
    "metadata.annotations.fusioninfer.io/refresh": "1",
    "spec.leaderWorkerTemplate.size": 4,
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("path", [*EDITS, *LAUNCHES])
def test_workers_without_sidecar_get_no_requests_until_their_launch_changes(path: str, tool: str) -> None:
    written, stored = DECODER["written"], DECODER["stored"]
    edited = changed(written, path, (EDITS | LAUNCHES)[path])

    found = put(TOOLS[tool](stored, edited), stored)

    group = found["spec"]["leaderWorkerTemplate"]
    has_sidecar = "routing-proxy" in str(group["workerTemplate"]["spec"].get("initContainers"))
    says = "fusioninfer.io/serves" in group["workerTemplate"]["metadata"]["labels"]
    read = member(found)
    selector = endpoints((read,), [project(SERVES)]).selector if read else {}
    assert {has_sidecar, says, selector != LEADER_LABELS} == {path in LAUNCHES}
