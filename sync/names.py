"""How the objects of one service are named."""


def picker_name(service: str) -> str:
    """Name the picker: its ServiceAccount, Role, RoleBinding, Deployment and Service."""
    return f"{service}-epp"


def config_name(service: str) -> str:
    """Name the ConfigMap of the picker."""
    return f"{service}-epp-config"


def pool_name(service: str) -> str:
    """Name the InferencePool."""
    return f"{service}-pool"


def route_name(service: str) -> str:
    """Name the HTTPRoute."""
    return f"{service}-httproute"


def gateway_name(service: str) -> str:
    """Name the Gateway of the service's own."""
    return f"{service}-gateway"
