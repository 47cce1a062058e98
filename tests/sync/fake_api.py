"""A fake Kubernetes API for what the real one cannot be made to do: refuse, drop connections, lose data.

It implements paths, versions, pages, watches, labels, server-side apply of whole fields, dry runs and uids.
Every fault is a function from a request to an answer, and is called before anything else.
"""

import asyncio
import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from intent import Object
from intent.names import is_label_value
from sync.kinds import WATCHED, templates
from sync.observed.cached import managed

Fault = Callable[[web.Request], web.StreamResponse | None]
SERVED = (*WATCHED, templates("fusioninfer-system"))
COLLECTIONS = (*(kind.resource.plural for kind in SERVED), "events", "leases")
_SERVED: dict[str, set[str]] = {}
"""Collections by the path of their group and version."""
for _kind in SERVED:
    _SERVED.setdefault(_kind.resource.collection.rpartition("/")[0], set()).add(_kind.resource.plural)
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def status(code: int, reason: str, message: str = "", name: str = "", **headers: str) -> web.Response:
    """Return apimachinery's `Status`."""
    details = {"name": name} if name else {}
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return web.json_response(body, status=code, headers=headers)


@dataclass(slots=True)
class Api:
    """One cluster in memory."""

    objects: dict[str, Object] = field(default_factory=dict)
    history: list[tuple[str, Object]] = field(default_factory=list)
    """Event type and object; the version of an event is its index, from 1."""
    first: int = 0
    """The first event that is kept: a watch from an earlier one is answered with 410."""
    writes: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of every request that may have changed something.

    Leases are excepted, and Events about changes, which follow other writes.
    """
    requests: list[tuple[str, str]] = field(default_factory=list)
    fault: Fault = lambda _request: None
    version: str = "v1.35.4"
    """The release of Kubernetes that it says it is."""
    prune: Callable[[Object], None] = lambda _obj: None
    """What admission changes in an object, or an older CRD prunes."""
    collects: bool = True
    """Whether the garbage collector runs: it deletes an object that lost all its owners."""
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    """By path, the event before which no request is answered."""
    hanging: set[str] = field(default_factory=set)
    """Paths of requests that are never answered."""
    spelled: dict[str, str] = field(default_factory=dict)
    """Raw bytes that replace a placeholder in answers: JSON of any depth, or no JSON."""
    absent: set[str] = field(default_factory=set)
    """Collections of kinds that are not installed."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    watches: set[asyncio.Task[Any]] = field(default_factory=set)
    page: int = 500
    latency: float = 0.0
    """Seconds before any answer."""
    url: str = ""

    # --- called by tests ------------------------------------------------------------------------

    def put(self, path: str, obj: Object) -> None:
        """Store an object, as another client does."""
        self._store(path, copy.deepcopy(obj), "MODIFIED" if path in self.objects else "ADDED")

    def edit(self, path: str, **spec: Any) -> None:
        """Change fields of the spec by hand."""
        obj = copy.deepcopy(self.objects[path])
        obj["spec"] |= spec
        self.put(path, obj)

    def remove(self, path: str) -> None:
        """Delete an object, as another client does; the garbage collector follows."""
        obj = self.objects.pop(path)
        self._remember("DELETED", obj)
        if self.collects:
            self._collect(obj["metadata"]["uid"])

    def _collect(self, uid: str) -> None:
        """Delete objects that only this uid owned; remove the reference where there are other owners."""
        for path, obj in list(self.objects.items()):
            owners = obj["metadata"].get("ownerReferences", [])
            if uid in {owner["uid"] for owner in owners}:
                alive = {other["metadata"]["uid"] for other in self.objects.values()}
                if not alive & {owner["uid"] for owner in owners}:
                    self.remove(path)

    def forget(self) -> None:
        """Drop all events, as a compaction does, and end all watches."""
        self.first = len(self.history)
        self.drop()

    def drop(self) -> None:
        """End all watches."""
        for task in self.watches:
            task.cancel()

    def kept(self, plural: str) -> list[Object]:
        """Return all objects of a kind."""
        return [obj for path, obj in self.objects.items() if _plural(path) == plural]

    def findings(self) -> list[Object]:
        """Return the Events about findings; the messages of others have no code."""
        return [event for event in self.kept("events") if "(FI" in event["message"]]

    # --- behaviour of the API server ------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        self.requests.append((request.method, request.path))
        await asyncio.sleep(self.latency)
        if (answer := self.fault(request)) is not None:
            return answer
        if _plural(request.path) in self.absent:
            return web.Response(status=404, text="404 page not found")
        if discovered := self._discovered(request.path):
            return web.json_response(discovered)
        if "watch" in request.query:
            return await self._watch(request)
        body = orjson.loads(await request.read() or b"{}")
        if request.method in WRITES and "dryRun" not in request.query and _counts(request, body):
            self.writes.append((request.method, request.path))
        if request.method == "PATCH" and self._is_late(request, body):
            return status(409, "Conflict", name=request.path.rpartition("/")[2])
        if request.path in self.gates:
            await self.gates[request.path].wait()
        if request.path in self.hanging:
            await asyncio.Event().wait()
        answers = {"GET": self._get, "POST": self._create, "PUT": self._update, "PATCH": self._patch}
        answer = answers.get(request.method, self._delete)(request, body)
        answer.text = self._spelled(answer.text or "")
        return answer

    def _discovered(self, path: str) -> Object:
        """Return the version, or the resources of a group; nothing for another path."""
        if path == "/version":
            return {"gitVersion": self.version}
        there = [{"name": plural} for plural in sorted(_SERVED.get(path, set()) - self.absent)]
        return {"kind": "APIResourceList", "resources": there} if path in _SERVED else {}

    def _spelled(self, text: str) -> str:
        for word, instead in self.spelled.items():
            text = text.replace(word, instead)
        return text

    def _get(self, request: web.Request, _body: Object) -> web.Response:
        if request.path in self.objects:
            return web.json_response(self.objects[request.path])
        if request.path.rpartition("/")[2] in COLLECTIONS:
            return self._list(request)
        return status(404, "NotFound", name=request.path.rpartition("/")[2])

    def _list(self, request: web.Request) -> web.Response:
        start = int(request.query.get("continue", "0"))
        label = request.query.get("labelSelector", "")
        items = [
            obj
            for obj in self.kept(_plural(request.path))
            if _has(obj, label) and _is_below(request.path, obj)
        ]
        end = start + min(self.page, int(request.query.get("limit", self.page)))
        more = {"continue": str(end)} if end < len(items) else {}
        metadata = {"resourceVersion": str(len(self.history)), **more}
        return web.json_response({"metadata": metadata, "items": items[start:end]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        seen = int(request.query["resourceVersion"])
        if seen < self.first:
            return status(410, "Expired")
        response = web.StreamResponse()
        await response.prepare(request)
        task = asyncio.create_task(self._send(response, request, seen))
        self.watches.add(task)
        try:
            async with asyncio.timeout(float(request.query["timeoutSeconds"])):
                await task
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            if request.transport:
                request.transport.abort()
        finally:
            self.watches.discard(task)
        return response

    async def _send(self, response: web.StreamResponse, request: web.Request, seen: int) -> None:
        plural, label = _plural(request.path), request.query.get("labelSelector", "")
        while True:
            self.changed.clear()
            for kind, obj in self.history[seen:]:
                is_asked_for = _plural_of(obj) == plural and _is_below(request.path, obj)
                if is_asked_for and (_has(obj, label) or kind == "MODIFIED"):
                    told = kind if _has(obj, label) else "DELETED"  # the selector no longer matches
                    line = orjson.dumps({"type": told, "object": obj}).decode()
                    await response.write(f"{self._spelled(line)}\n".encode())
            seen = len(self.history)
            await self.changed.wait()

    def _create(self, request: web.Request, body: Object) -> web.Response:
        path = f"{request.path}/{body['metadata']['name']}"
        if path in self.objects:
            return status(409, "AlreadyExists", name=body["metadata"]["name"])
        self._admit(body)
        if "dryRun" in request.query:
            return web.json_response(body, status=201)
        return web.json_response(self._store(path, body, "ADDED"), status=201)

    def _update(self, request: web.Request, body: Object) -> web.Response:
        stored = self.objects.get(request.path)
        if stored is None:
            return status(404, "NotFound", name=body["metadata"]["name"])
        if stored["metadata"]["resourceVersion"] != body["metadata"].get("resourceVersion"):
            return status(409, "Conflict", name=body["metadata"]["name"])
        return web.json_response(self._store(request.path, body, "MODIFIED"))

    def _patch(self, request: web.Request, body: Object) -> web.Response:
        path = request.path.removesuffix("/status")
        stored = self.objects.get(path)
        if path != request.path and stored is not None:
            is_apply = "apply" in request.content_type
            reported = copy.deepcopy(stored) | {"status": body["status"]} if is_apply else merge(stored, body)
            self._admit(reported)
            return web.json_response(self._store(path, reported, "MODIFIED"))
        if "apply" not in request.content_type:
            if stored is None:
                return status(404, "NotFound", name="x")
            merged = merge(stored, body)
            self._admit(merged)
            if "dryRun" in request.query:
                return web.json_response(merged)
            return web.json_response(self._store(request.path, merged, "MODIFIED"))
        return self._apply(request, body, stored)

    def _apply(self, request: web.Request, body: Object, stored: Object | None) -> web.Response:
        manager, spec = request.query["fieldManager"], body.get("spec", {})
        others = [one for one in managed(stored or {}) if one["manager"] != manager]
        lost = _fields(managed(stored or {}), manager) - spec.keys() - _fields(others)
        merged = merge(stored or {}, body | {"spec": dict.fromkeys(lost) | spec} if lost else body)
        kept = _yielding(others, stored or {}, spec)
        merged["metadata"]["managedFields"] = [*kept, _applied(body, manager)]
        self._admit(merged)
        if label := _invalid_label(merged):
            message = f'metadata.labels: Invalid value: "{label}": a valid label must be'
            return status(422, "Invalid", message, merged["metadata"]["name"])
        if "dryRun" in request.query:
            return web.json_response(merged)
        if merged == stored:
            return web.json_response(stored)
        return web.json_response(self._store(request.path, merged, "MODIFIED" if stored else "ADDED"))

    def _is_late(self, request: web.Request, body: Object) -> bool:
        """Return whether a patch names another version of its object than the stored one."""
        asked = body.get("metadata", {}).get("resourceVersion") if isinstance(body, dict) else ""
        stored = self.objects.get(request.path, {"metadata": {}})
        return bool(asked) and asked != stored["metadata"].get("resourceVersion")

    def _admit(self, obj: Object) -> None:
        if "spec" in obj:
            self.prune(obj)

    def _delete(self, request: web.Request, body: Object) -> web.Response:
        stored = self.objects.get(request.path)
        if stored is None:
            return status(404, "NotFound", name="x")
        if not body.get("preconditions", {}).items() <= stored["metadata"].items():
            return status(409, "Conflict", name="x")
        self.remove(request.path)
        return web.json_response({"kind": "Status", "status": "Success"})

    def _store(self, path: str, obj: Object, kind: str) -> Object:
        obj["metadata"].setdefault("uid", f"uid-{len(self.history)}")
        obj["metadata"]["resourceVersion"] = str(len(self.history) + 1)
        self.objects[path] = obj
        self._remember(kind, obj)
        return obj

    def _remember(self, kind: str, obj: Object) -> None:
        obj = copy.deepcopy(obj)
        obj["metadata"]["resourceVersion"] = str(len(self.history) + 1)
        self.history.append((kind, obj))
        self.changed.set()


def _counts(request: web.Request, body: Any) -> bool:
    """Return whether a request is one of `Api.writes`."""
    is_change = "/events" in request.path and "(FI" not in body["message"]
    return "/leases" not in request.path and not is_change


def merge(value: Object, part: Object) -> Object:
    """Merge as RFC 7386: maps merge, null removes, everything else replaces."""
    merged = dict(value)
    for key, new in part.items():
        if new is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key, {}), new) if isinstance(new, dict) else new
    return merged


