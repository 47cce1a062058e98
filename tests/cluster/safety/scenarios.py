"""Rounds that are written down, not chosen: one fault each, of which a release once did harm."""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Final

from tests.cluster.safety import faults
from tests.cluster.safety.definitions import DEFINITIONS, definition_remade
from tests.cluster.safety.faults import BY_NAME, LABELLED, MEMBERS, Act, Kind
from tests.cluster.safety.rounds import Tally, one_round, play
from tests.cluster.safety.scene import Scene

PLAIN: Final = (
    *("inject on sets", "inject on service", "replicas let go", "role too large", "PodGroup edited"),
    *("calls late", "nested 1005", "nested 1100", "routes odd", "configurations odd", "refusals varying"),
    *("leader killed", "all killed", "webhook killed", "lines cut", "watches deaf"),
)
"""Kinds of faults in which nothing is left to chance that matters."""


def _as(kind: str, title: str, act: Act) -> tuple[str, Kind]:
    """Return a kind of fault with less left to chance; it has the same name in the tally."""
    return title, Kind(BY_NAME[kind].name, act, BY_NAME[kind].bearable)


SCENARIOS: Final[Mapping[str, Kind]] = {
    **{name: BY_NAME[name] for name in PLAIN},
    **dict(
        (
            *(
                _as(
                    "configurations deleted",
                    f"configurations deleted, {'restarted' if restart else 'not restarted'}",
                    partial(faults.configurations_deleted, restart=restart),
                )
                for restart in (True, False)
            ),
            *(
                _as("lists refused", f"{code} on {kind}", partial(faults.refused_lists, kind=kind, code=code))
                for kind in MEMBERS
                for code in (403, 404, 500)
            ),
            *(
                _as(name, f"{name}: {kind}", partial(act, kind=kind))
                for name, act in (
                    ("list empty", faults.empty_list),
                    ("lists stale", faults.stale_lists),
                    ("standby blind", faults.blind_standby),
                )
                for kind in MEMBERS
            ),
            *(
                _as(
                    "routes unlisted",
                    f"{code} on {kind} from the start",
                    partial(faults.unlisted_routes, kind=kind, code=code),
                )
                for kind, code in (("httproutes", 500), ("gateways", 403))
            ),
            *(
                _as(
                    "definition remade",
                    f"definition remade: {resource}",
                    partial(definition_remade, resource=resource),
                )
                for resource in DEFINITIONS
            ),
            *(
                _as("label lost", f"label lost: {of.partition('/')[0]}", partial(faults.label_lost, of=of))
                for of in LABELLED
            ),
        )
    ),
}
"""By title."""


def played(there: Scene, title: str, say: Callable[[str], None]) -> list[str]:
    """Play one scenario; say what is against the law."""
    random = Random(title)  # noqa: S311 - chooses what does not matter
    return play(there, one_round(1, (SCENARIOS[title],), random), say, Tally())
