"""What a cache takes in, and whom it wakes."""

from typing import Any

from intent import Object
from intent.service.member import ServiceKey
from sync.cache import Cache
from sync.kinds import LWS
from tests.sync.samples import KEY, lws

OWNER = {"kind": "InferenceService", "name": "r1", "uid": "uid-r1", "controller": True}
PLACE = (KEY[0], "LeaderWorkerSet/p")
PICKER = (KEY[0], "LeaderWorkerSet/r1-epp")


def row(version: int = 1, owners: tuple[Object, ...] = (), ready: int = 0, **spec: Any) -> Any:
    """Project one version of a LeaderWorkerSet."""
    obj = lws("p", **spec) | {"status": {"observedGeneration": ready, "readyReplicas": ready}}
    obj["metadata"] |= {"resourceVersion": str(version), "ownerReferences": list(owners)}
    return LWS.project(obj)


def known(*rows: Any) -> tuple[Cache, list[ServiceKey]]:
    """Know these rows, one after the other; and give who is woken from now on."""
    cache, woken = Cache(LWS), list[ServiceKey]()
    for one in rows:
        cache.put(one)
    cache.changed = woken.append
    return cache, woken


def test_a_change_wakes_the_service_and_those_who_meet_there() -> None:
    cache, woken = known(row(1))

    cache.put(row(2, replicas=3))

    assert set(woken) == {KEY, PLACE, PICKER}


def test_the_status_of_an_lws_that_nobody_asks_about_wakes_nobody() -> None:
    cache, woken = known(row(1))

    cache.put(row(2, ready=1))

    assert woken == []


def test_the_status_of_an_inference_services_lws_wakes_its_service() -> None:
    cache, woken = known(row(1, (OWNER,)))

    cache.put(row(2, (OWNER,), ready=1))

    assert KEY in woken


def test_an_older_version_comes_late_and_counts_for_nothing() -> None:
    cache, woken = known(row(7, replicas=3))

    cache.put(row(6))

    assert (woken, cache.of(KEY)) == ([], (row(7, replicas=3),))


def test_an_equal_row_of_a_newer_version_is_the_newer_one() -> None:
    cache, _ = known(row(1, replicas=3), row(3, replicas=3))

    cache.put(row(2))

    assert cache.of(KEY) == (row(3, replicas=3),)


def test_a_list_counts_whatever_its_versions_are() -> None:
    """A cluster that was restored from a backup counts from an earlier version."""
    cache, _ = known(row(7, replicas=3))

    cache.replace([row(6)])

    assert cache.of(KEY) == (row(6),)


def test_what_a_list_lacks_is_forgotten() -> None:
    cache, woken = known(row(7))

    cache.replace([])

    assert (set(woken), cache.of(KEY)) == ({KEY, PLACE, PICKER}, ())
