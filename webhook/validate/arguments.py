"""The arguments of one engine: what it would refuse, ignore, or read otherwise than its author meant."""

from collections.abc import Iterator
from typing import Final

from intent.command_line.dialects import fused_short
from intent.command_line.flags import CONFIG, HOST, MODEL, SIZES, Flag, lacks_value, may_be_model
from intent.errors import FieldError
from intent.launch import (
    Launch,
    ignores_positional,
    is_converted,
    is_size,
    model_of,
    text_of,
    value_of,
    word_path,
)

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def arguments(launch: Launch, *, rewritten: bool) -> Iterator[FieldError]:
    """Check one command line, for which the launch is written or not."""
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
    """Find a flag and its value in one list item; what a shell still expands may hold blanks of its own."""
    if launch.command.shell and launch.command.shell.kept:
        return
    for flag in launch.command.flags.given:
        word = launch.command.argv[flag.at]
        name, *behind = word.split(None, 1)
        if behind and "=" not in name:
            message = f"must be two list items, {name} and its value: no shell splits this one"
            yield FieldError(word_path(launch, flag.at), word, message, "FI309")


def _flag(launch: Launch, flag: Flag) -> Iterator[FieldError]:
    where = word_path(launch, flag.at)
    if lacks_value(launch.command.flags, flag):
        message = f"must have a value: --{flag.name} takes the next list item, or what stands after '='"
        yield FieldError(where, launch.command.argv[flag.at], message, "FI305")
    elif short := fused_short(flag):
        message = f"must be two list items, {short} and the number: vLLM does not read them together"
        yield FieldError(where, flag.name, message, "FI310")


def parallel_sizes(launch: Launch) -> Iterator[FieldError]:
    """Find a size that is none."""
    for name in SIZES:
        flag = launch.command.flags.last(name)
        value = value_of(launch, flag) if flag else None
        if flag and value and not is_size(value):
            message = f"must be a whole number of at least 1: it is the value of --{name}"
            yield FieldError(word_path(launch, flag.value_at), value, message, "FI304")


def _host(launch: Launch) -> Iterator[FieldError]:
    """Find an API that listens on the pod's own loopback: SGLang's default, and a slip with vLLM."""
    flag = launch.command.flags.last(HOST)
    host = text_of(launch, HOST)
    if host in _LOOPBACK or (flag is None and launch.command.engine == "sglang" and not _has_file(launch)):
        where = word_path(launch, flag.value_at) if flag else launch.template.engine_path
        message = f"the API listens on {host or _LOOPBACK[0]}: no other pod reaches it; add --host 0.0.0.0"
        yield FieldError(where, None, message, "FI509")


def _has_file(launch: Launch) -> bool:
    return launch.command.flags.last(CONFIG) is not None


def _model(launch: Launch, *, converted: bool) -> Iterator[FieldError]:
    flags, words = launch.command.flags, launch.command.argv
    if flags.stray:
        message = "empty, or behind a --: kept, and not taken for the model; write --model NAME before any --"
        yield FieldError(word_path(launch, flags.stray[0]), None, message, "FI536")
    named = [flag for flag in flags.given if flag.name == MODEL]
    if named and (len(named) > 1 or flags.bare):
        yield FieldError(word_path(launch, named[-1].value_at), None, _twice(launch), "FI515")
    if named or flags.last(CONFIG):
        return
    if flags.bare and ignores_positional(launch):
        yield _ignored(launch, flags.bare[0], converted=converted)
    elif model_of(launch) is None and not (_is_behind(launch) or may_be_model(flags, words)):
        flag = "--model-path" if launch.command.engine == "sglang" else "--model"
        message = f"must name a model: add {flag} NAME, or --config with a file that names it"
        part = "args" if launch.engine.args or not launch.engine.command else "command"
        yield FieldError(f"{launch.template.engine_path}.{part}", None, message, "FI306")


def _is_behind(launch: Launch) -> bool:
    """Whether the model may stand behind a `--`, where a parser takes every word as it comes."""
    return any(launch.command.argv[at] for at in launch.command.flags.stray)


def _twice(launch: Launch) -> str:
    is_positional = launch.command.flags.bare and not ignores_positional(launch)
    return (
        f"the model is given twice: {'the positional one' if is_positional else 'the last --model'} is served"
    )


def _ignored(launch: Launch, index: int, *, converted: bool) -> FieldError:
    """Say that a positional model is not served: `api_server` up to vLLM 0.11.0, vllm-project/vllm#32292."""
    where, model = word_path(launch, index), launch.command.argv[index]
    if converted:
        message = (
            "served from now on; as written, this image ignores it and serves its default: write --model"
        )
        return FieldError(where, None, message, "FI525")
    message = "must stand behind --model: this image ignores a positional model and serves its default"
    return FieldError(where, model, message, "FI306")


def _program_in_args(launch: Launch) -> Iterator[FieldError]:
    engine = launch.engine
    if not engine.command and launch.image.is_vllm and launch.command.kind != "flags":
        message = (
            "args start with a program: this image's entrypoint takes only arguments; move it to command"
        )
        yield FieldError(f"{launch.template.engine_path}.args[0]", None, message, "FI516")
