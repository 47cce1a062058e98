"""The CEL rules (`x-kubernetes-validations`) of the Gateway API, for values of the right types.

The definition of InferenceService has none of them (ADR 22). Upstream's rules are evaluated after its
defaults; here an absent `kind` of a backend is `Service`.

Source: the experimental channel of kubernetes-sigs/gateway-api v1.4.1. A test compares the paths with it.
"""

import re
from collections import Counter
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any, Final

from catalog.pickers.generations import POOLS
from intent import Object
from intent.names import DNS_HOSTNAME, DNS_SUBDOMAIN, LABEL
from intent.schema import FieldCheck, Rules
from intent.shapes import listed, mapping

FILTERS: Final = {
    "RequestHeaderModifier": "requestHeaderModifier",
    "ResponseHeaderModifier": "responseHeaderModifier",
    "RequestMirror": "requestMirror",
    "RequestRedirect": "requestRedirect",
    "URLRewrite": "urlRewrite",
    "ExtensionRef": "extensionRef",
    "CORS": "cors",
    "ExternalAuth": "externalAuth",
}
"""Types of filters, each with the only field that it must have."""
ONCE: Final = ("RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite")
MODIFIERS: Final = {"ReplaceFullPath": "replaceFullPath", "ReplacePrefixMatch": "replacePrefixMatch"}
PROTOCOLS: Final = {"GRPC": "grpc", "HTTP": "http"}
MATCHES: Final = 128
"""The maximum of matches of all rules of a route together."""
_PATH: Final = re.compile(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+").fullmatch
_AMONG: Final = ("//", "/./", "/../", "%2f", "%2F", "#")
_AT_THE_END: Final = ("/..", "/.")
_HOSTNAME: Final = re.compile(DNS_HOSTNAME).fullmatch
_KEY: Final = re.compile(rf"({DNS_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]{{0,61}})?[A-Za-z0-9]").fullmatch
_PREFIX: Final = 253
"""The length that the prefix of a key must be below."""
_DURATION: Final = re.compile(r"(\d+)(h|ms|m|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def _union(value: Object, word: str, field_of: dict[str, str]) -> str:
    """Return the message about a missing or superfluous field of a union; empty if it is valid."""
    chosen = field_of.get(value[word], "")
    if chosen and chosen not in value:
        return f"{chosen} is required where {word} is {value[word]}"
    others = [field for field in field_of.values() if field != chosen and field in value]
    return f"{others[0]} must be absent where {word} is {value[word]}" if others else ""


# --- references ---------------------------------------------------------------------------------------


def _port_of_a_service(backend: Object) -> str:
    is_service = not backend.get("group") and backend.get("kind", "Service") == "Service"
    return "port is required: it refers to a Service" if is_service and "port" not in backend else ""


def _group_of_a_pool(backend: Object) -> str:
    """Require the group of an InferencePool, without which gateways report an unknown kind (our own rule)."""
    is_pool = backend.get("kind") == "InferencePool" and not backend.get("group")
    return f"group must be {POOLS}: it refers to an InferencePool" if is_pool else ""


def _distinct_parents(parents: list[Object]) -> str:
    """Apply the rule of the experimental channel, in which the port also distinguishes two references."""
    known: dict[Any, list[Any]] = {}
    for one in parents:
        gateway = tuple(one.get(key) for key in ("group", "kind", "name", "namespace"))
        known.setdefault(gateway, []).append((one.get("sectionName"), one.get("port")))
    if any(len(set(places)) < len(places) for places in known.values()):
        return "two references to one parent must name different listeners, by sectionName"
    kinds = ({(bool(section), bool(port)) for section, port in places} for places in known.values())
    mixed = any(len(found) > 1 for found in kinds)
    return "of two references to one parent both must have a sectionName, or none" if mixed else ""


# --- filters ------------------------------------------------------------------------------------------


def _type_of_a_filter(one: Object) -> str:
    return _union(one, "type", FILTERS)


def _type_of_a_modifier(modifier: Object) -> str:
    return _union(modifier, "type", MODIFIERS)


def _protocol_of_auth(auth: Object) -> str:
    return _union(auth, "protocol", PROTOCOLS)


def _repeated_filters(filters: list[Object]) -> str:
    counted = Counter(one["type"] for one in filters)
    if {"RequestRedirect", "URLRewrite"} <= counted.keys():
        return "must not have both RequestRedirect and URLRewrite"
    twice = [kind for kind in ONCE if counted[kind] > 1]
    return f"must have {twice[0]} at most once" if twice else ""


def _share_of_a_mirror(mirror: Object) -> str:
    return "must not have both percent and fraction" if {"percent", "fraction"} <= mirror.keys() else ""


def _fraction(fraction: Object) -> str:
    too_much = fraction["numerator"] > fraction.get("denominator", 100)
    return "numerator must be at most the denominator" if too_much else ""


def _wildcard(words: list[str]) -> str:
    return "must not combine * with other values" if "*" in words and len(words) > 1 else ""


# --- rules of a route ---------------------------------------------------------------------------------


def _path(path: Object) -> str:
    """Check a path that is not a regular expression."""
    value = path.get("value", "/")
    if path.get("type") == "RegularExpression":
        return ""
    if not value.startswith("/"):
        return "value must start with /"
    bad = [part for part in _AMONG if part in value] + [end for end in _AT_THE_END if value.endswith(end)]
    if bad:
        return f"value must not have {bad[0]}"
    return "" if _PATH(value) else "value must contain only characters that a URL does not escape"


def _timeouts(timeouts: Object) -> str:
    whole, one = (_seconds(timeouts.get(key, "0s")) for key in ("request", "backendRequest"))
    return "backendRequest must not be longer than request" if 0 < whole < one else ""


def _seconds(duration: str) -> float:
    return sum(int(amount) * _SECONDS[unit] for amount, unit in _DURATION.findall(duration))


def _session(session: Object) -> str:
    permanent = mapping(session.get("cookieConfig")).get("lifetimeType") == "Permanent"
    lacks = permanent and "absoluteTimeout" not in session
    return "absoluteTimeout is required where lifetimeType is Permanent" if lacks else ""


def _redirect_to_nobody(rule: Object) -> str:
    redirects = any("requestRedirect" in one for one in listed(rule.get("filters")))
    return (
        "a RequestRedirect must have no backendRefs beside it"
        if redirects and rule.get("backendRefs")
        else ""
    )


def _prefix_to_replace(rule: Object) -> str:
    """Require exactly one PathPrefix match for a replaced prefix."""
    lists = [rule.get("filters"), *(backend.get("filters") for backend in listed(rule.get("backendRefs")))]
    if not any(_replaces_prefix(one) for each in lists for one in listed(each)):
        return ""
    matches = listed(rule.get("matches")) or [{}]
    kind = mapping(matches[0].get("path")).get("type", "PathPrefix")
    fits = len(matches) == 1 and kind == "PathPrefix"
    return "" if fits else "must have exactly one match, of a PathPrefix, where replacePrefixMatch is used"


def _replaces_prefix(one: Object) -> bool:
    changes = (mapping(one.get(field)) for field in ("requestRedirect", "urlRewrite"))
    return any("replacePrefixMatch" in mapping(change.get("path")) for change in changes)


def _matches_together(rules: list[Object]) -> str:
    count = sum(len(rule.get("matches", [{}])) for rule in rules)
    return f"must have at most {MATCHES} matches together" if count > MATCHES else ""


def _names_of_rules(rules: list[Object]) -> str:
    return _twice((rule["name"] for rule in rules if rule.get("name")), "two rules must not have one name")


# --- Gateways -----------------------------------------------------------------------------------------


def _twice(values: Iterable[Any], message: str) -> str:
    return message if any(count > 1 for count in Counter(values).values()) else ""


def _certificates(tls: Object) -> str:
    terminates = tls.get("mode", "Terminate") == "Terminate"
    given = tls.get("certificateRefs") or tls.get("options")
    return (
        "certificateRefs or options are required where mode is Terminate" if terminates and not given else ""
    )


def _tls_of_a_listener(listener: Object) -> str:
    protocol, tls = listener["protocol"], listener.get("tls")
    if tls is None:
        return ""
    if protocol in {"HTTP", "TCP", "UDP"}:
        return f"tls must be absent where protocol is {protocol}"
    wrong = protocol == "HTTPS" and tls.get("mode") == "Passthrough"
    return "tls.mode must be Terminate where protocol is HTTPS" if wrong else ""


def _hostname_of_a_listener(listener: Object) -> str:
    wrong = listener["protocol"] in {"TCP", "UDP"} and listener.get("hostname")
    return f"hostname must be absent where protocol is {listener['protocol']}" if wrong else ""


def _distinct_listeners(listeners: list[Object]) -> str:
    places = ((one["port"], one["protocol"], one.get("hostname")) for one in listeners)
    return _twice(places, "two listeners must not share port, protocol and hostname")


def _address(address: Object) -> str:
    kind, value = address.get("type", "IPAddress"), address.get("value")
    if value is None or (kind == "Hostname" and _HOSTNAME(value)):
        return ""
    if kind == "Hostname":
        return "value must be a hostname"
    return "value must be an IP address" if kind == "IPAddress" and not _is_ip(value) else ""


def _is_ip(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return "%" not in value


def _keys(pairs: Object) -> str:
    """Check the keys of labels or annotations."""
    bad = (key for key in pairs if not _KEY(key) or len(key.partition("/")[0]) >= _PREFIX)
    return next((f"{key[:LABEL]} must be the key of a label or an annotation" for key in bad), "")


def _distinct_addresses(addresses: list[Object]) -> str:
    values = ((one.get("type", "IPAddress"), one["value"]) for one in addresses if one.get("value"))
    return _twice(values, "two addresses must not be the same")


# --- by path ------------------------------------------------------------------------------------------


def _of_filters(path: str) -> dict[str, tuple[FieldCheck, ...]]:
    """Return the rules about a list of filters."""
    return {
        path: (_repeated_filters,),
        f"{path}[]": (_type_of_a_filter,),
        f"{path}[].requestMirror": (_share_of_a_mirror,),
        f"{path}[].requestMirror.backendRef": (_port_of_a_service, _group_of_a_pool),
        f"{path}[].requestMirror.fraction": (_fraction,),
        f"{path}[].requestRedirect.path": (_type_of_a_modifier,),
        f"{path}[].urlRewrite.path": (_type_of_a_modifier,),
        f"{path}[].cors.allowMethods": (_wildcard,),
        f"{path}[].cors.allowOrigins": (_wildcard,),
        f"{path}[].externalAuth": (_protocol_of_auth,),
        f"{path}[].externalAuth.backendRef": (_port_of_a_service, _group_of_a_pool),
    }


OF_HTTP_ROUTE: Final[Rules] = {
    ".parentRefs": (_distinct_parents,),
    ".rules": (_matches_together, _names_of_rules),
    ".rules[]": (_redirect_to_nobody, _prefix_to_replace),
    ".rules[].matches[].path": (_path,),
    ".rules[].timeouts": (_timeouts,),
    ".rules[].sessionPersistence": (_session,),
    ".rules[].backendRefs[]": (_port_of_a_service, _group_of_a_pool),
    **_of_filters(".rules[].filters"),
    **_of_filters(".rules[].backendRefs[].filters"),
}
"""The rules about the spec of an HTTPRoute."""
OF_GATEWAY: Final[Rules] = {
    ".listeners": (_distinct_listeners,),
    ".listeners[]": (_tls_of_a_listener, _hostname_of_a_listener),
    ".listeners[].tls": (_certificates,),
    ".addresses": (_distinct_addresses,),
    ".addresses[]": (_address,),
    ".infrastructure.annotations": (_keys,),
    ".infrastructure.labels": (_keys,),
}
"""The rules about the spec of a Gateway."""
