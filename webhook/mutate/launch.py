"""The launch of the engine: command, args, ports, accelerators. No other mutator writes command and args."""

from typing import Final

from intent.annotations import LAUNCHER, LORA, MODEL, PARALLELISM, STRATEGY
from intent.launch import Launch
from intent.lws import Engine, Template
from intent.tree import Overlay
from webhook.launchers import LAUNCHERS
from webhook.launchers.container import Container, with_words
from webhook.layout import LAUNCH as NAME
from webhook.layout import Input, Layout
from webhook.mutate.concern import (
    SIZE,
    Concern,
    Rule,
    of_containers,
    values,
)
from webhook.mutate.templates import for_engines, for_launches, in_engine


def launch(inputs: Input) -> Overlay:
    """Write command and args for the launcher, or only what blocks and a moved port change in them."""
    intent, plan = inputs.intent, inputs.layout.plan
    if not plan.rewritten:
        return _changed(inputs.layout)
    write, opens = LAUNCHERS[plan.launcher].write, "port" not in intent.skip

    def template(launch: Launch) -> Overlay:
        container = write(launch, plan, intent.size)
        if _differs(launch.template):
            container = _whole(container, launch.engine)
        return in_engine(launch.engine, _written(container, opens=opens) | _requests(launch.template))

    return for_launches(plan.launches, template)


def _differs(template: Template) -> bool:
    """Return whether the engine's own command and args differ from those that its author wrote."""
    return bool(template.moved or template.filled)


def _changed(layout: Layout) -> Overlay:
    """Write what blocks and a moved port change in engines without a launcher."""

    def template(changed: Template, engine: Engine) -> Overlay:
        whole = _written(_whole(Container(), engine), opens=False) if _differs(changed) else {}
        return in_engine(engine, whole | _requests(changed))

    return for_engines(layout, template)


def _requests(template: Template) -> Overlay:
    """Return the accelerators of a block. The limit is the request too: they cannot be overcommitted."""
    asked = template.requested
    return {"resources": {"limits": {asked.resource: str(asked.count)}}} if asked.count else {}


def _whole(container: Container, engine: Engine) -> Container:
    """Fill in the engine's own command and args, which were changed, where the launcher writes none."""
    engine = with_words(engine, container)
    return Container(engine.command, engine.args, container.ports)


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
    unit="launch",
    writes=of_containers(
        {
            **values("command", "args"),
            "ports": values("containerPort", "protocol", "name"),
            "resources": values("limits"),
        }
    ),
    replaces=frozenset({"command", "args"}),
    parts=("port",),
    opt_out="set `fusioninfer.io/launcher: none`, or for the port alone `fusioninfer.io/skip: port`",
    rules=(
        Rule(
            "FI621",
            r"\.command|\.args",
            "starts one engine over all pods of the group, with what annotations such as parallelism ask "
            "for, and on the port behind its sidecar if there is one",
            (LAUNCHER, SIZE, STRATEGY, PARALLELISM, MODEL, LORA),
        ),
        Rule(
            "FI622",
            r"\.ports\[(?!82[0-9]{2}/)[0-9]+/TCP\]",
            "the pods of a group connect to the leader on it",
            (LAUNCHER, SIZE),
        ),
        Rule(
            "FI685",
            r"\.resources(?:\.limits(?:\[[^\]]+\])?)?",
            "each pod needs them for its share of the annotation parallelism, and requests none",
            (PARALLELISM,),
        ),
    ),
)
