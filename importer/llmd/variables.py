"""The variables and functions of llm-d's templates (`template.go`, `TemplateVars`)."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from importer.gotemplate import FUNCTIONS, Function, TemplateError, Value, truth
from intent import Object
from intent.shapes import listed, mapping, metadata, text

CACHE: Final = "/model-cache"
"""Where the volume of the model is mounted."""
_LABEL: Final = 63


class Artifact(NamedTuple):
    """The model's files by their URI."""

    claim: str
    """Of `pvc://`, the claim; empty for `hf://`."""
    path: str
    """Of `hf://` the repository, of `pvc://` the path in the claim."""


def artifact(uri: str) -> Artifact | None:
    """Read a URI; None for a scheme that llm-d's templates do not know."""
    scheme, _, rest = uri.partition("://")
    claim, _, path = rest.partition("/")
    if scheme == "hf" and claim and path:
        return Artifact("", rest)
    return Artifact(claim, path.strip("/")) if scheme == "pvc" and claim else None


def sanitized(model: str) -> str:
    """Return the name of a model as the value of a label."""
    return re.sub("[^a-z0-9-]", "-", model.lower()).strip("-")[:_LABEL].rstrip("-")


def variables(service: Object, model: Artifact) -> Object:
    """Return the root of the templates of a ModelService."""
    spec, name = mapping(service.get("spec")), text(metadata(service).get("name"))
    served = text(mapping(spec.get("routing")).get("modelName"))
    return {
        "ModelServiceName": name,
        "ModelServiceNamespace": text(metadata(service).get("namespace")),
        "ModelName": served,
        "SanitizedModelName": sanitized(served),
        "HFModelName": "" if model.claim else model.path,
        "ModelPath": model.path,
        "MountedModelPath": f"{CACHE}/{model.path}".rstrip("/") if model.claim else CACHE,
        "AuthSecretName": text(mapping(spec.get("modelArtifacts")).get("authSecretName")),
        "EPPServiceName": f"{name}-epp-service",
        "EPPDeploymentName": f"{name}-epp",
        "PrefillDeploymentName": f"{name}-prefill",
        "DecodeDeploymentName": f"{name}-decode",
        "PrefillServiceName": f"{name}-service-prefill",
        "DecodeServiceName": f"{name}-service-decode",
        "InferencePoolName": f"{name}-inference-pool",
        "InferenceModelName": name,
    }


def functions(service: Object) -> Mapping[str, Function]:
    """Return the functions of the templates: Go's, `default`, and `getPort` of the ports of the routing."""
    routing = mapping(mapping(service.get("spec")).get("routing"))
    entries = map(mapping, listed(routing.get("ports")))
    ports = {text(entry.get("name")): entry.get("port") for entry in entries}

    def port(name: str) -> int:
        number = ports.get(name)
        if type(number) is not int:
            raise TemplateError("spec.routing.ports has no such port; llm-d itself would write -1")
        return number

    return {**FUNCTIONS, "default": default, "getPort": port}


def default(value: Value, *others: Value) -> Value:
    """Return the second argument, or the first one if that is empty (`Masterminds/sprig`)."""
    return others[0] if others and truth(others[0]) else value
