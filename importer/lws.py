"""LeaderWorkerSets and DisaggregatedSets whose launch their authors wrote: ours by annotations.

The objects stay what they are. Annotations make them members of a service, and where the launch is
recognised, the engine's containers get the plain command of one node; the launcher adds the rest again.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from importer.launches import SGLANG, GroupLaunch, Stays, is_launch, loaded, recognised
from importer.leaves import Leaf, LeafPath, Tree, at, items_at, plain, put, tagged, value_at, without, written
from importer.report import (
    KEPT_LAUNCH,
    NO_COUNTERPART,
    OVERRIDDEN,
    UNREADABLE,
    ByHand,
    Imported,
    Outcome,
    OutcomeRule,
    Problem,
    default,
    dropped,
)
from importer.script import POD_IP, Word
from importer.stored import manifest
from intent import Object
from intent.annotations import (
    COMPONENT_TYPE,
    EXCLUSIVE_TOPOLOGY,
    KUEUE_QUEUE,
    LAUNCHER,
    ROLE_NAME,
    SCHEDULER_NAME,
    SERVICE,
)
from intent.command_line.command import looks_like_engine
from intent.disaggregatedset import TEMPLATES, is_disaggregated_set
from intent.errors import FieldError
from intent.gang import DISAGGREGATED, ENCODER, NO_GANG
from intent.names import is_dns_1035_label
from intent.shapes import listed, mapping, metadata, strings, text
from intent.shapes import number as integer

GROUP: Final[LeafPath] = ("spec", "leaderWorkerTemplate")
NO_PART: Final = "FI976"
TYPES: Final[Mapping[str, str]] = {"prefill": "prefiller", "decode": "decoder", "encode": ENCODER}
"""The component type of a role by the beginning of its name."""
PAIR: Final = ("prefill", "decode")
"""The roles of a service of two LeaderWorkerSets."""
ROLES: Final[Mapping[str, str]] = {
    **{word: role for role in PAIR for word in (role, f"{role}r", f"{role}er")},
    "kv_producer": "prefill",
    "kv_consumer": "decode",
}
"""The words for them: in names, in labels, and in flags of engines."""
_SIDE: Final = re.compile(
    r"""--disaggregation[-_]mode[=\s'"]+(prefill|decode)\b|kv_role[\\"']*\s*:\s*[\\"']*(kv_producer|kv_consumer)\b"""
)
_LAUNCHED: Final = default(
    "the launcher starts the nodes and the engine on them, and adds the arguments for it"
)


_Member = tuple[Tree, tuple[OutcomeRule, ...], tuple[tuple[LeafPath, str], ...]]
"""The object, the rules for its fields, and the groups whose launch stays with the reason."""


@dataclass(frozen=True, slots=True)
class _Group:
    """What becomes of the templates of a group."""

    tree: Tree
    annotations: Mapping[str, str]
    rules: tuple[OutcomeRule, ...] = ()
    stays: str = ""
    """Why its launch is kept; empty if it is not."""


def translate(objects: Mapping[int, Object]) -> Imported:
    """Translate LeaderWorkerSets and DisaggregatedSets."""
    trees: list[Tree] = []
    problems: list[Problem] = []
    rules: dict[int, tuple[OutcomeRule, ...]] = {}
    by_hand: list[ByHand] = []
    pairs = _pairs(objects)
    for number, one in objects.items():
        name = metadata(one).get("name")
        if isinstance(name, str) and is_dns_1035_label(name):
            tree = manifest(tagged(number, one))
            if is_disaggregated_set(one):
                tree, rules[number], stays = _set(tree, name)
            else:
                tree, rules[number], stays = _member(tree, (), pairs.get(number, {SERVICE: name}))
            by_hand += [ByHand(number, written(path), why) for path, why in stays]
            trees.append(tree)
        else:
            message = "must be a DNS label that begins with a letter: it names the service"
            problems.append(Problem(number, FieldError("metadata.name", name, message, UNREADABLE)))
    return Imported(tuple(trees), rules, tuple(problems), tuple(by_hand))


