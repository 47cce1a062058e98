"""A record that a write brings is a claim: no pod gets from it what object, rules and author do not have.

Of the records of all golden cases, each value is replaced and removed, and each list and map gets one more.
"""

import copy
import itertools
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import jsonpatch
import orjson
import pytest

from intent import Object
from intent.annotations import EXPANSION
from intent.template import Templates
from intent.tree import merge
from tests.builders.lws import WORKER, changed, container, lws, template
from tests.builders.reviews import review as review_of
from tests.golden.test_golden import CASES, leaderworkersets, templates_of
from tests.laws.laws import leaves
from tests.laws.strategies import TOOLS
from tests.tiers import some
from tests.webhook.test_pins import LATER
from webhook import review
from webhook.check import check
from webhook.expand import expand
from webhook.mutate import CONCERNS, RESTORED
from webhook.overlay.overlay import LEADER, group_of, with_group
from webhook.templates.content import needed

EVIL: Final = {"name": "evil", "image": "evil", "securityContext": {"privileged": True}}
MORE: Final[dict[str, Any]] = {
    "initContainers": EVIL,
    "containers": {"name": "evil", "args": ["evil"]},
    "volumes": {"name": "evil", "secret": {"secretName": "evil"}},
    "volumeMounts": {"name": "dshm", "mountPath": "/evil"},
    "env": {"name": "EVIL", "value": "evil"},
    "ports": {"containerPort": 666},
}
"""One more item of each list whose items have keys."""
DISABLED: Final = "metadata.annotations.fusioninfer.io/inject"


def put(live: Object, old: Object | None = None, library: Templates | None = None, **more: Any) -> Object:
    """Expand an object as the webhook does, with the templates that it needs."""
    read = library if needed(live, old) else None
    made: Object = jsonpatch.apply_patch(live, expand(live, old, templates=read, **more))
    return made


def record_of(live: Object) -> Any:
    return orjson.loads(live["metadata"]["annotations"][EXPANSION])


def with_record(live: Object, record: Any) -> Object:
    notes = live["metadata"]["annotations"] | {EXPANSION: orjson.dumps(record).decode()}
    return {**live, "metadata": {**live["metadata"], "annotations": notes}}


OPEN: Final = frozenset({"lora-hf-model"})
"""Cases that violate the law: a mount that is no longer in the record counts as the author's, and the init
container that downloads the adapter is not injected."""


