"""The leader's name: engines that look it up once end if it is not in DNS yet, and with them the group."""

import json
from typing import Final

from intent import Object
from intent.launch import Launch
from intent.lws import Intent
from intent.names import WAIT_FOR_LEADER
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.plan import read_plan
from webhook.mutate.templates import for_launches
from webhook.overlay.overlay import Overlay

NAME: Final = WAIT_FOR_LEADER
COMMAND: Final = ("sh", "-c", 'until getent hosts "$LWS_LEADER_ADDRESS"; do sleep 2; done')
"""It never ends with an error: LWS counts restarts of an init container too (LWS `pod_controller.go`)."""
LIMITS: Final = {"cpu": "100m", "memory": "256Mi"}
"""As requests too, by default: quotas ask for them, and a Guaranteed pod stays one. Spelled as LWS does."""
_SECURITY: Final[Object] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""The rest of PodSecurity's `restricted` is the author's to say, for the pod or for the engine."""


def dns(intent: Intent, settings: Settings) -> Overlay:
    """Wait on every pod until the leader's name resolves, before the engine starts."""
    plan = read_plan(intent, settings)
    if "dns" in intent.skip or not plan.rewritten or not LAUNCHERS[plan.launcher].resolves:
        return {}
    return for_launches(plan.launches, _waiting)


def _waiting(launch: Launch) -> Overlay:
    """Take the engine's image, which is on the node anyway, and its user."""
    engine = launch.engine
    container: Object = {"name": NAME, "image": engine.image, "command": list(COMMAND)}
    if engine.pull_policy:
        container["imagePullPolicy"] = engine.pull_policy
    container["resources"] = {"limits": dict(LIMITS)}
    container["securityContext"] = _SECURITY | (json.loads(engine.security) if engine.security else {})
    return {"spec": {"initContainers": [container]}}
