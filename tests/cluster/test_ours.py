"""Our own parts on the cluster: installed from the manifests, running as they would in their pods."""

import pytest

from intent.annotations import SERVICE
from tests.cluster.testbed.api import ApiError, create, get, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.ours import start_webhook, wait_admission

ANNOTATED = {**TRIAL_LWS, "metadata": {"name": "trial", "annotations": {SERVICE: "trial"}}}


def test_webhook_configurations_point_to_the_process_on_loopback(admission: Cluster) -> None:
    ours = get(admission.api, path("mutatingwebhookconfigurations", "", "mutate.fusioninfer.io"))

    addresses = [webhook["clientConfig"]["url"] for webhook in ours["webhooks"]]

    assert addresses == [f"https://127.0.0.1:{admission.ports['webhook']}/mutate"]


def test_while_the_webhook_is_dead_only_what_it_concerns_is_refused(
    admission: Cluster, namespace: str
) -> None:
    where = path("leaderworkersets", namespace)
    kill_process(admission, "webhook")
    try:
        create(admission.api, where, TRIAL_LWS, dryRun="All")
        with pytest.raises(ApiError, match="failed calling webhook") as refused:
            create(admission.api, where, ANNOTATED, dryRun="All")
    finally:
        start_webhook(admission)

    wait_admission(admission)
    assert refused.value.status == 500
