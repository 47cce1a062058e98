"""Credentials as Kubernetes provides them, and answers that are not objects."""

import socket
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
import trustme
from aiohttp import web

from kube.client import KEEPALIVE, AnswerTooLargeError, ApiError, Client, connect, sockets
from kube.request import get
from tests.sync.fake_api import Api, status


async def test_in_a_pod_the_service_account_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("of-the-pod")
    trustme.CA().cert_pem.write_to_path(authority)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr("kubernetes.aio.config.incluster_config.SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr("kubernetes.aio.config.incluster_config.SERVICE_CERT_FILENAME", str(authority))

    client = await connect()
    host = client.configuration.host
    settings = await client.configuration.auth_settings()
    await client.close()

    assert (host, settings["BearerToken"]["value"]) == ("https://10.0.0.1:443", "bearer of-the-pod")


@pytest.fixture
def elsewhere(kubeconfig: Path, api: Api, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a kubeconfig for another API server, to which the fake one is the proxy."""
    kubeconfig.write_text(kubeconfig.read_text().replace(api.url, "http://api.invalid"))
    monkeypatch.setenv("http_proxy", api.url)
    return str(kubeconfig)


async def test_the_proxy_of_the_environment_is_used(elsewhere: str) -> None:
    client = await connect(elsewhere)

    answer = await client.call(get("/version"))
    await client.close()

    assert answer == {"gitVersion": "v1.35.4"}


async def test_a_host_that_the_environment_excepts_has_no_proxy(
    elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "api.invalid")
    client = await connect(elsewhere)

    with pytest.raises(aiohttp.ClientConnectorError):
        await client.call(get("/version"))
    await client.close()


async def test_netrc_is_not_read(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "netrc"
    file.write_text("default login someone password secret\n")
    monkeypatch.setenv("NETRC", str(file))

    assert await client.call(get("/version")) == {"gitVersion": "v1.35.4"}


@pytest.mark.parametrize(
    ("answer", "said", "after"),
    [
        (lambda: status(422, "Invalid", "spec.queue is wrong"), "422 Invalid: spec.queue is wrong", 0),
        (lambda: web.Response(status=502, text="<html>secret</html>"), "502 : ", 0),
        (lambda: web.Response(status=429, headers={"Retry-After": "7"}), "429 : ", 7),
    ],
    ids=["a status", "the page of a proxy", "Retry-After"],
)
async def test_an_error_names_what_was_refused_and_quotes_no_page(
    api: Api, client: Client, answer: Callable[[], web.Response], said: str, after: float
) -> None:
    api.fault = lambda _request: answer()

    with pytest.raises(ApiError) as refused:
        await client.call(get("/version"))

    assert (str(refused.value), refused.value.retry_after) == (said, after)


async def test_an_answer_may_have_as_many_bytes_as_the_caller_takes(api: Api, client: Client) -> None:
    api.fault = lambda _request: web.json_response(body=b"{}")

    assert await client.call(get("/version"), at_most=2) == {}
    with pytest.raises(AnswerTooLargeError):
        await client.call(get("/version"), at_most=1)


@pytest.mark.skipif(not hasattr(socket, "TCP_KEEPIDLE"), reason="the kernel has its own intervals")
def test_a_connection_on_which_nothing_arrives_is_probed() -> None:
    make = sockets(1.5)

    with make((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 0))) as made:
        is_probed = made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        intervals = [made.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name, _ in KEEPALIVE]

    assert is_probed
    assert intervals == [seconds for _, seconds in KEEPALIVE]


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the kernel gives nothing up")
def test_a_connection_without_acknowledgements_is_closed() -> None:
    make = sockets(1.5)

    with make((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 0))) as made:
        seconds = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)

    assert seconds == 1500
