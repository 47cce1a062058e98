"""LeaderWorkerSets and DisaggregatedSets whose launch their authors wrote: ours by annotations.

The objects stay what they are. Annotations make them members of a service, and where the launch is
recognised, the engine's containers get the plain command of one node; the launcher adds the rest again.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from importer.account import COMPONENT_TYPES, Account, default, kept, key_of, lost, overridden, take
from importer.launches import SGLANG, PodStart, recognised
from importer.leaves import (
    Leaf,
    LeafPath,
    Tree,
    at,
    fields_at,
    items_at,
    picked,
    plain,
    put,
    value_at,
    written,
)
from importer.words import StaysError
from intent import Object, disaggregatedset
from intent.annotations import (
    COMPONENT_TYPE,
    ENGINE_CONTAINER,
    EXCLUSIVE_TOPOLOGY,
    KUEUE_QUEUE,
    LAUNCHER,
    ROLE_NAME,
    SCHEDULER_NAME,
    SERVICE,
)
from intent.gang import DISAGGREGATED, NO_GANG
from intent.lws import TEMPLATES
from intent.read import engine_index
from intent.shapes import annotations, listed, mapping, metadata, text
from intent.shapes import number as integer

GROUP: Final[LeafPath] = ("spec", "leaderWorkerTemplate")
TYPES: Final = {role: component for role, component in COMPONENT_TYPES.items() if component != "worker"}
"""The component type of a role by the beginning of its name."""
WORDS: Final = TYPES | {component: component for component in TYPES.values()}
"""The component type by the end of a LeaderWorkerSet's name."""


def translate(trees: dict[int, Tree], account: Account) -> None:
    """Translate LeaderWorkerSets and DisaggregatedSets."""
    groups = take(trees, "leaderworkerset.x-k8s.io", "LeaderWorkerSet")
    pairs = _pairs({number: key_of(tree) for number, tree in groups.items()})
    for number, tree in groups.items():
        own = pairs.get(number, {SERVICE: key_of(tree)[1]})
        account.objects.append(_member(tree, own, number, account))
    for number, tree in take(trees, disaggregatedset.GROUP, disaggregatedset.KIND).items():
        account.objects.append(_set(tree, number, account))


# --- prefill and decode -------------------------------------------------------------------------------


def _pairs(keys: Mapping[int, tuple[str, str]]) -> dict[int, Mapping[str, str]]:
    """Return the annotations of LeaderWorkerSets that are prefill and decode, perhaps encode, of a service.

    `r1-prefill` and `r1-decode` of a namespace are the service `r1`, if there is one of each.
    """
    alike = defaultdict[tuple[str, str], dict[int, str]](dict)
    for number, (namespace, name) in keys.items():
        service, _, word = name.rpartition("-")
        if service and word in WORDS:
            alike[namespace, service][number] = WORDS[word]
    return {
        number: {SERVICE: service, COMPONENT_TYPE: component}
        for (_, service), members in alike.items()
        if {*DISAGGREGATED} <= (types := {*members.values()}) and len(types) == len(members)
        for number, component in members.items()
    }


# --- members of a service -----------------------------------------------------------------------------

_NO_SERVICE: Final = kept(
    "a service has roles prefill… and decode…, perhaps encode…: LWS makes the pods of others as before",
    "FI976",
)
_DEADLOCK: Final = lost(
    "LWS would make the workers after the leader, and the gang waits for all of them; "
    "for a topology, add a nodeSelector or an affinity",
)


def _set(tree: Tree, number: int, account: Account) -> Tree:
    """Translate each role of a DisaggregatedSet that has a place in a service."""
    names = [text(value_at(role, "name")) for role in items_at(tree, "spec", "roles")]
    types = [next((kind for begins, kind in TYPES.items() if role.startswith(begins)), "") for role in names]
    is_service = set(types) >= set(DISAGGREGATED)
    for index, (role, kind) in enumerate(zip(names, types, strict=True)):
        path = ("spec", "roles", index)
        own = at(tree, *path)
        if is_service and kind:
            notes = {SERVICE: key_of(tree)[1], COMPONENT_TYPE: kind, ROLE_NAME: role}
            tree = put(tree, path, _member(own, notes, number, account, written(path)))
        else:
            account.leave(at(own, "name"), _NO_SERVICE)
    return tree


