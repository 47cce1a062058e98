"""What our check says of a configuration, held against the picker itself: what we refuse, it exits on."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import pytest

from intent import Object, yaml
from intent.pickers.configuration import check_config
from sync.parts.strategies import presets
from tests.builders.isvc import isvc, router, worker
from tests.builders.pickerconfig import config
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.containers import name_of
from tests.cluster.testbed.flows import namespace_on
from tests.cluster.testbed.images import BUILT
from tests.cluster.testbed.network import Network, remove_pods
from tests.cluster.testbed.pickers import Picker, serves, start_picker, wait_picker
from tests.cluster.testbed.processes import alive
from tests.cluster.testbed.rendered import configured_with, routes, store
from tests.cluster.testbed.wait import until

Cases = Mapping[str, Object | str | None]
"""Configurations, or texts, by what is tried."""
AT_ONCE: Final = 12
FORMS: Final[Cases] = {
    "plain": config(),
    "no-map": "- a",
    "no-yaml": "a: [",
    "another-version": config(apiVersion="llm-d.ai/v1alpha1"),
    "another-kind": config(kind="Other"),
    "without-version": {key: value for key, value in config().items() if key != "apiVersion"},
    "separator-last": yaml.dump(config()) + "---\n",
}
IN_ALL_FORMS: Final = frozenset({"gie-1.5", "llm-d-0.7"})
"""The newest generations that the tests build; older ones are asked about their strategies alone."""
CASES: Final[Mapping[str, Cases]] = {
    row.name: {**presets(row), **(FORMS if row.name in IN_ALL_FORMS else {})} for row in BUILT.values()
}


def verdict(row: str, case: str) -> set[str]:
    """Return the codes of our errors."""
    found = check_config(written(CASES[row][case]), BUILT[row], "at")
    return {one.code for one in found if one.severity == "error"}


def written(case: Object | str | None) -> str:
    return case if isinstance(case, str) else yaml.dump(case)


@pytest.fixture(scope="module", params=BUILT)
def asked(request: pytest.FixtureRequest, served_network: Network) -> Iterator[tuple[str, dict[str, bool]]]:
    """A generation, and which configurations its picker starts with, rendered but for the configuration."""
    row, there = request.param, served_network
    with namespace_on(there) as namespace:
        store(there, routes(namespace, "demo", BUILT[row], written(config())))
        first = start_picker(there, namespace, "demo-epp")
        wait_picker(there, first)
        names = [*CASES[row]]
        groups = [names[at : at + AT_ONCE] for at in range(0, len(names), AT_ONCE)]
        yield row, {name: starts for group in groups for name, starts in started(there, first, row, group)}


def started(there: Network, first: Picker, row: str, names: list[str]) -> Iterator[tuple[str, bool]]:
    """Start pickers beside the first; give which of them serve, when each serves or has ended."""
    running = {name: configured_with(there, first.pod, name, written(CASES[row][name])) for name in names}
    for name, picker in running.items():
        until(partial(has_settled, there, picker), f"{name} serves or has ended")
        yield name, alive(picker.process)
        remove_pods(there, name_of(picker.pod))


def has_settled(there: Network, picker: Picker) -> bool:
    return not alive(picker.process) or serves(there, picker)


def test_every_strategy_starts(asked: tuple[str, dict[str, bool]]) -> None:
    row, starts = asked

    assert [strategy for strategy in presets(BUILT[row]) if not starts[strategy]] == []


def test_a_denied_configuration_would_have_stopped_the_endpoint_picker(
    asked: tuple[str, dict[str, bool]],
) -> None:
    row, starts = asked

    refused = {name: codes for name in starts if (codes := verdict(row, name))}

    assert {name: codes for name, codes in refused.items() if starts[name]} == {}


def test_accepted_objects_start(asked: tuple[str, dict[str, bool]]) -> None:
    row, starts = asked

    accepted = [name for name in starts if not verdict(row, name)]

    assert [name for name in accepted if not starts[name]] == []


def test_a_configuration_that_stops_the_endpoint_picker_is_denied(served: Cluster) -> None:
    wrong = router(strategy=None, endpointPickerConfig=written(FORMS["another-kind"]))
    plain = router(strategy=None, endpointPickerConfig=written(FORMS["plain"]))
    where = path("inferenceservices", "default")

    create(served.api, where, isvc(plain, worker()), dryRun="All")
    with pytest.raises(ApiError, match="FI812"):
        create(served.api, where, isvc(wrong, worker()), dryRun="All")
