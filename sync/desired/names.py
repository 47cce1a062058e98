"""How the objects of one service are named."""

from intent.names import picker_name

__all__ = ["config_name", "gateway_name", "picker_name", "pool_name", "route_name"]


def config_name(service: str) -> str:
    """Name the ConfigMap of the picker."""
    return f"{picker_name(service)}-config"


def pool_name(service: str) -> str:
    """Name the InferencePool."""
    return f"{service}-pool"


def route_name(service: str) -> str:
    """Name the HTTPRoute."""
    return f"{service}-httproute"


def gateway_name(service: str) -> str:
    """Name the Gateway of the service's own."""
    return f"{service}-gateway"
