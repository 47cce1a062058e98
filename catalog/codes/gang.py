"""The gang."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI201": Code(
        "error",
        "startupPolicy LeaderReady deadlocks a gang",
        "use LeaderCreated: the workers must exist before the leader can be ready",
        "LeaderReady keeps the workers back until a leader is ready that cannot be without them",
    ),
    "FI202": Code(
        "error",
        "exclusive-topology deadlocks a gang",
        "remove the annotation: LWS makes workers once the leader is scheduled, the gang waits for all",
        "LWS makes the workers once the leader is scheduled; the gang schedules nobody before all are there",
    ),
    "FI203": Code(
        "error",
        "spec.scheduling makes a gang of its own",
        "remove spec.scheduling, or take the object out with fusioninfer.io/inject: disabled",
        "LWS was told to make PodGroups itself, one a group, which know nothing of the other roles",
    ),
    "FI204": Code(
        "error",
        "Kueue manages this object",
        "remove kueue.x-k8s.io/queue-name, or set fusioninfer.io/scheduler-name: default-scheduler",
        "the object has a queue of Kueue, which admits each LeaderWorkerSet by itself",
    ),
    "FI205": Code(
        "error",
        "schedulerName is not the gang's scheduler",
        "remove schedulerName, or name that scheduler in fusioninfer.io/scheduler-name",
        "the template names a scheduler of its own, which does not know the gang",
    ),
    "FI206": Code(
        "error",
        "the pod group is not the service's",
        "remove the annotation scheduling.k8s.io/group-name from the template",
        "the template was copied from another service, or was written for Volcano by hand",
    ),
    "FI207": Code(
        "error",
        "the task name is not the role's",
        "remove the annotation volcano.sh/task-spec from the template",
        "the template was copied from another role, or was written for Volcano by hand",
    ),
    "FI208": Code(
        "error",
        "a worker stands alone, it cannot wait for other roles",
        "remove fusioninfer.io/roles",
        "a component of type worker names other roles; often the component type is missing",
    ),
}
