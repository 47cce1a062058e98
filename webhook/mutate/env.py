"""Environment variables that a launch needs, and the one by which vLLM hands its KV cache to other pods."""

from collections.abc import Iterator
from typing import Final

from intent import Object
from intent.launch import Launch, LaunchPlan
from intent.lws import Intent
from intent.settings import Settings
from intent.transfer import read_transfer
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import POD_IP
from webhook.launchers.plan import read_plan
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay.overlay import Overlay

SIDE_CHANNEL: Final[Object] = {"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": POD_IP}
"""Its default is localhost, where no other pod is (vLLM `vllm/envs.py`)."""


def env(intent: Intent, settings: Settings) -> Overlay:
    """Set what is needed. It stands first, so that the author's variables may name it."""
    plan = read_plan(intent, settings)
    if "env" in intent.skip or not (plan.rewritten or intent.size == 1):
        return {}

    def container(launch: Launch) -> Overlay:
        needed = list(_needed(launch, plan))
        return in_engine(launch.engine, {"env": needed} if needed else {})

    return for_launches(plan.launches, container)


def _needed(launch: Launch, plan: LaunchPlan) -> Iterator[Object]:
    if plan.rewritten:
        yield from LAUNCHERS[plan.launcher].env(launch)
    transfer = read_transfer(launch) if launch.command.is_vllm else None
    if transfer and any(name.startswith("Nixl") for name in transfer.connectors):
        yield SIDE_CHANNEL
