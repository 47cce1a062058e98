"""A block: an annotation that asks for arguments of the engine's command, in the words of the engine.

A block is one pure function of the launch that the author wrote. It yields what it asks for, and never
places it: `webhook.blocks.filled` does, for every block alike. An argument of the author's always stays.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from intent.annotations import path
from intent.command_line.flags import Flag, resolve
from intent.errors import FieldError
from intent.launch import SHOWN, Launch, argument_path, quoted, spelled, values_of
from intent.lws import Intent
from webhook.launchers.launcher import Args


class Wish(NamedTuple):
    """Arguments that an annotation asks for. A flag of the author's in their place stays."""

    words: Args
    """A flag with its values, or a positional model."""
    names: tuple[str, ...] = ()
    """The author's own flags for it, as the parser names them."""
    values: Args = ()
    """The values that such a flag must have."""
    off: str = ""
    """In place of `values`: the only value that it must not have."""
    against: str = ""
    """The author's own flag that says the opposite."""
    asked: str = ""
    """What the annotation says, for messages; empty: the values."""
    key: str = ""
    """The annotation that asks for it, where it is not that of the block."""
    read: Callable[[str], str] = str
    """Reads a value of such a flag, as `values` has it."""
    first: bool = False
    """Whether it comes before the author's first argument, not after the last flag."""


@dataclass(frozen=True, slots=True)
class Block:
    """One row of the table of blocks."""

    field: str
    """The field of the Intent; the block is asked for where it is set."""
    key: str
    """The annotation."""
    wishes: Callable[[Launch, Intent], Iterator[Wish | FieldError]]
    """Yields what it asks for of one template, as its author wrote it, and what is wrong."""
    contradicts: str
    """The code of a contradiction."""
    engines: tuple[str, ...] = ("vllm", "sglang")
    """The engines whose commands it fills."""
    code: str = "FI116"
    """The code of the finding where nothing can be added."""

    def unfilled(self, cause: str, remedy: str = "write its flags there yourself") -> FieldError:
        """Return that the block adds nothing, why, and what to do."""
        return FieldError(path(self.key), None, f"{cause}: {remedy}", self.code)

    def contradictions(self, launch: Launch, wish: Wish) -> Iterator[FieldError]:
        """Report flags of the author's that say something else."""
        for flag in filter(None, map(launch.command.flags.last, (*wish.names, wish.against))):
            own = known_values(launch, flag)
            is_off, lacks = wish.off in own, {*wish.values}.difference(map(wish.read, own))
            if flag.name == wish.against or (own and (is_off if wish.off else lacks)):
                shown = quoted(launch, flag) if flag.value else " ".join((spelled(launch, flag), *own))
                asked = wish.asked or " ".join(sorted(lacks))
                says = f"{shown[:SHOWN]} contradicts {asked[:SHOWN]} in {wish.key or self.key}"
                yield contradiction(launch, flag.value_at, says, self.contradicts)


def contradiction(launch: Launch, index: int | None, says: str, code: str) -> FieldError:
    """Report an argument of the author's beside an annotation that asks for something else."""
    where = launch.template.engine_path if index is None else argument_path(launch, index)
    return FieldError(where, None, f"{says}: remove one of the two", code)


def known_values(launch: Launch, flag: Flag) -> list[str]:
    """Return the values of a flag of the author's; none if one is only known in the cluster."""
    known = [resolve(word, launch.engine.variables) for word in values_of(launch, flag)]
    return [] if None in known else [word for word in known if word is not None]
