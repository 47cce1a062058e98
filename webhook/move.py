"""The port of a decoder's engine: the routing sidecar takes over the served port, and the engine moves.

The sidecar's image and flags come from the endpoint picker's row (`catalog.pickers`). It calls the engine on
localhost, without TLS unless its options say so. If the engine's port cannot be moved, no sidecar is
injected, and a finding says why.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from catalog.pickers.generations import PICKERS, PROTOCOLS, SidecarRelease
from intent.annotations import ENGINE_CONTAINER, SIDECAR, SKIP, path
from intent.command_line.flags import END, HOST, PORT
from intent.container import ROUTING_PROXY
from intent.errors import FieldError
from intent.launch import Launch, has_tls, in_shell, known_port, text_of
from intent.lws import Engine, Intent, Moved, Template
from intent.ranks import read_transfer
from intent.served import HIGHEST, Serving
from intent.settings import Settings
from intent.sidecar import SidecarOptions
from webhook.launchers.launcher import with_flags

PORTS: Final = range(8200, 8300)
"""Ports for the engine's API: the first is that of llm-d's charts, the others are used where it is taken."""
_IN_PORTS: Final = re.compile(r"--port[=\s]+['\"]?(82[0-9]{2})\b")
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared


def sidecar_of(intent: Intent, settings: Settings) -> SidecarRelease | None:
    """Return the sidecar of the endpoint picker in the annotation or the settings; None if it has none."""
    picker = PICKERS.get(intent.routing.picker or settings.disaggregated_picker)
    return picker.sidecar if picker else None


def engine_move(
    intent: Intent, launches: tuple[Launch, ...], serving: Serving, settings: Settings
) -> Moved | FieldError | None:
    """Return the old and new port of the API, or why it cannot move; None without a sidecar.

    An endpoint picker that has no sidecar is an error of its own (FI805).
    """
    row, servers = sidecar_of(intent, settings), intent.templates[: None if serving.everywhere else 1]
    if row is None or not servers:
        return None
    of_template = {launch.template.field: launch for launch in launches}
    for server in servers:
        for obstacle in _obstacles(server, of_template.get(server.field), row, intent.sidecar_options):
            return obstacle
    template, leader = servers[0], of_template.get(servers[0].field)
    port, count = known_port(leader) if leader else None, len(serving.ports) or 1
    if port is None or not 0 < port <= HIGHEST:
        where = template.engine_path
        return _left_out(where, "the port is only known in the cluster; write --port with a number")
    used = {serving.supervisor, *range(port, port + count)}.union(*(server.ports.taken for server in servers))
    to = next((to for to in PORTS if used.isdisjoint(range(to, to + count))), None)
    return Moved(port, to) if to else _left_out(template.path, f"{PORTS[0]} to {PORTS[-1]} are all in use")


def protocol_of(launch: Launch, row: SidecarRelease, options: SidecarOptions) -> str:
    """Return the protocol of a sidecar: its author's choice, else one that the engine's connector needs."""
    able = (protocol for protocol in spoken_by(launch) if protocol in row.connectors)
    return options.connector or next(able, row.connectors[0])


def spoken_by(launch: Launch) -> tuple[str, ...]:
    """Return the protocols of the engine's connectors, as far as they are known."""
    if launch.command.started == "sglang":
        return ("sglang",)
    transfer = read_transfer(launch)
    return tuple(PROTOCOLS[name] for name in transfer.connectors if name in PROTOCOLS) if transfer else ()


# --- a sidecar that is there already ----------------------------------------------------------------


def _is_behind(template: Template) -> bool:
    """Return whether a sidecar is as admission writes it, and the engine on the port that it calls."""
    engine, port = template.engine, template.ports.behind
    words = " ".join((*engine.command, *engine.args)) if engine and port else ""
    return {*_IN_PORTS.findall(words)} == {str(port)}


# --- obstacles --------------------------------------------------------------------------------------


def _obstacles(
    template: Template, launch: Launch | None, row: SidecarRelease, options: SidecarOptions
) -> Iterator[FieldError]:
    if _is_behind(template):
        message = (
            f"left as it is: {ROUTING_PROXY} is there, and the engine behind it on {template.ports.behind}; "
            "apply your own file with kubectl replace to have both injected again"
        )
        yield FieldError(template.ports.proxy, None, message, "FI851")
        return
    if template.ports.proxy:
        message = f"must be absent: it is injected for you; to use your own, set {SKIP}: sidecar"
        yield FieldError(template.ports.proxy, ROUTING_PROXY, message, "FI850")
    if launch is None:
        message = f"the engine container is not known; name it in {ENGINE_CONTAINER}"
        yield _left_out(f"{template.path}.spec.containers", message)
    else:
        yield from (_left_out(template.engine_path, says) for applies, says in _REASONS if applies(launch))
        yield from _strangers(template, launch, row, options)
        if has_tls(launch) and "decoder" not in options.tls:
            message = (
                f"it calls the engine without TLS; remove --ssl-certfile, or add decoder to tls in {SIDECAR}"
            )
            yield _left_out(template.engine_path, message)


def _strangers(
    template: Template, launch: Launch, row: SidecarRelease, options: SidecarOptions
) -> Iterator[FieldError]:
    """FI840: the engine's connector needs another protocol than the author's, or one that there is not."""
    spoken, chosen, where = spoken_by(launch), options.connector, path(SIDECAR)
    if chosen and spoken and chosen in row.connectors and chosen not in spoken:
        message = f"must be {' or '.join(spoken)}, or absent: the engine's own connector needs that"
        yield FieldError(where, chosen, message, "FI840", part="connector")
    elif not chosen and spoken and {*spoken}.isdisjoint(row.connectors):
        message = (
            f"this sidecar has no {spoken[0]}, which the engine's connector needs: use another connector"
        )
        yield FieldError(template.engine_path, None, message, "FI840")


def _left_out(where: str, message: str) -> FieldError:
    return FieldError(where, None, f"no sidecar: {message}", "FI851")


def _binds_one_address(launch: Launch) -> bool:
    flag = launch.command.flags.last(HOST)
    return flag is not None and text_of(launch, HOST) not in _EVERYWHERE


_REASONS: Final[tuple[tuple[Callable[[Launch], bool], str], ...]] = (
    (
        lambda launch: launch.command.started not in {"vllm", "sglang"},
        "the command starts no vLLM or SGLang that is understood; to use your own, set skip: sidecar",
    ),
    (
        _binds_one_address,
        "it calls the engine on localhost, probes call the pod's address; write --host 0.0.0.0",
    ),
    (
        lambda launch: END in launch.command.argv[launch.command.arguments :],
        "it moves the engine with --port, which is ignored behind `--`; remove the `--`",
    ),
)


# --- the move ---------------------------------------------------------------------------------------


def on_port(launch: Launch, port: int) -> Engine:
    """Return the engine with `--port`. In a script the flag is appended: the last of several counts."""
    engine, argv, flag = launch.engine, launch.command.argv, launch.command.flags.last(PORT)
    if in_shell(launch) or flag is None:
        return with_flags(launch, (f"--{PORT}", str(port)))
    spelled, equals, _ = argv[flag.value_at].partition("=") if flag.width == 1 else ("", "", "")
    args = (*argv[: flag.value_at], f"{spelled}{equals}{port}", *argv[flag.value_at + 1 :])
    start = len(engine.command) if launch.command.shell is None else launch.command.arguments
    return replace(engine, command=args[:start], args=args[start:])
