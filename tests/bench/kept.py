"""One kept connection to an API server: a benchmark that connects anew for each call measures handshakes."""

import http.client
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import orjson

from intent import Object
from tests.bench.report import WrongAnswerError
from tests.cluster.testbed.api import Api

JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Kept:
    """A connection, and who calls."""

    connection: http.client.HTTPSConnection
    token: str

    def send(
        self, method: str, target: str, body: bytes | None = None, media: str = "application/json"
    ) -> bytes:
        """Make one call; raises unless it is a success."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": media}
        self.connection.request(method, target, body, headers)
        response = self.connection.getresponse()
        answer = response.read()
        if response.status >= http.client.BAD_REQUEST:
            raise WrongAnswerError(f"{method} {target}: {response.status} {answer[:300]!r}")
        return answer

    def call(self, method: str, target: str, body: Object | None = None) -> Object:
        """Make one call with JSON."""
        answer: Object = orjson.loads(self.send(method, target, orjson.dumps(body) if body else None))
        return answer


@contextmanager
def kept(api: Api) -> Iterator[Kept]:
    """Connect to an API server."""
    place = urlsplit(api.url)
    trust = ssl.create_default_context(cafile=str(api.authority))
    made = http.client.HTTPSConnection(place.hostname or "", place.port, timeout=60, context=trust)
    with closing(made):
        yield Kept(made, api.token)
