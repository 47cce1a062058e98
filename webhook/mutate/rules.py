"""Why each field is put on: one rule a kind of field, for `fusioninfer explain` and the documentation.

Mutators stay plain: a rule is found by the field, not by the mutator. Tests hold that every field that a
mutator writes has one, and that it names that mutator.
"""

import re
from dataclasses import dataclass
from typing import Final

from intent import annotations as keys

Step = str
Input = tuple[Step, ...]
"""A path into what the author wrote. `TEMPLATE` and `ENGINE` stand for the field's own."""

TEMPLATE: Final = "<template>"
ENGINE: Final = "<engine>"

SERVICE: Final[Input] = ("metadata", "annotations", keys.SERVICE)
COMPONENT_TYPE: Final[Input] = ("metadata", "annotations", keys.COMPONENT_TYPE)
ROLE_NAME: Final[Input] = ("metadata", "annotations", keys.ROLE_NAME)
SCHEDULER_NAME: Final[Input] = ("metadata", "annotations", keys.SCHEDULER_NAME)
LAUNCHER: Final[Input] = ("metadata", "annotations", keys.LAUNCHER)
STRATEGY: Final[Input] = ("metadata", "annotations", keys.STRATEGY)
PICKER: Final[Input] = ("metadata", "annotations", keys.PICKER)
SIZE: Final[Input] = ("spec", "leaderWorkerTemplate", "size")
"""A size of 1 is the cause of nothing."""


def _engine(field: str) -> Input:
    return (TEMPLATE, "spec", "containers", ENGINE, field)


