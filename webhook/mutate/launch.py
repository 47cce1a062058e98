"""The launch of the engine over the pods of a group. No other mutator writes command and args."""

from typing import Final

from intent.launch import Launch
from intent.lws import Engine
from webhook.digest import COMMAND, Reads
from webhook.launchers import LAUNCHERS
from webhook.launchers.container import Container
from webhook.layout import LAUNCH as NAME
from webhook.layout import Input, Layout
from webhook.mutate.concern import LAUNCHER, SIZE, STRATEGY, Concern, Rule, of_containers, values
from webhook.mutate.templates import for_launches, in_engine
from webhook.overlay.overlay import Overlay


def launch(given: Input) -> Overlay:
    """Write command and args for the launcher, or only the moved port where nothing is launched."""
    intent, plan = given.intent, given.layout.plan
    if not plan.rewritten:
        return _moved(given.layout)
    write, opens = LAUNCHERS[plan.launcher].write, "port" not in intent.skip

    def template(launch: Launch) -> Overlay:
        container = write(launch, intent.size)
        if launch.template.moved:
            container = _or_engine(container, launch.engine)
        return in_engine(launch.engine, _written(container, opens=opens))

    return for_launches(plan.launches, template)


def _moved(layout: Layout) -> Overlay:
    """Write command and args of an engine that has no launcher and whose port moves behind a sidecar."""
    made = {
        one.field: in_engine(one.engine, _written(_or_engine(Container(), one.engine), opens=False))
        for one in layout.templates
        if one.moved and one.engine
    }
    return {"spec": {"leaderWorkerTemplate": made}} if made else {}


def _or_engine(container: Container, engine: Engine) -> Container:
    """Fill in the engine's own command and args, which have the new port, where the launcher writes none."""
    command = engine.command if container.command is None else container.command
    return Container(command, engine.args if container.args is None else container.args, container.ports)


def _written(container: Container, *, opens: bool) -> Overlay:
    """Return the container's overlay; `opens` adds the launcher's ports."""
    written: Overlay = {}
    for field, items in (("command", container.command), ("args", container.args)):
        if items is not None:
            written[field] = list(items) or None
    if container.ports and opens:
        written["ports"] = [{"containerPort": port} for port in container.ports]
    return written


LAUNCH: Final = Concern(
    NAME,
    launch,
    reads=Reads(
        ("size",),
        engine=("container", *COMMAND, "accelerators"),
        layout=("launcher", "splits", "port"),
        skip=("port",),
    ),
    writes=of_containers({**values("command", "args"), "ports": values("containerPort", "protocol", "name")}),
    replaces=frozenset({"command", "args"}),
    parts=("port",),
    opt_out="set `fusioninfer.io/launcher: none`, or for the port alone `fusioninfer.io/skip: port`",
    rules=(
        Rule(
            "FI621",
            r"\.command|\.args",
            "starts one engine over all pods of the group, on the port behind its sidecar if there is one",
            (LAUNCHER, SIZE, STRATEGY),
        ),
        Rule(
            "FI622",
            r"\.ports\[(?!82[0-9]{2}/)[0-9]+/TCP\]",
            "the pods of a group connect to the leader on it",
            (LAUNCHER, SIZE),
        ),
    ),
)
