"""The merge of an object over its bases, each a tree: a later value wins, but a zero value never does.

Two systems do this, with Go structs from which zero values are left out first:

- KServe: `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `mergeSpecs`, a strategic merge. Items of
  the later layer come first, and lists whose items have no names are replaced.
- llm-d: mergo with override and append. Items of the base come first; lists whose items have no names are
  appended, but arguments of the later layer come first, and its command replaces that of the base.

In both keys of maps keep zero values. In KServe a pointer to one is a value, and items are named by the first
of their keys: a port by its number. It differs on purpose where the API server would refuse the result:
`value` and `valueFrom` replace each other, and in llm-d an item with the keys of another, such as a volume or
a port, is added once.
"""

from collections.abc import Mapping
from functools import partial, reduce
from typing import Any, Final, NamedTuple

from importer.leaves import Tree, plain, value_at
from intent.tree import KEY_DEFAULTS, MERGE_KEYS


class System(NamedTuple):
    """What a system does with lists, and with pointers."""

    keys: Mapping[str, tuple[str, ...]]
    """The lists whose items merge, with the fields that name an item."""
    whole: frozenset[str] = frozenset()
    """Those of which an item replaces that of the base."""
    appends: bool = False
    """Whether the base comes first, and lists without names are appended."""
    pointers: frozenset[str] = frozenset()
    """Fields whose zero values are values."""


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
"""Fields that are pointers in Go."""
KSERVE: Final = System({field: keys[:1] for field, keys in MERGE_KEYS.items()}, pointers=POINTERS)
LLM_D: Final = System(
    {
        **MERGE_KEYS,
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
        "parentRefs": ("name",),
    },
    frozenset({"volumes", "volumeMounts"}),
    appends=True,
)
_MAPS: Final = frozenset(
    {"labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "parameters"}
)
"""Fields that are maps in Go: each key has its value, whatever that is."""
_SOURCES: Final = frozenset({"value", "valueFrom"})


def merged(system: System, *layers: Tree) -> Tree:
    """Return the tree of all layers, a later one over the earlier ones."""
    return reduce(partial(_over, system, ""), layers, {})


def _over(system: System, field: str, below: Tree, above: Tree) -> Tree:
    """Return one tree over another; `field` is the name of the field, or of the list, that both are in."""
    if isinstance(above, dict):
        return _objects(system, field, below if isinstance(below, dict) else {}, above)
    if isinstance(above, list):
        return _lists(system, field, below, above) if isinstance(below, list) else above
    value = plain(above)
    wins = (
        value
        or (value == {} and not isinstance(below, dict))
        or (field in system.pointers and value is not None)
    )
    return above if wins or plain(below) is None else below


def _objects(system: System, field: str, below: dict[str, Tree], above: dict[str, Tree]) -> Tree:
    if field in _MAPS:
        return {**below, **above}
    if field in system.whole:
        return above
    if field == "env" and any(plain(above[key]) for key in _SOURCES & above.keys()):
        below = {key: value for key, value in below.items() if key not in _SOURCES}
    more = {key: value for key, value in above.items() if key in below or plain(value) not in (None, [])}
    return {**below, **{key: _over(system, key, below.get(key), value) for key, value in more.items()}}


def _lists(system: System, field: str, below: list[Tree], above: list[Tree]) -> Tree:
    if keys := system.keys.get(field):
        base, over = ([(_name(item, keys), item) for item in items] for items in (below, above))
        known, last = dict(base), dict(over)
        if system.appends:
            merged_items = [_over(system, field, item, last.get(name)) for name, item in base]
            return [*merged_items, *(item for name, item in over if name not in known)]
        return [_over(system, field, known.get(name), last.get(name)) for name in last | known]
    if not system.appends or field == "command":
        return above
    return [*above, *below] if field == "args" else [*below, *above]


def _name(item: Tree, keys: tuple[str, ...]) -> Any:
    values = [value_at(item, key) or KEY_DEFAULTS.get(key) for key in keys]
    name = tuple(values if isinstance(item, dict) else [plain(item)])
    return name if all(isinstance(value, str | int) for value in name) else id(item)
