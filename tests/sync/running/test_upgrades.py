"""What an earlier release stored, and the controller of this one: nothing restarts, nothing is deleted."""

import copy
from collections.abc import Iterable
from typing import Any, Final

import orjson
import pytest

from intent import Object
from intent.annotations import INJECT
from intent.inferenceservice import v1alpha1
from intent.settings import Settings
from intent.tree import canonical
from kube.request import FIELD_MANAGER
from sync.kinds import INFERENCE_SERVICE, OUTPUTS, ROUTES, Kind, templates
from sync.observed.cached import managed
from tests.laws.convergence.schema import KEY_DEFAULTS
from tests.sync.conftest import Start, quiet
from tests.sync.fake_api import Api
from tests.sync.samples import APPLIED as ENTRIES
from tests.tiers import by_turns
from tests.upgrades.stored import APPLIED, STATES, Stored, stored
from tests.upgrades.writes import admitted

SYSTEM: Final = "fusioninfer-system"
LOOKS: Final = 60
TEMPLATES: Final = templates(SYSTEM)
KINDS: Final[dict[str, Kind[Any]]] = {
    **OUTPUTS,
    INFERENCE_SERVICE.kind: INFERENCE_SERVICE,
    TEMPLATES.resource.kind: TEMPLATES,
}
SETTINGS: Final = Settings(templates_namespace=SYSTEM)
NAMES: Final = {"namespace": "b", "name": "private"}
THEIRS: Final = OUTPUTS["ConfigMap"].resource.path(*NAMES.values())
"""An object of another namespace."""
ROUTED: Final = "isvc-kserve-fields"
"""A case with routes, whose endpoint picker has the configuration of a ConfigMap."""


# --- the API server with these objects --------------------------------------------------------------


def path_of(obj: Object) -> str:
    return KINDS[obj["kind"]].path_of(obj)


def load(api: Api, those: Iterable[Object]) -> dict[str, Object]:
    """Store objects whose kinds are served; return what is stored, by path."""
    for obj in those:
        if obj["kind"] in KINDS:
            api.put(path_of(obj), obj)
    api.prune = lambda merged: complete(api, merged)
    return copy.deepcopy(api.objects)


def complete(api: Api, merged: Object) -> None:
    """Do what the API server does in our server-side apply: merge lists by keys, and fill in defaults."""
    old = api.objects.get(path_of(merged))
    if old is None:
        return
    ours = [one["fieldsV1"] for one in managed(old) if one["manager"] == FIELD_MANAGER]
    merged.update(filled(merged, old, ours[0] if ours else {}))
    if merged["kind"] == "LeaderWorkerSet":
        merged.update(admitted(merged, old).lws)


def filled(value: Any, old: Any, owned: Object) -> Any:
    """Return a value of an apply with what is stored beside it, unless this manager owns it."""
    if isinstance(value, dict) and isinstance(old, dict):
        below = {key: filled(item, old.get(key), owned.get(f"f:{key}", {})) for key, item in value.items()}
        return below | {key: old[key] for key in old if key not in value and f"f:{key}" not in owned}
    if isinstance(value, list) and isinstance(old, list):
        return filled_list(value, old, owned)
    return value


def filled_list(value: list[Any], old: list[Any], owned: Object) -> list[Any]:
    """Return a list of an apply: merged by the keys that its owners have, else item by item."""
    keyed = {values_of(orjson.loads(key[2:])): below for key, below in owned.items() if key.startswith("k:")}
    if not keyed:
        same = len(value) == len(old)
        return [filled(one, other, {}) for one, other in zip(value, old, strict=True)] if same else value
    keys = [key for key, _ in next(iter(keyed))]
    new = {values_of(one, keys): one for one in value}
    merged = []
    for one in old:
        name = values_of(one, keys)
        if name in new:
            merged.append(filled(new.pop(name), one, keyed.get(name, {})))
        elif name not in keyed:
            merged.append(one)
    return [*merged, *new.values()]


def values_of(item: Object, keys: Iterable[str] = ()) -> tuple[tuple[str, Any], ...]:
    """Return the keys of an item of a list, with their values."""
    return tuple((key, item.get(key, KEY_DEFAULTS.get(key))) for key in sorted(keys or item))


async def rest(api: Api) -> None:
    """Wait until the controller asks for nothing any more; or for a while, if it tries again and again."""
    asked = -1
    for _ in range(LOOKS):
        if asked == len(api.requests):
            return
        asked = len(api.requests)
        await quiet(3)


def content(obj: Object) -> Object:
    """Return an object without what the API server and its controllers keep in it, in canonical form."""
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "labels", "annotations", "ownerReferences")
    rest_of = {key: value for key, value in obj.items() if key not in {"metadata", "status"}}
    found: Object = canonical({**rest_of, "metadata": {key: metadata.get(key) for key in kept}})
    return found


