"""A fake API server with hundreds of large objects of each kind, and the controller as a process."""

import asyncio
import base64
import contextlib
import random
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson
from aiohttp import web

from intent import Object
from intent.annotations import SERVICE
from sync.kinds import AUTOSCALER, GATEWAYS, HTTP_ROUTE, INFERENCE_SERVICE, INGRESS, LWS, POD, POD_GROUP, Kind
from tests.sync.fake_api import Api
from tests.sync.samples import inference_service, lws

SIZE: Final = 1_400_000
"""The bytes of a large object; etcd stores 1.5 MiB."""
HOSTILE, SHARED = "hostile", "templates"
NAME, VERSION = b"NAME-OF-IT", b"987654321"
NOTHING: Final[Object] = {"kind": "Nothing", "metadata": {}}
LIVE: Final = re.compile(f".*/namespaces/{HOSTILE}/([a-z]+)/x([0-9]+)")
"""The path of a large object."""
Fill = Callable[[int], Any]


def noise(length: int) -> str:
    """Return text that cannot be compressed."""
    return base64.b64encode(random.Random(length).randbytes(length * 3 // 4)).decode()  # noqa: S311 - noise


def each(pattern: str) -> Fill:
    """Return what makes a list of distinct items of JSON, of so many bytes."""
    return lambda size: orjson.loads(
        f"[{','.join(pattern.replace('#', str(at)) for at in range(size // (len(pattern) + 6)))}]"
    )


OWNERS: Final = each('{"apiVersion":"v1","kind":"A#","name":"n#","uid":"u#"}')
SPECS: Final[Mapping[str, tuple[str, Mapping[str, Fill]]]] = {
    INFERENCE_SERVICE.kind: ("spec.baseRefs", {"names": each('"t#"'), "text": lambda size: [noise(size)]}),
    LWS.kind: ("spec.leaderWorkerTemplate.workerTemplate.spec.volumes", {"items": each("{}")}),
    AUTOSCALER.kind: ("spec.metrics", {"items": each('{"type":"#"}')}),
    POD_GROUP.kind: ("spec.subGroupPolicy", {"items": each('{"name":"n#","subGroupSize":1}')}),
    GATEWAYS.kind: ("spec.listeners", {"items": each('{"name":"l#","port":80,"protocol":"HTTP"}')}),
    HTTP_ROUTE.kind: ("spec.parentRefs", {"items": each('{"name":"g#"}')}),
    INGRESS.kind: ("spec.rules", {"items": each('{"host":"h#.example.com"}')}),
    POD.kind: ("spec.containers", {"items": each('{"resources":{"limits":{"nvidia.com/gpu":"1"}}}')}),
}
"""Per kind a field of which the controller reads each item, and what fills it."""
OTHERS: Final = ("data", {"text": lambda size: {"a": noise(size)}})


def large(kind: Kind[Any], size: int = SIZE) -> list[bytes]:
    """Return large objects of a kind as JSON, with placeholders for name and version."""
    path, fills = SPECS.get(kind.kind, OTHERS)
    found = []
    for where, fill in (("metadata.ownerReferences", OWNERS), *((path, fill) for fill in fills.values())):
        obj = _base(kind)
        *above, last = where.split(".")
        inner = obj
        for one in above:
            inner = inner.setdefault(one, {})
        inner[last] = fill(size)
        found.append(orjson.dumps(obj))
    return found


def _base(kind: Kind[Any]) -> Object:
    obj: Object = {"spec": {}}
    if kind is INFERENCE_SERVICE:
        obj = inference_service()
    if kind is LWS:
        obj = lws("x")
    if kind is AUTOSCALER:
        obj["spec"] = {"scaleTargetRef": {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": LWS.kind}}
        obj["spec"]["scaleTargetRef"]["name"] = NAME.decode()
    obj |= {"apiVersion": kind.resource.api_version, "kind": kind.kind}
    obj["metadata"] = obj.get("metadata", {}) | {
        "namespace": HOSTILE,
        "name": NAME.decode(),
        "uid": f"uid-{NAME.decode()}",
        "resourceVersion": VERSION.decode(),
        "labels": {SERVICE: NAME.decode()},
    }
    return obj


@dataclass(slots=True)
class Crowd(Api):
    """An API server that has `count` large objects of each of some kinds, beside what a test stores."""

    shapes: dict[str, list[list[bytes]]] = field(default_factory=dict)
    """By plural: the JSON of large objects, cut at each name and version."""
    count: int = 0
    watchers: dict[str, list[asyncio.Queue[bytes]]] = field(default_factory=dict)

    def body(self, plural: str, at: int) -> bytes:
        """Return the JSON of one large object, in the newest version."""
        values = {NAME: b"x%05d" % at, VERSION: b"%d" % (len(self.history) + 1)}
        shapes = self.shapes[plural]
        return b"".join(values.get(part, part) for part in shapes[at % len(shapes)])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        plural, token = request.path.rpartition("/")[2], request.query.get("continue", "")
        if request.method == "GET" and "watch" not in request.query and plural in self.shapes:
            return await self._page(request, plural, int(token or 0), int(request.query.get("limit", "100")))
        if request.method == "GET" and (found := LIVE.fullmatch(request.path)) and found[1] in self.shapes:
            return web.Response(body=self.body(found[1], int(found[2])), content_type="application/json")
        return await Api.handle(self, request)

    async def _page(self, request: web.Request, plural: str, start: int, limit: int) -> web.StreamResponse:
        """Send a page of large objects one by one, and with the last of them what a test stored."""
        end = min(start + limit, self.count)
        metadata = {
            "resourceVersion": str(len(self.history)),
            "continue": str(end) if end < self.count else "",
        }
        stored = b"" if metadata["continue"] else b",".join(map(orjson.dumps, self.kept(plural)))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        with contextlib.suppress(ConnectionError):  # a page that is too large is not read to its end
            await response.prepare(request)
            await response.write(b'{"metadata":%b,"items":[' % orjson.dumps(metadata))
            for at in range(start, end):
                await response.write(self.body(plural, at))
                await response.write(b"," if at < end - 1 or stored else b"")
            await response.write_eof(stored + b"]}")
        return response

    async def _send(self, response: web.StreamResponse, request: web.Request, seen: int) -> None:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        plural = request.path.rpartition("/")[2]
        for kind, obj in self.history[seen:]:
            self._tell(kind, obj, {plural: [queue]})
        self.watchers.setdefault(plural, []).append(queue)
        try:
            while True:
                await response.write(await queue.get())
                queue.task_done()
        finally:
            self.watchers[plural].remove(queue)

    def _tell(self, kind: str, obj: Object, watchers: Mapping[str, list[asyncio.Queue[bytes]]]) -> None:
        for queue in watchers.get(f"{obj['kind'].lower()}s", ()):
            queue.put_nowait(b'{"type":"%b","object":%b}\n' % (kind.encode(), orjson.dumps(obj)))

    def _remember(self, kind: str, obj: Object) -> None:
        Api._remember(self, kind, obj)  # noqa: SLF001 - slots: no `super()`
        self._tell(*self.history[-1], self.watchers)

    async def change(self, plural: str, at: int) -> None:
        """Send a large object to the watches of its kind in a new version, once they have received others."""
        self.history.append(("MODIFIED", NOTHING))
        for queue in self.watchers.get(plural, ()):
            while queue.qsize() > 1 and queue in self.watchers[plural]:  # noqa: ASYNC110 - no event says so
                await asyncio.sleep(0.01)
            queue.put_nowait(b'{"type":"MODIFIED","object":%b}\n' % self.body(plural, at))


def crowd(kinds: Iterable[Kind[Any]], count: int, size: int = SIZE) -> Crowd:
    """Return an API server with so many large objects of each kind."""
    parts = re.compile(b"(%b|%b)" % (NAME, VERSION))
    shapes = {kind.resource.plural: [parts.split(one) for one in large(kind, size)] for kind in kinds}
    return Crowd(shapes=shapes, count=count)


@asynccontextmanager
async def serving(api: Api, folder: Path) -> AsyncIterator[Path]:
    """Serve an API on a free port; return a kubeconfig for it."""
    app = web.Application(client_max_size=2**30)
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    path = folder / "kubeconfig"
    cluster = {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"}
    content = {
        "current-context": "fake",
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "me"}}],
        "clusters": [{"name": "fake", "cluster": cluster}],
        "users": [{"name": "me", "user": {"token": "secret-token"}}],
    }
    path.write_bytes(orjson.dumps(content))
    yield path
    api.drop()
    await runner.cleanup()


@asynccontextmanager
async def controller(kubeconfig: Path, port: int) -> AsyncIterator[Callable[[], int]]:
    """Run the controller as a process; return a function that reads its peak memory, in MiB."""
    command = (
        *(sys.executable, "-m", "fusioninfer", "sync", "--kubeconfig", str(kubeconfig)),
        *("--metrics-port", str(port), "--templates-namespace", SHARED),
    )
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)

    def peak() -> int:
        assert process.returncode is None, "the controller has ended"
        text = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmHWM:\s+(\d+)", text)[0]) // 1024

    try:
        yield peak
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
