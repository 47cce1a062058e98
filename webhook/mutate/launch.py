"""The launch of the engine over the pods of a group. The only writer of command and args."""

from intent.launch import Launch, read_plan
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.container import Container
from webhook.overlay import Overlay


def launch(intent: Intent, settings: Settings) -> Overlay:
    """Start the engine on every pod of the group, through the launcher; or leave every template as it is."""
    plan = read_plan(intent, settings)
    if not plan.rewritten:
        return {}
    launcher = LAUNCHERS[plan.launcher]
    templates = {one.template.field: _template(one, launcher(one, intent.size)) for one in plan.launches}
    return {"spec": {"leaderWorkerTemplate": templates}}


def _template(launch: Launch, container: Container) -> Overlay:
    written: Overlay = {"name": launch.engine.container}
    if container.command is not None:
        written["command"] = list(container.command)
    if container.args is not None:
        written["args"] = list(container.args)
    written["ports"] = [{"containerPort": port} for port in container.ports]
    return {"spec": {"containers": [written]}}
