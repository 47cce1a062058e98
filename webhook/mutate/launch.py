"""The launch of the engine over the pods of a group. The only writer of command and args."""

from intent.launch import Launch
from intent.lws import Engine, Intent
from intent.settings import Settings
from webhook.launchers import LAUNCHERS
from webhook.launchers.container import Container
from webhook.launchers.plan import read_plan
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay.overlay import Overlay


def launch(intent: Intent, settings: Settings) -> Overlay:
    """Start the engine on every pod of the group, through the launcher; or leave every template as it is."""
    plan = read_plan(intent, settings)
    if not plan.rewritten:
        return _moved(intent)
    write, opens = LAUNCHERS[plan.launcher].write, "port" not in intent.skip

    def template(launch: Launch) -> Overlay:
        container = write(launch, intent.size)
        if launch.template.moved:
            container = _or_words(container, launch.engine)
        return in_engine(launch.engine, _written(container, opens=opens))

    return for_launches(plan.launches, template)


def _moved(intent: Intent) -> Overlay:
    """Write the words of an engine whose port moves, and that nobody launches."""
    made = {
        one.field: in_engine(one.engine, _written(_or_words(Container(), one.engine), opens=False))
        for one in intent.templates
        if one.moved and one.engine
    }
    return {"spec": {"leaderWorkerTemplate": made}} if made else {}


def _or_words(container: Container, engine: Engine) -> Container:
    """Take the engine's words, which are not its author's any more, where a launcher leaves them."""
    command = engine.command if container.command is None else container.command
    return Container(command, engine.args if container.args is None else container.args, container.ports)


def _written(container: Container, *, opens: bool) -> Overlay:
    written: Overlay = {}
    for field, words in (("command", container.command), ("args", container.args)):
        if words is not None:
            written[field] = list(words) or None
    if container.ports and opens:
        written["ports"] = [{"containerPort": port} for port in container.ports]
    return written
