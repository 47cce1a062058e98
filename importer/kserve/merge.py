"""The merge of KServe: bases below a service, each a tree. A later value wins, but a zero value never does.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `mergeSpecs`: a strategic merge of
Go structs, from which zero values are left out first. A pointer to a zero value is none, and keys of maps
keep theirs. Items of lists are named by the first of their keys: a port by its number.
"""

from functools import reduce
from typing import Any, Final

from importer.leaves import Leaf, Tree
from intent.tree import MERGE_KEYS

POINTERS: Final = frozenset(
    {
        *("replicas", "minReplicas", "tensor", "pipeline", "data", "dataLocal", "dataRPCPort", "enabled"),
        *("maxRank", "maxAdapters", "maxCpuAdapters", "weight", "group", "maxUnavailable", "maxSurge"),
        *("privileged", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "runAsNonRoot", "runAsUser"),
        *("runAsGroup", "fsGroup", "terminationGracePeriodSeconds", "activeDeadlineSeconds", "optional"),
        *("automountServiceAccountToken", "enableServiceLinks", "shareProcessNamespace", "hostUsers"),
        *("setHostnameAsFQDN", "priority", "defaultMode", "mode", "expirationSeconds", "tolerationSeconds"),
        *("sectionName", "namespace", "kind", "port", "runtimeClassName", "storageClassName", "sizeLimit"),
    }
)
"""Fields that are pointers in Go: their zero values are values."""
MAPS: Final = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "parameters"}
)
"""Fields that are maps in Go: each key has its value, whatever that is."""


def merged(layers: list[Tree]) -> Tree:
    """Return the tree of all layers, a later one over the earlier ones."""
    return reduce(lambda below, above: _over("", below, above), layers, {})


def _over(field: str, below: Tree, above: Tree) -> Tree:
    if isinstance(above, dict):
        return _objects(field, below, above)
    if isinstance(above, list):
        keys = MERGE_KEYS.get(field)
        return _items(keys[0], below, above) if keys and isinstance(below, list) else above
    if above.value == {}:
        return below if isinstance(below, dict) else above
    return above if above.value or (field in POINTERS and above.value is not None) else below


def _objects(field: str, below: Tree, above: dict[str, Tree]) -> Tree:
    known = below if isinstance(below, dict) else {}
    if field in MAPS:
        return {**known, **above}
    fields = dict(known)
    for name, value in above.items():
        if name in known:
            fields[name] = _over(name, known[name], value)
        elif not isinstance(value, Leaf) or value.value not in (None, []):
            fields[name] = value
    return fields


def _items(key: str, below: list[Tree], above: list[Tree]) -> Tree:
    """Merge items of the same name; the later layer's come first, as in upstream's strategic merge."""
    base = {_name(item, key): item for item in below}
    over = [(_name(item, key), item) for item in above]
    items = [_over("", base[name], item) if name in base else item for name, item in over]
    return [*items, *(item for name, item in base.items() if name not in dict(over))]


def _name(item: Tree, key: str) -> Any:
    value = item.get(key) if isinstance(item, dict) else item
    return value.value if isinstance(value, Leaf) and not isinstance(value.value, dict | list) else id(item)
