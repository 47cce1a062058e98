"""Reserved labels, and names that Kubernetes copies into labels."""

from collections.abc import Iterator

from intent.annotations import COMPONENT_TYPE, PREFIX, ROLE_NAME, SERVICE, SERVING_LABELS
from intent.errors import FieldError
from intent.names import longest_name
from webhook.layout import Input


def labels(inputs: Input) -> Iterator[FieldError]:
    """Report a name that is too long, and reserved labels with a value other than the one that is set."""
    yield from too_long(inputs.intent.name, inputs.intent.size, inputs.intent.replicas)
    yield from _reserved(inputs)


def too_long(name: str, size: int, replicas: int) -> Iterator[FieldError]:
    """Report a name with which LWS cannot create every pod. No other validator reads the replicas."""
    limit = longest_name(size, replicas)
    if len(name) > limit:
        message = f"must be at most {limit} characters: pods carry it in a label with group and revision"
        yield FieldError("metadata.name", name, message, "FI109")


def _reserved(inputs: Input) -> Iterator[FieldError]:
    intent = inputs.intent
    ours = {SERVICE: intent.service, COMPONENT_TYPE: intent.component_type, ROLE_NAME: intent.role_name}
    is_everywhere = inputs.layout.serving.everywhere or intent.size == 1
    pods = ours | SERVING_LABELS if is_everywhere else ours
    of_pods = ((f"{one.path}.metadata", one.labels, pods) for one in intent.templates)
    for path, written, expected in (("metadata", intent.labels, ours), *of_pods):
        for key, value in written:
            if expected.get(key) != value:
                yield FieldError(f"{path}.labels[{key}]", value, _message(key, ours), "FI107")


def _message(key: str, ours: dict[str, str]) -> str:
    if key in ours:
        return f"must be absent, or {ours[key]}: FusionInfer sets this label"
    return f"must be absent: labels under {PREFIX} are reserved; annotations are in metadata.annotations"
