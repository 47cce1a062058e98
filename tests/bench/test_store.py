"""Copies of a service have other names and uids, and as many bytes."""

import hashlib

import orjson
import pytest

from intent import Object
from tests.bench.report import WrongAnswerError
from tests.bench.store import GROUP_KEY, PATTERN, TENANT, TENANTS, Pattern, names, namespace

UIDS = ("6a0b3f4e-0000-4000-8000-000000000001", "6a0b3f4e-0000-4000-8000-000000000002")


def key_of(name: str) -> str:
    """Return LWS's key of the first group."""
    return hashlib.sha1(f"{namespace(name)}/{name}-0".encode()).hexdigest()  # noqa: S324 - LWS's own choice


def pod(name: str, owner: str, uid: str) -> Object:
    """Return the leader of a LeaderWorkerSet."""
    metadata: Object = {"name": f"{name}-0", "namespace": namespace(name), "uid": uid}
    metadata["labels"] = {GROUP_KEY: key_of(name)}
    return {"metadata": metadata | {"ownerReferences": [{"name": name, "uid": owner}]}}


LIVE = {
    "leaderworkersets": [{"metadata": {"name": PATTERN, "uid": UIDS[0]}}],
    "pods": [pod(PATTERN, *UIDS)],
}


def copied(resource: str, name: str) -> Object:
    """Return the copy of an object."""
    (live,) = LIVE[resource]
    made: Object = orjson.loads(Pattern(LIVE).renamed(orjson.dumps(live), name))
    return made


def test_names_are_distinct_and_as_long_as_the_pattern() -> None:
    found = names(10_000)

    assert (len(set(found)), {len(name) for name in found}) == (10_000, {len(PATTERN)})
    tenants = {namespace(name) for name in found}
    assert (len(tenants), {len(one) for one in tenants}) == (TENANTS, {len(TENANT)})


def test_a_copy_refers_to_the_copy_of_its_owner() -> None:
    name = names(1)[0]
    owner, made = copied("leaderworkersets", name)["metadata"], copied("pods", name)

    assert made == pod(name, owner["uid"], made["metadata"]["uid"])
    assert owner["name"] == name
    assert not {owner["uid"], made["metadata"]["uid"]} & set(UIDS)


def test_copies_have_distinct_uids() -> None:
    found = {copied(resource, name)["metadata"]["uid"] for resource in LIVE for name in names(9)}

    assert len(found) == 18


def test_a_name_of_another_length_is_refused() -> None:
    with pytest.raises(WrongAnswerError, match="bytes"):
        copied("pods", "set-1")
