"""Other releases of FusionInfer: each is this one with one rule replaced while it answers a review.

What it makes anew differs from what this one makes. What is stored stays.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final
from unittest.mock import patch

from catalog.engines import Engines
from intent import Object
from intent.errors import FieldError
from intent.launch import Launch, LaunchPlan
from intent.read import Reading, read
from intent.settings import Settings
from intent.tree import Overlay
from tests.laws.convergence.server import Engine, Webhook
from webhook import review
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import Container
from webhook.layout import Input
from webhook.mutate import CONCERNS
from webhook.mutate.concern import in_engine, in_group
from webhook.overlay.overlay import combine
from webhook.review import AdmissionAnswer

Rules = Callable[[], Any]
"""Returns a context in which a rule is another one."""


def _written(write: Callable[..., Container], launch: Launch, plan: LaunchPlan) -> Container:
    """Return a launch with one argument more."""
    made = write(launch, plan)
    return replace(made, args=(*(made.args or ()), "--of-another-release"))


def _launch_text() -> Any:
    rows = {name: replace(row, write=partial(_written, row.write)) for name, row in LAUNCHERS.items()}
    return patch.dict(LAUNCHERS, rows)


@contextmanager
def _mutator(names: Collection[str], mutate: Callable[[Input], Overlay]) -> Iterator[None]:
    """Replace the mutators of these rows, which tables of several modules hold."""
    known = [(row, row.mutate) for row in CONCERNS if row.name in names]
    for row, _ in known:
        object.__setattr__(row, "mutate", mutate)
    try:
        yield
    finally:
        for row, former in known:
            object.__setattr__(row, "mutate", former)


def _more(given: Input) -> Overlay:
    """Return the variables of this release, and one more."""
    variable = {"env": [{"name": "OF_ANOTHER_RELEASE", "value": "1"}]}
    launches = given.layout.launches
    more: dict[str, Overlay] = {one.template.field: in_engine(one.engine, variable) for one in launches}
    return combine((_ENV.mutate(given), in_group(more)))


_ENV: Final = replace(next(one for one in CONCERNS if one.name == "env"))


def _stricter(lws: Object, revision: str | None = None) -> Reading:
    """Refuse a flag that this release accepts."""
    reading = read(lws, revision)
    if reading.intent is None or "--enable-prefix-caching" not in str(lws["spec"]):
        return reading
    error = FieldError("spec.leaderWorkerTemplate", None, "has a flag that this release refuses", "FI302")
    return replace(reading, errors=(*reading.errors, error))


def _under(rules: Rules, webhook: Webhook, body: bytes, **more: Any) -> AdmissionAnswer:
    with rules():
        return webhook(body, **more)


def _release(rules: Rules) -> Engine:
    return Engine(*(partial(_under, rules, webhook) for webhook in (review.mutate, review.validate)))


_SETTINGS: Final = Settings(scheduler_name="default-scheduler", engines=Engines())
RELEASE: Final = "release"
"""The client of a step that installs another release."""
RELEASES: Final[Mapping[str, Engine]] = {
    "this": Engine(),
    "of other settings": Engine(
        partial(review.mutate, settings=_SETTINGS), partial(review.validate, settings=_SETTINGS)
    ),
    "with another launch text": _release(_launch_text),
    "without memory": _release(partial(_mutator, {"shm", "shm_limit"}, lambda _given: {})),
    "with a variable more": _release(partial(_mutator, {"env"}, _more)),
    "with a stricter check": _release(partial(patch, "webhook.write.read_lws", _stricter)),
}
