"""A block: an annotation that adds arguments to the author's engine command before its launch is planned.

A block is one pure function of the launch that the author wrote. It returns words, and never places them:
`with_parts` does, for every block alike. An argument of the author's always stays.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from intent.annotations import path
from intent.command_line.flags import end_of_flags
from intent.errors import FieldError
from intent.launch import Launch, argument_path, in_shell
from intent.lws import NO_ACCELERATORS, Accelerators, Intent, Template
from intent.settings import Settings
from webhook.launchers.container import Args, with_flags


@dataclass(frozen=True, slots=True)
class BlockArguments:
    """What one block adds to the engine of one template, and its findings.

    With an error among the findings of any template, nothing is added to any.
    """

    first: Args = ()
    """Words before the author's first argument: a positional model."""
    flags: Args = ()
    """Words after the author's last flag, before a `--`."""
    findings: tuple[FieldError, ...] = ()
    accelerators: Accelerators = NO_ACCELERATORS
    """Those that the engine needs and does not request; the concern `launch` writes them."""


Fill = Callable[[Launch, Intent, Settings], BlockArguments]
"""Reads the launch of one template, as its author wrote it."""


@dataclass(frozen=True, slots=True)
class Block:
    """One row of the table of blocks."""

    field: str
    """The field of the Intent, one of `intent.annotations.BLOCKS`; the block is asked for where it is set."""
    key: str
    """The annotation."""
    fill: Fill
    engines: tuple[str, ...] = ("vllm", "sglang")
    """The engines whose commands it fills."""
    code: str = "FI116"
    """The code of the finding where nothing can be added."""

    def unfilled(self, cause: str, remedy: str = "write its flags there yourself") -> BlockArguments:
        """Return that the block adds nothing, why, and what to do."""
        message = f"{cause}: {remedy}"
        return BlockArguments(findings=(FieldError(path(self.key), None, message, self.code),))


def contradiction(launch: Launch, index: int | None, says: str, code: str) -> FieldError:
    """Report an argument of the author's beside an annotation that asks for something else."""
    where = launch.template.engine_path if index is None else argument_path(launch, index)
    return FieldError(where, None, f"{says}: remove one of the two", code)


def with_parts(launch: Launch, parts: tuple[tuple[str, BlockArguments], ...]) -> Template:
    """Return the template with the words of all blocks in the engine's command, and the accelerators.

    Each part has the annotation of its block.
    """
    first = tuple((word, key) for key, part in parts for word in part.first)
    flags = tuple((word, key) for key, part in parts for word in part.flags)
    at = launch.command.arguments
    end = end_of_flags(launch.command.argv, at)
    if in_shell(launch):
        at, first, flags = end, (), (*first, *flags)
    placed = (*_placed(at, first), *_placed(end + len(first), flags))
    engine = launch.engine
    if placed:
        engine = with_flags(launch, tuple(word for word, _ in flags), tuple(word for word, _ in first))
    needed = next((part.accelerators for _, part in parts if part.accelerators.count), None)
    if needed is None:
        return replace(launch.template, engine=engine, filled=placed)
    engine = replace(engine, accelerators=needed)
    return replace(launch.template, engine=engine, filled=placed, requested=needed)


def _placed(at: int, keyed: tuple[tuple[str, str], ...]) -> tuple[tuple[int, str], ...]:
    """Return the index of each word among the arguments of the filled command, with its annotation."""
    return tuple((at + nth, key) for nth, (_, key) in enumerate(keyed))
