"""The pods of an endpoint picker: the names and flags that routes depend on.

Authors may change the rest of its pod template (`template` of a router).
"""

from collections.abc import Mapping
from typing import Final

CONTAINER: Final = "epp"
CONFIG_VOLUME: Final = "config"
CONFIG_DIR: Final = "/etc/picker"
GRPC_PORT: Final = 9002
"""The port on which it listens for gateways (Envoy's ext_proc)."""
HEALTH_PORT: Final = 9003
METRICS_PORT: Final = 9090
PORTS: Final[Mapping[str, int]] = {"grpc": GRPC_PORT, "grpc-health": HEALTH_PORT, "metrics": METRICS_PORT}
"""By their names."""
IDENTITY: Final = ("NAMESPACE", "POD_NAME")
"""Variables by which the endpoint picker finds itself."""
RESERVED_FLAGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("pool-name", "pool-namespace", "pool-group"), "pool.ref names another InferencePool"),
    **dict.fromkeys(("config-file", "config-text"), "write endpointPickerConfig or configRef"),
    **dict.fromkeys(
        ("grpc-port", "grpc-health-port", "metrics-port"), "its Service and probes have this port"
    ),
    "secure-serving": "the operator chooses it for all endpoint pickers (secureServing)",
    "metrics-endpoint-auth": "it needs cluster-wide rights",
    "ha-enable-leader-election": "set the annotation fusioninfer.io/picker-replicas",
}
"""Flags that an author must not set, each with the reason or the remedy."""


def flag_name(argument: str) -> str:
    """Return the name of the flag in an argument; empty for a value. Go's flags have one dash or two."""
    return argument.lstrip("-").partition("=")[0] if argument.startswith("-") else ""
