"""The pod template of a router: what its author may change of the endpoint picker's pods, and what not.

The Deployment, its Service and its rights depend on the rest. Values of the wrong type are left to the
schema.
"""

from collections.abc import Iterator
from typing import Any, Final

from catalog.pickers.workload import CONFIG_DIR, CONFIG_VOLUME, CONTAINER, RESERVED_FLAGS, flag_name
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
    if spec.get("restartPolicy") not in {None, "Always"}:
        yield _error(f"{path}.spec.restartPolicy", "must be Always, as of all Deployments")
    for at, volume in enumerate(listed(spec.get("volumes"))):
        if mapping(volume).get("name") == CONFIG_VOLUME:
            message = f"must have another name: the volume {CONFIG_VOLUME} is the configuration's"
            yield _error(f"{path}.spec.volumes[{at}].name", message)
    yield from _containers(
        [mapping(one) for one in listed(spec.get("containers"))], f"{path}.spec.containers"
    )


def _containers(containers: list[Object], path: str) -> Iterator[FieldError]:
    names = [text(one.get("name")) for one in containers]
    for at, container in enumerate(containers):
        if names[at] == CONTAINER:
            yield from _picker(container, f"{path}[{at}]")
        elif not container.get("image") and names[at]:
            message = f"is required of a further container; that of the endpoint picker is named {CONTAINER}"
            yield _error(f"{path}[{at}].image", message)


def _picker(container: Object, path: str) -> Iterator[FieldError]:
    for at, argument in enumerate(listed(container.get("args"))):
        flag = flag_name(text(argument))
        if flag in RESERVED_FLAGS:
            yield _error(f"{path}.args[{at}]", f"must not set --{flag}: {RESERVED_FLAGS[flag]}", argument)
    for at, mount in enumerate(listed(container.get("volumeMounts"))):
        if text(mapping(mount).get("mountPath")).rstrip("/") == CONFIG_DIR:
            yield _error(
                f"{path}.volumeMounts[{at}].mountPath", "must be another path: the configuration is there"
            )


def _error(path: str, message: str, value: Any = None) -> FieldError:
    return FieldError(path, value, message, CODE)
