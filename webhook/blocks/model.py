"""The block `model`: the engine's model argument, its revision, and the name under which it is served.

An argument of the author's stays, and must not contradict the annotation.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from intent import annotations as keys
from intent.command_line.flags import SERVED_NAME, resolve
from intent.errors import FieldError
from intent.launch import SHOWN, Launch, model_of
from intent.lws import Intent
from webhook.blocks.block import Block, Wish, contradiction


class _Words(NamedTuple):
    """How an engine is told its model; empty where it has no such flag."""

    model: str = ""
    """Empty: the first argument without a flag."""
    name: str = ""
    revision: str = "--revision"


_ENGINES: Final = {
    "vllm": _Words(name=SERVED_NAME),
    "sglang": _Words("--model-path", SERVED_NAME),
    "lmdeploy": _Words(name="--model-name"),
    "tensorrt-llm": _Words(revision=""),
}
_MODULES: Final = frozenset({"module", "interpreter"})


def model(launch: Launch, intent: Intent) -> Iterator[Wish | FieldError]:
    """Yield the model, its revision and its name, and a model of the author's that is another one."""
    asked, own = intent.artifact, model_of(launch)
    if asked is None:
        return
    words = _ENGINES[launch.command.engine]
    if own is None:
        flag = "--model" if _takes_flag(launch) else words.model
        yield Wish((flag, asked.argument) if flag else (asked.argument,), first=True)
    elif (known := resolve(own, launch.engine.variables)) and known.rstrip("/") != asked.argument:
        index = launch.command.argv.index(own) if own in launch.command.argv else None
        says = f"{own[:SHOWN]} contradicts {keys.MODEL}, which gives {asked.argument[:SHOWN]}"
        yield contradiction(launch, index, says, MODEL.contradicts)
    if words.revision and asked.revision:
        names = (words.revision, words.revision.lstrip("-"))
        yield Wish((words.revision, asked.revision), names, (asked.revision,))
    if words.name and asked.name:
        values = (asked.name,) if intent.model_name else ()
        yield Wish((words.name, asked.name), (words.name,), values, key=keys.MODEL_NAME)
    elif intent.model_name:
        message = f"has no effect on {launch.command.engine}, which has no flag for it: remove it"
        yield FieldError(keys.path(keys.MODEL_NAME), None, message, "FI112")


def _takes_flag(launch: Launch) -> bool:
    """Return whether the model follows `--model`: vLLM's own server ignores another one in old releases."""
    kind, command = launch.command.kind, launch.command
    is_old = kind == "flags" and launch.facts.entrypoint != "vllm serve"
    return command.engine == "vllm" and (kind in _MODULES or is_old)


MODEL: Final = Block("model", keys.MODEL, model, "FI324", engines=tuple(_ENGINES), code="FI546")
