"""Findings about the InferenceService."""

from typing import Final

from catalog.codes.code import Code, Error, Warn

ROWS: Final[dict[str, Code]] = {
    "FI701": Error(
        "a field of the InferenceService is missing or has the wrong type",
        "correct the field as the message says; docs/inferenceservice.md has the fields",
        event="FieldInvalid",
    ),
    "FI702": Error(
        "unknown field of the InferenceService",
        "use the name in the message, or remove the field",
        event="UnknownField",
    ),
    "FI703": Error(
        "the roles do not form a service",
        "write one worker, or prefillers and decoders; beside them encoders, and at most one router",
        event="RolesMakeNoService",
    ),
    "FI706": Error(
        "a field does not belong to this role",
        "remove the field, or move it to the role that it is meant for; workers need multinode.nodeCount",
        event="FieldMisplaced",
    ),
    "FI709": Error(
        "an annotation duplicates a field of the InferenceService",
        "remove the annotation, and set the field in the message",
        event="AnnotationMisplaced",
    ),
    "FI732": Error(
        "two fields of a role exclude each other",
        "keep one of the two; if you remove replicas, scaling begins with the present number",
        event="FieldsDisagree",
    ),
    "FI733": Error(
        "the template of the router changes what the endpoint picker depends on",
        "remove the field in the message, or use the one that it names",
        "its Deployment, Service and rights need what the controller sets",
        event="PickerTemplateInvalid",
    ),
    "FI734": Error(
        "the router refers to an object that cannot exist",
        "write the name of a ConfigMap and one of its keys, or of an InferencePool, in this namespace",
        event="ReferenceInvalid",
    ),
    "FI750": Warn(
        "an earlier name of a field is used",
        "write the name in the message",
    ),
    "FI752": Warn(
        "an HTTPRoute without a Gateway",
        "add parentRefs to httproute, or a gateway beside it",
    ),
    "FI755": Warn(
        "scaling without metrics",
        "add metrics, such as the queue length of the engine (docs/autoscaling.md)",
        "the default, 80 % of the requested CPU, hardly changes with the load of an engine",
    ),
}