def _pairs(objects: Mapping[int, Object]) -> dict[int, Mapping[str, str]]:
    """Return the annotations of LeaderWorkerSets that are prefill and decode of one service.

    Their flags, else a label, else a part of the name say the role. `r1-prefill` and `r1-decode` of a
    namespace are the service `r1`, if there is one of each. So are two whose names do not say it, if they
    are the only ones of the namespace and their engines load the same model.
    """
    roles = {
        number: role
        for number, one in objects.items()
        if not is_disaggregated_set(one) and (role := _role(one))
    }
    found: dict[tuple[str, str, str], list[int]] = {}
    for number in roles:
        own = metadata(objects[number])
        name = text(own.get("name"))
        service = "-".join(part for part in name.split("-") if part not in ROLES)
        model = _model(objects[number]) if service == name else ""
        key = text(own.get("namespace")), "" if model else service, model
        found.setdefault(key, []).append(number)
    pairs = [
        (
            _shared([text(metadata(objects[number]).get("name")) for number in numbers])
            if model
            else service,
            numbers,
        )
        for (_, service, model), numbers in found.items()
        if sorted(roles[number] for number in numbers) == sorted(PAIR)
    ]
    return {
        number: {SERVICE: service, COMPONENT_TYPE: TYPES[roles[number]], ROLE_NAME: roles[number]}
        for service, numbers in pairs
        if is_dns_1035_label(service)
        for number in numbers
    }


def _shared(names: Sequence[str]) -> str:
    """Return the parts with which all names begin, or the first name."""
    parts = takewhile(
        lambda each: len(set(each)) == 1, zip(*(name.split("-") for name in names), strict=False)
    )
    return "-".join(first for first, *_ in parts) or min(names)


def _role(obj: Object) -> str:
    """Return the side of prefill and decode that an object is; empty if it says none, or both."""
    group = at(obj, *GROUP)
    templates = [mapping(mapping(group).get(field)) for field in TEMPLATES]
    words = " ".join(
        word for one in templates for container in _containers(one) for word in _words(container)
    )
    flags = {ROLES[found[1] or found[2]] for found in _SIDE.finditer(words)}
    labels = {
        ROLES[value]
        for one in (obj, *templates)
        for value in mapping(metadata(one).get("labels")).values()
        if isinstance(value, str) and value in ROLES
    }
    parts = {ROLES[part] for part in text(metadata(obj).get("name")).split("-") if part in ROLES}
    said = next((one for one in (flags, labels, parts) if one), set())
    return said.pop() if len(said) == 1 else ""


def _model(obj: Object) -> str:
    """Return the model that the engine of an object loads; empty if it is not known."""
    template = mapping(
        mapping(at(obj, *GROUP)).get(TEMPLATES[0]) or mapping(at(obj, *GROUP)).get(TEMPLATES[1])
    )
    engine = _engine(template)
    return "" if engine is None else " ".join(loaded(_containers(template)[engine]))


def _set(tree: Tree, name: str) -> _Member:
    """Translate each role of a DisaggregatedSet that has a place in a service."""
    roles = [mapping(one) for one in listed(mapping(mapping(plain(tree)).get("spec")).get("roles"))]
    types = [_type(text(role.get("name"))) for role in roles]
    is_service = set(types) >= set(DISAGGREGATED)
    rules: list[OutcomeRule] = []
    stays: list[tuple[LeafPath, str]] = []
    for index, (role, kind) in enumerate(zip(roles, types, strict=True)):
        path: LeafPath = ("spec", "roles", index)
        if is_service and kind:
            own = {SERVICE: name, COMPONENT_TYPE: kind, ROLE_NAME: role["name"]}
            tree, more, launch = _member(tree, path, own)
            rules += more
            stays += launch
        else:
            rules.append(_noted((*path, "name"), _why_not(is_service=is_service), NO_PART))
    return tree, tuple(rules), tuple(stays)


def _member(tree: Tree, path: LeafPath, own: Mapping[str, str]) -> _Member:
    """Make a LeaderWorkerSet, or a role of a set, a member of a service."""
    value, group = mapping(plain(at(tree, *path))), _group(tree, (*path, *GROUP))
    excluded = [(*path, *one) for one in _EXCLUDED if _is_excluded(value, one)]
    if excluded and group.stays:
        return tree, tuple(_noted(one, _LEFT) for one in excluded), ()
    found = group.tree
    for one in excluded:
        found = without(found, one)
    added = {**own, **group.annotations, **_scheduler(value)}
    placed = tuple(
        OutcomeRule((*path, *below), _ANNOTATED) for below in (("metadata",), ("metadata", "annotations"))
    )
    gone = tuple(OutcomeRule(one, dropped(NO_COUNTERPART, _DEADLOCK)) for one in excluded)
    stays = (((*path, *GROUP), group.stays),) if group.stays else ()
    return _annotated(found, path, added), (*placed, *gone, *group.rules), stays


