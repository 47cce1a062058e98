"""Room for the sidecar of a decoder: it takes the port that others call, and the engine's API moves.

What runs in the sidecar is a row of `intent.pickers`. It calls the engine on localhost, without TLS. Where
the engine's port cannot be moved there is no sidecar, and its author is told what to write.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from catalog.pickers.generations import PICKERS, Sidecar
from intent.annotations import ENGINE_CONTAINER, SKIP
from intent.command_line.flags import HOST, PORT
from intent.container import ROUTING_PROXY
from intent.errors import FieldError
from intent.launch import Launch, has_tls, in_shell, item_path, known_port, read_launch, text_of
from intent.lws import Engine, Intent, Moved, Template
from intent.settings import Settings
from webhook.launchers.container import in_script

PORTS: Final = range(8200, 8300)
"""Where the API may go: the first is that of llm-d's charts, the others are for pods in which it is taken."""
_IN_PORTS: Final = re.compile(r"--port[=\s]+['\"]?82[0-9]{2}\b")
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared
_HIGHEST: Final = 65535


def sidecar_of(intent: Intent, settings: Settings) -> Sidecar | None:
    """Give the sidecar that goes with the picker that its author chose, or the operator, if it has one."""
    picker = PICKERS.get(intent.picker or settings.disaggregated_picker)
    return picker.sidecar if picker else None


def makes_room(intent: Intent, settings: Settings) -> Moved | FieldError | None:
    """Say where the leader's API goes, or what stands in the way; None where no sidecar is asked for.

    A picker that has none is an error of its own (FI805).
    """
    wanted = intent.sidecar and intent.templates and sidecar_of(intent, settings)
    return _room(intent.templates[0], settings) if wanted else None


def with_room(intent: Intent, settings: Settings) -> Intent:
    """Give the Intent with the leader's engine on its new port, where a sidecar goes before it."""
    found = makes_room(intent, settings)
    if not isinstance(found, Moved):
        return intent
    leader, *others = intent.templates
    engine = leader.engine and _on_port(read_launch(leader, leader.engine, settings.engines), found.to)
    return replace(intent, templates=(replace(leader, engine=engine, moved=found), *others))


@lru_cache(maxsize=2)
def _room(template: Template, settings: Settings) -> Moved | FieldError:
    launch = read_launch(template, template.engine, settings.engines) if template.engine else None
    obstacle = next(_obstacles(template, launch), None)
    if obstacle is not None:
        return obstacle
    port = known_port(launch) if launch else None
    to = next((to for to in PORTS if to not in template.ports.taken), None)
    if port is None or not 0 < port <= _HIGHEST:
        where = template.engine_path
        return _left_out(where, "the port is only known in the cluster; write --port and a number")
    return Moved(port, to) if to else _left_out(template.path, f"{PORTS[0]} to {PORTS[-1]} are all taken")


# --- what stands in the way -------------------------------------------------------------------------


def _obstacles(template: Template, launch: Launch | None) -> Iterator[FieldError]:
    if template.ports.proxy:
        message = f"must be absent: it is put on for you; or bring your own, with {SKIP}: sidecar"
        yield FieldError(template.ports.proxy, ROUTING_PROXY, message, "FI850")
    if launch is None:
        message = f"which is the engine? name it in {ENGINE_CONTAINER}"
        yield _left_out(f"{template.path}.spec.containers", message)
    else:
        yield from _collisions(launch)
        yield from (_left_out(template.engine_path, says) for applies, says in _REASONS if applies(launch))


def _left_out(where: str, message: str) -> FieldError:
    return FieldError(where, None, f"no sidecar: {message}", "FI851")


def _collisions(launch: Launch) -> Iterator[FieldError]:
    """Find a port that only we write: words that somebody edited would be moved a second time."""
    items = (*launch.engine.command, *launch.engine.args)
    for at, item in enumerate(items):
        if found := _IN_PORTS.search(" ".join(items[at : at + 2]) if item == f"--{PORT}" else item):
            message = "must be the port that others call: behind the sidecar the engine is moved for you"
            yield FieldError(item_path(launch, at), found[0], message, "FI852")


def _is_another(launch: Launch) -> bool:
    return launch.command.engine not in {"", "vllm"}


def _is_unread(launch: Launch) -> bool:
    return not launch.command.engine


def _is_bound(launch: Launch) -> bool:
    flag = launch.command.flags.last(HOST)
    return flag is not None and text_of(launch, HOST) not in _EVERYWHERE


_REASONS: Final[tuple[tuple[Callable[[Launch], bool], str], ...]] = (
    (_is_another, "it hands over to vLLM only; with your own, set skip: sidecar"),
    (_is_unread, "the command is not understood; write [vllm, serve, MODEL, ...], or bring your own"),
    (_is_bound, "it calls the engine on localhost, probes on the pod's address; write --host 0.0.0.0"),
    (has_tls, "it calls the engine without TLS; remove --ssl-certfile"),
)


# --- the move ---------------------------------------------------------------------------------------


def _on_port(launch: Launch, port: int) -> Engine:
    """Write the port into the engine's words; of several flags the last counts, so a script gets one more."""
    engine, command = launch.engine, launch.command
    if in_shell(launch):
        script = in_script(launch, (), (f"--{PORT}", str(port)))
        return replace(
            engine,
            command=engine.command if script.command is None else script.command,
            args=engine.args if script.args is None else script.args,
        )
    words = _with_port(launch, port)
    start = len(engine.command) if command.shell is None else command.arguments
    return replace(engine, command=words[:start], args=words[start:])


def _with_port(launch: Launch, port: int) -> tuple[str, ...]:
    words, flag = launch.command.argv, launch.command.flags.last(PORT)
    if flag is None:
        return (*words, f"--{PORT}", str(port))
    spelled, equals, _ = words[flag.value_at].partition("=") if flag.width == 1 else ("", "", "")
    return (*words[: flag.value_at], f"{spelled}{equals}{port}", *words[flag.value_at + 1 :])
