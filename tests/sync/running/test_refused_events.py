"""An Event that is refused affects nothing else: the rest of the reconcile is done."""

import pytest
from aiohttp import web

from tests.sync.conftest import Start, quiet
from tests.sync.fake_api import Api, status
from tests.sync.running.test_controller import DECODE, PREFILL
from tests.sync.samples import lws


@pytest.fixture
def disagreeing(api: Api) -> None:
    """Store a prefiller and a decoder in different queues: each gets an Event."""
    for path, obj, queue in ((PREFILL, lws("p"), "a"), (DECODE, lws("d", "decoder"), "b")):
        obj["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = queue
        api.put(path, obj)


@pytest.mark.usefixtures("disagreeing")
async def test_a_refused_event_affects_nothing_else(api: Api, start: Start) -> None:
    asked: list[str] = []

    def refuse_the_first(request: web.Request) -> web.StreamResponse | None:
        if request.method != "PATCH" or "/events/" not in request.path:
            return None
        asked.append(request.path)
        return status(500, "InternalError", "no Event is taken", name="x") if len(asked) == 1 else None

    api.fault = refuse_the_first
    controller = start()
    await quiet(4)

    outcomes = {
        outcome: controller.metrics.registry.get_sample_value(
            "fusioninfer_sync_reconciles_total", {"outcome": outcome}
        )
        for outcome in ("retry", "bug")
    }
    assert (len(api.findings()), len(asked), outcomes) == (1, 2, {"retry": 0, "bug": 0})
