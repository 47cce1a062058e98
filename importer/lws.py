"""LeaderWorkerSets and DisaggregatedSets whose launch their authors wrote: ours by annotations.

The objects stay what they are. Annotations make them members of a service, and where the launch is
recognised, the engine's containers get the plain command of one node; the launcher adds the rest again.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from importer.account import (
    KEPT_LAUNCH,
    NO_COUNTERPART,
    OVERRIDDEN,
    Account,
    ByHand,
    Outcome,
    OutcomeRule,
    default,
    dropped,
    kept,
    service_name,
)
from importer.launches import SGLANG, GroupLaunch, is_launch, recognised
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
    without,
    written,
)
from importer.words import StaysError
from intent import Object
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
from intent.command_line.command import looks_like_engine
from intent.disaggregatedset import TEMPLATES, is_disaggregated_set
from intent.gang import DISAGGREGATED, ENCODER, NO_GANG
from intent.names import is_dns_1035_label
from intent.read import engine_index
from intent.shapes import annotations, listed, mapping, metadata, strings, text
from intent.shapes import number as integer

GROUP: Final[LeafPath] = ("spec", "leaderWorkerTemplate")
NO_PART: Final = "FI976"
TYPES: Final[Mapping[str, str]] = {"prefill": "prefiller", "decode": "decoder", "encode": ENCODER}
"""The component type of a role by the beginning of its name."""
ROLES: Final[Mapping[str, str]] = {
    word: role for role in ("prefill", "decode") for word in (role, f"{role}r", f"{role}er")
}
"""The sides of a pair of LeaderWorkerSets by a part of their names."""


def translate(trees: Mapping[int, Tree], account: Account) -> None:
    """Translate LeaderWorkerSets and DisaggregatedSets."""
    objects = {number: plain(tree) for number, tree in trees.items()}
    pairs = _pairs(objects)
    for number, tree in trees.items():
        with account.importing(number):
            name = service_name(tree)
            if is_disaggregated_set(objects[number]):
                account.objects.append(_set(number, tree, name, account))
            else:
                own = pairs.get(number, {SERVICE: name})
                account.objects.append(_member(number, tree, (), own, account))


# --- prefill and decode -------------------------------------------------------------------------------


def _pairs(objects: Mapping[int, Object]) -> dict[int, Mapping[str, str]]:
    """Return the annotations of LeaderWorkerSets that are prefill and decode of one service.

    `r1-prefill` and `r1-decode` of a namespace are the service `r1`, if there is one of each.
    """
    alike = defaultdict[tuple[str, str], list[tuple[str, int]]](list)
    for number, obj in objects.items():
        parts = text(metadata(obj).get("name")).split("-")
        service = "-".join(part for part in parts if part not in ROLES)
        roles = [ROLES[part] for part in parts if part in ROLES]
        if len(roles) == 1 and is_dns_1035_label(service) and not is_disaggregated_set(obj):
            alike[text(metadata(obj).get("namespace")), service].append((roles[0], number))
    return {
        number: _annotations(service, role, TYPES[role])
        for (_, service), members in alike.items()
        if sorted(role for role, _ in members) == ["decode", "prefill"]
        for role, number in members
    }


def _annotations(service: str, role: str, component: str) -> Mapping[str, str]:
    return {SERVICE: service, COMPONENT_TYPE: component, ROLE_NAME: role}


# --- members of a service -----------------------------------------------------------------------------

_NO_TYPE: Final = "FusionInfer has no component type for the role: LWS makes its pods as before"
_NO_SERVICE: Final = (
    "without a role prefill… and a role decode…, the set is no service: LWS makes its pods as before"
)
_DEADLOCK: Final = dropped(
    NO_COUNTERPART,
    "LWS would make the workers after the leader, and the gang waits for all of them; "
    "for a topology, add a nodeSelector or an affinity",
)
_ANNOTATED: Final = default("annotations of FusionInfer stand here")
"""For an empty map, which is a leaf."""


def _set(number: int, tree: Tree, name: str, account: Account) -> Tree:
    """Translate each role of a DisaggregatedSet that has a place in a service."""
    names = [text(value_at(role, "name")) for role in items_at(tree, "spec", "roles")]
    types = [next((kind for begins, kind in TYPES.items() if role.startswith(begins)), "") for role in names]
    is_service = set(types) >= set(DISAGGREGATED)
    for index, (role, kind) in enumerate(zip(names, types, strict=True)):
        path: LeafPath = ("spec", "roles", index)
        if is_service and kind:
            tree = _member(number, tree, path, _annotations(name, role, kind), account)
        else:
            why = _NO_TYPE if is_service else _NO_SERVICE
            account.say(number, OutcomeRule((*path, "name"), kept(why, NO_PART)))
    return tree


def _member(number: int, tree: Tree, path: LeafPath, own: Mapping[str, str], account: Account) -> Tree:
    """Make a LeaderWorkerSet, or a role of a set, a member of a service."""
    value, group = plain(at(tree, *path)), (*path, *GROUP)
    size = integer(at(value, *GROUP, "size"))
    indexes = _engines(value)
    engines = [
        (*group, field, "spec", "containers", index) for field, index in indexes.items() if index is not None
    ]
    try:
        launch = _launch(tree, engines, len(indexes), size)
    except StaysError as error:
        account.by_hand.append(ByHand(number, written(group), str(error)))
        stays = kept(str(error), KEPT_LAUNCH)
        account.say(number, *(OutcomeRule((*path, key), stays) for path in engines for key in _LAUNCHES))
        launcher = "none"
    else:
        tree = tree if launch is None else _replaced(number, tree, engines, launch, account)
        launcher = "" if launch is None or launch.launcher == SGLANG else launch.launcher
    for field in _excluded(value) if size > 1 else ():
        tree = without(tree, (*path, *field))
        account.say(number, OutcomeRule((*path, *field), _DEADLOCK))
    account.say(number, OutcomeRule((*path, "metadata"), _ANNOTATED, empty=True))
    added = {**own, **({LAUNCHER: launcher} if launcher else {}), **_scheduler(value)}
    return _annotated(tree, path, added)


def _excluded(value: Object) -> Iterator[LeafPath]:
    """Yield the fields because of which a group cannot be a gang."""
    if annotations(value).get(EXCLUSIVE_TOPOLOGY):
        yield "metadata", "annotations", EXCLUSIVE_TOPOLOGY
    if at(value, "spec", "startupPolicy") == "LeaderReady":
        yield "spec", "startupPolicy"


def _scheduler(value: Object) -> Mapping[str, str]:
    """Return the annotation for a scheduler of the author's, or for no gang beside that of others."""
    own = metadata(value)
    queued = any(KUEUE_QUEUE in mapping(own.get(key)) for key in ("labels", "annotations"))
    if queued or at(value, "spec", "scheduling"):
        return {SCHEDULER_NAME: NO_GANG}
    named = {text(at(value, *GROUP, field, "spec", "schedulerName")) for field in TEMPLATES} - {""}
    return {SCHEDULER_NAME: named.pop()} if len(named) == 1 else {}


