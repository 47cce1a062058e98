"""The account of a picker, and what it may do: no more than its generation asks for.

Several pickers elect who works by a Lease, whose name is theirs (`pkg/epp/server/controller_manager.go` of
every generation here; llm-d has another ending from 0.9).
"""

from typing import Final

from intent import Object
from sync.desired.names import picker_name, pool_name
from sync.desired.render.metadata import metadata
from sync.desired.render.picker import elects
from sync.desired.routes import Routes

LEASES: Final = "coordination.k8s.io"
ENDING: Final = "gateway-api-inference-extension.sigs.k8s.io"


def account(routes: Routes) -> Object:
    """Render the ServiceAccount."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(routes)}


def role(routes: Routes) -> Object:
    """Render the Role."""
    rules = [_rule(group, resource, "list", "watch") for group, resource in routes.picker.rights]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": _metadata(routes),
        "rules": [*rules, *(_election(routes) if elects(routes) else ())],
    }


def role_binding(routes: Routes) -> Object:
    """Give the rights to the account."""
    name = picker_name(routes.service)
    namespace = {"namespace": routes.namespace} if routes.namespace else {}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": _metadata(routes),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, **namespace}],
    }


def _metadata(routes: Routes) -> Object:
    return metadata(routes, picker_name(routes.service))


def _election(routes: Routes) -> tuple[Object, ...]:
    """Let pickers elect who works, by a Lease of their own, and tell of it."""
    return (
        _rule(LEASES, "leases", "create"),
        {**_rule(LEASES, "leases", "get", "update"), **_of_lease(routes)},
        _rule("", "events", "create", "patch"),
    )


def _of_lease(routes: Routes) -> Object:
    """Name the Lease as the pickers do: with their namespace, so offline not everybody's can be named."""
    if not routes.namespace:
        return {}
    return {"resourceNames": [f"epp-{routes.namespace}-{pool_name(routes.service)}.{ENDING}"]}


def _rule(group: str, resource: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
