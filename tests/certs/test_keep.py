"""In which order an authority is stored, trusted and used; on objects in memory."""

import copy
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import jsonpatch
import pytest

from certs import issue, objects, rotation
from certs.keep import Cluster, Place, Reconciled, reconcile
from certs.rotation import Terms
from intent import Object

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
PLACE = Place("system", "tls", ("/m", "/v"))


class Api:
    """Objects by path, what was written where, and what is refused."""

    def __init__(self) -> None:
        self.stored = {path: configuration() for path in PLACE.configurations}
        self.writes: list[str] = []
        self.refused: set[str] = set()

    async def get(self, path: str) -> Object | None:
        return copy.deepcopy(self.stored.get(path))

    async def apply(self, path: str, obj: Object) -> Object:
        self._note(path)
        stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(len(self.writes))}}
        self.stored[path] = stored
        return copy.deepcopy(stored)

    async def patch(self, path: str, operations: list[Object]) -> Object:
        self._note(path)
        self.stored[path] = jsonpatch.apply_patch(self.stored[path], operations)
        return self.stored[path]

    def _note(self, path: str) -> None:
        if path in self.refused:
            raise OSError(path)
        self.writes.append(path)

    async def look(self, now: datetime = NOW) -> Reconciled:
        self.writes.clear()
        return await reconcile(Cluster(self.get, self.apply, self.patch), PLACE, Terms(), now)


def configuration() -> Object:
    client_config = {"service": {"name": "webhook", "namespace": "system"}}
    return {"metadata": {}, "webhooks": [{"name": "w", "clientConfig": client_config}]}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
async def due(api: Api) -> Api:
    """An authority with a fresh leaf, on the day on which the authority needs a successor."""
    await api.look()
    await api.look(NOW + 240 * DAY)
    return api


LATER = NOW + 244 * DAY


async def test_where_nothing_is_served_one_look_does_it_all(api: Api) -> None:
    looked = await api.look()

    assert looked.done == ("authority", "trust by m", "trust by v", "leaf")
    assert api.writes == [PLACE.path, "/m", "/v", PLACE.path]


async def test_what_is_kept_is_what_is_stored(api: Api) -> None:
    looked = await api.look()

    assert objects.read(api.stored[PLACE.path]) == looked.kept


async def test_the_next_look_writes_nothing(api: Api) -> None:
    await api.look()

    looked = await api.look()

    assert (looked.done, api.writes) == ((), [])


async def test_a_new_authority_is_trusted_before_it_signs(due: Api) -> None:
    looked = await due.look(LATER)

    assert looked.done == ("authority", "trust by m", "trust by v")


async def test_a_look_later_it_signs(due: Api) -> None:
    await due.look(LATER)

    looked = await due.look(LATER)

    assert (looked.done, due.writes) == (("leaf",), [PLACE.path])


async def test_an_authority_that_could_not_be_injected_does_not_sign(due: Api) -> None:
    due.refused = {"/v"}
    for _ in range(3):
        with pytest.raises(OSError, match="/v"):
            await due.look(LATER)
    due.refused = set()

    looked = await due.look(LATER)

    assert looked.done == ("trust by v",)


async def test_a_leaf_that_ended_is_replaced_without_waiting(due: Api) -> None:
    looked = await due.look(LATER + 60 * DAY)

    assert looked.done[-1] == "leaf"


async def test_a_bundle_that_somebody_took_away_is_put_back(api: Api) -> None:
    await api.look()
    api.stored["/m"] = configuration()

    looked = await api.look()

    assert looked.done == ("trust by m",)


async def test_the_leaf_names_whom_the_configurations_call(api: Api) -> None:
    kept = (await api.look()).kept

    assert kept == rotation.with_serving(kept, {"webhook.system.svc"}, NOW, Terms())


async def test_without_configurations_the_authority_waits(api: Api) -> None:
    api.stored.clear()

    looked = await api.look()

    assert looked.done == ("authority",)
    assert looked.kept.serving is None


async def test_a_configuration_that_comes_later_trusts_first_and_is_served_then(api: Api) -> None:
    api.stored.clear()
    await api.look()
    api.stored["/v"] = configuration()

    looks = [(await api.look()).done for _ in range(3)]

    assert looks == [("trust by v",), ("leaf",), ()]


async def test_if_the_secret_is_lost_what_was_trusted_stays_trusted(api: Api) -> None:
    before = (await api.look()).kept
    del api.stored[PLACE.path]

    looked = await api.look()

    assert looked.done == ("authority", "trust by m", "trust by v")
    assert looked.kept.ca_certificates[1:] == before.ca_certificates


async def test_a_look_after_it_was_lost_there_is_a_leaf_again(api: Api) -> None:
    await api.look()
    del api.stored[PLACE.path]
    await api.look()

    looked = await api.look()

    assert looked.done == ("leaf",)


async def test_an_authority_taken_out_of_the_secret_is_trusted_no_more(due: Api) -> None:
    for _ in range(2):
        newest = (await due.look(LATER)).kept.ca_certificates[0]
    due.stored[PLACE.path]["data"]["ca.crt"] = b64encode(newest).decode()

    looked = await due.look(LATER)

    assert looked.done == ("trust by m", "trust by v")
    assert objects.trusted(due.stored[path] for path in PLACE.configurations) == {newest}


async def test_an_authority_that_somebody_else_had_trusted_goes(api: Api) -> None:
    other = issue.issue_ca("other", NOW, NOW + 3650 * DAY).certificate
    api.stored["/m"]["webhooks"][0]["clientConfig"]["caBundle"] = b64encode(other).decode()

    looked = await api.look()

    assert len(looked.kept.ca_certificates) == 1


async def test_a_secret_of_somebody_else_is_not_touched(api: Api) -> None:
    api.stored[PLACE.path] = {"metadata": {"name": "tls"}, "data": {"password": "eA=="}}

    with pytest.raises(objects.ForeignError):
        await api.look()

    assert api.writes == []
