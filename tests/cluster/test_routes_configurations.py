"""What our check says of a configuration, held against the picker itself: what we refuse, it exits on.

`make e2e` asks each generation about its strategies, and those that are checked in full share the other
configurations; `make soak SOAK=pickers` asks each of them about all.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import pytest

from intent import Object, yaml
from intent.annotations import DISAGGREGATION
from intent.pickers.configuration import check_config
from sync.parts.strategies import preset, presets
from tests.builders.isvc import isvc, router, worker
from tests.builders.pickerconfig import QUEUE, config, profile
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
from tests.tiers import WHOLE

Cases = Mapping[str, Object | str | None]
"""Configurations, or texts, by what is tried."""
AT_ONCE: Final = 12
SCORER: Final[Object] = {"pluginRef": "queue-scorer", "weight": 1}
LAST: Final[Object] = {"pluginRef": "max-score-picker"}
PARSER: Final[Object] = {"type": "openai-parser"}
HANDLER: Final[Object] = {"type": "single-profile-handler"}


def prefix(**parameters: Any) -> Object:
    return config(*QUEUE, {"type": "prefix-cache-scorer", "parameters": parameters})


def profiles(*each: Object, more: tuple[Object, ...] = ()) -> Object:
    return config(*QUEUE, *more, schedulingProfiles=list(each))


EVERYWHERE: Final[Cases] = {
    "plain": config(),
    "another-version": config(apiVersion="llm-d.ai/v1alpha1"),
    "field-data": config(data={}),
    "field-data-layer": config(dataLayer={}),
    "field-flow-control": config(flowControl={}),
    "field-parser": profiles(profile(SCORER, LAST), more=(PARSER,))
    | {"parser": {"pluginRef": PARSER["type"]}},
    "thresholds": config(saturationDetector={"queueDepthThreshold": 5}),
    "weight-with-fraction": profiles(profile(SCORER | {"weight": 1.5}, LAST)),
    "picker-before-unweighted": profiles(profile(LAST, {"pluginRef": "queue-scorer"})),
    "gate-prepare-data": config(featureGates=["prepareDataPlugins"]),
    "gate-data-layer": config(featureGates=["dataLayer"]),
    "characters": prefix(blockSize=64),
    "old-handler": preset(BUILT["llm-d-0.4"], DISAGGREGATION),
    "new-handler": preset(BUILT["llm-d-0.7"], DISAGGREGATION),
}
"""On which generations differ."""
SHARED: Final[Cases] = {
    "no-map": "- a",
    "no-yaml": "a: [",
    "without-version": {key: value for key, value in config().items() if key != "apiVersion"},
    "separator-last": yaml.dump(config()) + "---\n",
    "another-kind": config(kind="Other"),
    "field": config(schedulingProfile=[]),
    "field-of-plugin": config({"type": "queue-scorer", "nam": "x"}, QUEUE[1]),
    "field-of-reference": profiles(profile(SCORER | {"wieght": 1}, LAST)),
    "text-for-list": config(featureGates="dataLayer"),
    "text-for-weight": profiles(profile(SCORER | {"weight": "2"}, LAST)),
    "null": config(featureGates=None, saturationDetector=None),
    "one-name-twice": config(*QUEUE, QUEUE[0]),
    "two-names": config(*QUEUE, {"type": "queue-scorer", "name": "other-scorer"}),
    "unknown-type": config(*QUEUE, {"type": "que-scorer"}),
    "no-type": config(plugins=[{"name": "x"}], schedulingProfiles=[]),
    "dangling": profiles(profile({"pluginRef": "queue-scorers"}, LAST)),
    "nameless-profile": profiles(profile(SCORER, LAST, name="")),
    "two-profiles": profiles(profile(SCORER, LAST, name="a"), profile(SCORER, LAST, name="b")),
    "one-handler": profiles(profile(SCORER, LAST), more=(HANDLER,)),
    "two-handlers": profiles(profile(SCORER, LAST), more=(HANDLER, HANDLER | {"name": "other"})),
    "two-pickers": config(*QUEUE, {"type": "random-picker"}),
    "unknown-parameter": prefix(hashBlockSize=5),
    "text-for-number": prefix(maxPrefixBlocksToMatch="many"),
    "unknown-gate": config(featureGates=["bogus"]),
}
"""On which all agree."""
CHECKED: Final = [row.name for row in BUILT.values() if row.plugins]
CASES: Final[Mapping[str, Cases]] = {
    row.name: {**presets(row), **({**EVERYWHERE, **SHARED} if row.plugins else {})} for row in BUILT.values()
}


def tried(row: str) -> list[str]:
    """Return what a generation is asked about: each strategy, and its share of the rest."""
    if WHOLE or row not in CHECKED:
        return list(CASES[row])
    rest = [*EVERYWHERE, *SHARED][CHECKED.index(row) :: len(CHECKED)]
    return [*presets(BUILT[row]), *rest]


LEFT: Final = frozenset(
    {
        *("old-handler", "field-data-layer", "gate-data-layer", "two-pickers", "unknown-parameter"),
        *("text-for-number", "characters"),
    }
)
"""What a generation may exit on though we accept it: deciders, sources, parameters, and plugins that pick."""


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
        names = tried(row)
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

    accepted = [name for name in starts if name not in LEFT and not verdict(row, name)]

    assert [name for name in accepted if not starts[name]] == []


def test_a_configuration_that_stops_the_endpoint_picker_is_denied(served: Cluster) -> None:
    wrong = router(strategy=None, endpointPickerConfig=written(SHARED["unknown-type"]))
    plain = router(strategy=None, endpointPickerConfig=written(EVERYWHERE["plain"]))
    where = path("inferenceservices", "default")

    create(served.api, where, isvc(plain, worker()), dryRun="All")
    with pytest.raises(ApiError, match="FI812"):
        create(served.api, where, isvc(wrong, worker()), dryRun="All")


def test_every_configuration_is_tried() -> None:
    assert {case for row in CASES for case in tried(row)} == {case for row in CASES for case in CASES[row]}
