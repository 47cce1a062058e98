"""The API server's CA is replaced while a client runs."""

import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trustme
import yaml
from aiohttp import web

from kube import trust
from kube.client import NO_ANSWER, Client, connect
from kube.request import get


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    """A client that trusts the CA in `ca.crt`, and reads the file before each request."""
    monkeypatch.setattr(trust, "INTERVAL", 0.0)
    write(tmp_path, trustme.CA())
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": str(tmp_path / "ca.crt")}
    content = {
        "current-context": "one",
        "contexts": [{"name": "one", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [{"name": "one", "cluster": cluster}],
        "users": [{"name": "me", "user": {"token": "t"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(content))
    made = await connect(str(tmp_path / "kubeconfig"))
    yield made
    await made.close()


def write(folder: Path, *authorities: trustme.CA) -> None:
    (folder / "ca.crt").write_bytes(b"".join(one.cert_pem.bytes() for one in authorities))


async def serve(stack: AsyncExitStack, authority: trustme.CA) -> str:
    """Serve an empty object with a certificate of a CA; return the URL."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)

    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({})

    app = web.Application()
    app.router.add_get("/version", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    return f"https://127.0.0.1:{runner.addresses[0][1]}"


async def test_a_new_ca_in_the_file_is_trusted(client: Client, tmp_path: Path) -> None:
    authority = trustme.CA()
    async with AsyncExitStack() as stack:
        client.configuration.host = await serve(stack, authority)
        with pytest.raises(NO_ANSWER):
            await client.call(get("/version"))
        write(tmp_path, authority)

        assert await client.call(get("/version")) == {}


async def test_a_ca_that_is_gone_from_the_file_is_no_longer_trusted(client: Client, tmp_path: Path) -> None:
    before = trustme.CA()
    write(tmp_path, before)
    async with AsyncExitStack() as stack:
        client.configuration.host = await serve(stack, before)
        await client.call(get("/version"))
        write(tmp_path, trustme.CA())

        with pytest.raises(NO_ANSWER):
            await client.call(get("/version"))


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\nAAAA"])
async def test_an_unreadable_file_changes_nothing(
    client: Client, tmp_path: Path, content: bytes | None
) -> None:
    authority = trustme.CA()
    write(tmp_path, authority)
    async with AsyncExitStack() as stack:
        client.configuration.host = await serve(stack, authority)
        await client.call(get("/version"))
        if content is None:
            (tmp_path / "ca.crt").unlink()
        else:
            (tmp_path / "ca.crt").write_bytes(content)

        assert await client.call(get("/version")) == {}
