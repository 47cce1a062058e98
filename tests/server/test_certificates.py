"""The order in which a CA is stored, trusted and used, on objects in memory."""

import copy
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import jsonpatch
import pytest

from certs import issue, objects, rotation
from certs.rotation import Kept, Terms
from intent import Object
from kube.client import ApiError
from kube.request import Request
from server.certificates import CONFIGURATIONS, Keeper

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SECRET = "/api/v1/namespaces/system/secrets/tls"
MUTATING, VALIDATING = CONFIGURATIONS
TRUST = ("trust by mutate.fusioninfer.io", "trust by validate.fusioninfer.io")


class Api:
    """Objects by path, the paths that were written, and the paths whose writes fail."""

    def __init__(self) -> None:
        self.stored = {path: configuration() for path in CONFIGURATIONS}
        self.writes: list[str] = []
        self.refused: set[str] = set()

    async def call(self, request: Request) -> Object:
        if request.path not in self.stored:
            raise ApiError(404, {})
        return copy.deepcopy(self.stored[request.path])

    async def write(self, request: Request, _seconds: float) -> Object:
        if request.path in self.refused:
            raise OSError(request.path)
        self.writes.append(request.path)
        body: Any = request.body
        if request.verb == "amend":
            stored = jsonpatch.apply_patch(self.stored[request.path], body)
        else:
            stored = {**body, "metadata": {**body["metadata"], "resourceVersion": str(len(self.writes))}}
        self.stored[request.path] = stored
        return copy.deepcopy(stored)

    async def reconcile(self, now: datetime = NOW) -> tuple[str, ...]:
        self.writes.clear()
        client: Any = self
        return await Keeper(client, "system", "tls", lambda: 1.0).reconcile(now)

    @property
    def kept(self) -> Kept:
        return objects.read(self.stored[SECRET])


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
    done = await api.reconcile()

    assert done == (
        "CA",
        *TRUST,
        "serving certificate",
    )
    assert api.writes == [SECRET, *CONFIGURATIONS, SECRET]
    assert api.kept == rotation.with_serving(api.kept, {"webhook.system.svc"}, NOW, Terms())
    assert (await api.reconcile(), api.writes) == ((), [])


async def test_a_new_ca_is_trusted_and_signs_one_reconcile_later(due: Api) -> None:
    done = await due.reconcile(LATER)

    assert done == ("CA", *TRUST)

    done = await due.reconcile(LATER)

    assert (done, due.writes) == (("serving certificate",), [SECRET])


async def test_a_ca_that_is_not_trusted_everywhere_does_not_sign(due: Api) -> None:
    due.refused = {VALIDATING}
    for _ in range(3):
        with pytest.raises(OSError, match="validate"):
            await due.reconcile(LATER)
    due.refused = set()

    done = await due.reconcile(LATER)

    assert done == ("trust by validate.fusioninfer.io",)


async def test_an_expired_serving_certificate_is_replaced_at_once(due: Api) -> None:
    done = await due.reconcile(LATER + 60 * DAY)

    assert done[-1] == "serving certificate"


async def test_a_removed_bundle_is_restored(api: Api) -> None:
    await api.reconcile()
    api.stored[MUTATING] = configuration()

    done = await api.reconcile()

    assert done == ("trust by mutate.fusioninfer.io",)


async def test_without_configurations_no_serving_certificate_is_issued(api: Api) -> None:
    api.stored.clear()

    done = await api.reconcile()

    assert done == ("CA",)
    assert api.kept.serving is None


async def test_a_later_configuration_trusts_the_ca_before_a_certificate_is_issued(api: Api) -> None:
    api.stored.clear()
    await api.reconcile()
    api.stored[VALIDATING] = configuration()

    done = [await api.reconcile() for _ in range(3)]

    assert done == [("trust by validate.fusioninfer.io",), ("serving certificate",), ()]


async def test_if_the_secret_is_lost_the_trusted_ca_stays_trusted_and_a_new_one_signs(api: Api) -> None:
    await api.reconcile()
    before = api.kept
    del api.stored[SECRET]

    done = await api.reconcile()

    assert done == ("CA", *TRUST)
    assert api.kept.ca_certificates[1:] == before.ca_certificates
    assert await api.reconcile() == ("serving certificate",)


async def test_a_ca_removed_from_the_secret_is_no_longer_trusted(due: Api) -> None:
    for _ in range(2):
        await due.reconcile(LATER)
    newest = due.kept.ca_certificates[0]
    due.stored[SECRET]["data"]["ca.crt"] = b64encode(newest).decode()

    done = await due.reconcile(LATER)

    assert done == TRUST
    assert objects.trusted(due.stored[path] for path in CONFIGURATIONS) == {newest}


async def test_a_foreign_ca_is_removed_from_the_bundle(api: Api) -> None:
    other = issue.issue_ca("other", NOW, NOW + 3650 * DAY).certificate
    api.stored[MUTATING]["webhooks"][0]["clientConfig"]["caBundle"] = b64encode(other).decode()

    await api.reconcile()

    assert len(api.kept.ca_certificates) == 1


async def test_a_secret_without_our_label_is_not_written(api: Api) -> None:
    api.stored[SECRET] = {"metadata": {"name": "tls"}, "data": {"password": "eA=="}}

    with pytest.raises(objects.ForeignError):
        await api.reconcile()

    assert api.writes == []
