"""The arguments of one engine: what it ignores or misreads, and what its KV transfer cannot do."""

import re
from collections.abc import Iterator
from typing import Final

from catalog.engines import PRODUCTS, Engines, Version, ships, shown
from catalog.flags import RELEASED, flag_tables
from intent.annotations import COMPONENT_TYPE
from intent.command_line.flags import CONFIG, HOST, MODE, MODEL, PIPELINE, PORT, TRANSFER, Flag, may_be_model
from intent.command_line.spelling import Unparsed, is_listed, unparsed
from intent.container import SIDE_CHANNEL
from intent.errors import FieldError
from intent.gang import ENCODER
from intent.launch import (
    SHOWN,
    Launch,
    api_port,
    argument_path,
    ignores_positional,
    in_shell,
    is_converted,
    model_of,
    quoted,
    read_size,
    spelled,
    text_of,
)
from intent.ranks import DOTTED, KV_ROLES, Transfer, balance, read_transfer
from webhook.layout import Input

_LONGEST: Final = 4096
"""The characters of a list item that are searched for flags."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def arguments(launch: Launch, *, rewritten: bool) -> Iterator[FieldError]:
    """Check one command line; `rewritten` is whether the launch is written for it."""
    fused = list(_fused(launch))
    yield from fused
    yield from _reached(launch)
    if not fused:
        yield from _model(launch, is_passed_on=rewritten and is_converted(launch))
    if not launch.engine.command and launch.image.is_vllm and launch.command.kind != "flags":
        word = launch.engine.args[0][:SHOWN]
        message = f"args start with {word}, but the image's entrypoint starts the program; move it to command"
        yield FieldError(f"{launch.template.engine_path}.args[0]", None, message, "FI516")


def _fused(launch: Launch) -> Iterator[FieldError]:
    """Report several words in one list item. Text that a shell expands may contain spaces."""
    argv, flags = launch.command.argv, launch.command.flags
    named = {flag.at for flag in flags.given}
    for index in () if in_shell(launch) else (*named, *flags.bare):
        first, *others = argv[index].split(None, 2) or [""]
        if others and (
            (index in named and "=" not in first) or _has_flag(launch.command.engine, argv[index])
        ):
            rest = others[0] if len(others[0]) <= SHOWN else "what follows"
            message = f"must be one list item per word, {first[:SHOWN]} and {rest} apart: no shell splits it"
            yield FieldError(argument_path(launch, index), argv[index], message, "FI309")


def _has_flag(engine: str, item: str) -> bool:
    """Return whether a later word of a list item is a flag of the engine, written in full."""
    words = (word.partition("=")[0].replace("_", "-") for word in item[:_LONGEST].split()[1:])
    return any(word in flag_tables()[engine].spans for word in words)


# --- flags that the engine does not parse -------------------------------------------------------------


def not_parsed(launch: Launch) -> Iterator[FieldError]:
    """Report flags that the engine does not parse: an error (FI333) of an image whose flags are known."""
    command, causes = launch.command, dict[str, list[Flag]]()
    faults = list(unparsed(command.started, launch.image.version, command.flags.given, command.argv))
    is_read = bool(faults) and _is_read(launch)
    for fault in faults:
        if cause := _cause(launch, fault, is_read=is_read):
            causes.setdefault(cause, []).append(fault.flag)
    for cause, flags in causes.items():
        names = ", ".join(spelled(launch, flag) for flag in flags)
        are, them = ("is not a flag", "it") if len(flags) == 1 else ("are not flags", "them")
        message = f"{names} {are} of {cause.format(them=them)}"
        yield FieldError(argument_path(launch, flags[0].at), None, message, "FI333" if is_read else "FI543")


def _cause(launch: Launch, fault: Unparsed, *, is_read: bool) -> str:
    """Return the end of a message about a flag; empty if the image may have it."""
    engine, image = launch.command.started, launch.image
    title, release = PRODUCTS[engine].title, f"{PRODUCTS[engine].title} {shown(image.version)}"
    if fault.meant and fault.having:
        return f"{release}: did you mean {fault.meant}? {fault.having} has it"
    if fault.meant:
        return f"{title}: did you mean {fault.meant}?"
    if fault.having:
        return "" if installs(launch) else f"{release}: remove {{them}}, or use {title} {fault.having}"
    return f"{release}, nor of another release: remove {{them}}" if is_read else ""


_INSTALLS: Final = re.compile(
    r"\b(?:pip[\d.]*|uv|conda|mamba|apt(?:-get)?)\s[^;&|\n]{0,99}?\b(?:install|add|sync)\b"
)
"""A script that installs packages: another release of the engine, Ray perhaps."""


def installs(launch: Launch) -> bool:
    """Return whether a command installs packages."""
    return _INSTALLS.search(" ".join(launch.engine.command + launch.engine.args)) is not None


def _is_read(launch: Launch) -> bool:
    """Return whether the flags of an image are those of `flags.json`: a release of the project, unchanged.

    `sglang serve` has the flags of other programs, by the kind of model.
    """
    command, image = launch.command, launch.image
    is_release = image.repository.removeprefix("docker.io/") == RELEASED.get(command.started)
    is_exact = image.tag.removeprefix("v") == shown(image.version) and not image.digest
    is_direct = command.shell is None or not command.shell.kept  # a script may install another release
    return is_release and is_exact and is_direct and is_listed(command.started, image.version)


def _reached(launch: Launch) -> Iterator[FieldError]:
    """Report an API on a port that is not known, or on the loopback address, which is SGLang's default."""
    flag, port, file = (launch.command.flags.last(name) for name in (HOST, PORT, CONFIG))
    if (told := port or file) and told.value and not launch.engine.http and api_port(launch) is None:
        message = f"{quoted(launch, told)} hides the port: write --port NUMBER, or name a containerPort http"
        yield FieldError(argument_path(launch, told.value_at), None, message, "FI509")
    host = text_of(launch, HOST)
    if host in _LOOPBACK or (flag is None and launch.command.engine == "sglang" and file is None):
        where = argument_path(launch, flag.value_at) if flag else launch.template.engine_path
        message = f"the API listens on {host or _LOOPBACK[0]}, which no other pod reaches; add --host 0.0.0.0"
        yield FieldError(where, None, message, "FI509")