_EXCLUDED: Final[tuple[LeafPath, ...]] = (
    ("metadata", "annotations", EXCLUSIVE_TOPOLOGY),
    ("spec", "startupPolicy"),
)
_LEFT: Final = (
    "LWS makes the workers after the leader, and a gang waits for all of them: it is left to LWS alone"
)
_DEADLOCK: Final = (
    "LWS would make the workers after the leader, and the gang waits for all of them; "
    "for a topology, add a nodeSelector or an affinity"
)


def _is_excluded(value: Object, path: LeafPath) -> bool:
    """Return whether a group cannot be a gang because of a field: `LeaderReady`, or an exclusive topology."""
    found = at(value, *path)
    several = integer(mapping(at(value, *GROUP)).get("size")) > 1
    return several and (found == "LeaderReady" if path[0] == "spec" else bool(found))


def _scheduler(value: Object) -> Mapping[str, str]:
    """Return the annotation for a scheduler of the author's, or for no gang beside that of others."""
    own = mapping(value.get("metadata"))
    queued = any(KUEUE_QUEUE in mapping(own.get(key)) for key in ("labels", "annotations"))
    if queued or mapping(value.get("spec")).get("scheduling"):
        return {SCHEDULER_NAME: NO_GANG}
    named = {text(at(value, *GROUP, field, "spec", "schedulerName")) for field in TEMPLATES} - {""}
    return {SCHEDULER_NAME: named.pop()} if len(named) == 1 else {}


def _type(name: str) -> str:
    return next((kind for begins, kind in TYPES.items() if name.startswith(begins)), "")


def _why_not(*, is_service: bool) -> str:
    if is_service:
        return "FusionInfer has no component type for the role: LWS makes its pods as before"
    return "without a role prefill… and a role decode…, the set is no service: LWS makes its pods as before"


def _noted(path: LeafPath, why: str, code: str = "") -> OutcomeRule:
    return OutcomeRule(path, Outcome("kept", reason=why, code=code))


_ANNOTATED: Final = default("annotations of FusionInfer stand here")
"""For an empty map, which is a leaf."""


def _annotated(tree: Tree, path: LeafPath, added: Mapping[str, str]) -> Tree:
    """Add annotations that the author has not written; none where they would not be a map."""
    above = _map(at(tree, *path).get("metadata"))
    written = _map((above or {}).get("annotations"))
    if above is None or written is None:
        return tree
    ours = {key: Leaf(value) for key, value in added.items() if key not in written}
    return put(tree, (*path, "metadata"), {**above, "annotations": {**written, **ours}})


def _map(tree: Tree) -> Mapping[str, Tree] | None:
    """Return a map, empty if there is none; None for a value of another type."""
    if isinstance(tree, dict):
        return tree
    return {} if tree is None or tree.value in ({}, None) else None


# --- the launch ---------------------------------------------------------------------------------------


def _group(tree: Tree, path: LeafPath) -> _Group:
    """Replace the launch in the templates of a group, if it is recognised."""
    group = mapping(plain(at(tree, *path)))
    templates = {field: group[field] for field in TEMPLATES if isinstance(group.get(field), dict)}
    size = integer(group.get("size"))
    if size < 2 or not templates:
        return _Group(tree, {})
    indexes = {field: _engine(template) for field, template in templates.items()}
    paths = [(*path, field, "spec", "containers", at) for field, at in indexes.items() if at is not None]
    if len(paths) < len(templates):
        return _stays(
            tree, [(*path, field) for field in templates], "the container of the engine is not known"
        )
    containers = [plain(at(tree, *one)) for one in paths]
    if not any(map(is_launch, containers)):
        is_known = all(map(_is_engine, containers))
        return _Group(tree, {}) if is_known else _stays(tree, paths, "no engine is known in the containers")
    launch = recognised(containers[0], containers[-1], size)
    return _stays(tree, paths, launch.why) if isinstance(launch, Stays) else _replaced(tree, paths, launch)


