# ruff: noqa: F811 - fixtures are arguments
"""Templates are read live for /mutate: whatever the API server answers, bounded, and with a clear reason."""

import asyncio
import base64
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from itertools import product
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from intent import Object
from intent.settings import Settings
from intent.template import APPLY_IT, Templates, Unavailable
from server import admission
from server.template_reader import LARGEST, reader
from tests.builders.lws import changed, lws
from tests.builders.reviews import review
from tests.builders.templates import template
from tests.builders.wire import ask
from tests.sync.conftest import api, kubeconfig  # noqa: F401 - fixtures
from tests.sync.fake_api import Api, status
from tests.webhook.running import CLIENT_TLS, SERVER_TLS, USUAL, listening
from webhook.review import Wanted
from webhook.server import app, reading
from webhook.server.callers import Peer
from webhook.server.offload import Offload
from webhook.server.reading import READS, SECONDS, TURNS, ReadTemplates, TemplateLoader
from webhook.server.shares import FullError

SHARED: Final = "fusioninfer-system"
KIND: Final = "/apis/fusioninfer.io/v1alpha1/namespaces/{}/inferencetemplates/{}"
PODS: Final = {"for": "common", "template": {"spec": {"priorityClassName": "high"}}}


def stored(api: Api, namespace: str = "llm", name: str = "base", *pods: Object) -> None:
    made = template(*(pods or (PODS,)), name=name, namespace=namespace)
    api.put(KIND.format(namespace, name), made)


async def read(kubeconfig: Path, *names: str) -> Templates:
    async with reader(SHARED, str(kubeconfig)) as made:
        return await made(Wanted("llm", names))


async def reason(kubeconfig: Path, name: str = "base") -> str:
    found = (await read(kubeconfig, name))[name]
    assert isinstance(found, Unavailable), found
    return found.reason


# --- where templates are looked up -------------------------------------------------------------------


async def test_the_namespace_of_the_object_comes_before_the_operators(api: Api, kubeconfig: Path) -> None:
    stored(api, "llm", "both")
    stored(api, SHARED, "both")
    stored(api, SHARED, "shared")

    found: Any = await read(kubeconfig, "both", "shared", "neither")

    assert found["both"]["metadata"]["namespace"] == "llm"
    assert found["shared"]["metadata"]["namespace"] == SHARED
    assert found["neither"].reason == f"does not exist in namespace llm or {SHARED}: {APPLY_IT}"


async def test_all_are_read_at_once(api: Api, kubeconfig: Path) -> None:
    for name in "abcdefgh":
        stored(api, name=name)
    gate = api.gates[KIND.format("llm", "a")] = asyncio.Event()
    task = asyncio.create_task(read(kubeconfig, *"abcdefgh"))

    async with asyncio.timeout(30):
        while len(api.requests) < 16:  # noqa: ASYNC110 - the fake API server has no event for it
            await asyncio.sleep(0.01)
    gate.set()
    assert {len(await task)} == {8}


# --- what may go wrong -------------------------------------------------------------------------------


def garbage(_request: Any) -> web.Response:
    return web.Response(body=b"{]", content_type="application/json")


def other(_request: Any) -> web.Response:
    return web.json_response({"kind": "Secret", "metadata": {"name": "base", "namespace": "llm"}})


def huge(_request: Any) -> web.Response:
    return web.Response(body=b'"' + b"a" * LARGEST + b'"', content_type="application/json")


def deep(_request: Any) -> web.Response:
    return web.Response(body=b'{"a":' * 5000 + b"1" + b"}" * 5000, content_type="application/json")


ANSWERS: Final[dict[str, tuple[Callable[[Any], web.Response], str]]] = {
    "forbidden": (lambda _: status(403, "Forbidden"), "may not get inferencetemplates (403)"),
    "no token": (lambda _: status(401, "Unauthorized"), "answered 401"),
    "an error": (lambda _: status(500, "InternalError"), "answered 500; try again"),
    "throttled": (lambda _: status(429, "TooManyRequests"), "answered 429; try again"),
    "garbage": (garbage, "is no InferenceTemplate of this name"),
    "another kind": (other, "is no InferenceTemplate of this name"),
    "too large": (huge, f"has more than {LARGEST} bytes"),
    "too deep": (deep, "is no InferenceTemplate of this name"),
    "no such kind": (lambda _: web.Response(status=404, text="404 page not found"), "is not installed"),
}


