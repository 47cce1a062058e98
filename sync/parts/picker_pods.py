"""Puts an author's pod template over that of an endpoint picker.

The author's wins, save for what routes depend on (`intent.inferenceservice.picker` reports it): labels of
the selector, the ServiceAccount, the configuration, and reserved flags. Of flags the last one counts.
"""

from typing import Any, Final

from catalog.pickers.workload import CONFIG_DIR, CONFIG_VOLUME, CONTAINER, IDENTITY, RESERVED_FLAGS, flag_name
from intent import Object
from intent.annotations import PREFIX
from intent.merge import merged
from intent.shapes import listed, mapping, quantity

ADDED: Final = ("tolerations", "imagePullSecrets")
"""Lists of the pod to which the author's are added: the operator's stay."""


def customized(template: Object, authors: Object) -> Object:
    """Return the pod template of an endpoint picker with the changes of its author."""
    if not authors:
        return template
    changed = merged(_yielding(template, authors), _allowed(authors, template))
    return merged(changed, _needed(template, authors))


def _yielding(template: Object, authors: Object) -> Object:
    """Return our template without the amounts that contradict the author's: a request above its limit."""
    (container,) = template["spec"]["containers"]
    ours, asked = container["resources"], mapping(_theirs(authors).get("resources"))
    most, least = mapping(asked.get("limits")), mapping(asked.get("requests"))
    requests, limits = mapping(ours.get("requests")).items(), mapping(ours.get("limits")).items()
    fitting = {
        "requests": {name: amount for name, amount in requests if not _exceeds(amount, most.get(name))},
        "limits": {name: amount for name, amount in limits if not _exceeds(least.get(name), amount)},
    }
    resources = ours | {field: amounts for field, amounts in fitting.items() if field in ours}
    return {**template, "spec": {**template["spec"], "containers": [{**container, "resources": resources}]}}


def _exceeds(request: Any, limit: Any) -> bool:
    """Return whether a request is above a limit, which the API server refuses."""
    wanted, most = quantity(request), quantity(limit)
    return wanted is not None and most is not None and wanted > most


def _theirs(authors: Object) -> Object:
    """Return the author's container of the endpoint picker; empty if there is none."""
    containers = map(mapping, listed(mapping(authors.get("spec")).get("containers")))
    return next((one for one in containers if one.get("name") == CONTAINER), {})


def _allowed(authors: Object, template: Object) -> Object:
    """Return the author's template without our labels and annotations, and with the operator's lists."""
    metadata, spec = mapping(authors.get("metadata")), dict(mapping(authors.get("spec")))
    for field in ("labels", "annotations"):
        kept = {key: one for key, one in mapping(metadata.get(field)).items() if not key.startswith(PREFIX)}
        metadata = {**metadata, field: kept}
    if not spec.get("containers"):
        spec.pop("containers", None)
    for field in ADDED:
        if field in spec:
            spec[field] = [*template["spec"].get(field, []), *listed(spec[field])]
    return {"metadata": metadata, "spec": spec}


def _needed(template: Object, authors: Object) -> Object:
    """Return the fields of our template that its author does not change."""
    spec, (container,) = template["spec"], template["spec"]["containers"]
    return {
        "metadata": template["metadata"],
        "spec": {
            "serviceAccountName": spec["serviceAccountName"],
            "volumes": [one for one in spec["volumes"] if one["name"] == CONFIG_VOLUME],
            "containers": [
                {
                    "name": CONTAINER,
                    "args": _args(container["args"], listed(_theirs(authors).get("args"))),
                    "env": [one for one in container["env"] if one["name"] in IDENTITY],
                    "volumeMounts": [
                        one for one in container["volumeMounts"] if one["mountPath"] == CONFIG_DIR
                    ],
                }
            ],
        },
    }


def _args(ours: list[str], theirs: list[Any]) -> list[Any]:
    """Return the flags that an author may change, the author's, and those that the author may not change."""
    if not theirs:
        return ours
    reserved = [one for one in ours if flag_name(one) in RESERVED_FLAGS]
    return [*(one for one in ours if one not in reserved), *theirs, *reserved]
