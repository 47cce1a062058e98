"""Values in, Kubernetes objects out."""

from intent import Object
from sync.plan import Plan
from sync.render.gang import pod_group


def objects(plan: Plan) -> tuple[Object, ...]:
    """Render every object that a plan wants."""
    return (pod_group(plan.gang),) if plan.gang else ()
