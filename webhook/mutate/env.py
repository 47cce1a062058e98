"""Environment variables that a launch needs, and the address on which vLLM's NIXL connector is reached."""

from collections.abc import Iterator
from typing import Final

from intent import Object
from intent.container import SIDE_CHANNEL
from intent.launch import Launch, LaunchPlan
from intent.transfer import read_transfer
from intent.tree import Overlay
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import POD_IP
from webhook.layout import Input
from webhook.mutate.concern import COMMANDS, SIZE, Concern, Rule, of_containers, values
from webhook.mutate.templates import for_launches, in_engine

_ADDRESS: Final[Object] = {"name": SIDE_CHANNEL, "valueFrom": POD_IP}
"""The default is localhost, which no other pod can reach (vLLM `vllm/envs.py`)."""


def env(inputs: Input) -> Overlay:
    """Set the variables. They come first in the list, so that the author's variables may refer to them."""
    plan = inputs.layout.plan
    if not (plan.rewritten or inputs.intent.size == 1):
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
        yield _ADDRESS


ENV: Final = Concern(
    "env",
    env,
    unit="launch",
    writes=of_containers({"env": values("name", "value", "valueFrom")}),
    skip="env",
    opt_out="set the variable yourself, or `fusioninfer.io/skip: env`",
    rules=(
        Rule(
            "FI631",
            r"\.env\[VLLM_NIXL_SIDE_CHANNEL_HOST\]",
            "NIXL advertises this address to other pods; its default is localhost, which they cannot reach",
            COMMANDS,
        ),
        Rule(
            "FI632",
            r"\.env\[VLLM_HOST_IP\]",
            "the address that vLLM advertises to the other pods; they must be able to reach it",
            (SIZE,),
        ),
        Rule(
            "FI633",
            r"\.env\[RAY_\w+\]",
            "the pods wait for each other; Ray's own 30 seconds are too short to pull an image",
            (SIZE,),
        ),
        Rule(
            "FI634",
            r"\.env\[TPU_MULTIHOST_BACKEND\]",
            "without it vLLM on TPUs starts no worker on other pods",
            (SIZE,),
        ),
    ),
)
