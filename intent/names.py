"""Names of objects: their grammar (`k8s.io/apimachinery` `pkg/util/validation`), and what ours are."""

import re
from typing import Final
from urllib.parse import quote

LABEL: Final = 63
"""Characters of a DNS label: the value of a label, the name of a Service."""
SUBDOMAIN: Final = 253
"""Characters of a DNS subdomain: the name of most objects."""
HASH: Final = len("-") + 10
"""Pods carry `controller-revision-hash: <StatefulSet>-<hash>`, a 32-bit number encoded digit by digit
(`k8s.io/kubernetes` `pkg/controller/history`)."""
PICKER_ENDING: Final = "-epp"
API_ENDING: Final = "-api"
POOL_ENDING: Final = "-pool"
SYSTEM_NAMESPACE: Final = "fusioninfer-system"
"""Where FusionInfer is installed, unless flags say otherwise; its templates serve all namespaces."""
WAIT_FOR_LEADER: Final = "wait-for-leader"
"""The init container that waits until the leader's name resolves."""

DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
"""A DNS-1123 label as a regular expression; its length is checked apart."""
DNS_SUBDOMAIN: Final = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
DNS_HOSTNAME: Final = rf"(\*\.)?{DNS_SUBDOMAIN}"
"""A hostname of the Gateway API, whose first label may be a wildcard."""
_is_dns_label: Final = re.compile(DNS_LABEL).fullmatch
_is_dns_1035_label: Final = re.compile("(?=[a-z])" + DNS_LABEL).fullmatch
_is_subdomain: Final = re.compile(DNS_SUBDOMAIN).fullmatch
_QUALIFIED: Final = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_is_qualified: Final = re.compile(_QUALIFIED).fullmatch
LABEL_KEY: Final = rf"({DNS_SUBDOMAIN}/)?{_QUALIFIED}"
"""The key of a label as a regular expression; the length of its domain is checked apart."""
DATA_KEY: Final = r"\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*"
"""A key of a ConfigMap: not `.`, and nothing that begins with `..`."""
_is_key_of_data: Final = re.compile(DATA_KEY).fullmatch
LABEL_VALUE: Final = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_is_label_value: Final = re.compile(LABEL_VALUE).fullmatch


def is_label(name: str) -> bool:
    """Return whether a name is a DNS-1123 label."""
    return len(name) <= LABEL and _is_dns_label(name) is not None


def is_dns_1035_label(name: str) -> bool:
    """Return whether a name is a DNS-1035 label: a DNS-1123 label that begins with a letter."""
    return len(name) <= LABEL and _is_dns_1035_label(name) is not None


def is_subdomain(name: str) -> bool:
    """Return whether a name is a DNS-1123 subdomain; only the whole of it has a limit."""
    return len(name) <= SUBDOMAIN and _is_subdomain(name) is not None


def api_path(root: str, *segments: str) -> str:
    """Return a path of the API below a root; each segment stays one, whatever a user wrote in it."""
    return "/".join((root, *(quote(segment, safe="", errors="replace") for segment in segments)))


def is_api_path(path: str) -> bool:
    """Return whether each segment of a path is a DNS-1123 subdomain.

    Groups, versions and plurals are, and so are the names of all objects that are read or written. What is
    quoted is none, nor is an empty segment: without its name, an object's path is that of all objects.
    """
    return all(map(is_subdomain, path.removeprefix("/").split("/")))


def is_hostname(name: str) -> bool:
    """Return whether a name is DNS labels separated by dots; the first one may be a wildcard."""
    return all(map(is_label, name.removeprefix("*.").split(".")))


def is_label_key(key: str) -> bool:
    """Return whether the API server accepts a text as the key of a label; annotations may be upper case."""
    domain, slash, name = key.rpartition("/")
    return _is_qualified(name) is not None and (not slash or is_subdomain(domain))


def is_key_of_data(key: str) -> bool:
    """Return whether the API server accepts a text as a key of `data` of a ConfigMap."""
    return len(key) <= SUBDOMAIN and _is_key_of_data(key) is not None


def is_label_value(text: str) -> bool:
    """Return whether the API server accepts a text as the value of a label."""
    return len(text) <= LABEL and _is_label_value(text) is not None


def picker_name(service: str) -> str:
    """Return the name of the endpoint picker's ServiceAccount, Deployment and Service."""
    return service + PICKER_ENDING


def api_name(service: str) -> str:
    """Return the name of the Service through which clients reach the leaders without a Gateway."""
    return service + API_ENDING


def service_names(service: str) -> tuple[str, str]:
    """Return the names of a service's Services. LWS gives a LeaderWorkerSet a Service of its own name."""
    return picker_name(service), api_name(service)


def longest_name(size: int, replicas: int) -> int:
    """Return the length of the longest LeaderWorkerSet name with which LWS can create every pod.

    The StatefulSets of the workers append the index of their group.
    """
    group = len(f"-{max(replicas - 1, 0)}") if size > 1 else 0
    return LABEL - HASH - group
