"""The arguments of one engine: those that it refuses or ignores, or reads in an unexpected way."""

from collections.abc import Iterator
from typing import Final

from intent.command_line.dialects import fused_short
from intent.command_line.flags import CONFIG, HOST, MODEL, SIZES, Flag, lacks_value, may_be_model
from intent.errors import FieldError
from intent.launch import (
    Launch,
    argument_path,
    ignores_positional,
    is_converted,
    is_size,
    model_of,
    text_of,
    value_of,
)

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def arguments(launch: Launch, *, rewritten: bool) -> Iterator[FieldError]:
    """Check one command line; `rewritten` is whether the launch is written for it."""
    fused = list(_fused(launch))
    yield from fused
    for flag in launch.command.flags.given:
        yield from _flag(launch, flag)
    yield from parallel_sizes(launch)
    yield from _host(launch)
    if not fused:
        yield from _model(launch, converted=rewritten and is_converted(launch))
    yield from _program_in_args(launch)


def _fused(launch: Launch) -> Iterator[FieldError]:
    """Report a flag and its value in one list item. Text that a shell expands may contain spaces."""
    if launch.command.shell and launch.command.shell.kept:
        return
    for flag in launch.command.flags.given:
        item = launch.command.argv[flag.at]
        name, *value = item.split(None, 1)
        if value and "=" not in name:
            message = f"must be two list items, {name} and its value: no shell splits this one"
            yield FieldError(argument_path(launch, flag.at), item, message, "FI309")


def _flag(launch: Launch, flag: Flag) -> Iterator[FieldError]:
    where = argument_path(launch, flag.at)
    if lacks_value(launch.command.flags, flag):
        message = f"must have a value: --{flag.name} takes the next list item, or the text after '='"
        yield FieldError(where, launch.command.argv[flag.at], message, "FI305")
    elif short := fused_short(flag):
        message = f"must be two list items, {short} and the number: vLLM does not accept them joined"
        yield FieldError(where, flag.name, message, "FI310")


def parallel_sizes(launch: Launch) -> Iterator[FieldError]:
    """Report a parallel size that is not a positive whole number."""
    for name in SIZES:
        flag = launch.command.flags.last(name)
        value = value_of(launch, flag) if flag else None
        if flag and value and not is_size(value):
            message = f"must be a whole number of at least 1: it is the value of --{name}"
            yield FieldError(argument_path(launch, flag.value_at), value, message, "FI304")


def _host(launch: Launch) -> Iterator[FieldError]:
    """Report an API that listens on the loopback address, which is SGLang's default."""
    flag = launch.command.flags.last(HOST)
    host, has_file = text_of(launch, HOST), launch.command.flags.last(CONFIG) is not None
    if host in _LOOPBACK or (flag is None and launch.command.engine == "sglang" and not has_file):
        where = argument_path(launch, flag.value_at) if flag else launch.template.engine_path
        message = f"the API listens on {host or _LOOPBACK[0]}, which no other pod reaches; add --host 0.0.0.0"
        yield FieldError(where, None, message, "FI509")


def _model(launch: Launch, *, converted: bool) -> Iterator[FieldError]:
    flags, argv = launch.command.flags, launch.command.argv
    if flags.stray:
        message = (
            "empty, or after a --: it is kept, but not read as the model; write --model NAME before any --"
        )
        yield FieldError(argument_path(launch, flags.stray[0]), None, message, "FI536")
    named = [flag for flag in flags.given if flag.name == MODEL]
    if named and (len(named) > 1 or flags.bare):
        served = "the last --model" if ignores_positional(launch) or not flags.bare else "the positional one"
        message = f"the model is given twice: {served} is served"
        yield FieldError(argument_path(launch, named[-1].value_at), None, message, "FI515")
    if named or flags.last(CONFIG):
        return
    if flags.bare and ignores_positional(launch):
        yield _ignored(launch, flags.bare[0], converted=converted)
    elif model_of(launch) is None and not (any(argv[at] for at in flags.stray) or may_be_model(flags, argv)):
        # `stray`: after a `--` a parser may take any argument as the model
        flag = "--model-path" if launch.command.engine == "sglang" else "--model"
        message = f"must name a model: add {flag} NAME, or --config with a file that names it"
        part = "args" if launch.engine.args or not launch.engine.command else "command"
        yield FieldError(f"{launch.template.engine_path}.{part}", None, message, "FI306")


def _ignored(launch: Launch, index: int, *, converted: bool) -> FieldError:
    """Report a positional model, which `api_server` ignores up to vLLM 0.11.0 (vllm-project/vllm#32292)."""
    where, model = argument_path(launch, index), launch.command.argv[index]
    if converted:
        message = (
            "served once launched; as written, this image ignores it and serves its default: write --model"
        )
        return FieldError(where, None, message, "FI525")
    message = "must follow --model: this image ignores a positional model and serves its default"
    return FieldError(where, model, message, "FI306")


def _program_in_args(launch: Launch) -> Iterator[FieldError]:
    engine = launch.engine
    if not engine.command and launch.image.is_vllm and launch.command.kind != "flags":
        message = (
            "args start with a program, but the image's entrypoint takes arguments only; move it to command"
        )
        yield FieldError(f"{launch.template.engine_path}.args[0]", None, message, "FI516")