def changes(api: Api, before: dict[str, Object]) -> dict[str, str]:
    """Return what became of stored objects that are not as they were, by path."""
    return {
        path: "deleted" if path not in api.objects else difference(content(obj), content(api.objects[path]))
        for path, obj in before.items()
        if path not in api.objects or content(obj) != content(api.objects[path])
    }


def difference(one: Any, other: Any, at: str = "") -> str:
    """Return the first place at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        return difference(one.get(keys[0]), other.get(keys[0]), f"{at}.{keys[0]}")
    return f"{at}: {one} became {other}"[:400]


def of(case: str, state: str = APPLIED) -> Stored:
    return next(one for one in stored() if (one.case, one.state) == (case, state))


# --- the law ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("turn", "state"), [*enumerate(STATES)])
async def test_a_controller_that_takes_over_changes_and_deletes_nothing(
    api: Api, start: Start, turn: int, state: str
) -> None:
    cases = by_turns([one for one in stored() if one.state == state], turn)
    before = load(api, [obj for one in cases for obj in one.objects])

    start(settings=SETTINGS)
    await rest(api)

    assert changes(api, before) == {}
    assert api.objects.keys() - before.keys() - set(others(api)) == set()


def others(api: Api) -> list[str]:
    """Return the paths of Events and Leases."""
    return [path for path in api.objects if "/events/" in path or "/leases/" in path]


# --- forgeries --------------------------------------------------------------------------------------


THEIR_OWNER: Final = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other", "uid": "uid-other"}


def forged(like: Object, name: str, owners: list[Object]) -> Object:
    """Return an object of another team, with our label and our manager."""
    forged = {"name": name, "uid": f"uid-{name}", "managedFields": ENTRIES, "ownerReferences": owners}
    return {**like, "metadata": {**like["metadata"], **forged}, "spec": {"of": "another team"}}


def owner_of(one: Stored) -> Object:
    """Return the service of a case as an owner."""
    (service,) = one.of_kind("InferenceService")
    owner = {"apiVersion": v1alpha1.API_VERSION, "kind": v1alpha1.KIND, "controller": True}
    return owner | {key: service["metadata"][key] for key in ("name", "uid")}


def of_routes(one: Stored) -> list[Object]:
    """Return the objects of routes, of which another team could have one too."""
    return [obj for obj in one.objects if obj["kind"] in ROUTES]


@pytest.mark.parametrize("owned", [True, False], ids=["owned", "orphaned"])
async def test_an_object_whose_name_no_rule_makes_is_not_deleted(
    api: Api, start: Start, *, owned: bool
) -> None:
    one = of(ROUTED)
    owners = [owner_of(one)] if owned else []
    theirs = [forged(like, "of-another-team", owners) for like in of_routes(one)]
    before = load(api, [*one.objects, *theirs])

    start(settings=SETTINGS)
    await rest(api)

    assert changes(api, before) == {}


async def test_another_owner_s_object_with_a_forged_manager_is_not_taken_over(api: Api, start: Start) -> None:
    one = of(ROUTED)
    theirs = {path_of(like): forged(like, like["metadata"]["name"], [THEIR_OWNER]) for like in of_routes(one)}
    before = load(
        api, [theirs.get(path_of(obj), obj) if obj["kind"] in KINDS else obj for obj in one.objects]
    )

    start(settings=SETTINGS)
    await rest(api)

    assert {path: how for path, how in changes(api, before).items() if path in theirs} == {}


@pytest.mark.parametrize("bypass", [True, False], ids=["bypassed", "sent-to-admission"])
async def test_a_reference_to_another_namespace_reads_and_changes_nothing(
    api: Api, start: Start, *, bypass: bool
) -> None:
    one = of(ROUTED)
    api.put(
        THEIRS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": NAMES, "data": {"config.yaml": "x"}}
    )
    before = load(api, [referring(obj, bypass=bypass) for obj in one.objects])

    start(settings=SETTINGS)
    await rest(api)

    assert changes(api, before) == {}
    assert ("GET", THEIRS) not in api.requests


def referring(obj: Object, *, bypass: bool) -> Object:
    """Return an InferenceService whose router refers to a ConfigMap of another namespace by a path."""
    if obj["kind"] != "InferenceService":
        return obj
    changed = copy.deepcopy(obj)
    if bypass:
        changed["metadata"].setdefault("annotations", {})[INJECT] = "disabled"
    for role in changed["spec"]["roles"]:
        if "configRef" in role:
            role["configRef"] = {"name": "../../b/configmaps/private", "key": "config.yaml"}
    return changed
