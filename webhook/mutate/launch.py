"""The launch of the engine over the pods of a group. The only writer of command and args."""

from intent.launch import Launch
from intent.lws import Intent
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.container import Container
from webhook.launchers.plan import read_plan
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay import Overlay


def launch(intent: Intent, settings: Settings) -> Overlay:
    """Start the engine on every pod of the group, through the launcher; or leave every template as it is."""
    plan = read_plan(intent, settings)
    if not plan.rewritten:
        return {}
    write, opens = LAUNCHERS[plan.launcher].write, "port" not in intent.skip

    def template(launch: Launch) -> Overlay:
        return in_engine(launch, _written(write(launch, intent.size), opens=opens))

    return for_launches(plan.launches, template)


def _written(container: Container, *, opens: bool) -> Overlay:
    written: Overlay = {}
    for field, words in (("command", container.command), ("args", container.args)):
        if words is not None:
            written[field] = list(words) or None
    if container.ports and opens:
        written["ports"] = [{"containerPort": port} for port in container.ports]
    return written
