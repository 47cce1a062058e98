"""The arguments of one engine: those that it refuses or ignores, or reads in an unexpected way."""

from collections.abc import Iterator
from typing import Final

from catalog.engines import PRODUCTS
from intent.command_line.dialects import fused_short
from intent.command_line.flags import CONFIG, HOST, MODEL, SIZES, Flag, lacks_value, may_be_model
from intent.command_line.spelling import is_flag_of, misspelt
from intent.errors import FieldError
from intent.launch import (
    SHOWN,
    Launch,
    argument_path,
    ignores_positional,
    is_converted,
    is_size,
    model_of,
    quoted,
    spelled,
    switched,
    text_of,
    value_of,
)

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
LONGEST_ITEM: Final = 4096
"""The characters of a list item that are searched for flags."""
_DASHES: Final = ("\N{EN DASH}", "\N{EM DASH}", "\N{MINUS SIGN}", "\N{NON-BREAKING HYPHEN}")
"""Characters that an editor or a web page puts in the place of `-` or `--`."""


def arguments(launch: Launch, *, rewritten: bool) -> Iterator[FieldError]:
    """Check one command line; `rewritten` is whether the launch is written for it."""
    fused = list(_fused(launch))
    yield from fused
    for flag in launch.command.flags.given:
        yield from switched(launch, flag)
        yield from _flag(launch, flag)
    yield from _misspelt(launch)
    yield from parallel_sizes(launch)
    yield from _host(launch)
    if not fused:
        yield from _model(launch, converted=rewritten and is_converted(launch))
    yield from _program_in_args(launch)


def _fused(launch: Launch) -> Iterator[FieldError]:
    """Report several words in one list item. Text that a shell expands may contain spaces."""
    command = launch.command
    if command.shell and command.shell.kept:
        return
    flags = {flag.at for flag in command.flags.given}
    for at in (*flags, *command.flags.bare):
        item = command.argv[at]
        first, *others = item.split(None, 2) or [item]
        if others and ((at in flags and "=" not in first) or _has_flag(command.engine, item)):
            yield FieldError(argument_path(launch, at), item, apart(item), "FI309")


def apart(item: str) -> str:
    """Return the message about a list item of several words."""
    first, second = item.split(None, 2)[:2]
    rest = second if len(second) <= SHOWN else "what follows"
    return f"must be one list item per word, {first[:SHOWN]} and {rest} apart: no shell splits it"


def _has_flag(engine: str, item: str) -> bool:
    """Return whether a later word of a list item is a flag of the engine."""
    words = (word.partition("=")[0] for word in item[:LONGEST_ITEM].split()[1:])
    return any(is_flag_of(engine, word.replace("_", "-")) for word in words)


def _flag(launch: Launch, flag: Flag) -> Iterator[FieldError]:
    where = argument_path(launch, flag.at)
    if lacks_value(launch.command.flags, flag):
        message = (
            f"must have a value: {spelled(launch, flag)} takes the next list item, or the text after '='"
        )
        yield FieldError(where, launch.command.argv[flag.at], message, "FI305")
    elif short := fused_short(flag):
        message = f"must be two list items, {short} and the number: vLLM does not accept them joined"
        yield FieldError(where, flag.name, message, "FI310")


def _misspelt(launch: Launch) -> Iterator[FieldError]:
    """Report flags that are almost those of the engine, and words that begin with another kind of dash."""
    command, title = launch.command, PRODUCTS[launch.command.engine].title
    for flag, meant in misspelt(command.engine, launch.image.version, command.flags.given, command.argv):
        message = f"{spelled(launch, flag)} is not a flag of {title}: did you mean {meant}?"
        yield FieldError(argument_path(launch, flag.at), None, message, "FI543")
    for at in command.flags.bare:
        word = command.argv[at]
        if word.startswith(_DASHES):
            plain = word.lstrip("".join(_DASHES) + "-")[:SHOWN]
            message = f"begins with a typographic dash, so {plain} is not read as a flag: write --{plain}"
            yield FieldError(argument_path(launch, at), None, message, "FI543")


def parallel_sizes(launch: Launch) -> Iterator[FieldError]:
    """Report a parallel size that is not a positive whole number."""
    for name in SIZES:
        flag = launch.command.flags.last(name)
        value = value_of(launch, flag) if flag else None
        if flag and value and not is_size(value):
            message = f"must be a whole number of at least 1: it is the value of {spelled(launch, flag)}"
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
        word = argv[flags.stray[0]][:SHOWN]
        cause = f"{word} follows a --" if word else "the item is empty"
        message = f"{cause}, so it is not read as the model; remove it, or write --model NAME before any --"
        yield FieldError(argument_path(launch, flags.stray[0]), None, message, "FI536")
    named = [flag for flag in flags.given if flag.name == MODEL]
    if named and (len(named) > 1 or flags.bare):
        last = quoted(launch, named[-1])
        first = argv[flags.bare[0]][:SHOWN] if flags.bare else quoted(launch, named[0])
        served = last if ignores_positional(launch) or not flags.bare else first
        message = f"the model is given twice, {first} and {last}: keep one; {served} is served"
        yield FieldError(argument_path(launch, named[-1].value_at), None, message, "FI515")
    if named or flags.last(CONFIG):
        return
    if flags.bare and ignores_positional(launch):
        yield _ignored(launch, flags.bare[0], converted=converted)
    elif model_of(launch) is None and not (any(argv[at] for at in flags.stray) or may_be_model(flags, argv)):
        # `stray`: after a `--` a parser may take any argument as the model
        flag = "--model-path" if launch.command.engine == "sglang" else "--model"
        message = f"names no model: add {flag} NAME, or --config with a file that names it"
        part = "args" if launch.engine.args or not launch.engine.command else "command"
        yield FieldError(f"{launch.template.engine_path}.{part}", None, message, "FI306")


def _ignored(launch: Launch, index: int, *, converted: bool) -> FieldError:
    """Report a positional model, which `api_server` ignores up to vLLM 0.11.0 (vllm-project/vllm#32292)."""
    where, model = argument_path(launch, index), launch.command.argv[index]
    if converted:
        as_flag = f"write --model {model[:SHOWN]}"
        message = f"this image ignores a positional model; the launcher passes it on, but {as_flag}"
        return FieldError(where, None, message, "FI525")
    message = "must follow --model: this image ignores a positional model and serves its default"
    return FieldError(where, model, message, "FI306")


def _program_in_args(launch: Launch) -> Iterator[FieldError]:
    engine = launch.engine
    if not engine.command and launch.image.is_vllm and launch.command.kind != "flags":
        word = engine.args[0][:SHOWN]
        message = f"args start with {word}, but the image's entrypoint starts the program; move it to command"
        yield FieldError(f"{launch.template.engine_path}.args[0]", None, message, "FI516")
