"""The service as a whole."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI401": Code(
        "error",
        "two members have the same role name",
        "give each LeaderWorkerSet of the service its own fusioninfer.io/role-name",
        "two LeaderWorkerSets of one component type share the default role name, or one was copied",
    ),
    "FI402": Code(
        "error",
        "a worker does not stand alone",
        "a service is one worker, or prefillers and decoders",
        "a component type is missing, so that a member counts as a worker, or two services share a name",
    ),
    "FI404": Code(
        "error",
        "members disagree on the scheduler",
        "give all members the same fusioninfer.io/scheduler-name",
        "the annotation was set on some members only, or differs",
    ),
    "FI405": Code(
        "error",
        "members disagree on the queue",
        "give all members the same scheduling.volcano.sh/queue-name",
        "the annotation was set on some members only, or differs",
    ),
    "FI406": Code(
        "error",
        "members disagree on the roles",
        "write the same fusioninfer.io/roles on every member that has it",
        "a role was added to some members only, or is spelled differently",
    ),
    "FI407": Code(
        "error",
        "a PodGroup of that name belongs to somebody else",
        "delete that PodGroup, or rename the service",
        "somebody made a PodGroup by hand, or another controller did, under the name of the service",
    ),
    "FI408": Code(
        "error",
        "Volcano is too old for this gang",
        "install Volcano 1.14.1 or later, with its CRDs",
        "this Volcano, or its CRD, drops subGroupPolicy, without which whole groups cannot be told apart",
    ),
    "FI409": Code(
        "error",
        "LeaderWorkerSet's own gang scheduling is on",
        "remove gangSchedulingManagement from the configuration of LWS",
        "LWS is configured to make PodGroups itself, and puts every pod into those",
    ),
    "FI410": Code(
        "warning",
        "the service waits for a role",
        "apply the LeaderWorkerSet of the role that is missing",
        "not all members have been applied yet, or one that the roles name does not exist",
    ),
    "FI411": Code(
        "error",
        "the API server refuses the PodGroup",
        "the message says why; often the queue does not exist or is closed",
        "the queue is missing or closed, a policy or a webhook refuses it, or the loop may not write it",
    ),
    "FI412": Code(
        "error",
        "a container of the service keeps failing",
        "read how it ended: kubectl logs POD --all-containers --previous",
        "the engine ends by itself: a wrong flag, too little memory, a model that it cannot load",
    ),
    "FI413": Code(
        "error",
        "an image of the service cannot be pulled",
        "correct the name of the image, or give the pods a pull secret",
        "the image does not exist, or the node may not read it",
    ),
    "FI414": Code(
        "error",
        "a container of the service cannot be made",
        "create what the message names: kubectl describe pod POD",
        "a Secret, ConfigMap or key that the container refers to does not exist",
    ),
    "FI415": Code(
        "warning",
        "members, or leader and workers, have different priority classes",
        "give all pod templates of the service one priorityClassName; until then its gang has none",
        "priorityClassName was set on one role only, or on the leader template only",
    ),
    "FI420": Code(
        "warning",
        "prefillers and decoders split the model in a way that their connector cannot bridge",
        "give both the tensor parallel size that the message names, or use a newer vLLM",
        "the roles were sized each for its own work, and one has more parts than the other",
    ),
}
