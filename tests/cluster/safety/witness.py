"""Everything that is deleted in a namespace, seen by watches straight at the API server.

An object counts as deleted from the moment it gets a deletionTimestamp. A watch that ends, as one does where
the definition of its kind is deleted, is begun again with a list: what that lacks was deleted meanwhile.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from intent import Object
from tests.cluster.testbed.api import Api, ApiError, get, path

OWNED: Final = (
    *("leaderworkersets", "podgroups", "deployments", "services", "inferencepools", "httproutes"),
    *("configmaps", "serviceaccounts", "roles", "rolebindings"),
)
"""Kinds of objects that belong to a service and outlive every fault."""
WATCHED: Final = ("pods", *OWNED)
AGAIN: Final = 0.2
"""Seconds between two tries to watch a kind that could not be listed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One object: its resource, name, uid."""

    resource: str
    name: str
    uid: str

    def __str__(self) -> str:
        """Name it as kubectl does."""
        return f"{self.resource}/{self.name}"


@dataclass(slots=True)
class Witness:
    """Which objects there were, and which of them were deleted, in that order."""

    seen: dict[str, Seen] = field(default_factory=dict)
    """By uid."""
    deleted: dict[str, Seen] = field(default_factory=dict)
    """By uid, in the order of deletion."""
    unwatched: set[str] = field(default_factory=set)
    """Resources whose watch ended, until it is begun again."""

    def note(self, resource: str, event: Any) -> None:
        """Record an event of a watch."""
        metadata = event["object"]["metadata"]
        one = Seen(resource, metadata.get("name", ""), metadata.get("uid", ""))
        if event["type"] in ("ADDED", "MODIFIED", "DELETED") and one.uid:
            self.seen.setdefault(one.uid, one)
            if event["type"] == "DELETED" or metadata.get("deletionTimestamp"):
                self.deleted.setdefault(one.uid, one)

    def list_again(self, resource: str, objects: Sequence[Object]) -> None:
        """Record a list behind a gap: what was seen before and is missing was deleted in between."""
        listed = {obj["metadata"]["uid"] for obj in objects}
        for obj in objects:
            self.note(resource, {"type": "ADDED", "object": obj})
        for uid, one in self.seen.items():
            if one.resource == resource and uid not in listed:
                self.deleted.setdefault(uid, one)

    def count(self, *, pods: bool) -> int:
        """Count the pods, or the other objects, that were seen."""
        return sum((one.resource == "pods") == pods for one in self.seen.values())


@dataclass(slots=True)
class Watch:
    """The watch of one kind of objects in a namespace, in a thread of its own."""

    api: Api
    namespace: str
    resource: str
    one: Witness
    closing: threading.Event
    connection: http.client.HTTPSConnection = field(init=False)
    sock: socket.socket = field(init=False)
    response: http.client.HTTPResponse = field(init=False)
    reader: threading.Thread = field(init=False)

    def start(self) -> None:
        """List and begin to watch; what happens from now on is seen."""
        self._open()
        self.reader = threading.Thread(target=self._run, daemon=True, name=f"witness of {self.resource}")
        self.reader.start()

    def end(self) -> None:
        """End it; `closing` is set."""
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.reader.join()

    def _run(self) -> None:
        while True:
            with suppress(OSError, ValueError, http.client.HTTPException):
                while not self.closing.is_set() and (line := self.response.readline()):
                    self.one.note(self.resource, json.loads(line))
            self._close()
            if self.closing.is_set() or not self._open_again():
                return

    def _open_again(self) -> bool:
        """List and watch again as soon as the kind is served; False if it is not until the end."""
        self.one.unwatched.add(self.resource)
        while not self.closing.wait(AGAIN):
            with suppress(ApiError, OSError, http.client.HTTPException):
                self._open()
                self.one.unwatched.discard(self.resource)
                return True
        return False

    def _open(self) -> None:
        collection = path(self.resource, self.namespace)
        listed = get(self.api, collection)
        self.one.list_again(self.resource, listed["items"])
        place = urlsplit(self.api.url)
        tls = ssl.create_default_context(cafile=str(self.api.authority))
        query = {
            "watch": "1",
            "resourceVersion": listed["metadata"]["resourceVersion"],
            "timeoutSeconds": "86400",
        }
        self.connection = http.client.HTTPSConnection(place.hostname or "", place.port, context=tls)
        self.connection.request(
            "GET", f"{collection}?{urlencode(query)}", headers={"Authorization": f"Bearer {self.api.token}"}
        )
        self.sock = self.connection.sock
        self.response = self.connection.getresponse()

    def _close(self) -> None:
        self.response.close()
        self.connection.close()


@contextmanager
def witness(api: Api, namespace: str) -> Iterator[Witness]:
    """Watch a namespace until left."""
    one, closing = Witness(), threading.Event()
    watches = [Watch(api, namespace, resource, one, closing) for resource in WATCHED]
    for each in watches:
        each.start()
    try:
        yield one
    finally:
        closing.set()
        for each in watches:
            each.end()
