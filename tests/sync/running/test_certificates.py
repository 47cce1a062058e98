"""The webhook's certificates, maintained by the controller: errors are counted, logged once, and retried."""

import asyncio
import logging
from functools import partial

import pytest
from aiohttp import web

from certs import objects
from kube.client import Client
from server.certificates import Keeper, keep
from sync.lease import LeadershipLostError
from sync.metrics import ControllerMetrics
from tests.sync.conftest import FOR_EVER, Background, eventually, quiet
from tests.sync.fake_api import Api, status

SECRET = "/api/v1/namespaces/system/secrets/tls"
keeper = partial(Keeper, interval_seconds=0.01, settled_seconds=0.01)


@pytest.fixture
def measured() -> ControllerMetrics:
    return ControllerMetrics()


def reconciles(measured: ControllerMetrics, outcome: str) -> float:
    return (
        measured.registry.get_sample_value(
            "fusioninfer_sync_certificate_reconciles_total", {"outcome": outcome}
        )
        or 0.0
    )


@pytest.fixture
def broken(api: Api) -> None:
    """Fail every request."""
    api.fault = lambda _request: status(500, "InternalError")


@pytest.fixture
def strange(api: Api) -> None:
    """Return objects that the API server would not store."""
    api.fault = lambda _request: web.json_response({"metadata": {}, "webhooks": [{}]})


@pytest.fixture
async def keeping(client: Client, measured: ControllerMetrics, background: Background) -> asyncio.Task[None]:
    """Reconcile certificates in the background."""
    return background(keep(keeper(client, "system", "tls", lambda: FOR_EVER), measured))


@pytest.mark.usefixtures("keeping")
async def test_the_secret_is_written_once(api: Api, measured: ControllerMetrics) -> None:
    await eventually(lambda: reconciles(measured, "unchanged") > 3)

    assert objects.read(api.objects[SECRET]).ca_certificates
    assert [write for write in api.writes if write[1] == SECRET] == [("PATCH", SECRET)]


async def test_what_is_settled_is_read_again_after_a_longer_time(
    client: Client, measured: ControllerMetrics, background: Background
) -> None:
    settled = keeper(client, "system", "tls", lambda: FOR_EVER, settled_seconds=3600.0)
    background(keep(settled, measured))

    await eventually(lambda: reconciles(measured, "unchanged") > 0)
    await quiet()

    assert (reconciles(measured, "changed"), reconciles(measured, "unchanged")) == (1, 1)


@pytest.mark.usefixtures("broken", "keeping")
async def test_an_error_is_logged_once_and_retried(
    measured: ControllerMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    await eventually(lambda: reconciles(measured, "failed") > 3)

    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.usefixtures("strange", "keeping")
async def test_a_bug_does_not_end_the_controller(measured: ControllerMetrics) -> None:
    await eventually(lambda: reconciles(measured, "bug") > 3)


async def test_without_leadership_nothing_is_written(
    api: Api, client: Client, measured: ControllerMetrics
) -> None:
    def refuse() -> float:
        raise LeadershipLostError("over")

    with pytest.raises(LeadershipLostError):
        await keep(keeper(client, "system", "tls", refuse), measured)

    assert api.writes == []