def _model(launch: Launch, *, is_passed_on: bool) -> Iterator[FieldError]:
    flags, argv, bare = launch.command.flags, launch.command.argv, launch.command.flags.bare
    sure = [index for index in bare if "$" not in argv[index]]  # others may be flags
    more = [index for index in sure if index != bare[0] and launch.command.engine == "vllm"]
    if stray := [*flags.stray, *more]:
        word, above = argv[stray[0]][:SHOWN], "the model" if stray == more else "a --"
        cause = f"{word} follows {above}" if word.strip() else "the item is empty"
        message = f"{cause}, so it is not read as the model; remove it, or write --model NAME before any --"
        yield FieldError(argument_path(launch, stray[0]), None, message, "FI536")
    named = [flag for flag in flags.given if flag.name == MODEL]
    if named and (len(named) > 1 or sure):
        last = quoted(launch, named[-1])
        first = argv[sure[0]][:SHOWN] if sure else quoted(launch, named[0])
        served = last if ignores_positional(launch) or not sure else first
        message = f"the model is given twice, {first} and {last}: keep one; {served} is served"
        yield FieldError(argument_path(launch, named[-1].value_at), None, message, "FI515")
    if named or flags.last(CONFIG):
        return
    if bare and ignores_positional(launch):  # `api_server` up to vLLM 0.11.0 (vllm-project/vllm#32292)
        if not is_passed_on:
            message = "must follow --model: this image ignores a positional model and serves its default"
            yield FieldError(argument_path(launch, bare[0]), argv[bare[0]], message, "FI306")
    elif model_of(launch) is None and not (any(argv[i] for i in flags.stray) or may_be_model(flags, argv)):
        # `stray`: after a `--` a parser may take any argument as the model
        flag = "--model-path" if launch.command.engine == "sglang" else "--model"
        message = f"names no model: add {flag} NAME, or --config with a file that names it"
        part = "args" if launch.engine.args or not launch.engine.command else "command"
        yield FieldError(f"{launch.template.engine_path}.{part}", None, message, "FI306")


# --- KV transfer --------------------------------------------------------------------------------------

_ALLOWED: Final = {
    "prefiller": ("kv_producer", "kv_both"),
    "decoder": ("kv_consumer", "kv_both"),
    "worker": ("kv_both",),
    "encoder": KV_ROLES,
}
_MODES: Final = {"prefiller": "prefill", "decoder": "decode"}
_WITHOUT: Final = {
    "prefiller": ((TRANSFER, DOTTED), f"a prefiller without --{TRANSFER} transfers no KV cache: add it"),
    "decoder": ((TRANSFER, DOTTED), f"a decoder without --{TRANSFER} transfers no KV cache: add it"),
    ENCODER: (("--ec-transfer-config",), "an encoder without --ec-transfer-config hands on nothing: add it"),
}
"""The flag of vLLM by which a component type works with the others, and what to say without it."""
_UNREACHABLE: Final = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::", "::1"})  # noqa: S104 - compared
_ADVICE: Final = "NixlConnector"
_BOOTSTRAP: Final = "bootstrap_server_address"
"""A field of `kv_connector_extra_config` (vLLM 0.32.0 `mooncake_connector.py`)."""


