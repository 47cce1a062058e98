"""Our own parts on the cluster: installed from the manifests, running as they would in their pods."""

from tests.cluster.testbed.api import get, path
from tests.cluster.testbed.cluster import Cluster


def test_webhook_configurations_point_to_the_process_on_loopback(admission: Cluster) -> None:
    ours = get(admission.api, path("mutatingwebhookconfigurations", "", "mutate.fusioninfer.io"))

    addresses = [webhook["clientConfig"]["url"] for webhook in ours["webhooks"]]

    assert addresses == [f"https://127.0.0.1:{admission.ports['webhook']}/mutate"]
