"""Findings about the gang."""

from typing import Final

from catalog.codes.code import Code, Error

ROWS: Final[dict[str, Code]] = {
    "FI201": Error(
        "startupPolicy LeaderReady deadlocks a group",
        "use LeaderCreated: the workers must exist before the leader can be ready",
        "the leader and its workers start together: as a gang, or for an engine that runs on all pods",
    ),
    "FI202": Error(
        "exclusive-topology deadlocks a gang",
        "remove the annotation, or set fusioninfer.io/scheduler-name: default-scheduler, which makes no gang",
        "LWS creates the workers once the leader is scheduled; the gang schedules no pod before all exist",
    ),
    "FI203": Error(
        "spec.scheduling creates a gang of its own",
        "remove spec.scheduling, or bypass the webhooks with fusioninfer.io/inject: disabled",
        "LWS creates one PodGroup per group, which does not include the other roles",
    ),
    "FI204": Error(
        "Kueue manages this object",
        "remove kueue.x-k8s.io/queue-name, or set fusioninfer.io/scheduler-name: default-scheduler",
        "a label or an annotation names a Kueue queue, and Kueue admits each LeaderWorkerSet separately",
    ),
    "FI205": Error(
        "schedulerName is not the scheduler of the gang",
        "remove schedulerName, or set fusioninfer.io/scheduler-name to that scheduler",
    ),
    "FI206": Error(
        "the PodGroup of a template is not that of the service",
        "remove the annotation scheduling.k8s.io/group-name from the template",
    ),
    "FI207": Error(
        "the task name of a template is not that of the role",
        "remove the annotation volcano.sh/task-spec from the template",
    ),
    "FI208": Error(
        "a worker cannot wait for other roles",
        "remove fusioninfer.io/roles, or set fusioninfer.io/component-type",
    ),
}
