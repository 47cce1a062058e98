"""The block `model`: the engine's model argument, its revision, and the name under which it is served.

An argument of the author's stays, and must not contradict the annotation.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from intent import annotations as keys
from intent.command_line.flags import Flag, resolve
from intent.errors import FieldError
from intent.launch import SHOWN, Launch, model_of, values_of
from intent.lws import Intent
from intent.model import Model
from intent.settings import Settings
from webhook.blocks.block import Block, BlockArguments, contradiction


class _Words(NamedTuple):
    """How an engine is told its model; empty where it has no such flag."""

    model: str = ""
    """Empty: the first argument without a flag."""
    name: str = ""
    revision: str = "--revision"


_ENGINES: Final = {
    "vllm": _Words(name="--served-model-name"),
    "sglang": _Words("--model-path", "--served-model-name"),
    "lmdeploy": _Words(name="--model-name"),
    "tensorrt-llm": _Words(revision=""),
}
_MODULES: Final = frozenset({"module", "interpreter"})


def model(launch: Launch, intent: Intent, _settings: Settings) -> BlockArguments:
    """Return the arguments that the author has not written, and those that contradict the annotations."""
    asked = intent.artifact
    if asked is None:
        return BlockArguments()
    words = _ENGINES[launch.command.engine]
    flag = "--model" if _takes_flag(launch) else words.model
    findings = list(_contradictions(launch, asked, words, intent))
    named = (flag, asked.argument) if flag else (asked.argument,)
    first = named if model_of(launch) is None else ()
    wanted = {words.revision: asked.revision, words.name: asked.name}
    flags = tuple(
        word
        for name, value in wanted.items()
        if name and value and _given(launch, name) is None
        for word in (name, value)
    )
    return BlockArguments(first, flags, tuple(findings))


def _takes_flag(launch: Launch) -> bool:
    """Return whether the model follows `--model`: vLLM's own server ignores another one in old releases."""
    kind, command = launch.command.kind, launch.command
    is_old = kind == "flags" and launch.facts.entrypoint != "vllm serve"
    return command.is_vllm and (kind in _MODULES or is_old)


def _contradictions(launch: Launch, asked: Model, words: _Words, intent: Intent) -> Iterator[FieldError]:
    own = model_of(launch)
    known = None if own is None else resolve(own, launch.engine.variables)
    if own is not None and known is not None and known.rstrip("/") != asked.argument:
        at = launch.command.argv.index(own) if own in launch.command.argv else None
        says = f"{own[:SHOWN]} contradicts {keys.MODEL}, which gives {asked.argument[:SHOWN]}"
        yield contradiction(launch, at, says, "FI324")
    yield from _of_flag(launch, words.revision, asked.revision, asked.uri.text)
    if intent.model_name:
        yield from _of_flag(launch, words.name, intent.model_name, f"{keys.MODEL_NAME}")
        if not words.name:
            message = f"has no effect on {launch.command.engine}, which has no flag for it: remove it"
            yield FieldError(keys.path(keys.MODEL_NAME), None, message, "FI112")


def _of_flag(launch: Launch, name: str, value: str, source: str) -> Iterator[FieldError]:
    """Report a flag of the author's that does not have a value which is asked for."""
    flag = _given(launch, name) if name and value else None
    if flag is None:
        return
    own = [resolve(word, launch.engine.variables) for word in values_of(launch, flag)]
    if value not in own and None not in own:
        words = " ".join(filter(None, own))[:SHOWN]
        says = f"{name} {words} contradicts {value[:SHOWN]} in {source[:SHOWN]}"
        yield contradiction(launch, flag.at, says, "FI324")


def _given(launch: Launch, name: str) -> Flag | None:
    """Return the author's own flag, the last of several. A flag that is not read keeps its dashes."""
    bare = name.lstrip("-")
    same = (flag for flag in reversed(launch.command.flags.given) if flag.name.lstrip("-") == bare)
    return next(same, None)


MODEL: Final = Block(
    "model",
    keys.MODEL,
    model,
    engines=tuple(_ENGINES),
    code="FI546",
)
