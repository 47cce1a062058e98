"""What probes and Prometheus ask: /healthz, /readyz and /metrics, on a port without TLS."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest


@asynccontextmanager
async def serving(
    port: int, registry: CollectorRegistry, ready: Callable[[], bool], host: str | None = None
) -> AsyncIterator[None]:
    """Answer until left. Ready means that the caches are full, whoever leads. No host: on every address."""
    runner = web.AppRunner(_app(registry, ready), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield
    finally:
        await runner.cleanup()


def _app(registry: CollectorRegistry, ready: Callable[[], bool]) -> web.Application:
    async def healthz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n") if ready() else web.Response(status=503, text="not synced\n")

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4}
        )

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)])
    return app
