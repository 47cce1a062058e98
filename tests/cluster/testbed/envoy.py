"""Envoy's configuration for an HTTPRoute to InferencePools, as a gateway would make it.

Of a pool's picker every request is asked, bodies in full duplex: with other modes the request never ends.
Sources: GIE `docs/proposals/004-endpoint-picker-protocol`; Envoy `api/envoy/extensions/filters/http/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from intent import Object

DESTINATION: Final = "x-gateway-destination-endpoint"
"""The header in which a picker names its choice."""
TYPES: Final = "type.googleapis.com/envoy.extensions."
BODIES: Final = {
    "request_header_mode": "SEND",
    "request_body_mode": "FULL_DUPLEX_STREAMED",
    "request_trailer_mode": "SEND",
    "response_header_mode": "SEND",
    "response_body_mode": "FULL_DUPLEX_STREAMED",
    "response_trailer_mode": "SEND",
}
ASKED: Final[Object] = {
    "health_checks": [
        {
            "timeout": "1s",
            "interval": "0.2s",
            "no_traffic_interval": "0.2s",
            "unhealthy_threshold": 1,
            "healthy_threshold": 1,
            "grpc_health_check": {"service_name": "readiness"},
        }
    ],
    "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
}
"""Only a server that says it is ready is called, and none if none does. Without TLS: health has none."""
LOG: Final = "%REQ(:PATH)% %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %UPSTREAM_HOST%\n"


@dataclass(frozen=True, slots=True)
class PickerServer:
    """Where a pool's picker serves, and whether it wants TLS.

    Gateways call those of several that the Service has for ready; this one asks them itself.
    """

    addresses: tuple[str, ...]
    port: int
    tls: bool
    health: int


def configuration(at: tuple[str, int], routes: list[Object], servers: Mapping[str, PickerServer]) -> Object:
    """Return the configuration of an Envoy that listens at an address and port; the servers are by pool."""
    listener = {"name": "gateway", "address": _address(*at), **_filters(routes, servers)}
    clusters = [_picked(), *(_picker(pool, server) for pool, server in servers.items())]
    return {"static_resources": {"listeners": [listener], "clusters": clusters}}


def _filters(routes: list[Object], servers: Mapping[str, PickerServer]) -> Object:
    default = next(iter(servers))
    manager = {
        "stat_prefix": "gateway",
        "route_config": {"virtual_hosts": _virtual_hosts(routes)},
        "http_filters": [
            _typed(
                "envoy.filters.http.ext_proc", "filters.http.ext_proc.v3.ExternalProcessor", _asking(default)
            ),
            _typed(
                "envoy.filters.http.router", "filters.http.router.v3.Router", {"suppress_envoy_headers": True}
            ),
        ],
        "access_log": [
            _typed(
                "envoy.access_loggers.file",
                "access_loggers.file.v3.FileAccessLog",
                {"path": "/dev/stdout", "log_format": {"text_format_source": {"inline_string": LOG}}},
            )
        ],
    }
    kind = "filters.network.http_connection_manager.v3.HttpConnectionManager"
    return {
        "filter_chains": [
            {"filters": [_typed("envoy.filters.network.http_connection_manager", kind, manager)]}
        ]
    }


def _asking(pool: str) -> Object:
    return {
        "grpc_service": {"envoy_grpc": {"cluster_name": pool, "authority": "localhost"}, "timeout": "10s"},
        "processing_mode": BODIES,
        "message_timeout": "30s",
    }


def _virtual_hosts(routes: list[Object]) -> list[Object]:
    """Join the routes: nobody's names a host."""
    found = [_route(rule) for route in routes for rule in route["spec"]["rules"]]
    return [{"name": "*", "domains": ["*"], "routes": found}]


def _route(rule: Object) -> Object:
    """Lead all paths to the pool of a rule."""
    (backend,) = rule["backendRefs"]
    unknown = {each.get("path", {}).get("value", "/") for each in rule.get("matches", ())} - {"/"}
    if backend.get("kind") != "InferencePool" or unknown or rule.get("filters"):
        raise ValueError(f"only InferencePools for all paths are known here: {rule}")
    overrides = {"overrides": {"grpc_service": _asking(backend["name"])["grpc_service"]}}
    kind = f"{TYPES}filters.http.ext_proc.v3.ExtProcPerRoute"
    timeout = str(rule.get("timeouts", {}).get("request", "0s"))
    return {
        "match": {"prefix": "/"},
        "route": {"cluster": "picked", "timeout": timeout, "idle_timeout": "0s"},
        "typed_per_filter_config": {"envoy.filters.http.ext_proc": {"@type": kind, **overrides}},
    }


def _picked() -> Object:
    by_header = {"use_http_header": True, "http_header_name": DESTINATION}
    kind = {"type": "ORIGINAL_DST", "lb_policy": "CLUSTER_PROVIDED", "connect_timeout": "5s"}
    return {"name": "picked", **kind, "original_dst_lb_config": by_header}


def _picker(pool: str, server: PickerServer) -> Object:
    kind = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    http2: Object = {"explicit_http_config": {"http2_protocol_options": {}}}
    endpoints = [
        {
            "endpoint": {
                "address": _address(address, server.port),
                "health_check_config": {"port_value": server.health},
            }
        }
        for address in server.addresses
    ]
    tls = {"common_tls_context": {"alpn_protocols": ["h2"]}}
    socket = _typed("envoy.transport_sockets.tls", "transport_sockets.tls.v3.UpstreamTlsContext", tls)
    return {
        "name": pool,
        "type": "STATIC",
        "connect_timeout": "5s",
        "typed_extension_protocol_options": {kind: {"@type": f"type.googleapis.com/{kind}", **http2}},
        "load_assignment": {"cluster_name": pool, "endpoints": [{"lb_endpoints": endpoints}]},
        **(ASKED if len(endpoints) > 1 else {}),
        **({"transport_socket": socket} if server.tls else {}),
    }


def _address(address: str, port: int) -> Object:
    return {"socket_address": {"address": address, "port_value": port}}


def _typed(name: str, kind: str, body: Object) -> Object:
    return {"name": name, "typed_config": {"@type": TYPES + kind, **body}}
