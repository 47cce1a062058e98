"""Labels and owners of what is rendered for the routes of a service."""

from intent import Object
from intent.annotations import SERVICE
from sync.desired.render.owners import member_reference, service_reference
from sync.desired.routes import Routes


def metadata(routes: Routes, name: str) -> Object:
    """Render the metadata of one object: the service's label on it, and on no pod of it."""
    found: Object = {
        "name": name,
        **({"namespace": routes.namespace} if routes.namespace else {}),
        "labels": {SERVICE: routes.service},
    }
    if owners := _owner_references(routes):
        found["ownerReferences"] = owners
    return found


def _owner_references(routes: Routes) -> list[Object]:
    if routes.owner is not None:
        return [service_reference(*routes.owner)] if routes.owner[1] else []
    return [member_reference(name, uid) for name, uid in routes.members if uid]
