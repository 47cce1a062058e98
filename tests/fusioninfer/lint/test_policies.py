"""`expand --network-policies`: pods of one service reach each other, and its pickers its engines."""

from typing import Any

import pytest

from fusioninfer.lint import documents, offline
from fusioninfer.lint.policies import FILL_IN, network_policies
from intent import Object
from intent.annotations import SERVICE
from intent.settings import Settings
from tests.builders.examples import EXAMPLES


def policies(*names: str) -> dict[str, Any]:
    read, _ = documents.read_all([str(EXAMPLES / name) for name in names], recursive=False)
    made = offline.compose(read, Settings(), namespace="llm", admission_only=False)
    return {one["metadata"]["name"]: one["spec"] for one in network_policies(made.objects)}


def peers(spec: Object) -> list[Object]:
    (rule,) = spec["ingress"]
    return list(rule["from"])


@pytest.mark.parametrize("name", ["routes.yaml", "inferenceservice.yaml"])
def test_engines_are_reached_by_their_service_and_its_pickers_and_pickers_by_what_is_filled_in(
    name: str,
) -> None:
    picker, engine = sorted(
        policies(name).values(), key=lambda one: SERVICE in one["podSelector"]["matchLabels"]
    )

    assert peers(engine) == [
        {"podSelector": engine["podSelector"]},
        {"podSelector": picker["podSelector"]},
        FILL_IN,
    ]
    assert peers(picker) == [FILL_IN]
    assert SERVICE not in picker["podSelector"]["matchLabels"]


def test_roles_of_one_service_share_a_policy_and_services_do_not() -> None:
    found = policies("prefill.yaml", "decode.yaml", "monolithic.yaml")

    assert len(found) == 2
    assert len({str(one["podSelector"]) for one in found.values()}) == 2
