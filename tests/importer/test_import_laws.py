"""Laws of every import, on good and on damaged inputs: each leaf is reported once, and nothing fails."""

import json
from copy import deepcopy
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from importer.leaves import leaves, written
from importer.report import as_data
from importer.table import import_all
from intent import Object
from tests.importer import test_llmd as llmd
from tests.importer import test_lws as lws
from tests.importer.kserve.bases import PRESETS, config, service
from tests.tiers import count

MAIN: Final = [{"name": "main", "env": [{"name": "A", "value": "{{ .Name }}"}]}]
INPUTS: Final[dict[str, list[Object]]] = {
    **{f"LWS, {name}": [row[0]] for name, row in lws.RECOGNISED.items()},
    **{f"LWS, {name}": [row[0]] for name, row in lws.KEPT.items()},
    "llm-d, prefill and decode": [
        llmd.base(decodeDeployment=llmd.DEPLOYMENT, prefillDeployment=llmd.DEPLOYMENT, httpRoute=llmd.ROUTE),
        llmd.service(prefill=llmd.container(mountModelVolume=True, args=["{{ .ModelName }}"], image="")),
    ],
    "llm-d, a claim": [
        llmd.base(decodeDeployment=llmd.DEPLOYMENT, decodeService=llmd.SERVICE),
        llmd.service(modelArtifacts={"uri": "pvc://a/b", "size": "1Gi"}, decoupleScaling=True),
    ],
    "KServe, a base": [
        service({"baseRefs": [{"name": "own"}], "template": {"containers": [{"name": "main"}]}}),
        config(
            "own", {"model": {"uri": "hf://org/model", "name": "m"}, "template": {"containers": MAIN}}, "llm"
        ),
        next(one for one in PRESETS if one["metadata"]["name"] == "kserve-config-llm-template"),
    ],
    "DisaggregatedSet": [lws.disaggregated_set("prefill", "decode", "encode")],
}
"""Objects of each system that an import reads."""
OTHER: Final[st.SearchStrategy[Any]] = st.sampled_from(
    [None, True, 0, -1, 3.5, "", "x", "{{ .Nope }}", "{{", [], {}, [None], [[]], {"": {}}, "$(X)"]
)


@st.composite
def damaged(draw: st.DrawFn, inputs: dict[str, list[Object]] = INPUTS) -> list[Object]:
    """Return an input in which a few values are others, or are gone."""
    found: Any = deepcopy(draw(st.sampled_from(list(inputs.values()))))
    for _ in range(draw(st.integers(1, 3))):
        places = [path for path, _ in all_places(found)]
        path = draw(st.sampled_from(places))
        above = found
        for step in path[:-1]:
            above = above[step]
        if draw(st.booleans()) and isinstance(above, dict):
            del above[path[-1]]
        else:
            above[path[-1]] = deepcopy(draw(OTHER))
        if not any(isinstance(one, dict) and one for one in found):
            break
    return [one for one in found if isinstance(one, dict)]


def all_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    """Return each place of a value, parents too."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [one for key, each in below for one in all_places(each, (*path, key))]
    return [*([(path, value)] if path else []), *inner]


def check(objects: list[Object]) -> None:
    before = deepcopy(objects)
    made = import_all(objects)

    expected = [(at, written(path)) for at, one in enumerate(objects) for path, _ in leaves(one)]
    assert [(one.document, one.path) for one in made.lines] == expected
    assert objects == before
    assert made == import_all(objects)
    json.dumps([made.objects, as_data(made, ["f"] * len(objects))])


@pytest.mark.parametrize("objects", INPUTS.values(), ids=INPUTS)
def test_each_leaf_of_an_input_is_reported_once(objects: list[Object]) -> None:
    check(objects)

    made = import_all(objects)
    assert not made.problems
    assert [one.path for one in made.lines if one.outcome.code == "FI964"] == []


def test_a_variable_without_a_name_fails_no_import() -> None:
    nameless: Any = [{"name": {}, "value": "x"}]
    check(
        [
            lws.lws(
                lws.script(f"export A=b; ray start --head; {lws.SERVE}", env=nameless), lws.script(lws.WORKER)
            )
        ]
    )
    mounts = llmd.container(mountModelVolume=True, env=nameless)
    check([llmd.base(decodeDeployment=llmd.DEPLOYMENT), llmd.service(decode=mounts)])


@settings(max_examples=count("IMPORTED"))
@given(objects=damaged())
def test_each_leaf_of_a_damaged_input_is_reported_once(objects: list[Object]) -> None:
    check(objects)