def forgeries(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each forged value with the path of what was forged in it."""
    if isinstance(value, dict):
        yield f"+{key}", {**value, "command": ["evil"], "image": "evil"}
        for name, below in value.items():
            yield f"-{name}", {one: item for one, item in value.items() if one != name}
            yield from ((f"{name}.{path}", {**value, name: made}) for path, made in forgeries(below, name))
    elif isinstance(value, list):
        yield "+", [*value, copy.deepcopy(MORE.get(key, "evil"))]
        for at, below in enumerate(value):
            yield f"-{at}", value[:at] + value[at + 1 :]
            for path, made in forgeries(below):
                yield f"{at}.{path}", [*value[:at], made, *value[at + 1 :]]
    elif isinstance(value, bool) or value is None:
        yield "!", not value
    else:
        yield "!", value + 1 if isinstance(value, int) else "evil"


@cache
def forged() -> Sequence[tuple[str, Object, Object, Object, Templates]]:
    """Return one forgery of some paths of a record: its name, and file, stored and sent object, templates."""
    found: dict[str, tuple[str, Object, Object, Object, Templates]] = {}
    for case in CASES:
        for document in leaderworkersets(case):
            library = templates_of(case, document.object)
            stored = put(document.object, None, library)
            if EXPANSION not in stored["metadata"].get("annotations", {}) or check(stored):
                continue
            if case.name in OPEN:
                continue
            for path, made in forgeries(record_of(stored)):
                steps = re.sub(r"\b\d+\b", "*", path).split(".")
                kind = ".".join((*steps[:2], *steps[-2:]))
                name = f"{case.name}: {path}"
                found.setdefault(kind, (name, document.object, stored, with_record(stored, made), library))
    return some([*found.values()], "FORGERIES")


def pods(live: Object) -> Object:
    group: Object = live["spec"]["leaderWorkerTemplate"]
    return group


WRITES: Final[dict[str, Callable[[Object], Object]]] = {
    "the record alone": lambda live: live,
    "another size": lambda live: changed(live, "spec.leaderWorkerTemplate.size", 4),
    "another setting": lambda live: changed(live, "metadata.annotations.fusioninfer.io/role-name", "other"),
    "a pod annotation": lambda live: changed(live, f"{WORKER}.metadata.annotations.now", "1"),
    "no annotation": lambda live: changed(live, "metadata.annotations.fusioninfer.io/service", None),
    "no leader": lambda live: with_group(
        live, {key: value for key, value in group_of(live).items() if key != LEADER}
    ),
}


def added(made: Object, *known: Object) -> list[Any]:
    """Return the fields of pods that an object has, and that no other one has with the same value."""
    there = {repr(leaf) for one in known for leaf in leaves(pods(one))}
    return [leaf for leaf in leaves(pods(made)) if repr(leaf) not in there]


def test_an_update_changes_no_pods_by_its_record() -> None:
    """At most a field that was injected stays as it was sent: its author may write it too."""
    wrong = {}
    for (name, _, stored, live, library), write in zip(forged(), itertools.cycle(WRITES), strict=False):
        sent = WRITES[write](live)
        made, honest = (put(one, stored, library) for one in (sent, WRITES[write](stored)))
        there = {repr(leaf) for leaf in leaves(pods(sent))}
        lost = [leaf for leaf in added(honest, made) if repr(leaf) in there]
        if more := [*added(made, honest, sent), *lost]:
            wrong[f"{name}, with {write}"] = more

    assert wrong == {}


HEALTH: Final[Object] = {"httpGet": {"path": "/health", "port": 8000}}
PROBES: Final[dict[str, Object]] = {
    "the leader's": HEALTH,
    "of another host": {"httpGet": {**HEALTH["httpGet"], "host": "evil"}},
    "a command": {"exec": {"command": ["evil"]}},
}


def of_workers(probe: Object | None) -> Object:
    """Return an overlay that sets the readiness probe of workers, or removes it."""
    worker = template({"name": "vllm", "readinessProbe": probe})
    return {"spec": {"leaderWorkerTemplate": {"workerTemplate": worker}}}


@pytest.mark.parametrize("write", [write for write in WRITES if write != "no leader"])
@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_that_a_record_says_was_removed_counts_as_its_author_s_write_or_not_at_all(
    probe: str, write: str
) -> None:
    """An earlier call of the same write may have removed it, and nothing else shows what its author wrote.

    A leader that a write removes may come back as it is stored.
    """
    send, there = WRITES[write], of_workers(PROBES[probe])
    stored = put(lws(leader=template(container(readinessProbe=HEALTH))))
    record = record_of(stored)
    record["parts"]["probes"], record["was"] = {"set": of_workers(None)}, merge(record["was"], there)

    sent = with_record(stored, record), stored, merge(stored, there)
    made, ignored, written = (put(send(one), stored) for one in sent)

    assert made in (ignored, written)
    assert pods(made) == pods(ignored)


def test_a_leader_that_a_write_removes_gets_no_probe_of_a_forged_record() -> None:
    stored = put(lws(worker=template(container(readinessProbe=HEALTH))))
    record, removed = record_of(stored), WRITES["no leader"]
    record["was"] = merge(record["was"], of_workers(HEALTH | {"exec": {"command": ["evil"]}}))

    made, honest = (put(removed(one), stored) for one in (with_record(stored, record), stored))

    assert "leaderTemplate" in stored["spec"]["leaderWorkerTemplate"]
    assert pods(made) == pods(honest)


def is_replaced(leaf: Any, live: Object) -> bool:
    """Return whether a launch may replace a field: its author may write another there as well."""
    (field, *where), _ = leaf
    in_container = where[:2] == ["spec", "containers"] and where[3] in RESTORED
    return in_container and where[2][0] in names(live, "containers", field)


def gained(name: str, live: Object, made: Object, honest: Object) -> list[Any]:
    """Return the forged fields that pods get, but for what a launch may have replaced."""
    is_was = name.partition(": ")[2].startswith("was.")
    more = [leaf for leaf in added(made, honest, live) if not (is_was and is_replaced(leaf, live))]
    return more if any(mark in repr(more) for mark in ("evil", "666", "privileged", "'!'")) else []


def test_a_create_adds_nothing_that_only_its_record_has_but_what_a_launch_replaced() -> None:
    """The author of a new object says what they wrote: the command that is launched, and the probes."""
    wrong = {}
    for name, _, stored, live, library in forged():
        made, honest = (put(one, None, library) for one in (live, stored))
        if more := gained(name, live, made, honest):
            wrong[name] = more

    assert wrong == {}


def test_a_record_that_was_stored_under_a_bypass_adds_no_more_when_somebody_ends_it() -> None:
    """It counts as on a CREATE, and one that was not forged restarts nothing."""
    wrong = {}
    for name, _, stored, live, library in forged():
        made, honest = (
            put(one, changed(one, DISABLED, "disabled"), read)
            for one, read in ((live, library), (stored, {}))
        )
        if (more := gained(name, live, made, honest)) or pods(honest) != pods(stored):
            wrong[name] = more

    assert wrong == {}


def applied(tool: str, size: int | None = None) -> Callable[[Object, Object], Object]:
    """Return a write of the author's file, perhaps with another size."""

    def write(live: Object, file: Object) -> Object:
        wanted = changed(file, "spec.leaderWorkerTemplate.size", size) if size else file
        made: Object = TOOLS[tool](live, wanted)
        return made

    return write


def edit(name: str) -> Callable[[Object, Object], Object]:
    """Return one of `WRITES`, which need no file."""
    return lambda live, _: WRITES[name](live)


LATER_WRITES: Final = {
    **{name: edit(name) for name in WRITES if name != "the record alone"},
    **{f"a file, {tool}": applied(tool) for tool in TOOLS},
    **{f"a file of another size, {tool}": applied(tool, 4) for tool in TOOLS},
}


def said(*known: Object) -> set[str]:
    """Return each value of pods with its place in a template, of arguments each word."""
    return {
        repr((where[1:], word))
        for one in known
        for where, value in leaves(pods(one))
        for word in (value if isinstance(value, list) else [value])
    }


_TEMPLATE: Final = r".*\.-(?:spec|leaderTemplate|workerTemplate)$"
_PORT: Final = (
    r"(?:-sidecar|sidecar\.(?:-set|.*\.(?:-leaderWorkerTemplate|-containers|containers\.(?!0\.\w+Probe).*)))$"
)
PARTS: Final = re.compile(rf": parts\.(?!{_TEMPLATE}|{_PORT})")
"""Forgeries of parts. One that takes a template out of a part has the rules make other arguments, as has
one that takes out the port of the sidecar's engine: declared by nobody's record, it counts as in use.
"""


def alone(file: Object) -> Object:
    """Return a file that has no sidecar of ours, as one has of which a forgery made ours its author's."""
    return changed(file, "metadata.annotations.fusioninfer.io/skip", "sidecar")


def test_a_part_that_was_forged_past_admission_gives_pods_nothing_in_later_writes() -> None:
    """Only what the stored object has, what the rules give and what the author writes may be in pods."""
    parts = [one for one in forged() if PARTS.search(one[0])]
    wrong = {}
    for (name, file, stored, live, library), write in zip(parts, itertools.cycle(LATER_WRITES), strict=False):
        send = LATER_WRITES[write]
        made, honest = put(send(live, file), live, library), put(send(stored, file), stored, library)
        author = put(WRITES["no annotation"](stored), stored, library)
        more = said(made) - said(honest, stored, file, author)
        if more and (more := more - said(put(send(alone(file), alone(file)), None, library))):
            wrong[f"{name}, then {write}"] = more

    assert wrong == {}


# --- what is stored ---------------------------------------------------------------------------------------

SPEC: Final = f"{WORKER}.spec"
OWN: Final = {"name": "download", "image": "busybox"}
FILE: Final = lws(worker=template(initContainers=[OWN]))


def names(live: Object, field: str = "initContainers", template: str = "workerTemplate") -> list[str]:
    return [one["name"] for one in pods(live)[template]["spec"].get(field, ())]


def bypassed(*, is_there: bool) -> Object:
    """Return an object whose record was forged while admission was bypassed, with the item or without."""
    stored = put(FILE)
    record = record_of(stored)
    part = record["parts"]["dns"]["set"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    part["initContainers"].append(EVIL)
    items = stored["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["initContainers"]
    wanted = [*items, *([EVIL] if is_there else [])]
    return changed(with_record(stored, record), f"{SPEC}.initContainers", wanted)


def test_an_item_that_an_administrator_removed_stays_removed() -> None:
    stored = bypassed(is_there=True)
    assert names(put(changed(stored, f"{SPEC}.hostIPC", True), stored)) == [
        "download",
        "wait-for-leader",
        "evil",
    ]
    items = stored["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["initContainers"]

    cleaned = put(changed(stored, f"{SPEC}.initContainers", items[:-1]), stored)
    again = put(changed(cleaned, f"{SPEC}.hostIPC", True), cleaned)

    assert names(cleaned) == names(again) == ["download", "wait-for-leader"]
    assert EVIL["name"] not in cleaned["metadata"]["annotations"][EXPANSION]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_record_that_was_stored_past_admission_adds_no_item(tool: str) -> None:
    stored = bypassed(is_there=False)

    made = [put(TOOLS[tool](stored, FILE), stored), put(changed(stored, f"{SPEC}.hostIPC", True), stored)]

    assert [names(one) for one in made] == [["download", "wait-for-leader"]] * 2


@pytest.mark.parametrize("tool", TOOLS)
def test_a_file_that_is_applied_again_keeps_items_that_no_rule_gives_any_more(tool: str) -> None:
    """Clients that replace lists remove what was injected into them, as an administrator would."""
    stored, fewer = put(FILE), tuple(one for one in CONCERNS if one.name not in ("dns", "shm"))

    assert pods(put(TOOLS[tool](stored, FILE), stored, concerns=fewer)) == pods(stored)


def test_a_removed_item_that_the_rules_give_comes_back_as_they_give_it() -> None:
    stored = put(FILE)

    assert pods(put(changed(stored, f"{SPEC}.initContainers", [OWN]), stored)) == pods(stored)


@pytest.mark.parametrize("rules", [LATER, CONCERNS[:-3], tuple(one for one in CONCERNS if one.name != "shm")])
def test_a_file_with_the_record_of_other_rules_changes_no_stored_pods(rules: Any) -> None:
    """A file in Git holds an object that another release expanded, with its record."""
    file = put(lws(), None, concerns=rules)
    stored = put(file)
    for tool in TOOLS:
        assert pods(put(TOOLS[tool](stored, file), stored)) == pods(stored)


# --- content of templates ---------------------------------------------------------------------------------

NAMED: Final = changed(lws(), "metadata.annotations.fusioninfer.io/base-refs", "base")


def library(**spec: Any) -> Templates:
    return {"base": {"kind": "InferenceTemplate", "spec": {"pods": [{"template": {"spec": spec}}]}}}


@pytest.mark.parametrize("forge", ["pods", "set"])
@pytest.mark.parametrize("read", [library(hostIPC=True), {}, None], ids=["read", "deleted", "off"])
def test_content_of_a_record_that_its_object_lacks_is_not_put_into_a_new_one(forge: str, read: Any) -> None:
    live = put(NAMED, None, library(hostIPC=True))
    record = record_of(live)
    if forge == "pods":
        record["base"]["pods"]["spec"]["hostNetwork"] = True
    else:
        record["base"]["set"]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["hostNetwork"] = True

    made = sent(with_record(live, record), read)

    assert "hostNetwork" not in made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]


@pytest.mark.parametrize("read", [library(hostNetwork=True), {}, None], ids=["changed", "deleted", "off"])
def test_a_restored_object_keeps_the_content_that_it_has(read: Any) -> None:
    live = put(NAMED, None, library(hostIPC=True))

    assert sent(live, read) == live


def sent(live: Object, read: Templates | None) -> Object:
    """Return the object as /mutate leaves it on CREATE, with these templates, or switched off."""
    response = orjson.loads(review.mutate(orjson.dumps(review_of(live)), templates=read).body)["response"]
    operations = orjson.loads(b64decode(response["patch"])) if "patch" in response else []
    made: Object = jsonpatch.apply_patch(live, operations)
    return made
