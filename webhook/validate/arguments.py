"""The arguments of one engine: those that it ignores, or reads in an unexpected way."""

import re
from collections.abc import Iterator
from typing import Final

from catalog.engines import PRODUCTS, shown
from catalog.flags import RELEASED, flag_tables
from intent.command_line.flags import CONFIG, HOST, MODEL, PORT, Flag, may_be_model
from intent.command_line.spelling import Unparsed, is_listed, unparsed
from intent.errors import FieldError
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
    spelled,
    text_of,
)

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
    found = list(unparsed(command.started, launch.image.version, command.flags.given, command.argv))
    is_read = bool(found) and _is_read(launch)
    for one in found:
        if cause := _cause(launch, one, is_read=is_read):
            causes.setdefault(cause, []).append(one.flag)
    for cause, flags in causes.items():
        names = ", ".join(spelled(launch, one) for one in flags)
        are, them = ("is not a flag", "it") if len(flags) == 1 else ("are not flags", "them")
        message = f"{names} {are} of {cause.format(them=them)}"
        yield FieldError(argument_path(launch, flags[0].at), None, message, "FI333" if is_read else "FI543")


def _cause(launch: Launch, one: Unparsed, *, is_read: bool) -> str:
    """Return the end of a message about a flag; empty if the image may have it."""
    engine, image = launch.command.started, launch.image
    title, release = PRODUCTS[engine].title, f"{PRODUCTS[engine].title} {shown(image.version)}"
    if one.meant and one.having:
        return f"{release}: did you mean {one.meant}? {one.having} has it"
    if one.meant:
        return f"{title}: did you mean {one.meant}?"
    if one.having:
        return "" if installs(launch) else f"{release}: remove {{them}}, or use {title} {one.having}"
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
    sure = [at for at in bare if "$" not in argv[at]]  # others may be flags
    more = [at for at in sure if at != bare[0] and launch.command.engine == "vllm"]
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
    elif model_of(launch) is None and not (any(argv[at] for at in flags.stray) or may_be_model(flags, argv)):
        # `stray`: after a `--` a parser may take any argument as the model
        flag = "--model-path" if launch.command.engine == "sglang" else "--model"
        message = f"names no model: add {flag} NAME, or --config with a file that names it"
        part = "args" if launch.engine.args or not launch.engine.command else "command"
        yield FieldError(f"{launch.template.engine_path}.{part}", None, message, "FI306")
