"""Wait for the leader's DNS name: some engines look it up once and exit, which restarts the group."""

from typing import Final

from intent.launch import Launch
from intent.names import WAIT_FOR_LEADER
from intent.tree import Overlay
from webhook.launchers import LAUNCHERS
from webhook.layout import Input
from webhook.mutate.concern import SIZE, Concern, Rule, of_templates, values
from webhook.mutate.templates import for_launches, unprivileged

COMMAND: Final = ("sh", "-c", 'until getent hosts "$LWS_LEADER_ADDRESS"; do sleep 2; done')
"""It never exits with an error: LWS counts restarts of init containers too (LWS `pod_controller.go`)."""
LIMITS: Final = {"cpu": "100m", "memory": "256Mi"}
"""They default the requests, which quotas require, so a Guaranteed pod stays so. Spelled as LWS does."""


def dns(inputs: Input) -> Overlay:
    """Add an init container to each pod that waits until the leader's name resolves."""
    plan = inputs.layout.plan
    if not plan.rewritten or not LAUNCHERS[plan.launcher].resolves:
        return {}
    return for_launches(plan.launches, _init_container)


def _init_container(launch: Launch) -> Overlay:
    """Return the init container, with the engine's image, which the node pulls anyway, and its user."""
    engine = launch.engine
    container: Overlay = {"name": WAIT_FOR_LEADER, "image": engine.image, "command": list(COMMAND)}
    if engine.pull_policy:
        container["imagePullPolicy"] = engine.pull_policy
    container["resources"] = {"limits": dict(LIMITS)}
    container["securityContext"] = unprivileged(engine)
    return {"spec": {"initContainers": [container]}}


_PATHS: Final = values("name", "image", "command", "imagePullPolicy", "resources", "securityContext")

DNS: Final = Concern(
    "dns",
    dns,
    unit="launch",
    writes=of_templates({"spec": {"initContainers": _PATHS}}),
    skip="dns",
    opt_out="set `fusioninfer.io/skip: dns`",
    rules=(
        Rule(
            "FI661",
            r"\.initContainers\[wait-for-leader\]",
            "the engine exits, and the group restarts, if the leader's name is not in DNS yet",
            (SIZE,),
        ),
    ),
)
