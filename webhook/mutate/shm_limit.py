"""The size of the memory at `/dev/shm`: without one the node decides, and some policies refuse the pods."""

from typing import Final

from intent.launch import Launch
from intent.quantity import of_bytes
from intent.tree import Overlay
from webhook.layout import Input
from webhook.mutate.concern import Concern, Rule, of_templates, values
from webhook.mutate.templates import for_launches, in_engine, memory_volume


def shm_limit(inputs: Input) -> Overlay:
    """Bound the volume at /dev/shm by the engine's memory limit, to which its pages count anyway."""
    plan = inputs.layout.plan
    is_due = plan.rewritten and "shm" in inputs.concerns
    return for_launches(plan.launches, _limit) if is_due else {}


def _limit(launch: Launch) -> Overlay:
    name, limit = memory_volume(launch), launch.engine.memory_limit
    if not name or not limit or name in launch.template.memory:
        return {}
    return in_engine(
        launch.engine, {}, {"volumes": [{"name": name, "emptyDir": {"sizeLimit": of_bytes(limit)}}]}
    )


SHM_LIMIT: Final = Concern(
    "shm_limit",
    shm_limit,
    unit="shm",
    writes=of_templates({"spec": {"volumes": values("name", "emptyDir")}}),
    skip="shm-limit",
    opt_out="mount a volume at /dev/shm yourself, or set `fusioninfer.io/skip: shm-limit`",
    rules=(
        Rule(
            "FI643",
            r"\.volumes\[dshm(?:-[0-9]+)?\]\.emptyDir\.sizeLimit",
            "the engine's memory limit: its pages count to that, and some policies require a size",
            ("resources.limits.memory",),
        ),
    ),
)