def _member(
    tree: Tree, own: Mapping[str, str], number: int, account: Account, path: str = "spec.leaderWorkerTemplate"
) -> Tree:
    """Make a LeaderWorkerSet, or a role of a set, a member of a service."""
    value = plain(tree)
    size = integer(at(value, *GROUP, "size"))
    engines = [_engine(value, field) for field in TEMPLATES if isinstance(at(value, *GROUP, field), dict)]
    try:
        starts = recognised([at(tree, *path) if path else None for path in engines], size)
    except StaysError as error:
        account.stays(number, path, str(error))
        launcher = "none"
    else:
        launcher = next((start.launcher for start in starts if start.launcher != SGLANG), "")
        for each, start in zip(engines, starts, strict=False):
            tree = put(tree, each, _replaced(at(tree, *each), start, account))
    if size > 1:
        tree = account.without(tree, ("metadata", "annotations", EXCLUSIVE_TOPOLOGY), _DEADLOCK)
    if size > 1 and at(value, "spec", "startupPolicy") == "LeaderReady":
        tree = account.without(tree, ("spec", "startupPolicy"), _DEADLOCK)
    added = {**own, **({LAUNCHER: launcher} if launcher else {}), **_scheduler(value)}
    notes = fields_at(tree, "metadata", "annotations")
    ours = {key: Leaf(value) for key, value in added.items() if key not in notes}
    return put(tree, ("metadata", "annotations"), {**notes, **ours})


def _scheduler(value: Object) -> Mapping[str, str]:
    """Return the annotation for a scheduler of the author's, or for no gang beside that of others."""
    own = metadata(value)
    queued = any(KUEUE_QUEUE in mapping(own.get(key)) for key in ("labels", "annotations"))
    if queued or at(value, "spec", "scheduling"):
        return {SCHEDULER_NAME: NO_GANG}
    named = {text(at(value, *GROUP, field, "spec", "schedulerName")) for field in TEMPLATES} - {""}
    return {SCHEDULER_NAME: named.pop()} if len(named) == 1 else {}


# --- the launch ---------------------------------------------------------------------------------------

_LAUNCHES: Final = ("command", "args")
_LAUNCHED: Final = default(
    "the launcher starts the nodes and the engine on them, and adds the arguments for it"
)
_SET_BY_SCRIPT: Final = overridden("the script sets another value before the engine starts")


def _engine(value: Object, field: str) -> LeafPath:
    """Return the path of the engine's container, as admission finds it; empty if there is none."""
    path = (*GROUP, field, "spec", "containers")
    own, asked = annotations(at(value, *GROUP, field)), text(annotations(value).get(ENGINE_CONTAINER))
    index = engine_index(listed(at(value, *path)), own, asked)
    return () if index is None else (*path, index)


def _replaced(own: Tree, start: PodStart, account: Account) -> Tree:
    """Return a container with the engine's command of one node."""
    flags = ", ".join(dict.fromkeys(word.value for word in start.changed))
    account.leave([*start.changed], lost(f"the launcher has its own value for {flags}, or none", partly=True))
    account.leave(picked(own, *_LAUNCHES), _LAUNCHED)
    others = {key: value for key, value in own.items() if key not in _LAUNCHES}
    if start.env:
        entries = items_at(own, "env")
        again = [entry for entry in entries if text(value_at(entry, "name")) in start.env]
        account.leave(again, _SET_BY_SCRIPT)
        added = ({"name": value.having(name), "value": value} for name, value in start.env.items())
        others["env"] = [*(entry for entry in entries if entry not in again), *added]
    begins = start.command.arguments if start.command else 0
    words = {"command": list(start.engine[:begins]), "args": list(start.engine[begins:])}
    launched = {key: each for key, each in words.items() if each}
    return {**picked(own, "name", "image"), **launched, **others}
