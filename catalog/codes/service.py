"""Findings about a service as a whole."""

from typing import Final

from catalog.codes.code import Code, Error, Warn

ROWS: Final[dict[str, Code]] = {
    "FI401": Error(
        "two members have the same role name",
        "give each LeaderWorkerSet of the service its own fusioninfer.io/role-name",
        event="DuplicateRole",
    ),
    "FI402": Error(
        "a worker together with other members",
        "use one worker, or prefillers and decoders, by fusioninfer.io/component-type; encoders may join",
        event="WorkerNotAlone",
    ),
    "FI404": Error(
        "members disagree on the scheduler, the queue or the roles",
        "give all members the same scheduler-name, queue-name or roles; roles may be absent",
        event="MembersDisagree",
    ),
    "FI407": Error(
        "a PodGroup of that name belongs to another owner",
        "delete that PodGroup, or rename the service",
        event="PodGroupNotOurs",
    ),
    "FI409": Error(
        "LeaderWorkerSet's own gang scheduling is enabled",
        "remove gangSchedulingManagement from the configuration of LWS",
        event="LeaderWorkerSetGangScheduling",
    ),
    "FI410": Warn(
        "the service waits for a role",
        "apply the LeaderWorkerSet of the missing role, in the same namespace, for the same service",
        "not all members have been applied yet, or roles lists a name that no member has",
        event="WaitingForRole",
    ),
    "FI412": Error(
        "a container of the service keeps failing",
        "read its last output: kubectl logs POD --all-containers --previous",
        "the engine exits: a wrong flag, too little memory, or a model that it cannot load",
    ),
    "FI413": Error(
        "an image of the service cannot be pulled",
        "correct the image name, or give the pods a pull secret",
    ),
    "FI414": Error(
        "a container of the service cannot be created",
        "create what the message names: kubectl describe pod POD",
    ),
    "FI415": Warn(
        "members, or leader and workers, have different priority classes",
        "set one priorityClassName on all pod templates of the service; until then the gang has none",
        event="PrioritiesDisagree",
    ),
    "FI416": Warn(
        "an ejected LeaderWorkerSet still needs the PodGroup",
        "own the PodGroup: `fusioninfer eject` prints it, with the steps; or annotate the object again",
        "our annotations and the record were removed together; the templates still name the PodGroup",
        event="PodGroupOfEjected",
    ),
    "FI417": Error(
        "a role of a new revision was never scaled up",
        "run the `kubectl scale` of the message; LeaderWorkerSet's controller goes on from there",
        "a write of LeaderWorkerSet's controller was refused or lost before it scaled the next role",
        event="RoleNotScaled",
    ),
    "FI420": Warn(
        "prefiller and decoder cannot transfer KV caches: engine, connector, sizes or bootstrap port",
        "set on both roles what the message names; for sizes a newer vLLM may do",
        event="KVTransferMismatch",
    ),
}
