"""Certificates without cert-manager: the controller has them trusted, then served; no call fails."""

import contextlib
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest
import trustme

from certs import objects, rotation
from certs.issue import Pair
from certs.rotation import Kept
from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.admissions import TOGETHER, bursts, call_at, trust, trusted
from tests.cluster.testbed.api import ApiError, amend, apply, delete, get, items, patch, path
from tests.cluster.testbed.audit import refused, requests, words
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import LEASE
from tests.cluster.testbed.mounts import mounted
from tests.cluster.testbed.ours import start_sync, wait_admission
from tests.cluster.testbed.relay import Relay
from tests.cluster.testbed.replicas import HURRIED, Replicas, balanced, served, start_replica
from tests.cluster.testbed.wait import until
from tests.tiers import WHOLE

NAMESPACE: Final = "fusioninfer-system"
SECRET: Final = "fusioninfer-webhook-tls"
SECRETS: Final = path("secrets", NAMESPACE)
WHERE: Final = path("secrets", NAMESPACE, SECRET)
VALIDATING: Final = path("validatingwebhookconfigurations", "", "validate.fusioninfer.io")
RESOURCES: Final = {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
FLAGS: Final = {"--manage-certificates": SECRET}
SHORT_LIVED: Final = "tests.cluster.certificates.short_lived"
LAGS: Final = {"prompt": 0.0, "late": 1.0}
"""Two webhooks, of which one gets its pair later: the kubelets of two nodes."""


@pytest.fixture(scope="module")
def keeping(certified: Cluster) -> Iterator[Cluster]:
    """The cluster with the controller, which keeps the certificates."""
    start_sync(certified, flags=FLAGS, module=HURRIED)
    until(lambda: kept(certified).serving, "a serving certificate is issued")
    yield certified
    kill_process(certified, "sync")
    delete(certified.api, LEASE)
    delete(certified.api, WHERE)


@pytest.fixture(scope="module")
def replicas(keeping: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    """Two webhooks that mount the Secret."""
    folder = tmp_path_factory.mktemp("mounts")
    with contextlib.ExitStack() as stack:
        for name, late in LAGS.items():
            stack.enter_context(mounted(keeping, NAMESPACE, SECRET, folder / name, late))
        for name in LAGS:
            until((folder / name / "tls.crt").exists, "the Secret is mounted")
        yield Replicas([start_replica(keeping, name, folder / name) for name in LAGS])
        for name in LAGS:
            kill_process(keeping, name)


@pytest.fixture(scope="module")
def line(keeping: Cluster, replicas: Replicas) -> Iterator[Relay]:
    """The line on which the API server calls them."""
    with balanced(replicas) as there:
        call_at(keeping, there.port)
        wait_admission(keeping)
        yield there


def test_the_secret_is_made_by_its_name_and_every_webhook_trusts_it(keeping: Cluster) -> None:
    until(lambda: trusted(keeping) == {kept(keeping).bundle}, "it is trusted")

    assert rotation.is_trusted(kept(keeping), datetime.now(UTC))


def test_no_call_fails_while_the_ca_is_replaced_often(
    keeping: Cluster, replicas: Replicas, line: Relay
) -> None:
    before, count = line.accepted, len(kept(keeping).ca_certificates)

    with bursts(keeping, line) as sent:
        for _ in range(2):
            replace_ca(keeping)
            until(lambda: are_up_to_date(keeping, replicas), "every webhook serves it")

    assert sent.failures == []
    assert len(kept(keeping).ca_certificates) - count == 2
    assert line.accepted - before > sent.count / TOGETHER, "each burst began on new connections"


def test_no_call_fails_when_the_secret_is_lost(keeping: Cluster, replicas: Replicas, line: Relay) -> None:
    before = kept(keeping)

    with bursts(keeping, line) as sent:
        delete(keeping.api, WHERE)
        until(
            lambda: kept(keeping).serving not in {None, before.serving},
            "a serving certificate is issued again",
        )
        until(lambda: are_up_to_date(keeping, replicas), "every webhook serves it")

    assert sent.failures == []


def test_a_manifest_that_drops_a_webhook_is_still_accepted(keeping: Cluster) -> None:
    manifest = get(keeping.api, VALIDATING)
    whole = [without_bundle(webhook) for webhook in manifest["webhooks"]]
    try:
        after = apply_configuration(keeping, whole[:1])
    finally:
        apply_configuration(keeping, whole)

    assert [webhook["name"] for webhook in after["webhooks"]] == ["validate.fusioninfer.io"]


def test_a_secret_that_changed_meanwhile_is_not_written_over(keeping: Cluster) -> None:
    before = get(keeping.api, WHERE)
    patch(keeping.api, WHERE, {"metadata": {"annotations": {"example.com/changed": "yes"}}})
    wanted = objects.secret(objects.read(before), NAMESPACE, SECRET, before)

    with pytest.raises(ApiError, match="409"):
        apply(keeping.api, WHERE, wanted, "fusioninfer", force=True)


def test_it_uses_only_rights_of_its_manifests(keeping: Cluster) -> None:
    asked = {words(each) for each in requests(keeping) if each["objectRef"]["resource"] in RESOURCES}

    assert asked == {(verb, resource) for verb in ("get", "patch") for resource in RESOURCES}
    assert refused(keeping) == []


def test_no_call_fails_while_the_controller_takes_over_a_secret_of_cert_manager(
    keeping: Cluster, replicas: Replicas, line: Relay
) -> None:
    """The Secret has the label of the controller, as docs/certificates.md says, and no key of its CA."""
    kill_process(keeping, "sync")
    delete(keeping.api, LEASE)
    issuer = trustme.CA()
    before = hand_over(keeping, replicas, issuer)

    with bursts(keeping, line) as sent:
        start_sync(keeping, flags=FLAGS, module=HURRIED)
        until(lambda: kept(keeping).serving not in {None, before}, "the controller issues a certificate")
        until(lambda: are_up_to_date(keeping, replicas), "every webhook serves it")

    assert sent.failures == []
    assert issuer.cert_pem.bytes() in kept(keeping).ca_certificates


@pytest.mark.skipif(not WHOLE, reason="takes the lives of two certificates: `make soak SOAK=certificates`")
def test_no_call_fails_while_serving_certificates_and_cas_expire(
    keeping: Cluster, replicas: Replicas, line: Relay
) -> None:
    restart_with(keeping, SHORT_LIVED)
    until(lambda: are_believed(keeping, replicas), "both serve what is kept now")
    seen: list[Kept] = []

    def replaced() -> bool:
        """Return whether two serving certificates were replaced, and a CA."""
        seen.append(kept(keeping))
        authorities = {each.ca_certificates[0] for each in seen}
        return len({each.serving for each in seen}) >= 3 and len(authorities) >= 2

    with bursts(keeping, line) as sent:
        until(replaced, "certificates are replaced", seconds=2 * PATIENCE, every=0.5)
        time.sleep(2 * LAGS["late"] + 1.0)

    assert sent.failures == []


def kept(cluster: Cluster) -> Kept:
    """Return what the Secret keeps; nothing while there is none."""
    stored = next((each for each in items(cluster.api, SECRETS) if each["metadata"]["name"] == SECRET), None)
    return objects.read(stored)


def hand_over(cluster: Cluster, replicas: Replicas, issuer: trustme.CA) -> Pair | None:
    """Have the webhooks serve and the configurations trust a certificate of another issuer; return it."""
    leaf = issuer.issue_cert("127.0.0.1", "localhost")
    found = {
        "ca.crt": issuer.cert_pem.bytes(),
        "tls.crt": leaf.cert_chain_pems[0].bytes(),
        "tls.key": leaf.private_key_pem.bytes(),
    }
    trust(cluster, kept(cluster).bundle + found["ca.crt"])
    time.sleep(LAGS["late"] + 1.0)
    data = {name: b64encode(value).decode() for name, value in found.items()}
    patch(cluster.api, WHERE, {"data": {**data, "ca.key": None}})
    until(
        lambda: {served(each) for each in replicas.running} == {found["tls.crt"]}, "every webhook serves it"
    )
    return kept(cluster).serving


def replace_ca(cluster: Cluster) -> None:
    """Delete the key of the CA, and wait until a new CA has signed the serving certificate."""
    before = kept(cluster)
    amend(cluster.api, WHERE, [{"op": "remove", "path": "/data/ca.key"}])
    until(lambda: kept(cluster).serving != before.serving, "a new CA has signed a certificate")


def restart_with(cluster: Cluster, module: str) -> None:
    """Start the controller of another command, with nothing kept."""
    kill_process(cluster, "sync")
    delete(cluster.api, LEASE)
    delete(cluster.api, WHERE)
    start_sync(cluster, flags=FLAGS, module=module)
    until(lambda: kept(cluster).serving, "a serving certificate is issued")


def are_believed(cluster: Cluster, replicas: Replicas) -> bool:
    """Return whether every replica serves a certificate that clients of the Secret's CA trust."""
    now, there = datetime.now(UTC), kept(cluster)
    shown = [replace(there, serving=Pair(served(each), b"")) for each in replicas.running]
    return all(rotation.is_trusted(each, now) for each in shown)


def are_up_to_date(cluster: Cluster, replicas: Replicas) -> bool:
    """Return whether every replica serves the certificate that the Secret keeps."""
    serving = kept(cluster).serving
    return serving is not None and {served(each) for each in replicas.running} == {serving.certificate}


def without_bundle(webhook: Object) -> Object:
    return {**webhook, "clientConfig": {"url": webhook["clientConfig"]["url"]}}


def apply_configuration(cluster: Cluster, webhooks: list[Object]) -> Object:
    """Apply the validating configuration server-side, as who installed it."""
    manifest = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": VALIDATING.rpartition("/")[2]},
        "webhooks": webhooks,
    }
    return apply(cluster.api, VALIDATING, manifest, "kubectl", force=True)
