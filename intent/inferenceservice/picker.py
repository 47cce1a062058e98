"""The pod template of a router: what its author may change of the endpoint picker's pods, and what not.

The Deployment, its Service and its rights depend on the rest. Values of the wrong type are left to the
schema.
"""

from collections.abc import Iterator
from posixpath import normpath
from typing import Any, Final

from catalog.pickers.generations import Picker
from catalog.pickers.workload import (
    CONFIG_DIR,
    CONFIG_VOLUME,
    CONTAINER,
    IDENTITY,
    PORTS,
    RESERVED_FLAGS,
    flag_name,
)
from intent import Object
from intent.annotations import PREFIX
from intent.errors import FieldError
from intent.pod_rules import NEEDS_VOLUME, without_volume
from intent.shapes import listed, mapping, text

CODE: Final = "FI733"
SELECTOR: Final = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
"""Labels by which the Deployment and the Service find the pods."""
LONGEST: Final = 63
"""Characters of a name in a message."""
INSTEAD: Final = (
    "configure core-metrics-extractor (names) or metrics-data-source (port, path, scheme) in a configuration "
    "of your own"
)
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
    if text(spec.get("restartPolicy")) not in {"", "Always"}:
        yield _error(f"{path}.spec.restartPolicy", "must be Always, as of all Deployments")
    for at, volume in enumerate(listed(spec.get("volumes"))):
        if mapping(volume).get("name") == CONFIG_VOLUME:
            message = f"must have another name: the volume {CONFIG_VOLUME} is the configuration's"
            yield _error(f"{path}.spec.volumes[{at}].name", message)
    yield from _containers(spec, f"{path}.spec")


def _containers(spec: Object, path: str) -> Iterator[FieldError]:
    """Report containers that the API server refuses, and arguments that the endpoint picker cannot have."""
    for where, name in without_volume(spec, (CONFIG_VOLUME,)):
        yield _error(f"{path}.{where}", NEEDS_VOLUME.format(name[:LONGEST]))
    taken = {CONTAINER}
    for field in ("containers", "initContainers"):
        for at, container in enumerate(map(mapping, listed(spec.get(field)))):
            where, name = f"{path}.{field}[{at}]", text(container.get("name"))
            if field == "containers" and name == CONTAINER:
                yield from _picker(container, where)
                continue
            if field == "containers" or container.get("restartPolicy") == "Always":
                yield from _ports(container, where)
            if field == "initContainers" and name in taken:
                yield _error(f"{where}.name", f"must be another name: a container is named {name}")
            taken.add(name)
            if not container.get("image") and name:
                message = (
                    f"is required of a further container; that of the endpoint picker is named {CONTAINER}"
                )
                yield _error(f"{where}.image", message)


def _ports(container: Object, path: str) -> Iterator[FieldError]:
    """Report ports of the endpoint picker on a container beside it: all containers share an address."""
    for at, port in enumerate(map(mapping, listed(container.get("ports")))):
        number = port.get("containerPort")
        for name in (name for name, taken in PORTS.items() if taken == number):
            if port.get("protocol") in (None, "", "TCP"):
                message = f"must be another port: the endpoint picker listens on {number} ({name})"
                yield _error(f"{path}.ports[{at}].containerPort", message, number)


def _picker(container: Object, path: str) -> Iterator[FieldError]:
    for at, argument in enumerate(listed(container.get("args"))):
        flag = flag_name(text(argument))
        if flag in RESERVED_FLAGS:
            yield _error(f"{path}.args[{at}]", f"must not set --{flag}: {RESERVED_FLAGS[flag]}", argument)
        elif argument == "--":
            yield _error(f"{path}.args[{at}]", "must be absent: it ends the flags, and further ones follow")
    for at, variable in enumerate(listed(container.get("env"))):
        if mapping(variable).get("name") in IDENTITY:
            yield _error(f"{path}.env[{at}].name", OURS)
    for at, port in enumerate(map(mapping, listed(container.get("ports")))):
        own = PORTS.get(text(port.get("name")))
        if own and port.get("containerPort") != own:
            message = f"must be another name: {own} of the endpoint picker has this one"
            yield _error(f"{path}.ports[{at}].name", message, port["name"])
    for at, mount in enumerate(listed(container.get("volumeMounts"))):
        if normpath(text(mapping(mount).get("mountPath"))) == CONFIG_DIR:
            yield _error(
                f"{path}.volumeMounts[{at}].mountPath", "must be another path: the configuration is there"
            )


def has_image(template: Object) -> bool:
    """Return whether the author names the image of the endpoint picker."""
    containers = map(mapping, listed(mapping(template.get("spec")).get("containers")))
    return any(one.get("name") == CONTAINER and one.get("image") for one in containers)


def arguments(template: Object) -> Iterator[tuple[str, str]]:
    """Yield the arguments of the endpoint picker, each with its path in the template."""
    for at, container in enumerate(map(mapping, listed(mapping(template.get("spec")).get("containers")))):
        for nth, argument in enumerate(listed(container.get("args"))):
            if container.get("name") == CONTAINER:
                yield f"spec.containers[{at}].args[{nth}]", text(argument)


def removed(given: tuple[tuple[str, str], ...], path: str, row: Picker) -> Iterator[FieldError]:
    """Report arguments with which a generation does not start."""
    for where, argument in given:
        if (flag := flag_name(argument)) in row.removed:
            message = f"must be absent: --{flag} stops {row.name}; {INSTEAD}"
            yield _error(f"{path}.{where}", message, argument)


def _error(path: str, message: str, value: Any = None) -> FieldError:
    return FieldError(path, value, message, CODE)
