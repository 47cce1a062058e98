"""What the API server wrote down about the loop: every request, what it was about and how it was answered.

Only the loop's identity is audited (`k8s.io/apiserver` `pkg/apis/audit/v1`), without bodies.
"""

import json
from pathlib import Path
from typing import Final

from intent import Object
from tests.cluster.testbed.cluster import IDENTITIES, Cluster

POLICY: Final[Object] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [IDENTITIES["sync"].user]}, {"level": "None"}],
}
AGENT: Final = "fusioninfer-sync"
"""How the loop calls itself; tests may take its identity, not its name."""
WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


def audit_args(directory: Path) -> list[str]:
    """Return the flags of an API server that keeps the log."""
    policy = directory / "audit-policy.json"
    policy.write_text(json.dumps(POLICY))
    return ["--audit-policy-file", str(policy), "--audit-log-path", str(_log(directory))]


def requests(cluster: Cluster) -> list[Object]:
    """Return every answered request of the loop so far, oldest first."""
    lines = _log(cluster.directory).read_text().splitlines(keepends=True)
    events = [json.loads(line) for line in lines if line.endswith("\n")]
    return [event for event in events if event.get("userAgent") == AGENT]


def writes(cluster: Cluster) -> list[Object]:
    """Return the requests that write, dry runs too; not those that renew the Lease."""
    return [each for each in requests(cluster) if each["verb"] in WRITES and _resource(each) != "leases"]


def refused(cluster: Cluster) -> list[str]:
    """Return what the loop was not allowed to do."""
    return [each["requestURI"] for each in requests(cluster) if each["responseStatus"]["code"] in (401, 403)]


def words(request: Object) -> tuple[str, str]:
    """Say a request in its verb and resource."""
    return request["verb"], _resource(request)


def _resource(request: Object) -> str:
    return str(request.get("objectRef", {}).get("resource", ""))


def _log(directory: Path) -> Path:
    return directory / "audit.log"
