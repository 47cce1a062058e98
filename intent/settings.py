"""What an operator may set: one frozen value, read at the root and passed down."""

from dataclasses import dataclass

from catalog.engines import ENGINES, Engines


@dataclass(frozen=True, slots=True)
class Settings:
    """The same for the servers and for the offline command (`--config FILE`)."""

    scheduler_name: str = "volcano"
    """The gang scheduler where nobody names one."""
    launcher: str = "auto"
    """The launcher of vLLM where no annotation names one: taken unless the image is known not to run it.

    `auto`: chosen by flags and image (`webhook.launchers.plan`); `none`: commands are left as they are.
    """
    queue: str = ""
    """Volcano's queue where no member names one; empty: the PodGroup names none, and Volcano chooses."""
    volcano_version: str = ""
    """The version of the scheduler that runs, e.g. `1.14.1`; empty: found out, or trusted."""
    picker: str = "gie-1.5"
    """The endpoint picker, a row of `catalog.pickers.generations`, of services that do not disaggregate."""
    disaggregated_picker: str = "llm-d-0.7"
    """The one of services with prefillers and decoders."""
    picker_replicas: int = 1
    """How many pickers a service has where nobody says; with more than one they elect who works."""
    secure_serving: bool = True
    """Whether gateways call the picker on TLS; it makes its own certificate."""
    destination_rules: bool = False
    """Whether gateways are Istio's, which must be told of that TLS by a DestinationRule."""
    observe_only: bool = False
    """Whether the controller writes nothing, and reports what it would write."""
    engines: Engines = ENGINES
    """What is known of engines: the rows of this release, behind those of the operator's file."""
