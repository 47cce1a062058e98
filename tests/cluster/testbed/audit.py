"""The API server's audit log of the controller: every request, its object and its answer.

Only the controller's identity is audited (`k8s.io/apiserver` `pkg/apis/audit/v1`); only Leases with bodies.
"""

import http.client
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson

from intent import Object
from tests.cluster.testbed.cluster import IDENTITIES, Cluster
from tests.cluster.testbed.wait import until

LEASES: Final = {"group": "coordination.k8s.io", "resources": ["leases"]}
POLICY: Final[Object] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Request", "users": [IDENTITIES["sync"].user], "resources": [LEASES]},
        {"level": "Metadata", "users": [IDENTITIES["sync"].user]},
        {"level": "None"},
    ],
}
AGENT: Final = "fusioninfer-sync"
"""How the controller calls itself; tests may take its identity, not its name."""
WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
REFUSALS: Final = frozenset({http.client.UNAUTHORIZED, http.client.FORBIDDEN})


def audit_args(directory: Path) -> list[str]:
    """Return the flags of an API server that keeps the log."""
    policy = directory / "audit-policy.json"
    policy.write_text(json.dumps(POLICY))
    return ["--audit-policy-file", str(policy), "--audit-log-path", str(_log(directory))]


@dataclass(slots=True)
class Known:
    """The part of a log that was read already: its bytes, and the controller's requests in it."""

    size: int = 0
    requests: list[Object] = field(default_factory=list)


KNOWN: Final[dict[Path, Known]] = {}
"""By log: tests ask often, and logs grow to megabytes."""


def requests(cluster: Cluster) -> list[Object]:
    """Return every answered request of the controller so far, oldest first, without discovery."""
    log = _log(cluster.directory)
    known = KNOWN.setdefault(log, Known())
    with log.open("rb") as file:
        file.seek(known.size)
        new, _, _ = file.read().rpartition(b"\n")
    events = [orjson.loads(line) for line in new.splitlines()]
    known.requests += [each for each in events if each.get("userAgent") == AGENT and "objectRef" in each]
    known.size += len(new) + 1 if new else 0
    return [*known.requests]


def writes(cluster: Cluster) -> list[Object]:
    """Return the requests that write, dry runs too; not those that renew the Lease."""
    return [each for each in requests(cluster) if each["verb"] in WRITES and _resource(each) != "leases"]


def stored(cluster: Cluster) -> list[Object]:
    """Return the writes that were answered with success and were no dry runs; not those of the Lease."""
    return [each for each in requests(cluster) if _stores(each)]


def come_to_rest(cluster: Cluster, namespace: str = "") -> None:
    """Wait until the controller has written nothing for three seconds, in a namespace or at all."""
    part = f"/namespaces/{namespace}/" if namespace else ""
    count, since = -1, time.monotonic()

    def rests() -> bool:
        nonlocal count, since
        now = sum(part in each["requestURI"] for each in writes(cluster))
        if now != count:
            count, since = now, time.monotonic()
        return time.monotonic() - since >= 3

    until(rests, "the controller comes to rest")


def author(request: Object) -> str:
    """Return the uid that tells two controllers apart."""
    return str(request["user"]["uid"])


def intruders(cluster: Cluster, namespace: str) -> list[str]:
    """Return what a controller wrote in a namespace while it did not hold the Lease for certain.

    Times are the API server's own: a write counts from when it arrived to when it was answered. Events do not
    count: one is created without a version, so a process that is stopped between its last check and the
    socket may still write it (ADR 10).
    """
    asked = requests(cluster)
    taken = sorted(filter(_takes, asked), key=lambda each: str(each["stageTimestamp"]))
    return [
        f"{author(write)} wrote {write['requestURI']} at {write['requestReceivedTimestamp']}: {holders}"
        for write in filter(_stores, asked)
        if f"/namespaces/{namespace}/" in write["requestURI"]
        and _resource(write) != "events"
        and (holders := _holders(write, taken)) != {author(write)}
    ]


def _holders(write: Object, taken: list[Object]) -> set[str]:
    """Return the last holder of the Lease before a write, and those that took it during the write."""
    before = [each for each in taken if each["stageTimestamp"] <= write["requestReceivedTimestamp"]]
    later = taken[len(before) :]
    during = [each for each in later if each["requestReceivedTimestamp"] < write["stageTimestamp"]]
    return {author(each) for each in (*before[-1:], *during)}


def _stores(request: Object) -> bool:
    writes = request["verb"] in WRITES and _resource(request) != "leases"
    return writes and "dryRun=" not in request["requestURI"] and _succeeded(request)


def _takes(request: Object) -> bool:
    """Return whether a request takes or renews the Lease; one that gives it back names no holder."""
    lease = request.get("requestObject", {}).get("spec", {})
    return _resource(request) == "leases" and "holderIdentity" in lease and _succeeded(request)


def _succeeded(request: Object) -> bool:
    code: int = request["responseStatus"]["code"]
    return code < http.client.BAD_REQUEST


def refused(cluster: Cluster) -> list[str]:
    """Return what the controller was not allowed to do, and was not allowed later either.

    An API server that just started refuses everybody until it has listed the roles.
    """
    asked = requests(cluster)
    allowed = {
        words(each): at for at, each in enumerate(asked) if each["responseStatus"]["code"] not in REFUSALS
    }
    return [
        each["requestURI"]
        for at, each in enumerate(asked)
        if each["responseStatus"]["code"] in REFUSALS and allowed.get(words(each), -1) < at
    ]


def words(request: Object) -> tuple[str, str]:
    """Return verb and resource of a request."""
    return request["verb"], _resource(request)


def _resource(request: Object) -> str:
    return str(request.get("objectRef", {}).get("resource", ""))


def _log(directory: Path) -> Path:
    return directory / "audit.log"
