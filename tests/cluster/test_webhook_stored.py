"""The webhook configurations as the API server stores them: no tool finds something to apply again."""

from typing import Final

import pytest
import yaml

from intent import Object
from tests.cluster.testbed.admissions import CONFIGURATIONS
from tests.cluster.testbed.api import get
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.differences import differences
from tests.cluster.testbed.ours import MANIFESTS

WRITTEN: Final[dict[str, Object]] = {
    each["metadata"]["name"]: each for each in yaml.safe_load_all((MANIFESTS / "webhooks.yaml").read_text())
}
CALLED: Final = "clientConfig"
"""Where webhooks are called: on this testbed at a port of loopback."""


@pytest.mark.parametrize("where", CONFIGURATIONS, ids=lambda where: where.rpartition("/")[2])
def test_stored_objects_equal_the_manifests(admission: Cluster, where: str) -> None:
    stored = get(admission.api, where)

    written = WRITTEN[stored["metadata"]["name"]]
    pairs = zip(written["webhooks"], stored["webhooks"], strict=True)
    assert [differences(elsewhere(one), elsewhere(other)) for one, other in pairs] == [{}] * len(
        written["webhooks"]
    )


def elsewhere(webhook: Object) -> Object:
    """Return all of it but where it is called."""
    return {key: webhook[key] for key in webhook if key != CALLED}
