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
    ),
    "FI205": Error(
        "a template names another scheduler, PodGroup or task than the gang's",
        "remove the field in the message, or set fusioninfer.io/scheduler-name to that scheduler",
    ),
    "FI208": Error(
        "a worker cannot wait for other roles",
        "remove fusioninfer.io/roles, or set fusioninfer.io/component-type",
    ),
}
