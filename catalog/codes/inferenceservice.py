"""The InferenceService."""

from typing import Final

from catalog.codes.code import Code

ROWS: Final[dict[str, Code]] = {
    "FI701": Code(
        "error",
        "a field of the InferenceService is missing, or has the wrong shape",
        "write what docs/inferenceservice.md says of the field",
        "the API server refuses it by the schema of the resource; on files there is only this check",
    ),
    "FI702": Code(
        "error",
        "unknown field of the InferenceService",
        "use the name that the message gives",
        "a field is misspelt, or stands at the wrong depth; the API server would drop it without a word",
    ),
    "FI703": Code(
        "error",
        "the roles do not make a service",
        "write one worker, or at least one prefiller and one decoder",
        "a worker has company, or prefill or decode is missing",
    ),
    "FI704": Code(
        "error",
        "more than one router",
        "keep one role with componentType: router",
        "a service has one way in: one picker, one InferencePool",
    ),
    "FI705": Code(
        "error",
        "a name is used twice",
        "give each role its own name, beside a router not epp",
        "a role's LeaderWorkerSet, its status and the Service of its pods are named after it",
    ),
    "FI706": Code(
        "error",
        "a field does not belong to this type of component",
        "remove the field, or move it to the role that it is meant for",
        "routes are asked for on the router, pods on workers, prefillers and decoders",
    ),
    "FI707": Code(
        "error",
        "a strategy for prefill and decode, and no such roles",
        "choose another strategy, or split the engine into a prefiller and a decoder",
        "the router says pd-disaggregation, and the service is one worker",
    ),
    "FI708": Code(
        "error",
        "a field and its earlier name disagree",
        "remove the earlier name",
        "roleReplicas or podReplicas stands beside replicas or multinode, with another number",
    ),
    "FI709": Code(
        "error",
        "an annotation that the InferenceService has a field for",
        "remove the annotation, and write the field that the message names",
        "an annotation of a LeaderWorkerSet was written on an InferenceService, or on the template of a role",
    ),
    "FI710": Code(
        "error",
        "the Gateway API would not take the route, or the gateway",
        "write what the message says; its fields are those of the Gateway API, v1",
        "a value of the wrong kind or length, a field that is missing, or two that exclude each other",
    ),
    "FI711": Code(
        "error",
        "a field of the route, or of the gateway, is misspelt",
        "use the name that the message gives",
        "the Gateway API has no field of that name, and one that is like it; the API server refuses it",
    ),
    "FI750": Code(
        "warning",
        "an earlier name of a field",
        "write the name that the message gives",
        "roleReplicas and podReplicas are from an earlier design; they are still taken",
    ),
    "FI751": Code(
        "warning",
        "a field of the route, or of the gateway, is not known",
        "see that the Gateway API of the cluster has it; else the API server refuses the route",
        "it is of a later release of the Gateway API, or of none",
    ),
    "FI752": Code(
        "warning",
        "an HTTPRoute that hangs on no Gateway",
        "add parentRefs to httproute, or a gateway beside it",
        "httproute has no parentRefs, and its router brings no gateway",
    ),
}
