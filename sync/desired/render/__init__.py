"""Values in, Kubernetes objects out."""

from intent import Object
from sync.desired.plan import GangPlan
from sync.desired.render.gang import pod_group


def objects(plan: GangPlan) -> tuple[Object, ...]:
    """Render what the plan of a gang wants."""
    return (pod_group(plan.gang),) if plan.gang else ()
