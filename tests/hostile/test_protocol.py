"""What only the whole process shows of the protocol: paths that clients resolve, and memory."""

import gzip

import pytest

from tests.builders.wire import ask, connected, exchange, post, read, request
from tests.hostile.server import PRODUCTION, Server

LIMIT = PRODUCTION.body_bytes


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("OPTIONS", "*", 404),
        ("TRACE", "/mutate", 405),
        ("POST", "/mutate/../metrics", 404),
        ("POST", "//mutate", 404),
        ("POST", "/%6dutate%00", 404),
    ],
)
async def test_other_methods_and_paths_are_refused_and_not_counted(
    server: Server, method: str, path: str, status: int
) -> None:
    before = admissions(server)

    reply = await exchange(server.port, request(method, path, b"{}"), server.tls)

    assert (reply.status, admissions(server)) == (status, before)


def admissions(server: Server) -> float:
    """Return the number of admission requests."""
    samples = server.samples().items()
    return sum(value for name, value in samples if name.startswith("fusioninfer_admission_requests_total"))


async def test_no_compressed_body_is_decoded_and_no_chunked_one_kept(fresh: Server) -> None:
    bomb = gzip.compress(bytes(100_000_000))
    fresh.send(b"{}")
    before = fresh.memory("VmHWM")

    refused = await ask(fresh.port, fresh.tls, bomb, Content_Encoding="gzip")
    decoded = fresh.memory("VmHWM") - before
    async with connected(fresh.port, fresh.tls) as (reader, writer):
        writer.write(post("/mutate", Content_Length="", Transfer_Encoding="chunked").removesuffix(b"{}"))
        for _ in range(LIMIT // 2**20 + 1):
            writer.write(b"100000\r\n" + bytes(2**20) + b"\r\n")
        cut = await read(reader)

    assert (refused.status, decoded < 2_000_000) == (415, True)
    assert (cut.status, fresh.memory("VmHWM") - before < 2 * LIMIT) == (413, True)
