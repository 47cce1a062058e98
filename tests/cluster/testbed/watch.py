"""Every state that objects get, in the order in which the API server stored them."""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlencode, urlsplit

from intent import Object
from tests.cluster.testbed.api import Api, get


@contextmanager
def recorded(api: Api, *collections: str) -> Iterator[list[Object]]:
    """Record the states of all objects of some collections until left; how they are now comes first."""
    states: list[Object] = []
    with ExitStack() as stack:
        for collection in collections:
            stack.enter_context(_followed(api, collection, states))
        yield states


def in_order(states: list[Object]) -> list[Object]:
    """Sort states by the order of their writes: versions grow from one to the next, over all kinds."""
    return sorted(states, key=lambda obj: int(obj["metadata"]["resourceVersion"]))


@contextmanager
def _followed(api: Api, collection: str, states: list[Object]) -> Iterator[None]:
    listed = get(api, collection)
    states.extend(listed["items"])
    place = urlsplit(api.url)
    tls = ssl.create_default_context(cafile=str(api.authority))
    connection = http.client.HTTPSConnection(place.hostname or "", place.port, context=tls)
    query = {"watch": "1", "resourceVersion": listed["metadata"]["resourceVersion"]}
    headers = {"Authorization": f"Bearer {api.token}"}
    connection.request("GET", f"{collection}?{urlencode(query)}", headers=headers)
    response = connection.getresponse()
    reader = threading.Thread(target=_read, args=(response, states), daemon=True)
    reader.start()
    try:
        yield
    finally:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
        reader.join()
        connection.close()


def _read(response: http.client.HTTPResponse, states: list[Object]) -> None:
    """Keep the object of each event, until the connection ends."""
    with suppress(OSError, ValueError, http.client.HTTPException):
        while line := response.readline():
            states.append(json.loads(line)["object"])