def _applied(body: Object, manager: str) -> Object:
    """Record the manager of an apply for the fields of the object and of its spec."""
    fields: Object = {f"f:{field}": {} for field in body if field not in {"apiVersion", "kind"}}
    if "spec" in body:
        fields["f:spec"] = {f"f:{field}": {} for field in body["spec"]}
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields}


def _fields(entries: list[Object], manager: str = "") -> set[str]:
    """Return the fields of the spec that entries of `managedFields` own, optionally those of one manager."""
    chosen = [one for one in entries if not manager or one["manager"] == manager]
    return {key[2:] for one in chosen for key in one["fieldsV1"].get("f:spec", {})}


def _yielding(entries: list[Object], stored: Object, spec: Object) -> list[Object]:
    """Remove fields that an apply changes from other managers; drop an entry without fields."""
    taken = {f"f:{key}" for key, value in spec.items() if stored.get("spec", {}).get(key) != value}
    kept = []
    for entry in copy.deepcopy(entries):
        owned = entry["fieldsV1"].pop("f:spec", {})
        if left := {key: owned[key] for key in owned if key not in taken}:
            entry["fieldsV1"]["f:spec"] = left
        kept += [entry] if entry["fieldsV1"] else []
    return kept


def _invalid_label(obj: Object) -> str:
    """Return a label value that the API server refuses, checked after admission."""
    values = obj["metadata"].get("labels", {}).values()
    return next((value for value in values if not is_label_value(value)), "")


def _is_below(path: str, obj: Object) -> bool:
    """Return whether a collection is that of all namespaces, or of an object's."""
    _, inside, rest = path.partition("/namespaces/")
    return not inside or rest.partition("/")[0] == obj["metadata"].get("namespace")


def _has(obj: Object, label: str) -> bool:
    """Return whether an object has a label; an ERROR event has none, and is sent anyway."""
    key, _, value = label.partition("=")
    labels = obj["metadata"].get("labels", {})
    return not label or "name" not in obj["metadata"] or labels.get(key) == (value or labels.get(key, ...))


def _plural(path: str) -> str:
    return next((part for part in path.split("/") if part in COLLECTIONS), "")


def _plural_of(obj: Object) -> str:
    return f"{obj['kind'].lower()}s"