_PROBES: Final = tuple(_engine(field) for field in ("livenessProbe", "readinessProbe", "startupProbe"))
_WORDS: Final = (_engine("args"), _engine("command"))


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: the fields it is for (a pattern for the end of a path), its concern, and why."""

    code: str
    concern: str
    """The mutator, and the module that it is in."""
    fields: str
    reason: str
    inputs: tuple[Input, ...]
    """What may have caused it; the first of them that its author wrote did."""

    def is_for(self, path: str) -> bool:
        """Whether a field is put on by this rule."""
        return re.search(f"(?:{self.fields})$", path) is not None


RULES: Final = (
    Rule(
        "FI601",
        "labels",
        r"\.labels\[fusioninfer\.io/service\]",
        "PodGroups, routes and people find the pods of the service by it",
        (SERVICE,),
    ),
    Rule(
        "FI602",
        "labels",
        r"\.labels\[fusioninfer\.io/component-type\]",
        "routes tell prefillers, decoders and workers apart by it",
        (COMPONENT_TYPE, SERVICE),
    ),
    Rule(
        "FI603",
        "labels",
        r"\.labels\[fusioninfer\.io/role-name\]",
        "tells the parts of one service apart",
        (ROLE_NAME, COMPONENT_TYPE, SERVICE),
    ),
    Rule(
        "FI604",
        "labels",
        r"\.labels\[llm-d\.ai/role\]",
        "endpoint pickers of llm-d find prefill and decode pods by it",
        (COMPONENT_TYPE, SERVICE),
    ),
    Rule(
        "FI611",
        "gang",
        r"\.schedulerName",
        "the pods are of use together only, so a gang scheduler places all of them or none",
        (SCHEDULER_NAME, SIZE, COMPONENT_TYPE),
    ),
    Rule(
        "FI612",
        "gang",
        r"\.annotations\[scheduling\.k8s\.io/group-name\]",
        "Volcano: the PodGroup of the service, with which the pods start",
        (SERVICE,),
    ),
    Rule(
        "FI613",
        "gang",
        r"\.annotations\[volcano\.sh/task-spec\]",
        "Volcano: the task of the pods in their PodGroup, which is their role",
        (ROLE_NAME, COMPONENT_TYPE, SERVICE),
    ),
    Rule(
        "FI621",
        "launch",
        r"\.command|\.args",
        "starts one engine over all pods of the group, and leaves its port to a sidecar if there is one",
        (LAUNCHER, SIZE, STRATEGY),
    ),
    Rule(
        "FI671",
        "sidecar",
        r"\.initContainers\[routing-proxy\]",
        "has each prompt prefilled elsewhere, on the port that others call",
        (STRATEGY, PICKER),
    ),
    Rule(
        "FI672",
        "sidecar",
        r"\.ports\[82[0-9]{2}/TCP\]",
        "the engine listens there, behind its sidecar",
        (STRATEGY,),
    ),
    Rule(
        "FI673",
        "sidecar",
        r"\.(?:httpGet|tcpSocket|grpc)\.port",
        "asks the engine on its new port: the sidecar answers before the engine does",
        (STRATEGY,),
    ),
    Rule(
        "FI622",
        "launch",
        r"\.ports\[[0-9]+/TCP\]",
        "the pods of a group meet there, on the leader",
        (LAUNCHER, SIZE),
    ),
    Rule(
        "FI623",
        "split",
        r"\.leaderTemplate",
        "leader and workers shared a template, and must differ",
        (*_PROBES, _engine("lifecycle"), LAUNCHER, SIZE),
    ),
    Rule(
        "FI631",
        "env",
        r"\.env\[VLLM_NIXL_SIDE_CHANNEL_HOST\]",
        "NIXL tells other pods this address; its default is localhost, where they are not",
        _WORDS,
    ),
    Rule(
        "FI632",
        "env",
        r"\.env\[VLLM_HOST_IP\]",
        "the address of the pod that vLLM tells the others; it must be the one that they reach",
        (SIZE,),
    ),
    Rule(
        "FI633",
        "env",
        r"\.env\[RAY_\w+\]",
        "the pods wait for each other; Ray's own 30 seconds do not cover the pull of an image",
        (SIZE,),
    ),
    Rule(
        "FI641",
        "shm",
        r"\.volumes\[dshm(?:-[0-9]+)?\]",
        "memory for /dev/shm, of which a container has 64 MiB",
        (SIZE,),
    ),
    Rule(
        "FI642",
        "shm",
        r"\.volumeMounts\[/dev/shm\]",
        "NCCL, vLLM and Ray's object store share memory there",
        (SIZE,),
    ),
    Rule(
        "FI651",
        "probes",
        r"\.workerTemplate\..*(?:\.livenessProbe|\.readinessProbe|\.startupProbe|\.postStart|\.preStop)",
        "workers serve no API, so it would fail there and restart the group",
        (SIZE,),
    ),
    Rule(
        "FI652",
        "probes",
        r"\.startupProbe",
        "gives the engine an hour to load its model before other probes run",
        _PROBES,
    ),
    Rule(
        "FI661",
        "dns",
        r"\.initContainers\[wait-for-leader\]",
        "the engine ends if the name of the leader is not in DNS yet, and with it the group",
        (SIZE,),
    ),
)


WAYS_OUT: Final = {
    "labels": "nothing; remove what you wrote under `fusioninfer.io/` to have all of it taken off",
    "gang": "set `fusioninfer.io/scheduler-name: default-scheduler` for pods that start one by one",
    "launch": "set `fusioninfer.io/launcher: none`, or for the port alone `fusioninfer.io/skip: port`",
    "split": "write a leaderTemplate of your own",
    "env": "set the variable yourself, or `fusioninfer.io/skip: env`",
    "shm": "mount a volume at /dev/shm yourself, or set `fusioninfer.io/skip: shm`",
    "probes": "write both templates, or set `fusioninfer.io/skip: probes,startup-probe`",
    "dns": "set `fusioninfer.io/skip: dns`",
    "sidecar": "bring your own, and set `fusioninfer.io/skip: sidecar`",
}
"""How an author does without, by concern."""


def rule_for(path: str) -> Rule | None:
    """Find the rule that puts a field on; None if there is none, which is a bug."""
    return next((rule for rule in RULES if rule.is_for(path)), None)
