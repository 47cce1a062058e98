"""The schema of a LeaderWorkerSet, as far as writes depend on it: merge keys, atomic fields, defaults.

Source: LWS v0.9.0 `config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml`, fields
`x-kubernetes-list-type`, `x-kubernetes-list-map-keys`, `x-kubernetes-map-type`, `default`, `required`; and
`pkg/webhooks/leaderworkerset_webhook.go`. A field is known by its name alone: no two fields of a pod template
with one name differ in these properties, apart from those that the generator never writes.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import orjson

from intent import Object
from intent.shapes import quantity
from intent.tree import QUANTITIES

LIST_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
"""Lists of type `map`. Every other list is atomic."""
KEY_DEFAULTS: Final = {"protocol": "TCP"}
ATOMIC_MAPS: Final = frozenset(
    {
        *("nodeSelector", "fieldRef", "resourceFieldRef", "secretKeyRef", "configMapKeyRef"),
        *("configMapRef", "secretRef", "configMap", "labelSelector"),
    }
)
TEMPLATES: Final = ("leaderTemplate", "workerTemplate")
_GIB: Final = 2**30


class Refused(Exception):  # noqa: N818 - it is an answer of the API server, not a fault
    """The API server refuses a write: the object does not match its schema."""


def copied(value: Any) -> Any:
    """Return a copy of a JSON value; many times faster than `copy.deepcopy`."""
    return orjson.loads(orjson.dumps(value))


def is_keyed(field: str, value: Any) -> bool:
    """Return whether a value is a list that merges by keys."""
    return field in LIST_KEYS and isinstance(value, list)


def keys_of(field: str, item: Object) -> tuple[tuple[str, Any], ...]:
    """Return the keys of an item with their values, in order of their names."""
    return tuple((key, item.get(key, KEY_DEFAULTS.get(key))) for key in sorted(LIST_KEYS[field]))


def templates(lws: Object) -> Iterator[tuple[str, Object]]:
    """Yield the name and the value of each pod template that the object has."""
    group = lws["spec"]["leaderWorkerTemplate"]
    yield from ((field, group[field]) for field in TEMPLATES if isinstance(group.get(field), dict))


def containers(template: Object) -> Iterator[Object]:
    """Yield containers and init containers of a pod template."""
    spec = template.get("spec") or {}
    yield from (*spec.get("containers", ()), *spec.get("initContainers", ()))


def defaulted(lws: Object) -> Object:
    """Return the object with the defaults of its definition. The API server fills them in on every write."""
    whole: Object = copied(lws)
    spec = whole["spec"]
    group = spec["leaderWorkerTemplate"]
    spec.setdefault("replicas", 1)
    spec.setdefault("startupPolicy", "LeaderCreated")
    if "rolloutStrategy" in spec:
        spec["rolloutStrategy"].setdefault("type", "RollingUpdate")
    group.setdefault("restartPolicy", "RecreateGroupOnPodRestart")
    group.setdefault("size", 1)
    for _, template in templates(whole):
        for item in containers(template):
            for port in item.get("ports", ()):
                port.setdefault("protocol", "TCP")
    return whole


def lws_defaulted(lws: Object) -> Object:
    """Return the object as LWS's mutating webhook leaves it.

    If it sets a field, its patch leads to the object that Go writes, which always has `metadata` and
    `resources`, and quantities in canonical form; zeros, which Go omits, stay. If it sets none, it sends no
    patch (controller-runtime v0.24.1, `pkg/webhook/admission/defaulter_custom.go`): a client that replaces
    lists removes `resources: {}` after the CREATE, and it does not come back.
    """
    whole: Object = copied(lws)
    rollout = whole["spec"].setdefault("rolloutStrategy", {})
    rollout.setdefault("type", "RollingUpdate")
    rollout.setdefault("rollingUpdateConfiguration", {"maxSurge": 0, "maxUnavailable": 1, "partition": 0})
    whole["spec"].setdefault("networkConfig", {}).setdefault("subdomainPolicy", "Shared")
    if whole == lws:
        return lws
    for _, template in templates(whole):
        template.setdefault("metadata", {})
        for item in containers(template):
            for field in QUANTITIES & item.setdefault("resources", {}).keys():
                amounts = item["resources"][field]
                amounts |= {name: _quantity(value) for name, value in amounts.items()}
    return whole


def _quantity(value: Any) -> str:
    """Return a quantity as Go writes it: whole numbers of GiB as `1Gi`, the few others as they are."""
    number = quantity(value)
    if number is None or not str(value).endswith("Mi") or number % _GIB:
        return str(value)
    return f"{Decimal(number) // _GIB}Gi"


def check(lws: Object) -> None:
    """Check what the definition requires: containers, and the keys of keyed lists, once each.

    Raises:
        Refused: the object does not match its schema.
    """
    group = lws["spec"].get("leaderWorkerTemplate") or {}
    if not isinstance(group.get("workerTemplate"), dict):
        raise Refused("spec.leaderWorkerTemplate.workerTemplate: Required value")
    for field, template in templates(lws):
        if "spec" in template and not isinstance(template["spec"].get("containers"), list):
            raise Refused(f"{field}.spec.containers: Required value")
        _check_keys(template.get("spec") or {}, field)


def _check_keys(value: Any, path: str) -> None:
    for field, below in value.items() if isinstance(value, dict) else ():
        at = f"{path}.{field}"
        if is_keyed(field, below):
            keys = [keys_of(field, item) for item in below]
            if any(None in dict(key).values() for key in keys):
                raise Refused(f"{at}: an item without its key")
            if len(set(keys)) < len(keys):
                raise Refused(f"{at}: Duplicate value")
            for item in below:
                _check_keys(item, at)
        else:
            _check_keys(below, at)