@pytest.mark.parametrize(("answer", "says"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_that_is_no_template_gives_a_reason(
    api: Api, kubeconfig: Path, answer: Any, says: str
) -> None:
    api.fault = answer

    found = await reason(kubeconfig)
    assert says in found
    assert APPLY_IT not in found, "it may exist"


async def test_an_error_that_passes_is_tried_once_more(api: Api, kubeconfig: Path) -> None:
    stored(api)
    failed: list[str] = []

    def once(request: web.Request) -> web.Response | None:
        if request.path in failed:
            return None
        failed.append(request.path)
        return status(500, "InternalError")

    api.fault = once

    assert not isinstance((await read(kubeconfig, "base"))["base"], Unavailable)
    assert len(api.requests) == 4


async def test_a_read_that_was_forbidden_is_not_tried_again(api: Api, kubeconfig: Path) -> None:
    api.fault = lambda _: status(403, "Forbidden")

    await reason(kubeconfig)

    assert len(api.requests) == 2


@pytest.mark.parametrize(
    "name", ["../../secrets/token", "a/b", "a?watch=1", "..", "", "A", "%2e%2e", "a" * 300]
)
async def test_a_name_that_is_a_path_is_not_asked_for(api: Api, kubeconfig: Path, name: str) -> None:
    assert "no name" in await reason(kubeconfig, name)
    assert not api.requests


async def test_an_api_server_that_is_gone_gives_a_reason(gone: Path) -> None:
    assert "did not answer" in await reason(gone)


@pytest.fixture
def gone(api: Api, kubeconfig: Path) -> Path:
    """Return a kubeconfig with a port on which nothing listens."""
    with listening() as sock:
        unused = f"http://127.0.0.1:{sock.getsockname()[1]}"
    kubeconfig.write_text(kubeconfig.read_text().replace(api.url, unused))
    return kubeconfig


# --- in the webhook ----------------------------------------------------------------------------------


class Expensive(Offload):
    """Takes every request."""

    def takes(self, _peer: Peer, _body: bytes) -> bool:
        return True


@asynccontextmanager
async def webhook(kubeconfig: Path, *, offloaded: bool = False) -> AsyncIterator[Callable[..., Any]]:
    """Serve /mutate, and yield what posts a review and returns the decoded response."""
    async with reader(SHARED, str(kubeconfig)) as read, _serving(read, offloaded=offloaded) as ask_it:
        yield ask_it


@asynccontextmanager
async def _serving(read: ReadTemplates, *, offloaded: bool) -> AsyncIterator[Callable[..., Any]]:
    answers = admission.reviews(Settings())
    offload = Expensive(answers) if offloaded else Offload(answers)
    counts = {"/mutate": lambda _outcome, _seconds: None}
    state = app.ServerState(answers, counts, USUAL, offload=offload, reading=TemplateLoader(read))
    sock, stop = listening(), asyncio.Event()
    port = sock.getsockname()[1]
    task = asyncio.create_task(app.serve(state, SERVER_TLS, sock, stop))

    async def post(live: Object, namespace: str = "llm", **more: Any) -> Any:
        body = orjson.dumps(review(live, namespace=namespace, **more))
        reply = await ask(port, CLIENT_TLS, body)
        return json.loads(reply.body)["response"] if reply.status == 200 else reply.status

    try:
        yield post
    finally:
        stop.set()
        await task
        await offload.close()


def named(refs: str = "base") -> Object:
    return changed(lws(), "metadata.annotations.fusioninfer.io/base-refs", refs)


def patched(response: Any) -> str:
    return base64.b64decode(response["patch"]).decode()


@pytest.mark.parametrize("offloaded", [False, True])
async def test_a_new_object_gets_its_template_s_fields(
    api: Api, kubeconfig: Path, *, offloaded: bool
) -> None:
    stored(api)

    async with webhook(kubeconfig, offloaded=offloaded) as post:
        response = await post(named())

    assert '"high"' in patched(response)


async def test_nothing_is_read_for_objects_without_templates(api: Api, kubeconfig: Path) -> None:
    async with webhook(kubeconfig) as post:
        assert "patch" in await post(lws())
        assert await post(named(), old=named(), object=named())

    assert not api.requests


async def test_a_missing_template_is_answered_and_recorded(api: Api, kubeconfig: Path) -> None:
    async with webhook(kubeconfig) as post:
        response = await post(named("absent"))

    assert f"does not exist in namespace llm or {SHARED}" in patched(response)
    assert len(api.requests) == 2


async def test_a_slow_api_server_costs_one_request_time_and_others_none(api: Api, kubeconfig: Path) -> None:
    api.hanging.add(KIND.format("llm", "base"))
    stored(api, "other")

    async with webhook(kubeconfig) as post:
        await post(lws())  # loads code
        since = time.monotonic()
        slow = [asyncio.create_task(post(named())) for _ in range(3 * TURNS)]
        await asyncio.sleep(0.1)
        plain = await post(lws())
        filled = await post(named(), "other")
        assert not any(one.done() for one in slow)

        assert "patch" in plain
        assert '"high"' in patched(filled)
        answers = await asyncio.gather(*slow)
        took = time.monotonic() - since
    assert all(reading.LATE in patched(one) or "did not answer" in patched(one) for one in answers)
    assert took < SECONDS + 3.0  # and not the turns one after the other


async def test_requests_of_one_namespace_take_turns(api: Api, kubeconfig: Path) -> None:
    gate = api.gates[KIND.format("llm", "base")] = asyncio.Event()
    stored(api)

    async with webhook(kubeconfig) as post:
        tasks = [asyncio.create_task(post(named())) for _ in range(3 * TURNS)]
        async with asyncio.timeout(30):
            while len(api.requests) < 2 * TURNS:  # noqa: ASYNC110 - the fake API server has no event for it
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert len(api.requests) == 2 * TURNS
        gate.set()
        assert all('"high"' in patched(one) for one in await asyncio.gather(*tasks))


async def test_reads_of_all_namespaces_together_are_limited_and_one_takes_at_most_half(
    api: Api, kubeconfig: Path
) -> None:
    gate, spaces = asyncio.Event(), ("n0", "n1", "n2")
    api.gates |= {KIND.format(*one): gate for one in product((*spaces, SHARED), "abcdefgh")}
    refs = ",".join("abcdefgh")

    async with webhook(kubeconfig) as post:
        tasks = [asyncio.create_task(post(named(refs), one)) for one in spaces for _ in range(TURNS)]
        async with asyncio.timeout(30):
            while len(api.requests) < READS:  # noqa: ASYNC110 - the fake API server has no event for it
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        at_once = Counter(path.split("/")[5] for _, path in api.requests)
        gate.set()
        await asyncio.gather(*tasks)

    assert at_once.total() == READS
    assert max(map(at_once.__getitem__, spaces)) <= READS // 2


async def test_a_read_that_failed_is_not_logged(gone: Path) -> None:
    with capture_logs() as lines:
        await reason(gone)

    assert not lines


async def test_an_object_of_another_namespace_than_its_request_gets_no_templates(
    api: Api, kubeconfig: Path
) -> None:
    stored(api, "other")

    async with webhook(kubeconfig) as post:
        answer = await post(changed(named(), "metadata.namespace", "other"))

    assert answer == HTTPStatus.BAD_REQUEST
    assert not api.requests


async def test_a_caller_that_lies_about_its_namespaces_leaves_reads_and_room_to_others() -> None:
    reads: Counter[str] = Counter()
    released = asyncio.Event()

    async def read(wanted: Wanted) -> Templates:
        reads[wanted.namespace[:1]] += 1
        await released.wait()
        return dict.fromkeys(wanted.names, Unavailable("is gone"))

    made = TemplateLoader(read, reserved=0.5)
    until, room = time.monotonic() + 30, reading.BYTES // reading.LEAST // 2
    hostile, other, known = Peer(), Peer(), Peer(is_known=True)

    def asked(peer: Peer, *namespaces: str) -> list[asyncio.Task[Templates]]:
        wanted = (Wanted(name, ("t",)) for name in namespaces)
        return [asyncio.create_task(made.templates(one, 1, until, peer)) for one in wanted]

    lies = asked(hostile, *(f"lie-{at}" for at in range(room)))
    await asyncio.sleep(0.01)
    assert reads == {"l": TURNS}
    others = asked(other, "other") + asked(known, *["mine"] * 3, *["yours"] * 3)
    await asyncio.sleep(0.01)

    assert (sum(one.done() for one in lies), sum(one.done() for one in others)) == (1, 0)
    assert (reads["m"], reads["y"]) == (TURNS, TURNS)
    released.set()
    assert all(await asyncio.gather(*others))
    refused = [
        one for one in await asyncio.gather(*lies, return_exceptions=True) if isinstance(one, FullError)
    ]
    assert (len(refused), len(made.waiting)) == (1, 0)


async def test_the_deadline_of_the_caller_counts() -> None:
    async def read(_wanted: Wanted) -> Templates:
        await asyncio.sleep(60)
        return {}

    made = TemplateLoader(read)
    found = await made.templates(Wanted("a", ("t",)), 1, time.monotonic() + 0.6, Peer())

    assert found == {"t": Unavailable(reading.LATE)}
