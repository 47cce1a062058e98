"""KV transfer: its arguments against the component type, the release of the engine, and its sizes."""

from collections.abc import Iterator
from typing import Final

from catalog.engines import LABELS_BOTH, Engines, Version, has, ships, shown
from intent.annotations import COMPONENT_TYPE
from intent.command_line.flags import CONFIG, MODE, PIPELINE, TRANSFER
from intent.container import SIDE_CHANNEL
from intent.errors import FieldError
from intent.gang import ENCODER
from intent.launch import Launch, argument_path, read_size, text_of
from intent.ranks import balance
from intent.transfer import DOTTED, ROLES, Transfer, read_transfer
from webhook.layout import Input

_ALLOWED: Final = {
    "prefiller": ("kv_producer", "kv_both"),
    "decoder": ("kv_consumer", "kv_both"),
    "worker": ("kv_both",),
    "encoder": ROLES,
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
    if found := read_transfer(launch):
        where, role = argument_path(launch, found.at), found.config.get("kv_role")
        if found.connectors and role in ROLES and role not in _ALLOWED[kind]:
            message = f"must be {' or '.join(_ALLOWED[kind])}: the component type is {kind}"
            yield FieldError(where, role, message, "FI315")
        if launch.image.version:
            yield from _by_version(where, found, launch.image.version, inputs.settings.engines)
        yield from _limits(where, found, launch, kind)


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
    is_hidden = any("$" in command.argv[at] for at in flags.bare[1:])
    if not (is_given or is_hidden):
        yield FieldError(launch.template.engine_path, None, message, "FI539")


def _by_version(where: str, found: Transfer, version: Version, engines: Engines) -> Iterator[FieldError]:
    """Check connectors and sides against the version of vLLM. An author's own connector module is not."""
    named = f"vLLM {shown(version)}"
    for connector in found.connectors if "kv_connector_module_path" not in found.config else ():
        if not ships(engines, connector, version):
            instead = _ADVICE if ships(engines, _ADVICE, version) else "a connector of that version"
            yield FieldError(where, None, f"{connector[:30]} is not in {named}; use {instead}", "FI506")
    sides = {one.get("kv_role") for one in found.each if one.get("kv_connector") == _ADVICE}
    if "kv_both" in sides and not has(engines, "vllm", LABELS_BOTH, version):
        message = f"kv_both is deprecated for {_ADVICE} in {named}: name the side"
        yield FieldError(where, None, message, "FI507")


def _limits(where: str, found: Transfer, launch: Launch, kind: str) -> Iterator[FieldError]:
    """Report what the connectors cannot do with these sizes, servers and addresses."""
    pipeline, host = read_size(launch, PIPELINE) or 1, dict(launch.engine.values).get(SIDE_CHANNEL)
    if _ADVICE in found.connectors and kind == "decoder" and pipeline > 1:
        message = f"{_ADVICE} transfers nothing to a decoder with pipeline parallel size {pipeline}: use 1"
        yield FieldError(where, None, message, "FI508")
    # without an address each server of a pod opens a bootstrap server on the same port
    has_several = kind == "prefiller" and balance(launch) == "multi-port"
    if "MooncakeConnector" in found.connectors and has_several and _BOOTSTRAP not in str(found.config):
        message = f"MooncakeConnector in several servers of a pod binds one port: set {_BOOTSTRAP}"
        yield FieldError(where, None, message, "FI508")
    if host in _UNREACHABLE and _ADVICE in found.connectors:
        message = f"{SIDE_CHANNEL} is {host}, which no other pod reaches; remove it to use the pod's IP"
        yield FieldError(f"{launch.template.engine_path}.env", None, message, "FI508")
