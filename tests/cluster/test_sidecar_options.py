"""The options of a decoder's sidecar, on the real one: it starts with each connector, and trusts the Secret.

The prefiller and the engine are stand-ins that serve with TLS. No cluster is needed.
"""

import json
import os
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Final

import pytest
import trustme

from intent import Object
from intent.container import ROUTING_PROXY
from tests.builders.lws import container, lws, put, template
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.images import BUILT, binary_of
from tests.cluster.testbed.pki import issue
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.processes import Process, alive, spawn, stop, tail
from tests.cluster.testbed.stand_in import Reply, answering
from tests.cluster.testbed.wait import until
from webhook.mutate.sidecar import CERTIFICATE_DIR, TRUSTED

GENERATIONS: Final = [name for name, row in BUILT.items() if row.sidecar]
CONNECTORS: Final = [
    (name, connector) for name in GENERATIONS if (row := BUILT[name].sidecar) for connector in row.connectors
]
TLS_ENGINE: Final = container(args=["org/M", "--ssl-certfile", "/tls.crt", "--ssl-keyfile", "/tls.key"])


def injected(picker: str, options: str, engine: Object | None = None) -> Object:
    """Return the sidecar that a decoder with these options gets."""
    notes: Object = {
        "component_type": "decoder",
        "strategy": "pd-disaggregation",
        "picker": picker,
        "sidecar": options,
    }
    whole = put(lws(1, template(engine or container(args=["org/M"])), **notes))
    (found,) = [
        one
        for one in whole["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["initContainers"]
        if one["name"] == ROUTING_PROXY
    ]
    proxy: Object = found
    return proxy


@contextmanager
def running(built: Built, proxy: Object, port: int, engine: int, folder: Path) -> Iterator[Process]:
    """Run a sidecar on other ports, with a folder in place of the one where its Secret is mounted."""
    args = [one.replace(CERTIFICATE_DIR, str(folder)) for one in proxy["args"]]
    args = [*args, f"--port={port}", f"--vllm-port={engine}"]
    trusted = [one["value"] for one in proxy["env"] if one["name"] == "SSL_CERT_DIR"]
    assert trusted in ([], [TRUSTED])
    variables = os.environ | {"POD_IP": "127.0.0.1"} | ({"SSL_CERT_DIR": str(folder)} if trusted else {})
    binary = str(built.binary(binary_of(proxy["image"])))
    process = spawn("sidecar", (binary, *args), folder / "sidecar.log", variables)
    try:
        yield process
    finally:
        stop(process)


@contextmanager
def serving(name: str, folder: Path) -> Iterator[tuple[int, list[Object]]]:
    """Serve completions with TLS; yield the port, and the requests so far."""
    asked: list[Object] = []

    def answer(_where: str, body: bytes) -> Reply:
        asked.append(json.loads(body))
        return Reply(200, json.dumps({"engine": name, "kv_transfer_params": {"remote_host": "x"}}).encode())

    with answering(answer, folder) as port:
        yield port, asked


def healthy(process: Process, connection: HTTPConnection) -> bool:
    """Return whether the sidecar answers; one that ended never will."""
    assert alive(process), tail(process)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().read() is not None
    except OSError:
        connection.close()
        return False


@pytest.mark.parametrize(("picker", "connector"), CONNECTORS)
def test_the_sidecar_starts_with_each_connector_that_the_catalogue_names(
    built_routes: Built, tmp_path: Path, picker: str, connector: str
) -> None:
    ports = free_ports(("sidecar", "engine"))
    proxy = injected(picker, f"connector={connector}")

    with (
        running(built_routes, proxy, ports["sidecar"], ports["engine"], tmp_path) as process,
        closing(HTTPConnection("127.0.0.1", ports["sidecar"], timeout=5)) as there,
    ):
        until(lambda: healthy(process, there), "the sidecar answers")


@pytest.mark.parametrize("picker", GENERATIONS)
def test_the_sidecar_serves_with_the_secret_and_calls_both_stages_with_tls(
    built_routes: Built, tmp_path: Path, picker: str
) -> None:
    authority = trustme.CA()
    issue(authority, tmp_path)
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    proxy = injected(picker, "tls=prefiller+decoder,secretName=certs", TLS_ENGINE)
    context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    port = free_ports(("sidecar",))["sidecar"]

    with (
        serving("prefill", tmp_path) as (prefill, asked),
        serving("decode", tmp_path) as (decode, _),
        running(built_routes, proxy, port, decode, tmp_path) as process,
        closing(HTTPSConnection("127.0.0.1", port, timeout=10, context=context)) as there,
    ):
        until(lambda: healthy(process, there), "the sidecar answers with TLS")
        headers = {"Content-Type": "application/json", "x-prefiller-host-port": f"127.0.0.1:{prefill}"}
        there.request("POST", "/v1/completions", json.dumps({"prompt": "a", "max_tokens": 5}), headers)
        answer = there.getresponse()
        assert (answer.status, json.loads(answer.read())["engine"]) == (200, "decode")

    assert [one["max_tokens"] for one in asked] == [1]
