"""The deletion test: without any one concern, its row or its module, everything else still holds."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from intent import Object
from intent.lws import Intent
from intent.settings import Settings
from intent.tree import Overlay
from tests.golden.test_golden import CASES, leaderworkersets, templates_of
from tests.tiers import by_turns, some
from tests.webhook.inputs import intents
from tests.webhook.overlays import overlay
from webhook.expand import change, expand
from webhook.layout import LAUNCH, PROBES, SIDECAR, SPLIT, Input
from webhook.mutate import CONCERNS, input_of, wishes
from webhook.mutate.concern import Concern, union
from webhook.overlay.merge3 import LAUNCHER_WORDS
from webhook.overlay.overlay import combine
from webhook.state import Fresh, State, state

ROOT: Final = Path(__file__).parents[3]
SETTINGS: Final = Settings()
SHAPES: Final = frozenset({LAUNCH, PROBES, SIDECAR, SPLIT})
"""The concerns that the layout asks for. Without one of them other templates may be expanded."""
NEEDED: Final = SHAPES | {"shm"}
"""Those without which others write nothing either."""

NAMES: Final = [one.name for one in CONCERNS]

each_concern = pytest.mark.parametrize("concern", CONCERNS, ids=lambda one: one.name)


def without(name: str) -> tuple[Concern, ...]:
    """Return all rows but the one of this name."""
    return tuple(one for one in CONCERNS if one.name != name)


@cache
def objects() -> tuple[Object, ...]:
    """Return the golden objects. They must not be changed."""
    return tuple(one.object for case in CASES for one in leaderworkersets(case))


@cache
def whole() -> tuple[tuple[Intent, Input, Overlay], ...]:
    """Return the input and the overlay of all concerns, for each golden Intent. They must not be changed."""
    return tuple((one, input_of(one, SETTINGS), overlay(one, SETTINGS)) for one in intents())


@cache
def reduced(name: str) -> tuple[Overlay, ...]:
    """Return the overlay without a concern, for each golden Intent. It must not be changed."""
    return tuple(overlay(intent, SETTINGS, without(name)) for intent in intents())


# --- the others give the same -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "concern", [one for one in CONCERNS if one.name not in NEEDED], ids=lambda one: one.name
)
def test_the_others_give_exactly_what_they_gave(concern: Concern) -> None:
    for (_, given, _), rest in zip(whole(), reduced(concern.name), strict=True):
        others = combine(one.mutate(given) for one in without(concern.name) if one.name in given.concerns)

        assert rest == others


@pytest.mark.parametrize("concern", [one for one in CONCERNS if one.skip], ids=lambda one: one.name)
def test_a_deleted_concern_is_one_that_every_author_skips(concern: Concern) -> None:
    for intent, rest in zip(intents(), reduced(concern.name), strict=True):
        skipped = replace(intent, skip=(*intent.skip, concern.skip))

        assert rest == overlay(skipped, SETTINGS)


@each_concern
def test_an_object_that_the_concern_does_not_touch_stays_the_same(concern: Concern) -> None:
    for (intent, given, full), rest in zip(whole(), reduced(concern.name), strict=True):
        if (
            not wishes(given)[concern.name]
            and given.layout == input_of(intent, SETTINGS, without(concern.name)).layout
        ):
            assert rest == full


# --- the object is sound ----------------------------------------------------------------------------


@each_concern
def test_the_expanded_object_is_sound(concern: Concern) -> None:
    wrong = [
        (live["metadata"]["name"], problem)
        for live, found, made in expanded(concern.name)
        for problem in problems(filled(live, found), made)
    ]

    assert wrong == []


@pytest.mark.slow
@each_concern
def test_the_expanded_object_does_not_change_again(concern: Concern) -> None:
    others = without(concern.name)
    again = [
        operations
        for _, _, made in expanded(concern.name)
        if (operations := expand(made, None, SETTINGS, others))
    ]

    assert again == []


@cache
def expanded(name: str) -> tuple[tuple[Object, State, Object], ...]:
    """Return golden objects with their state, and as they expand without a concern. Not to be changed."""
    turn, others = NAMES.index(name), without(name)
    chosen = by_turns([*zip(objects(), states(), strict=True)], turn)
    return tuple((live, found, change(live, found, SETTINGS, others)) for live, found in chosen)


@cache
def states() -> tuple[State, ...]:
    """Return the state of the CREATE of each golden object, which no concern influences."""
    cases = ((case, one.object) for case in CASES for one in leaderworkersets(case))
    return tuple(state(live, None, templates_of(case, live)) for case, live in cases)


def filled(live: Object, found: State) -> Object:
    """Return an object with the content of its templates, which no concern influences either."""
    return found.write.reverted.original if isinstance(found, Fresh) else live


def problems(live: Object, made: Object) -> Iterator[str]:
    """Yield what makes an expanded object invalid, or unable to start, that its author did not write."""
    before, after = templates(live), templates(made)
    given = before.get("workerTemplate", {})
    for field, template in after.items():
        own = before.get(field, given)
        if names(template, "containers") != names(own, "containers"):
            yield f"{field} has other containers"
        for pod in pods_without(template, "image"):
            yield f"{field} has a container without an image: {pod}"
        yield from (
            f"{field} mounts {name}, which is no volume" for name in unmounted(template) - unmounted(own)
        )
        proxied = "routing-proxy" in names(template, "initContainers")
        is_own = has_moved(own) or "routing-proxy" in names(own, "initContainers")
        if proxied != has_moved(template) and not is_own:
            yield f"{field} has a sidecar: {proxied}, and an engine behind it: {has_moved(template)}"
    launched = {is_launched(one) for field, one in after.items() if not is_launched(before.get(field, given))}
    if len(launched) > 1:
        yield "launched on one side only"


def templates(live: Object) -> dict[str, Any]:
    """Return the pod templates of an object by field."""
    group = live.get("spec", {}).get("leaderWorkerTemplate", {})
    return {field: group[field] for field in ("leaderTemplate", "workerTemplate") if field in group}


def listed(template: Any, field: str) -> list[Any]:
    """Return a list of a pod spec."""
    found: list[Any] = template.get("spec", {}).get(field) or []
    return found


def names(template: Any, field: str) -> list[str]:
    """Return the names of the items of a list."""
    return [one.get("name") for one in listed(template, field)]


def pods_without(template: Any, field: str) -> list[str]:
    """Return the names of the containers that lack a field."""
    both = (*listed(template, "containers"), *listed(template, "initContainers"))
    return [one["name"] for one in both if field not in one]


def unmounted(template: Any) -> set[str]:
    """Return the names of mounts that have no volume."""
    both = (*listed(template, "containers"), *listed(template, "initContainers"))
    mounts = {mount["name"] for one in both for mount in one.get("volumeMounts") or []}
    return mounts - set(names(template, "volumes"))


def has_moved(template: Any) -> bool:
    """Return whether an engine listens on a port behind a sidecar."""
    return re.search(r"--port[=', ]+82\d\d", str(listed(template, "containers"))) is not None


def is_launched(template: Any) -> bool:
    """Return whether a launcher is in the command or the arguments of a container."""
    marks = (*LAUNCHER_WORDS, "--master-addr", "--dist-init-addr", "--data-parallel-address")
    return any(mark in str(listed(template, "containers")) for mark in marks)


# --- without its module -----------------------------------------------------------------------------

EXPAND: Final = """\
import sys
import orjson
from webhook.check import check
from webhook.expand import expand

