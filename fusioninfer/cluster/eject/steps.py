"""What no longer happens by itself to ejected objects, and the steps in which nothing restarts. Pure.

The controller leaves the PodGroup and the routes of ejected LeaderWorkerSets as they are. The garbage
collector deletes them with their owners, and the controller adds owners while the service has members: so
annotations and record are removed first, together, and the owners afterwards.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from fusioninfer.cluster.eject.service import LiveService
from intent import Object
from intent.annotations import PAUSED, PREFIX
from intent.commands import command, named
from intent.shapes import mapping
from kube.request import FIELD_MANAGER
from sync.kinds import AUTOSCALER, DEPLOYMENT, INFERENCE_SERVICE, LWS, OUTPUTS, POD_GROUP, POOL, Kind

FILE: Final = "ejected.yaml"
"""The name of the file in the commands of the steps."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step of leaving, with its command; empty if it is not one command."""

    description: str
    command: str = ""


NOTES: Final[Mapping[str, str]] = {
    LWS.kind: (
        "admission neither checks nor expands it: change command, args and env with the image and the sizes, "
        "and leaderTemplate with workerTemplate; remove replicas from the file if an autoscaler sets them"
    ),
    POD_GROUP.kind: (
        "edit minMember and subGroupPolicy with each change of size or roles; nothing creates it again, and "
        "without it new pods stay Pending"
    ),
    AUTOSCALER.kind: "it decides the replicas of its target; nothing creates it again",
    POOL.kind: (
        "routes follow neither annotations nor roles: edit the port, the strategy and the route yourself"
    ),
    "RoleBinding": (
        "refers to a ClusterRole of FusionInfer: keep that ClusterRole when you uninstall FusionInfer"
    ),
    DEPLOYMENT.kind: "the endpoint picker is not upgraded, and does not restart when its ConfigMap changes",
    INFERENCE_SERVICE.kind: "is deleted: its roles and its router have no effect, there is no status",
}
"""What no longer happens by itself to the objects of a kind."""


def notes(service: LiveService) -> Iterator[str]:
    """Yield what no longer happens by itself to the objects of a service."""
    whole = [service.inferenceservice] if service.inferenceservice else []
    kinds = dict.fromkeys(obj["kind"] for obj in (*whole, *service.members, *service.made))
    yield from (f"{kind}: {NOTES[kind]}" for kind in kinds if kind in NOTES)
    if service.made:
        yield "what the controller made is neither repaired nor deleted: delete it with the service"
        yield f"server-side apply conflicts once with {FIELD_MANAGER}: add --force-conflicts"


# --- steps --------------------------------------------------------------------------------------------

NO_OWNERS: Final = orjson.dumps({"metadata": {"ownerReferences": None}}).decode()


def steps(service: LiveService) -> Iterator[Instruction]:
    """Yield the steps in which the controller deletes nothing and admission reverts nothing."""
    yield Instruction(f"Save the output as {FILE}. Suspend what applies the old files (Argo CD, Flux, Helm).")
    this = service.inferenceservice
    paused = _named(INFERENCE_SERVICE, (this,)) if this else []
    if this:
        yield Instruction(
            f"Pause the controller for service {service.name}: it would annotate its LeaderWorkerSets again.",
            _kubectl(service, "annotate", *paused, f"{PAUSED}=true", "--overwrite"),
        )
    for lws in service.members:
        keys = [key for key in mapping(lws["metadata"].get("annotations")) if key.startswith(PREFIX)]
        if keys:
            yield Instruction(
                "Remove annotations and record in one write: the object stays expanded, no pod restarts.",
                _kubectl(
                    service, "annotate", *_named(LWS, (lws,)), *(f"{named(key)}-" for key in sorted(keys))
                ),
            )
    owned = [name for obj in service.made for name in _named(OUTPUTS[obj["kind"]], (obj,))]
    owned += _named(LWS, service.members) if this else []
    if owned:
        yield Instruction(
            "Remove the owners: what the controller made is yours, and outlives each LeaderWorkerSet.",
            _kubectl(service, "patch", *owned, "--type=merge", f"--patch={NO_OWNERS}"),
        )
    if this:
        yield Instruction(
            "Delete the InferenceService alone.",
            _kubectl(service, "delete", *paused, "--cascade=orphan"),
        )
    yield Instruction("Compare: nothing may differ.", command("kubectl", "diff", "-f", FILE))
    yield Instruction(f"Keep {FILE} in place of the old files.", command("kubectl", "apply", "-f", FILE))


def _named(kind: Kind[Any], objects: Iterable[Object]) -> list[str]:
    """Return objects as kubectl names them, with the group: other products have such kinds too."""
    group, slash, _ = kind.resource.api_version.partition("/")
    resource = f"{kind.resource.plural}.{group}" if slash else kind.resource.plural
    return [f"{resource}/{named(one['metadata']['name'])}" for one in objects]


def _kubectl(service: LiveService, *words: str) -> str:
    return command("kubectl", "--namespace", named(service.namespace), *words)
