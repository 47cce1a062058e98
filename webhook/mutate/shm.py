"""Shared memory: a container's `/dev/shm` has 64 MiB, too little for NCCL, vLLM and Ray's object store.

Its pages count towards the limit of memory of the container, so that limit is its size. No digest has it:
a volume that was recorded without a size gets none, and a recorded size follows the limit.
"""

from typing import Final

from intent.launch import Launch
from intent.lws import Intent
from intent.read import SHM as VOLUME
from intent.shapes import listed, mapping
from webhook.digest import Reads
from webhook.layout import Input
from webhook.mutate.concern import SIZE, Concern, Rule, Stored, of_containers, of_templates, union, values
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay.overlay import Overlay

PATH: Final = "/dev/shm"  # noqa: S108 - a path in the container


def shm(given: Input) -> Overlay:
    """Mount memory at /dev/shm, unless something is mounted there or the pod shares the node's IPC."""
    plan = given.layout.plan
    return for_launches(plan.launches, _memory) if plan.rewritten else {}


def _memory(launch: Launch) -> Overlay:
    """Return the volume and its mount. A memory volume that has the name already is used as it is."""
    if launch.template.host_ipc or any(path.rstrip("/") == PATH for path in launch.engine.mounts):
        return {}
    taken = frozenset(launch.template.taken)
    names = (VOLUME, *(f"{VOLUME}-{at}" for at in range(1, len(taken) + 1)))
    name = next(name for name in names if name not in taken)
    source = {"medium": "Memory"}
    if launch.engine.memory_limit and name not in launch.template.memory:
        source["sizeLimit"] = launch.engine.memory_limit
    volume = {"name": name, "emptyDir": source}
    mount = {"name": name, "mountPath": PATH}
    return in_engine(launch.engine, {"volumeMounts": [mount]}, {"volumes": [volume]})


def followed(recorded: Overlay, now: Intent, before: Stored) -> Overlay:
    """Return the present limits of memory, where they are not the recorded sizes.

    A volume that was recorded without a size, as older releases do, gets one with an edit of the limit.
    """
    group = mapping(mapping(recorded.get("spec")).get("leaderWorkerTemplate"))
    sizes = {
        field: {"spec": {"volumes": [{"name": one.get("name"), "emptyDir": {"sizeLimit": limit or None}}]}}
        for field, template in group.items()
        for one in listed(mapping(mapping(template).get("spec")).get("volumes"))
        if (source := mapping(one.get("emptyDir"))).get("medium") == "Memory"
        if (size := source.get("sizeLimit", "")) != (limit := _limit(now, field))
        if size or limit != _limit(before(), field)
    }
    return {"spec": {"leaderWorkerTemplate": sizes}} if sizes else {}


def _limit(intent: Intent | None, field: str) -> str:
    """Return the limit of memory in a template; a leader's that is not there is a copy of the workers'."""
    templates = intent.templates if intent else ()
    engine = next((one.engine for one in templates if one.field in {field, "workerTemplate"}), None)
    return engine.memory_limit if engine else ""


SHM: Final = Concern(
    "shm",
    shm,
    reads=Reads(
        template=("host_ipc", "taken", "memory"),
        engine=("container", "mounts"),
        layout=("launcher", "splits"),
        skip=("shm",),
    ),
    writes=union(
        of_containers({"volumeMounts": values("name", "mountPath")}),
        of_templates({"spec": {"volumes": values("name", "emptyDir")}}),
    ),
    follows=followed,
    skip="shm",
    opt_out="mount a volume at /dev/shm yourself, or set `fusioninfer.io/skip: shm`",
    rules=(
        Rule(
            "FI641",
            r"\.volumes\[dshm(?:-[0-9]+)?\]",
            "memory for /dev/shm, which has 64 MiB in a container by default",
            (SIZE,),
        ),
        Rule(
            "FI642",
            r"\.volumeMounts\[/dev/shm\]",
            "NCCL, vLLM and Ray's object store share memory there",
            (SIZE,),
        ),
    ),
)
