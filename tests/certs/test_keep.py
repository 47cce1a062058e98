"""The order in which a CA is stored, trusted and used, on objects in memory."""

import copy
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import jsonpatch
import pytest

from certs import issue, keep, objects, rotation
from certs.keep import Cluster, Place, Reconciled
from certs.rotation import Terms
from intent import Object

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
PLACE = Place("system", "tls", ("/m", "/v"))


class Api:
    """Objects by path, the paths that were written, and the paths whose writes fail."""

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

    async def reconcile(self, now: datetime = NOW) -> Reconciled:
        self.writes.clear()
        return await keep.reconcile(Cluster(self.get, self.apply, self.patch), PLACE, Terms(), now)


def configuration() -> Object:
    client_config = {"service": {"name": "webhook", "namespace": "system"}}
    return {"metadata": {}, "webhooks": [{"name": "w", "clientConfig": client_config}]}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
async def due(api: Api) -> Api:
    """A CA with a fresh serving certificate, just before the CA must be replaced."""
    await api.reconcile()
    await api.reconcile(NOW + 240 * DAY)
    return api


LATER = NOW + 244 * DAY


async def test_the_first_reconcile_completes_everything_and_the_second_writes_nothing(api: Api) -> None:
    reconciled = await api.reconcile()

    assert reconciled.done == ("CA", "trust by m", "trust by v", "serving certificate")
    assert api.writes == [PLACE.path, "/m", "/v", PLACE.path]
    kept = objects.read(api.stored[PLACE.path])
    assert kept == reconciled.kept == rotation.with_serving(kept, {"webhook.system.svc"}, NOW, Terms())
    assert ((await api.reconcile()).done, api.writes) == ((), [])


async def test_a_new_ca_is_trusted_and_signs_one_reconcile_later(due: Api) -> None:
    reconciled = await due.reconcile(LATER)

    assert reconciled.done == ("CA", "trust by m", "trust by v")

    reconciled = await due.reconcile(LATER)

    assert (reconciled.done, due.writes) == (("serving certificate",), [PLACE.path])


async def test_a_ca_that_is_not_trusted_everywhere_does_not_sign(due: Api) -> None:
    due.refused = {"/v"}
    for _ in range(3):
        with pytest.raises(OSError, match="/v"):
            await due.reconcile(LATER)
    due.refused = set()

    reconciled = await due.reconcile(LATER)

    assert reconciled.done == ("trust by v",)


async def test_an_expired_serving_certificate_is_replaced_at_once(due: Api) -> None:
    reconciled = await due.reconcile(LATER + 60 * DAY)

    assert reconciled.done[-1] == "serving certificate"


async def test_a_removed_bundle_is_restored(api: Api) -> None:
    await api.reconcile()
    api.stored["/m"] = configuration()

    reconciled = await api.reconcile()

    assert reconciled.done == ("trust by m",)


async def test_without_configurations_no_serving_certificate_is_issued(api: Api) -> None:
    api.stored.clear()

    reconciled = await api.reconcile()

    assert reconciled.done == ("CA",)
    assert reconciled.kept.serving is None


async def test_a_later_configuration_trusts_the_ca_before_a_certificate_is_issued(api: Api) -> None:
    api.stored.clear()
    await api.reconcile()
    api.stored["/v"] = configuration()

    done = [(await api.reconcile()).done for _ in range(3)]

    assert done == [("trust by v",), ("serving certificate",), ()]


async def test_if_the_secret_is_lost_the_trusted_ca_stays_trusted_and_a_new_one_signs(api: Api) -> None:
    before = (await api.reconcile()).kept
    del api.stored[PLACE.path]

    reconciled = await api.reconcile()

    assert reconciled.done == ("CA", "trust by m", "trust by v")
    assert reconciled.kept.ca_certificates[1:] == before.ca_certificates
    assert (await api.reconcile()).done == ("serving certificate",)


async def test_a_ca_removed_from_the_secret_is_no_longer_trusted(due: Api) -> None:
    for _ in range(2):
        newest = (await due.reconcile(LATER)).kept.ca_certificates[0]
    due.stored[PLACE.path]["data"]["ca.crt"] = b64encode(newest).decode()

    reconciled = await due.reconcile(LATER)

    assert reconciled.done == ("trust by m", "trust by v")
    assert objects.trusted(due.stored[path] for path in PLACE.configurations) == {newest}


async def test_after_an_older_secret_is_restored_the_newer_ca_stays_trusted(due: Api) -> None:
    older = copy.deepcopy(due.stored[PLACE.path])
    for _ in range(2):
        newest = (await due.reconcile(LATER)).kept.ca_certificates[0]
    due.stored[PLACE.path] = {**older, "metadata": due.stored[PLACE.path]["metadata"]}

    for _ in range(3):
        await due.reconcile(LATER)

    assert newest in objects.trusted([due.stored["/m"]]) & objects.trusted([due.stored["/v"]])
    assert newest in objects.read(due.stored[PLACE.path]).ca_certificates


async def test_after_an_older_secret_is_restored_its_own_ca_signs(api: Api) -> None:
    older = (await api.reconcile()).kept
    secret = copy.deepcopy(api.stored[PLACE.path])
    del api.stored[PLACE.path]["data"]["ca.key"]
    for _ in range(2):
        newer = (await api.reconcile(NOW + DAY)).kept
    api.stored[PLACE.path] = secret

    done = [(await api.reconcile(NOW + DAY)).done for _ in range(3)]

    assert done == [("trust by m", "trust by v"), (), ()]
    kept = objects.read(api.stored[PLACE.path])
    assert (kept.serving, kept.key) == (older.serving, older.key)
    assert kept.ca_certificates == (*older.ca_certificates, newer.ca_certificates[0])


async def test_a_foreign_ca_is_removed_from_the_bundle(api: Api) -> None:
    other = issue.issue_ca("other", NOW, NOW + 3650 * DAY).certificate
    api.stored["/m"]["webhooks"][0]["clientConfig"]["caBundle"] = b64encode(other).decode()

    reconciled = await api.reconcile()

    assert len(reconciled.kept.ca_certificates) == 1


async def test_a_secret_without_our_label_is_not_written(api: Api) -> None:
    api.stored[PLACE.path] = {"metadata": {"name": "tls"}, "data": {"password": "eA=="}}

    with pytest.raises(objects.ForeignError):
        await api.reconcile()

    assert api.writes == []
