"""KV transfer: `--kv-transfer-config` against the component type and vLLM's version."""

from collections.abc import Iterator
from typing import Final

from catalog.engines import (
    LABELS_BOTH,
    Engines,
    Version,
    has,
    ships,
    shown,
)
from intent.annotations import COMPONENT_TYPE
from intent.command_line.flags import CONFIG, MODE, PIPELINE, TRANSFER
from intent.container import SIDE_CHANNEL
from intent.errors import FieldError
from intent.gang import ENCODER
from intent.launch import Launch, argument_path, read_size, text_of
from intent.lws import Intent
from intent.ranks import balance
from intent.transfer import DOTTED, ROLES, Transfer, read_transfer
from webhook.layout import Input

_ALLOWED: Final = {
    "prefiller": ("kv_producer", "kv_both"),
    "decoder": ("kv_consumer", "kv_both"),
    "worker": ("kv_both",),
    "encoder": ROLES,
}
_UNREACHABLE: Final = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::", "::1"})  # noqa: S104 - compared
_ADVICE: Final = "NixlConnector"
_BOOTSTRAP: Final = "bootstrap_server_address"
"""A field of `kv_connector_extra_config` (vLLM 0.32.0 `mooncake_connector.py`)."""


def transfer(launch: Launch, inputs: Input) -> Iterator[FieldError]:
    """Check the KV transfer settings of one engine."""
    intent, engines = inputs.intent, inputs.settings.engines
    yield from _mode(launch, intent)
    yield from _none(launch, intent)
    found = read_transfer(launch) if launch.command.is_vllm else None
    if found is None:
        return
    where = argument_path(launch, found.at)
    yield from _role(where, found, intent.component_type)
    yield from _by_version(where, found, launch.image.version, engines)
    for message in _limits(found, launch, inputs):
        yield FieldError(where, None, message, "FI508")
    host = dict(launch.engine.values).get(SIDE_CHANNEL)
    if host in _UNREACHABLE and _ADVICE in found.connectors:
        message = f"{SIDE_CHANNEL} is {host}, which no other pod reaches; remove it to use the pod's IP"
        yield FieldError(f"{launch.template.engine_path}.env", None, message, "FI508")


_WITHOUT: Final = {
    "prefiller": ((TRANSFER, DOTTED), f"a prefiller without --{TRANSFER} transfers no KV cache: add it"),
    "decoder": ((TRANSFER, DOTTED), f"a decoder without --{TRANSFER} transfers no KV cache: add it"),
    ENCODER: (("--ec-transfer-config",), "an encoder without --ec-transfer-config hands on nothing: add it"),
}
"""The flag of vLLM by which a component type works with the others, and what to say without it."""
_MODES: Final = {"prefiller": "prefill", "decoder": "decode"}


def _mode(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Compare SGLang's `--disaggregation-mode` with the component type."""
    flag = launch.command.flags.last(MODE)
    engine = launch.command.engine or launch.command.within
    mode = text_of(launch, MODE)
    if engine != "sglang":
        return
    expected, kind = _MODES.get(intent.component_type, ""), intent.component_type
    if flag and mode in _MODES.values() and mode != expected:
        other = next(name for name, own in _MODES.items() if own == mode)
        remedy = expected or f"absent, or with {COMPONENT_TYPE}: {other}"
        message = f"must be {remedy}: the component type is {kind}"
        yield FieldError(argument_path(launch, flag.value_at), mode, message, "FI318")
    elif expected and not flag and launch.command.flags.last(CONFIG) is None:
        message = f"a {kind} without --{MODE} {expected} transfers no KV cache: add it"
        yield FieldError(launch.template.engine_path, None, message, "FI539")


def _none(launch: Launch, intent: Intent) -> Iterator[FieldError]:
    """Report a part of a service whose vLLM transfers nothing to the others, as far as its arguments show."""
    command, flags = launch.command, launch.command.flags
    begins, message = _WITHOUT.get(intent.component_type, ((), ""))
    is_given = any(flag.name == CONFIG or flag.name.startswith(begins) for flag in flags.given)
    is_hidden = any("$" in command.argv[at] for at in flags.bare[1:])
    if command.is_vllm and message and not (is_given or is_hidden):
        yield FieldError(launch.template.engine_path, None, message, "FI539")


def _role(where: str, found: Transfer, kind: str) -> Iterator[FieldError]:
    role = found.config.get("kv_role")
    if found.connectors and role in ROLES and role not in _ALLOWED[kind]:
        message = f"must be {' or '.join(_ALLOWED[kind])}: the component type is {kind}"
        yield FieldError(where, role, message, "FI315")


def _by_version(where: str, found: Transfer, version: Version, engines: Engines) -> Iterator[FieldError]:
    """Check connectors and fields against the version of vLLM. An author's own connector module is not."""
    if not version:
        return
    named = f"vLLM {shown(version)}"
    for connector in found.connectors if "kv_connector_module_path" not in found.config else ():
        if not ships(engines, connector, version):
            instead = _ADVICE if ships(engines, _ADVICE, version) else "a connector of that version"
            yield FieldError(where, None, f"{connector[:30]} is not in {named}; use {instead}", "FI506")
    sides = {one.get("kv_role") for one in found.each if one.get("kv_connector") == _ADVICE}
    if "kv_both" in sides and not has(engines, "vllm", LABELS_BOTH, version):
        message = f"kv_both is deprecated for {_ADVICE} in {named}: name the side"
        yield FieldError(where, None, message, "FI507")


def _limits(found: Transfer, launch: Launch, inputs: Input) -> Iterator[str]:
    """Yield what the connectors cannot do with these sizes, pods and ports."""
    kind, connectors = inputs.intent.component_type, found.connectors
    pipeline = read_size(launch, PIPELINE) or 1
    if _ADVICE in connectors and kind == "decoder" and pipeline > 1:
        yield f"{_ADVICE} transfers nothing to a decoder with pipeline parallel size {pipeline}: use 1"
    # without an address each server of a pod opens a bootstrap server on the same port
    has_several = kind == "prefiller" and balance(launch) == "multi-port"
    if "MooncakeConnector" in connectors and has_several and _BOOTSTRAP not in str(found.config):
        yield f"MooncakeConnector in several servers of a pod binds one port: set {_BOOTSTRAP}"
