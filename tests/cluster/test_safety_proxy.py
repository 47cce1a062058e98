"""The proxy of the safety tests passes everything on, and strikes as it is told."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
from aiohttp import web

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.safety.proxy import READS, Call, Fault, Proxy, call_of, proxy
from tests.cluster.testbed.pki import issue

GROUPS = "/apis/scheduling.volcano.sh/v1beta1/podgroups"
NAMESPACED = "/apis/scheduling.volcano.sh/v1beta1/namespaces/team/podgroups"
GONE = {"type": "ADDED", "object": {"metadata": {"name": "later"}}}


class Server:
    """Lists what it has; its watches give one event each time that they are told to."""

    def __init__(self) -> None:
        self.names = ["first"]
        self.news = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            items = [{"metadata": {"name": name}} for name in self.names]
            said = {
                "metadata": {"resourceVersion": "7"},
                "items": items,
                "agent": request.headers["User-Agent"],
            }
            return web.json_response(said)
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await self.news.wait()
            self.news.clear()
            await response.write(json.dumps(GONE).encode() + b"\n")


@pytest.fixture
async def between(tmp_path: Path) -> AsyncIterator[tuple[Server, Proxy, aiohttp.ClientSession]]:
    """A server, a proxy before it, and a session that calls the proxy."""
    authority, server = trustme.CA(), Server()
    issue(authority, tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    trusted = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    with proxy(url, tmp_path / "ca.crt", tmp_path) as there:
        base = f"https://127.0.0.1:{there.port}"
        connector = aiohttp.TCPConnector(ssl=trusted)
        async with aiohttp.ClientSession(base, connector=connector, headers={"User-Agent": "us"}) as session:
            yield server, there, session
    await runner.cleanup()


async def listed(session: aiohttp.ClientSession, path: str = GROUPS) -> tuple[int, Any]:
    async with session.get(path) as answer:
        return answer.status, await answer.json(content_type=None) if answer.ok else await answer.text()


def names(found: tuple[int, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in found[1]["items"]]


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", GROUPS, {}, Call("list", "podgroups")),
        ("GET", GROUPS, {"watch": "1"}, Call("watch", "podgroups")),
        ("GET", f"{NAMESPACED}/svc", {}, Call("get", "podgroups", "team", "svc")),
        ("PATCH", f"{NAMESPACED}/svc/status", {}, Call("write", "podgroups", "team", "svc")),
        ("POST", "/api/v1/namespaces/team/services", {}, Call("write", "services", "team")),
        ("GET", "/api/v1/pods", {}, Call("list", "pods")),
    ],
)
def test_a_call_is_read_from_its_request(method: str, path: str, query: Object, expected: Call) -> None:
    assert call_of(method, path, query) == expected


async def test_without_faults_all_is_passed_on(between: Any) -> None:
    _, _, session = between

    assert await listed(session) == (
        200,
        {"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "first"}}], "agent": "us"},
    )


@pytest.mark.parametrize("code", [403, 404, 429, 500])
async def test_a_kind_is_refused_while_a_fault_lasts(between: Any, code: int) -> None:
    _, there, session = between
    fault = Fault("refuse", READS, frozenset({"podgroups"}), code=code)

    there.begin(fault)
    assert (await listed(session))[0] == code
    assert (await listed(session, "/api/v1/pods"))[0] == 200
    there.end(fault)
    assert (await listed(session))[0] == 200


async def test_refusals_may_vary(between: Any) -> None:
    _, there, session = between
    there.begin(Fault("refuse-variously", frozenset({"list"}), code=403))

    assert await listed(session) != await listed(session)


async def test_a_list_is_empty_once(between: Any) -> None:
    _, there, session = between
    there.begin(Fault("empty", frozenset({"list"}), times=1))

    assert [names(await listed(session)) for _ in range(2)] == [[], ["first"]]


async def test_a_stale_list_is_an_older_copy(between: Any) -> None:
    server, there, session = between
    await listed(session)
    server.names.append("second")
    assert names(await listed(session)) == ["first", "second"]

    there.begin(Fault("stale", frozenset({"list"})))

    assert names(await listed(session)) == ["first"]


async def test_before_and_after_a_lie_a_watch_has_to_list_again(between: Any) -> None:
    _, there, session = between
    await listed(session)
    lie = Fault("empty", READS, times=1)

    there.begin(lie)
    statuses = [await watched(session), await watched(session)]
    there.end(lie)

    assert [*statuses, await watched(session)] == [410, 200, 410]


async def watched(session: aiohttp.ClientSession) -> int:
    async with session.get(GROUPS, params={"watch": "1"}) as answer:
        return answer.status


async def test_a_deaf_watch_delivers_nothing_until_it_breaks(between: Any) -> None:
    server, there, session = between
    await listed(session)
    deaf = Fault("deaf", frozenset({"watch"}))
    async with session.get(GROUPS, params={"watch": "1"}) as answer:
        server.news.set()
        assert json.loads(await answer.content.readline()) == GONE
        there.begin(deaf)
        server.news.set()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answer.content.readline(), 0.3)
        there.end(deaf)
        with pytest.raises(aiohttp.ClientError):
            await asyncio.wait_for(answer.content.readline(), PATIENCE)


async def test_a_line_is_cut_in_the_middle(between: Any) -> None:
    server, there, session = between
    await listed(session)
    async with session.get(GROUPS, params={"watch": "1"}) as answer:
        there.begin(Fault("cut", frozenset({"watch"})))
        server.news.set()
        with pytest.raises(aiohttp.ClientError):
            await asyncio.wait_for(answer.content.read(), PATIENCE)


async def test_calls_are_late(between: Any) -> None:
    _, there, session = between
    there.begin(Fault("delay", frozenset({"list"}), seconds=0.3))

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(listed(session), 0.2)


async def test_writes_are_counted_those_of_leases_not(between: Any) -> None:
    _, there, session = between
    for path in (NAMESPACED, "/apis/coordination.k8s.io/v1/namespaces/team/leases"):
        async with session.post(path, json={}) as answer:
            await answer.read()

    assert [call for _, call in there.writes] == [Call("write", "podgroups", "team")]
