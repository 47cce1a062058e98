"""vLLM's `--kv-transfer-config`, as one JSON value, as dotted flags, or both, and its connectors.

Source: vLLM `vllm/config/kv_transfer.py` and `FlexibleArgumentParser`, which merges the dotted ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from intent import Object
from intent.command_line.flags import BOOTSTRAP, TRANSFER, Flag
from intent.launch import Launch, is_size, text_of, value_of, values_of
from intent.served import BOOTSTRAP_PORT, HIGHEST
from intent.shapes import listed, mapping

ROLES: Final = ("kv_producer", "kv_consumer", "kv_both")
DOTTED: Final = f"--{TRANSFER}."


@dataclass(frozen=True, slots=True)
class Transfer:
    """The configuration and the index of its argument."""

    at: int
    config: Object = field(default_factory=dict)

    @property
    def connectors(self) -> tuple[str, ...]:
        """The connector, followed by those of a `MultiConnector`."""
        return tuple(name for one in self.each if isinstance(name := one.get("kv_connector"), str))

    @property
    def each(self) -> tuple[Object, ...]:
        """The configuration of each connector; those of a `MultiConnector` have sides of their own."""
        return tuple(_each(self.config))


def read_transfer(launch: Launch) -> Transfer | None:
    """Read the configuration; None if it is absent, only known in the cluster, or no JSON object."""
    flags = launch.command.flags
    whole = flags.last(TRANSFER)
    dotted = [flag for flag in flags.given if flag.name.startswith(DOTTED)]
    if whole is None and not dotted:
        return None
    text = value_of(launch, whole) if whole else "{}"
    config = None if text is None else _object(text)
    if config is None:
        return None
    for flag in dotted:
        _set(config, flag.name.removeprefix(DOTTED).split("."), _value(launch, flag))
    return Transfer(whole.value_at if whole else dotted[0].at, config)


def bootstrap_of(launch: Launch) -> int:
    """Return the port on which SGLang's prefillers wait for decoders; its default where it is not known."""
    port = text_of(launch, BOOTSTRAP)
    return int(port) if is_size(port) and int(port) <= HIGHEST else BOOTSTRAP_PORT


def _object(text: str) -> Object | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _value(launch: Launch, flag: Flag) -> Any:
    """Read the value of a dotted flag as vLLM does: as JSON, or as text if it is not JSON."""
    text = next(iter(values_of(launch, flag)), "")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _set(config: Object, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        if not isinstance(config.get(key), dict):
            config[key] = {}
        config = config[key]
    config[keys[-1]] = value


def _each(config: Object) -> Iterator[Object]:
    yield config
    for one in listed(mapping(config.get("kv_connector_extra_config")).get("connectors")):
        yield from _each(mapping(one))
