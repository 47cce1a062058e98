"""Everything that is deleted in a namespace, seen by watches straight at the API server.

An object counts as deleted from the moment it gets a deletionTimestamp.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from tests.cluster.testbed.api import Api, get, path

OWNED: Final = (
    *("leaderworkersets", "podgroups", "deployments", "services", "inferencepools", "httproutes"),
    *("configmaps", "serviceaccounts", "roles", "rolebindings"),
)
"""Kinds of objects that belong to a service and outlive every fault."""
WATCHED: Final = ("pods", *OWNED)


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
    ended: list[str] = field(default_factory=list)
    """Resources whose watch ended before its time."""

    def note(self, resource: str, event: Any) -> None:
        """Record an event of a watch."""
        metadata = event["object"]["metadata"]
        one = Seen(resource, metadata.get("name", ""), metadata.get("uid", ""))
        if event["type"] in ("ADDED", "MODIFIED", "DELETED") and one.uid:
            self.seen.setdefault(one.uid, one)
            if event["type"] == "DELETED" or metadata.get("deletionTimestamp"):
                self.deleted.setdefault(one.uid, one)

    def count(self, *, pods: bool) -> int:
        """Count the pods, or the other objects, that were seen."""
        return sum((one.resource == "pods") == pods for one in self.seen.values())


@contextmanager
def witness(api: Api, namespace: str) -> Iterator[Witness]:
    """Watch a namespace until left."""
    one, closing = Witness(), threading.Event()
    followed = [_follow(api, namespace, resource, one, closing) for resource in WATCHED]
    try:
        yield one
    finally:
        closing.set()
        for connection, response, reader in followed:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            reader.join()
            response.close()
            connection.close()


def _follow(
    api: Api, namespace: str, resource: str, one: Witness, closing: threading.Event
) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse, threading.Thread]:
    collection = path(resource, namespace)
    listed = get(api, collection)
    for obj in listed["items"]:
        one.note(resource, {"type": "ADDED", "object": obj})
    place = urlsplit(api.url)
    tls = ssl.create_default_context(cafile=str(api.authority))
    connection = http.client.HTTPSConnection(place.hostname or "", place.port, context=tls)
    query = {
        "watch": "1",
        "resourceVersion": listed["metadata"]["resourceVersion"],
        "timeoutSeconds": "86400",
    }
    connection.request(
        "GET", f"{collection}?{urlencode(query)}", headers={"Authorization": f"Bearer {api.token}"}
    )
    response = connection.getresponse()

    def read() -> None:
        with suppress(OSError, ValueError, http.client.HTTPException):
            while line := response.readline():
                one.note(resource, json.loads(line))
        if not closing.is_set():
            one.ended.append(resource)

    reader = threading.Thread(target=read, daemon=True, name=f"witness of {resource}")
    reader.start()
    return connection, response, reader
