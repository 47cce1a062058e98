"""What an operator may set: one frozen value, read at the root and passed down."""

from dataclasses import dataclass

from intent.engines import ENGINES, Engines


@dataclass(frozen=True, slots=True)
class Settings:
    """The same for the servers and for the offline command (`--config FILE`)."""

    scheduler_name: str = "volcano"
    """The gang scheduler where nobody names one."""
    launcher: str = "ray-symmetric"
    """The launcher of vLLM where nobody names one."""
    queue: str = "default"
    """Volcano's queue where nobody names one."""
    volcano_version: str = ""
    """The version of the scheduler that runs, e.g. `1.14.1`; empty: found out, or trusted."""
    engines: Engines = ENGINES
    """What is known of engines: the rows of this release, behind those of the operator's file."""
