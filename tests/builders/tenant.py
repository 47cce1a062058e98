"""What the controller asks of the API server for a tenant: its namespace, and a list of other requests."""

import re
from collections.abc import Iterable
from typing import Final

from intent.names import DNS_SUBDOMAIN
from sync.kinds import OBJECTIVES, WATCHED, templates

BEYOND: Final[dict[str, frozenset[tuple[str, str]]]] = {
    "lists of all namespaces, whose rows are kept by namespace: "
    "Gateways that routes name, and InferenceTemplates of the operator": frozenset(
        ("GET", kind.resource.collection) for kind in (*WATCHED, templates("fusioninfer-system"))
    ),
    "whether the API server serves a kind": frozenset(
        ("GET", one.collection.rpartition("/")[0])
        for one in (*(kind.resource for kind in WATCHED), *OBJECTIVES)
    ),
}
"""Every request for a service that leaves its namespace, with the reason. None contains a tenant's word."""
_OWN: Final = (
    rf"/api(?:/v1|s/{DNS_SUBDOMAIN}/v[a-z0-9]+)/namespaces/{{}}/[a-z]+(?:/{DNS_SUBDOMAIN}(?:/status)?)?"
)


def beyond(requests: Iterable[tuple[str, str]], namespace: str) -> set[tuple[str, str]]:
    """Return the requests that leave a namespace and are not in the list."""
    is_own = re.compile(_OWN.format(re.escape(namespace))).fullmatch
    known = frozenset[tuple[str, str]]().union(*BEYOND.values())
    return {one for one in requests if one not in known and not is_own(one[1])}
