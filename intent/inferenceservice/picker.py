"""The pod template of a router: what its author may change of the endpoint picker's pods, and what not.

Its rights and its configuration depend on the rest. Values of the wrong type are left to the schema, what no
Deployment may have to the API server, and flags that a generation does not have to its log.
"""

from collections.abc import Iterator
from posixpath import normpath
from typing import Any, Final

from catalog.pickers.workload import (
    CONFIG_DIR,
    CONFIG_VOLUME,
    CONTAINER,
    IDENTITY,
    RESERVED_FLAGS,
    flag_name,
)
from intent import Object
from intent.annotations import PREFIX
from intent.errors import FieldError
from intent.shapes import listed, mapping, text

CODE: Final = "FI733"
SELECTOR: Final = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
"""Labels by which the Deployment and the Service find the pods."""
OURS: Final = "is set by the controller, and must be absent"
RESERVED: Final = {
    "serviceAccountName": "the rights of the endpoint picker are bound to the ServiceAccount <service>-epp",
    "serviceAccount": "the rights of the endpoint picker are bound to the ServiceAccount <service>-epp",
    "schedulingGates": "nothing removes them",
}
"""Fields of the pod, each with the reason."""


def violations(template: Object, path: str) -> Iterator[FieldError]:
    """Report what the author of a router must not change."""
    spec, metadata = mapping(template.get("spec")), mapping(template.get("metadata"))
    for key in mapping(metadata.get("labels")):
        if key in SELECTOR or key.startswith(PREFIX):
            yield _error(f"{path}.metadata.labels[{key}]", OURS)
    for field, reason in RESERVED.items():
        if spec.get(field) is not None:
            yield _error(f"{path}.spec.{field}", f"must be absent: {reason}")
    for index, volume in enumerate(listed(spec.get("volumes"))):
        if mapping(volume).get("name") == CONFIG_VOLUME:
            message = f"must have another name: the volume {CONFIG_VOLUME} is the configuration's"
            yield _error(f"{path}.spec.volumes[{index}].name", message)
    for index, container in enumerate(map(mapping, listed(spec.get("containers")))):
        if container.get("name") == CONTAINER:
            yield from _picker(container, f"{path}.spec.containers[{index}]")


def _picker(container: Object, path: str) -> Iterator[FieldError]:
    for index, argument in enumerate(listed(container.get("args"))):
        flag = flag_name(text(argument))
        if flag in RESERVED_FLAGS:
            yield _error(f"{path}.args[{index}]", f"must not set --{flag}: {RESERVED_FLAGS[flag]}", argument)
        elif argument == "--":
            yield _error(
                f"{path}.args[{index}]", "must be absent: it ends the flags, and further ones follow"
            )
    for index, variable in enumerate(listed(container.get("env"))):
        if mapping(variable).get("name") in IDENTITY:
            yield _error(f"{path}.env[{index}].name", OURS)
    for index, mount in enumerate(listed(container.get("volumeMounts"))):
        if normpath(text(mapping(mount).get("mountPath"))) == CONFIG_DIR:
            yield _error(
                f"{path}.volumeMounts[{index}].mountPath", "must be another path: the configuration is there"
            )


def _error(path: str, message: str, value: Any = None) -> FieldError:
    return FieldError(path, value, message, CODE)