def transfer(launch: Launch, inputs: Input) -> Iterator[FieldError]:
    """Check the KV transfer settings of one engine."""
    kind = inputs.intent.component_type
    if launch.command.started == "sglang":
        yield from _of_sglang(launch, kind)
    if launch.command.engine != "vllm":
        return
    if kind in _WITHOUT:
        yield from _absent(launch, kind)
    if transfer := read_transfer(launch):
        where, role = argument_path(launch, transfer.at), transfer.config.get("kv_role")
        if transfer.connectors and role in KV_ROLES and role not in _ALLOWED[kind]:
            message = f"must be {' or '.join(_ALLOWED[kind])}: the component type is {kind}"
            yield FieldError(where, role, message, "FI315")
        if launch.image.version:
            yield from _by_version(where, transfer, launch.image.version, inputs.settings.engines)
        yield from _limits(where, transfer, launch, kind)


def _of_sglang(launch: Launch, kind: str) -> Iterator[FieldError]:
    """Compare `--disaggregation-mode` with the component type."""
    flag, mode, expected = launch.command.flags.last(MODE), text_of(launch, MODE), _MODES.get(kind, "")
    if flag and mode in _MODES.values() and mode != expected:
        other = next(name for name, own in _MODES.items() if own == mode)
        remedy = expected or f"absent, or with {COMPONENT_TYPE}: {other}"
        message = f"must be {remedy}: the component type is {kind}"
        yield FieldError(argument_path(launch, flag.value_at), mode, message, "FI318")
    elif expected and not flag and launch.command.flags.last(CONFIG) is None:
        message = f"a {kind} without --{MODE} {expected} transfers no KV cache: add it"
        yield FieldError(launch.template.engine_path, None, message, "FI539")


def _absent(launch: Launch, kind: str) -> Iterator[FieldError]:
    """Report a part of a service whose vLLM transfers nothing to the others, as far as its arguments show."""
    command, flags, (begins, message) = launch.command, launch.command.flags, _WITHOUT[kind]
    is_given = any(flag.name == CONFIG or flag.name.startswith(begins) for flag in flags.given)
    is_hidden = any("$" in command.argv[index] for index in flags.bare[1:])
    if not (is_given or is_hidden):
        yield FieldError(launch.template.engine_path, None, message, "FI539")


def _by_version(where: str, transfer: Transfer, version: Version, engines: Engines) -> Iterator[FieldError]:
    """Check connectors against the version of vLLM. An author's own connector module is not."""
    named = f"vLLM {shown(version)}"
    for connector in transfer.connectors if "kv_connector_module_path" not in transfer.config else ():
        if not ships(engines, connector, version):
            instead = _ADVICE if ships(engines, _ADVICE, version) else "a connector of that version"
            yield FieldError(where, None, f"{connector[:30]} is not in {named}; use {instead}", "FI506")


def _limits(where: str, transfer: Transfer, launch: Launch, kind: str) -> Iterator[FieldError]:
    """Report what the connectors cannot do with these sizes, servers and addresses."""
    pipeline, host = read_size(launch, PIPELINE) or 1, dict(launch.engine.values).get(SIDE_CHANNEL)
    if _ADVICE in transfer.connectors and kind == "decoder" and pipeline > 1:
        message = f"{_ADVICE} transfers nothing to a decoder with pipeline parallel size {pipeline}: use 1"
        yield FieldError(where, None, message, "FI508")
    # without an address each server of a pod opens a bootstrap server on the same port
    has_several = kind == "prefiller" and balance(launch) == "multi-port"
    if "MooncakeConnector" in transfer.connectors and has_several and _BOOTSTRAP not in str(transfer.config):
        message = f"MooncakeConnector in several servers of a pod binds one port: set {_BOOTSTRAP}"
        yield FieldError(where, None, message, "FI508")
    if host in _UNREACHABLE and _ADVICE in transfer.connectors:
        message = f"{SIDE_CHANNEL} is {host}, which no other pod reaches; remove it to use the pod's IP"
        yield FieldError(f"{launch.template.engine_path}.env", None, message, "FI508")
