"""The specs of HTTPRoute and Gateway, by the names of their Go types: fields, kinds, limits, patterns.

Source: the experimental channel of kubernetes-sigs/gateway-api v1.4.1, `config/crd/experimental`, of which
the standard channel is a subset. A test compares this with both. Other constraints are in `rules`.
"""

from typing import Any, Final

from intent import Object
from intent.gateway_api import rules
from intent.gateway_api.words import (
    FLAG,
    NUMBER,
    TEXT,
    choice,
    distinct,
    fields,
    items,
    like,
    pairs,
    text,
    whole,
)
from intent.names import DNS_HOSTNAME, DNS_LABEL, DNS_SUBDOMAIN

# --- shared_types.go ----------------------------------------------------------------------------------

_PATH: Final = r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+"

GROUP: Final = like(rf"^$|^{DNS_SUBDOMAIN}$", "must be a DNS-1123 subdomain, or empty", 253)
KIND: Final = like(r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", "must be the name of a kind", 63, 1)
OBJECT_NAME: Final = text(253, 1)
NAMESPACE: Final = like(rf"^{DNS_LABEL}$", "must be a DNS-1123 label", 63, 1)
SECTION_NAME: Final = like(rf"^{DNS_SUBDOMAIN}$", "must be a DNS-1123 subdomain", 253, 1)
PRECISE_HOSTNAME: Final = SECTION_NAME
HOSTNAME: Final = like(
    f"^{DNS_HOSTNAME}$", "must be a hostname in lower case, without a port; *. may begin it", 253, 1
)
PORT: Final = whole(1, 65535)
DURATION: Final = like(r"^([0-9]{1,5}(h|m|s|ms)){1,4}$", "must be a duration, such as 90s or 1m30s")
SELECTOR: Final = fields(
    matchLabels=pairs(TEXT),
    matchExpressions=items(fields("key", "operator", key=TEXT, operator=TEXT, values=items(TEXT))),
)
LOCAL_REFERENCE: Final = fields("group", "kind", "name", group=GROUP, kind=KIND, name=OBJECT_NAME)
_OBJECT: Final[dict[str, Any]] = {"group": GROUP, "kind": KIND, "name": OBJECT_NAME, "namespace": NAMESPACE}
REFERENCE: Final = fields("group", "kind", "name", **_OBJECT)
SECRET_REFERENCE: Final = fields("name", **_OBJECT)
PARENT_REFERENCE: Final = fields("name", **_OBJECT, sectionName=SECTION_NAME, port=PORT)
BACKEND_REFERENCE: Final = fields("name", **_OBJECT, port=PORT, checks=rules.OF_A_BACKEND)
DEFAULTS_SCOPE: Final = choice("All", "None")

# --- httproute_types.go -------------------------------------------------------------------------------

HEADER_NAME: Final = like(r"^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$", "must be the name of a header", 256, 1)
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
_ORIGIN: Final = r"(^\*$)|(^([a-zA-Z][a-zA-Z0-9+\-.]+):\/\/([^:/?#]+)(:([0-9]{1,5}))?$)"


def _named(value: int, **more: Any) -> Object:
    """Describe a list of named values with unique names."""
    return items(fields("name", "value", name=HEADER_NAME, value=text(value, 1), **more), 16, key="name")


_MATCH_TYPE: Final = choice("Exact", "RegularExpression")
PATH_MATCH: Final = fields(
    type=choice("Exact", "PathPrefix", "RegularExpression"), value=text(1024), checks=rules.OF_A_PATH
)
ROUTE_MATCH: Final = fields(
    path=PATH_MATCH,
    headers=_named(4096, type=_MATCH_TYPE),
    queryParams=_named(1024, type=_MATCH_TYPE),
    method=choice(*_METHODS),
)
HEADER_FILTER: Final = fields(set=_named(4096), add=_named(4096), remove=distinct(TEXT, 16))
PATH_MODIFIER: Final = fields(
    "type",
    type=choice("ReplaceFullPath", "ReplacePrefixMatch"),
    replaceFullPath=text(1024),
    replacePrefixMatch=text(1024),
    checks=rules.OF_A_PATH_MODIFIER,
)
REQUEST_MIRROR: Final = fields(
    "backendRef",
    backendRef=BACKEND_REFERENCE,
    percent=whole(0, 100),
    fraction=fields("numerator", numerator=whole(0), denominator=whole(1), checks=rules.OF_A_FRACTION),
    checks=rules.OF_A_MIRROR,
)
REQUEST_REDIRECT: Final = fields(
    scheme=choice("http", "https"),
    hostname=PRECISE_HOSTNAME,
    path=PATH_MODIFIER,
    port=PORT,
    statusCode=NUMBER | {"enum": [301, 302]},
)
CORS: Final = fields(
    allowOrigins=distinct(
        like(_ORIGIN, "must be an origin, such as https://example.com, or *", 253, 1),
        64,
        checks=rules.OF_A_WILDCARD,
    ),
    allowCredentials=FLAG,
    allowMethods=distinct(choice(*_METHODS, "*"), 9, checks=rules.OF_A_WILDCARD),
    allowHeaders=distinct(HEADER_NAME, 64),
    exposeHeaders=distinct(HEADER_NAME, 64),
    maxAge=whole(1),
)
EXTERNAL_AUTH: Final = fields(
    "backendRef",
    "protocol",
    protocol=choice("HTTP", "GRPC"),
    backendRef=BACKEND_REFERENCE,
    grpc=fields(allowedHeaders=distinct(TEXT)),
    http=fields(
        path=like(f"^{_PATH}$", "must be a path", 1024),
        allowedHeaders=distinct(TEXT),
        allowedResponseHeaders=distinct(TEXT),
    ),
    forwardBody=fields(maxSize=NUMBER),
    checks=rules.OF_EXTERNAL_AUTH,
)
FILTERS: Final = items(
    fields(
        "type",
        type=choice(*rules.FILTERS),
        requestHeaderModifier=HEADER_FILTER,
        responseHeaderModifier=HEADER_FILTER,
        requestMirror=REQUEST_MIRROR,
        requestRedirect=REQUEST_REDIRECT,
        urlRewrite=fields(hostname=PRECISE_HOSTNAME, path=PATH_MODIFIER),
        cors=CORS,
        externalAuth=EXTERNAL_AUTH,
        extensionRef=LOCAL_REFERENCE,
        checks=rules.OF_A_FILTER,
    ),
    16,
    checks=rules.OF_FILTERS,
)
BACKEND: Final = fields(
    "name", **_OBJECT, port=PORT, weight=whole(0, 1_000_000), filters=FILTERS, checks=rules.OF_A_BACKEND
)
SESSION_PERSISTENCE: Final = fields(
    sessionName=text(128),
    absoluteTimeout=DURATION,
    idleTimeout=DURATION,
    type=choice("Cookie", "Header"),
    cookieConfig=fields(lifetimeType=choice("Permanent", "Session")),
    checks=rules.OF_A_SESSION,
)
ROUTE_RULE: Final = fields(
    name=SECTION_NAME,
    matches=items(ROUTE_MATCH, 64),
    filters=FILTERS,
    backendRefs=items(BACKEND, 16),
    timeouts=fields(request=DURATION, backendRequest=DURATION, checks=rules.OF_TIMEOUTS),
    retry=fields(codes=items(NUMBER | {"minimum": 400, "maximum": 599}), attempts=NUMBER, backoff=DURATION),
    sessionPersistence=SESSION_PERSISTENCE,
    checks=rules.OF_A_RULE,
)
HTTP_ROUTE_SPEC: Final = fields(
    useDefaultGateways=DEFAULTS_SCOPE,
    parentRefs=items(PARENT_REFERENCE, 32, checks=rules.OF_PARENTS),
    hostnames=items(HOSTNAME, 16),
    rules=items(ROUTE_RULE, 16, checks=rules.OF_RULES),
)

# --- gateway_types.go ---------------------------------------------------------------------------------

_PROTOCOL: Final = rf"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|{DNS_SUBDOMAIN}\/[A-Za-z0-9]+$"
_ADDRESS_TYPE: Final = rf"^Hostname|IPAddress|NamedAddress|{DNS_SUBDOMAIN}\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$"
_ANNOTATION: Final = text(4096)


def _namespaces(*words: str) -> Object:
    known: dict[str, Any] = {"from": choice(*words), "selector": SELECTOR}
    return fields(**known)


LISTENER: Final = fields(
    *("name", "port", "protocol"),
    name=SECTION_NAME,
    hostname=HOSTNAME,
    port=PORT,
    protocol=like(_PROTOCOL, "must be a protocol, such as HTTP or HTTPS", 255, 1),
    tls=fields(
        mode=choice("Terminate", "Passthrough"),
        certificateRefs=items(SECRET_REFERENCE, 64),
        options=pairs(_ANNOTATION, 16),
        checks=rules.OF_TLS,
    ),
    allowedRoutes=fields(
        namespaces=_namespaces("All", "Selector", "Same"),
        kinds=items(fields("kind", group=GROUP, kind=KIND), 8),
    ),
    checks=rules.OF_A_LISTENER,
)
FRONTEND_TLS: Final = fields(
    validation=fields(
        "caCertificateRefs",
        caCertificateRefs=items(REFERENCE, 8, 1),
        mode=choice("AllowValidOnly", "AllowInsecureFallback"),
    )
)
GATEWAY_SPEC: Final = fields(
    *("gatewayClassName", "listeners"),
    gatewayClassName=OBJECT_NAME,
    listeners=items(LISTENER, 64, 1, key="name", checks=rules.OF_LISTENERS),
    addresses=items(
        fields(
            type=like(_ADDRESS_TYPE, "must be IPAddress, Hostname, NamedAddress or DOMAIN/NAME", 253, 1),
            value=text(253),
            checks=rules.OF_AN_ADDRESS,
        ),
        16,
        checks=rules.OF_ADDRESSES,
    ),
    infrastructure=fields(
        labels=pairs(
            like(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", "must be the value of a label", 63), 8
        ),
        annotations=pairs(_ANNOTATION, 8),
        parametersRef=LOCAL_REFERENCE,
    ),
    allowedListeners=fields(namespaces=_namespaces("All", "Selector", "Same", "None")),
    tls=fields(
        backend=fields(clientCertificateRef=SECRET_REFERENCE),
        frontend=fields(
            "default",
            default=FRONTEND_TLS,
            perPort=items(fields("port", "tls", port=PORT, tls=FRONTEND_TLS), 64, key="port"),
        ),
    ),
    defaultScope=DEFAULTS_SCOPE,
)
