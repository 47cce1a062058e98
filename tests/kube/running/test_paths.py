"""Names in paths and queries: each arrives as it is; one that no object can have is not sent."""

import ast
import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from kube.client import NOT_FOUND, ApiError, Client, connect
from kube.request import Request, apply, create, delete, get, page, patch, update, watch
from sync.kinds import OUTPUTS, WATCHED
from tests.hostile.names import IMPOSSIBLE

ROOT = Path(__file__).parents[3]
CONFIG_MAPS = OUTPUTS["ConfigMap"]
PACKAGES = ("catalog", "certs", "fusioninfer", "importer", "intent", "kube", "plan", "sync", "webhook")


@pytest.fixture
async def wire() -> AsyncIterator[tuple[str, list[bytes]]]:
    """Serve empty objects on a raw socket; yield the address, and the request targets as they arrive."""
    targets: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        targets.append(head.split(b"\r\n")[0].split(b" ", 1)[1].rsplit(b" ", 1)[0])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", targets
    server.close()


@pytest.fixture
async def client(wire: tuple[str, list[bytes]], tmp_path: Path) -> AsyncIterator[Client]:
    """Return a client of that server, below a path as of a proxy in front of several API servers."""
    content = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [{"name": "one", "cluster": {"server": f"{wire[0]}/k8s/c-1/"}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(content))
    made = await connect(str(tmp_path / "kubeconfig"))
    yield made
    await made.close()


async def test_a_path_arrives_as_it_was_built(client: Client, wire: tuple[str, list[bytes]]) -> None:
    paths = [
        "/version",
        *(kind.path("team-a", "a.b-1") for kind in WATCHED),
        *(kind.path("team-a") for kind in WATCHED),
        *(kind.resource.collection for kind in WATCHED),
        f"{WATCHED[0].path('team-a', 'x' * 253)}/status",
    ]
    for path in paths:
        await client.call(get(path))
    assert wire[1] == [f"/k8s/c-1{path}".encode() for path in paths]


async def test_a_name_that_no_object_has_is_never_sent(client: Client, wire: tuple[str, list[bytes]]) -> None:
    built = [
        path
        for name in IMPOSSIBLE
        for path in (
            CONFIG_MAPS.path("a", name),
            CONFIG_MAPS.path(name),
            f"{CONFIG_MAPS.path(name, 'x')}/status",
        )
    ]
    for path in (*built, "/api/v1/namespaces/a/../b/configmaps/x", "/api/v1/namespaces//configmaps", "", "/"):
        for request in (
            *(get(path), page(path, "", "", "", 1), watch(path, "", "1", 1)),
            *(create(path, {}), update(path, {})),
            *(apply(path, {}), patch(path, {}), delete(path, "uid", 1)),
        ):
            with pytest.raises(ApiError) as raised:
                await _sent(client, request)
            assert (raised.value.code, raised.value.named) == (NOT_FOUND, True), path
    assert wire[1] == []


async def _sent(client: Client, request: Request) -> None:
    if request.verb == "list":
        await anext(client.pages(request.path))
    elif request.verb == "watch":
        await anext(client.follow(request))
    elif request.verb == "get":
        await client.call(request)
    else:
        await client.write(request, 1.0)


async def test_a_value_of_a_query_stays_one_value(client: Client, wire: tuple[str, list[bytes]]) -> None:
    whole = [one for one in IMPOSSIBLE if one != "\ud800"]  # no JSON of an API server has half a character
    for value in (*whole, "x&dryRun=All", "x y+z", "x;y", "x=1,app in (a)"):
        query = {"labelSelector": value, "fieldManager": value, "continue": value}
        await client.call(Request("get", "/version", query))
        target = urlsplit(wire[1].pop().decode())
        assert (target.path, target.fragment) == ("/k8s/c-1/version", "")
        assert dict(parse_qsl(target.query, keep_blank_values=True, separator="&")) == query


def test_no_other_code_puts_a_name_into_a_path() -> None:
    """A name with a slash would be two segments: `intent.names.api_path` alone joins them."""
    assert not {
        f"{path.relative_to(ROOT)}:{line}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for line in _joined(ast.parse(path.read_text(encoding="utf-8")))
    }


def _joined(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of texts of which a part follows `/namespaces/` or `/api/v1/`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
        elif isinstance(node, ast.Constant):
            text = str(node.value)
        else:
            continue
        if "/namespaces/{" in text or "/api/v1/{" in text:
            yield node.lineno
