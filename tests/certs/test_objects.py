"""The Secret and the webhook configurations, as plain objects."""

from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime

import jsonpatch
import pytest

from certs.objects import hosts, injection, read, secret
from certs.rotation import Kept, Terms, with_ca, with_serving
from intent import Object

NOW = datetime.now(UTC)
KEPT = with_serving(with_ca(Kept(), NOW, Terms()), ["localhost"], NOW, Terms())
BUNDLE = b64encode(KEPT.bundle).decode()


def configuration(*client_configs: Object) -> Object:
    webhooks = [{"name": f"{at}.example.com", "clientConfig": each} for at, each in enumerate(client_configs)]
    return {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "m"}, "webhooks": webhooks}


def service(name: str, **more: str) -> Object:
    return {"service": {"name": name, "namespace": "system", "path": "/mutate"}, **more}


# The Secret


def test_a_rendered_secret_reads_back() -> None:
    assert read(secret(KEPT, "system", "tls", None)) == KEPT


def test_the_secret_holds_both_pairs() -> None:
    assert set(secret(KEPT, "system", "tls", None)["data"]) == {"tls.crt", "tls.key", "ca.crt", "ca.key"}


def test_the_secret_carries_the_resource_version_that_was_read() -> None:
    before = {"metadata": {"resourceVersion": "7"}}

    assert secret(KEPT, "system", "tls", before)["metadata"]["resourceVersion"] == "7"


@pytest.mark.parametrize("stored", [None, {"metadata": {}}, {"metadata": {}, "data": None}])
def test_a_missing_or_empty_secret_holds_nothing(stored: Object | None) -> None:
    assert read(stored) == Kept()


@pytest.mark.parametrize("value", ["", "eA=="])
def test_an_unreadable_certificate_is_left_out(value: str) -> None:
    stored = secret(KEPT, "system", "tls", None)
    stored["data"]["tls.crt"] = value

    assert read(stored) == replace(KEPT, serving=None)


# The webhook configurations


def test_the_hosts_are_the_names_of_all_services_in_the_cluster_and_those_of_urls() -> None:
    url = {"url": "https://127.0.0.1:8443/mutate"}

    found = hosts(
        [configuration(service("a"), service("b")), configuration(service("b"), url), configuration()]
    )

    assert found == {"a.system.svc", "b.system.svc", "127.0.0.1"}


def test_the_patch_changes_the_bundle_only() -> None:
    before = configuration(service("a"), service("b", caBundle="eA=="))

    after = jsonpatch.apply_patch(before, injection(before, KEPT.bundle))

    assert after == configuration(service("a", caBundle=BUNDLE), service("b", caBundle=BUNDLE))


def test_without_a_change_there_is_no_patch() -> None:
    assert injection(configuration(service("a", caBundle=BUNDLE)), KEPT.bundle) == []


def test_a_webhook_that_moved_to_another_index_is_not_patched() -> None:
    operations = injection(configuration(service("a"), service("b")), KEPT.bundle)
    changed = configuration(service("b"))
    changed["webhooks"][0]["name"] = "1.example.com"

    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        jsonpatch.apply_patch(changed, operations)