def _annotated(tree: Tree, path: LeafPath, added: Mapping[str, str]) -> Tree:
    """Add annotations that the author has not written; none where they would not be a map."""
    own, notes = (at(tree, *path, *below) for below in (("metadata",), ("metadata", "annotations")))
    if not all(isinstance(plain(each), dict | None) for each in (own, notes)):
        return tree
    ours = {key: Leaf(value) for key, value in added.items() if key not in fields_at(notes)}
    return put(tree, (*path, "metadata"), {**fields_at(own), "annotations": {**fields_at(notes), **ours}})


# --- the launch ---------------------------------------------------------------------------------------

_LAUNCHES: Final = ("command", "args")
_LAUNCHED: Final = default(
    "the launcher starts the nodes and the engine on them, and adds the arguments for it"
)
_SET_BY_SCRIPT: Final = dropped(OVERRIDDEN, "the script sets another value before the engine starts")


def _launch(tree: Tree, engines: Sequence[LeafPath], templates: int, size: int) -> GroupLaunch | None:
    """Return the launch over several nodes of a group with the engines at the paths; None if it has none.

    Raises:
        StaysError: the launch stays.
    """
    if size < 2 or not templates:
        return None
    if len(engines) < templates:
        raise StaysError("the container of the engine is not known")
    containers = [at(tree, *path) for path in engines]
    objects = list(map(plain, containers))
    if any(map(is_launch, objects)):
        return recognised(containers[0], containers[-1], size)
    if not all(map(_is_engine, objects)):
        raise StaysError("no engine is known in the containers")
    return None


def _replaced(
    number: int, tree: Tree, engines: Sequence[LeafPath], launch: GroupLaunch, account: Account
) -> Tree:
    """Return a tree with the engine's command of one node in the containers at the paths."""
    for path, start in zip(engines, launch.starts, strict=True):
        own = at(tree, *path)
        launched = {"command": launch.command, "args": launch.args}
        kept = (entry for entry in items_at(own, "env") if text(value_at(entry, "name")) not in start.env)
        env = [*kept, *({"name": value.having(name), "value": value} for name, value in start.env.items())]
        first = picked(own, "name", "image")
        plain_launch = {key: list(words) for key, words in launched.items() if words}
        others = {key: value for key, value in own.items() if key not in _LAUNCHES}
        tree = put(tree, path, {**first, **plain_launch, **others, **({"env": env} if start.env else {})})
        account.say(number, OutcomeRule((*path, "env"), _SET_BY_SCRIPT))
        account.say(number, *(OutcomeRule((*path, key), _LAUNCHED) for key in _LAUNCHES))
        for places in dict.fromkeys(word.origins for word in start.changed):
            words = dict.fromkeys(word.value for word in start.changed if word.origins == places)
            reason = f"the launcher has its own value for {', '.join(words)}, or none"
            outcome = Outcome("dropped", reason=reason, code=NO_COUNTERPART, partly=True)
            account.leave(Leaf(None, places), outcome)
    return tree


# --- the engine ---------------------------------------------------------------------------------------


def _engines(value: Object) -> dict[str, int | None]:
    """Return the index of the container that runs the engine, as admission finds it, by the templates."""
    templates = {field: at(value, *GROUP, field) for field in TEMPLATES}
    asked = text(annotations(value).get(ENGINE_CONTAINER))
    return {field: _engine(each, asked) for field, each in templates.items() if isinstance(each, dict)}


def _engine(template: Object, asked: str = "") -> int | None:
    containers = listed(at(template, "spec", "containers"))
    index = engine_index(containers, annotations(template), asked)
    return index if index is not None and _has_texts(containers[index]) else None


def _has_texts(container: Object) -> bool:
    fields = [container.get(key) for key in _LAUNCHES]
    return all(len(strings(each)) == len(listed(each)) and isinstance(each, list | None) for each in fields)


def _is_engine(container: Object) -> bool:
    command, args = (strings(container.get(key)) for key in _LAUNCHES)
    return looks_like_engine(command, args, text(container.get("image")))