def _replaced(tree: Tree, paths: Sequence[LeafPath], launch: GroupLaunch) -> _Group:
    """Return a group with the engine's command of one node in the containers at the paths."""
    leader = at(tree, *paths[0])
    items = [*items_at(leader, "command"), *items_at(leader, "args")]
    new = {
        key: [items[word.item].having(word.text) for word in words]
        for key, words in (("command", launch.command), ("args", launch.args))
        if words
    }
    rules = [OutcomeRule((*path, key), _LAUNCHED) for path in paths for key in ("command", "args")]
    changed = launch.changed if len(paths) > 1 else (launch.changed[0] + launch.changed[1],)
    for path, env, setup, words in zip(paths, launch.env, launch.setup, changed, strict=False):
        own = at(tree, *path)
        scripts = [*items_at(own, "command"), *items_at(own, "args")]
        old = {key: one for key, one in own.items() if key not in {"command", "args"}}
        script = max(scripts, key=lambda one: len(one.value))
        started = _behind_setup(setup, scripts, new) if setup else new
        if env:
            old["env"] = _with_variables(own, env, script)
            rules.append(OutcomeRule((*path, "env"), _SET_BY_SCRIPT))
        tree = put(tree, path, _beside_image({**old, **started}))
        rules += _changed(path, words, len(items_at(own, "command")))
    return _Group(tree, {} if launch.launcher == SGLANG else {LAUNCHER: launch.launcher}, tuple(rules))


def _behind_setup(setup: Sequence[Word], own: Sequence[Leaf], plain: Mapping[str, list[Leaf]]) -> Tree:
    """Return command and args of an engine that starts behind the commands which prepare it."""
    words = [own[word.item].having(word.text) for word in setup]
    return {"command": words, "args": [*plain.get("command", ()), *plain.get("args", ())]}


def _with_variables(container: Tree, env: Mapping[str, str], script: Leaf) -> Tree:
    """Return the variables of a container with those that its script sets."""
    own = [one for one in items_at(container, "env") if value_at(one, "name") not in env]
    return [*own, *(_variable(name, value, script) for name, value in env.items())]


def _variable(name: str, value: str, script: Leaf) -> Tree:
    if value == POD_IP:
        field = {"fieldRef": {"fieldPath": script.having(value[2:-1])}}
        return {"name": script.having(name), "valueFrom": field}
    return {"name": script.having(name), "value": script.having(value)}


_SET_BY_SCRIPT: Final = dropped(OVERRIDDEN, "the script sets another value before the engine starts")


def _changed(path: LeafPath, words: Sequence[Word], commands: int) -> Iterator[OutcomeRule]:
    """Yield the outcome of the items of command and args that have words which the launcher changes."""
    for item in dict.fromkeys(word.item for word in words):
        where = ("command", item) if item < commands else ("args", item - commands)
        own = ", ".join(dict.fromkeys(word.text for word in words if word.item == item))
        reason = f"the launcher has its own value for {own}, or none"
        yield OutcomeRule(
            (*path, *where), Outcome("dropped", reason=reason, code=NO_COUNTERPART, partly=True)
        )


def _beside_image(container: Tree) -> Tree:
    """Order the fields of a container as authors do."""
    first = [key for key in ("name", "image", "command", "args") if key in container]
    return {key: container[key] for key in (*first, *(one for one in container if one not in first))}


def _stays(tree: Tree, paths: Sequence[LeafPath], why: str) -> _Group:
    rules = [_noted((*path, *below), why, KEPT_LAUNCH) for path in paths for below in _LAUNCHES]
    return _Group(tree, {LAUNCHER: "none"}, tuple(rules), stays=why)


_LAUNCHES: Final[tuple[LeafPath, ...]] = (("command",), ("args",))


def _containers(template: Object) -> list[Object]:
    return [mapping(one) for one in listed(mapping(template.get("spec")).get("containers"))]


def _words(container: Object) -> tuple[str, ...]:
    return (*strings(container.get("command")), *strings(container.get("args")))


def _engine(template: Object) -> int | None:
    """Return the index of the container that runs the engine."""
    containers = _containers(template)
    found = [at for at, one in enumerate(containers) if _is_known(one)]
    if len(found) != 1:
        found = [0] if len(containers) == 1 and containers[0] else []
    return found[0] if found and _has_texts(containers[found[0]]) else None


def _has_texts(container: Object) -> bool:
    fields = [container.get(key) for key in ("command", "args")]
    return all(len(strings(one)) == len(listed(one)) and isinstance(one, list | None) for one in fields)


def _is_known(container: Object) -> bool:
    return is_launch(container) or _is_engine(container)


def _is_engine(container: Object) -> bool:
    command, args = (strings(container.get(key)) for key in ("command", "args"))
    return looks_like_engine(command, args, text(container.get("image")))
