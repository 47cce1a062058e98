"""Pausing: what would have been written for a service whose writes are withheld.

A process in observe-only mode writes nothing at all. Otherwise a service is paused while its
InferenceService, or any of its LeaderWorkerSets, has the annotation `fusioninfer.io/paused: "true"`. Every
write asks (`Writer.send`); dry runs are not writes. A withheld write is counted once, until it changes.
"""

from dataclasses import dataclass, field

from intent.shapes import mapping
from kube.request import Request
from sync.observed.cached import digest
from sync.status import without_messages


@dataclass(slots=True)
class Pause:
    """The writes of one service that were withheld, by verb and path, as digests."""

    is_marked: bool = False
    """Whether an annotation paused the service at its last reconcile."""
    withheld: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Those of the current reconcile, or of the last one. While there is one, no further write is sent."""
    before: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Those of the reconcile before."""

    def begin(self) -> None:
        """Begin a reconcile."""
        self.before, self.withheld = self.withheld, {}

    def withhold(self, request: Request) -> bool:
        """Withhold a write; return whether it differs from the one that was withheld before."""
        at, content = (request.verb, object_path(request)), _content_digest(request)
        known = self.withheld.get(at) or self.before.get(at)
        self.withheld[at] = content
        return known != content


def object_path(request: Request) -> str:
    """Return the path of a request's object; a create request has the name in its body."""
    body = mapping(request.body)
    name = mapping(body.get("metadata")).get("name") if request.verb == "create" else None
    return f"{request.path}/{name}" if name else request.path


def _content_digest(request: Request) -> bytes:
    """Digest the content of a request without what varies between tries: times, messages, versions."""
    body = mapping(request.body)
    if body.get("kind") == "Event":
        return digest({name: body.get(name) for name in ("reason", "involvedObject")})
    if isinstance(body.get("status"), dict):
        return digest(without_messages(body["status"]))
    metadata = {name: one for name, one in mapping(body.get("metadata")).items() if name != "resourceVersion"}
    return digest(body | {"metadata": metadata})
