"""What a launcher gives: the fields of the engine container that it writes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Container:
    """Command, args and ports of one container; None where the author's own stays."""

    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    ports: tuple[int, ...] = ()