lives = orjson.loads(sys.stdin.buffer.read())
for live in lives:
    check(live)
sys.stdout.buffer.write(orjson.dumps([expand(live) for live in lives]))
"""


MODULES: Final = sorted({one.mutate.__module__ for one in CONCERNS})


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_everything_else_works_without_the_module(module: str, tmp_path: Path) -> None:
    for package in ("catalog", "intent", "webhook"):
        shutil.copytree(ROOT / package, tmp_path / package)  # with what is compiled, which takes seconds
    gone = [one for one in CONCERNS if one.mutate.__module__ == module]
    delete(module, gone, tmp_path)
    sent = some(objects(), "SENT_WITHOUT_A_CONCERN")

    done = subprocess.run(
        [sys.executable, "-c", EXPAND],
        input=orjson.dumps(sent),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )

    others = tuple(one for one in CONCERNS if one not in gone)
    assert done.returncode == 0, done.stderr.decode()
    assert orjson.loads(done.stdout) == [expand(live, None, SETTINGS, others) for live in sent]


def delete(module: str, gone: list[Concern], root: Path) -> None:
    """Delete a module, its rows and their import; what they write stays, for records of it."""
    (root / f"{module.replace('.', '/')}.py").unlink()
    table, rows = root / "webhook" / "mutate" / "__init__.py", "|".join(one.name.upper() for one in gone)
    writes = union(*(one.writes for one in gone))
    replaces = frozenset[str]().union(*(one.replaces for one in gone))
    left = re.sub(rf"from {module} import .*\n", "", table.read_text(encoding="utf-8"))
    left = re.sub(rf"\b(?:{rows})(?:, |(?=\)))", "", left)
    left = left.replace("ELSEWHERE: Final[Paths] = {}", f"ELSEWHERE: Final[Paths] = {writes!r}")
    left = left.replace("frozenset[str]()", repr(replaces))
    assert repr(writes) in left
    assert not re.search(rf"\b(?:{rows})\b", left)
    table.write_text(left, encoding="utf-8")
