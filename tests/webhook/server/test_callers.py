"""Names in a client certificate, as `getpeercert` returns it."""

from typing import Any

import pytest

from webhook.server.app import may_call

CERTIFICATE: dict[str, Any] = {
    "subject": ((("organizationName", "system:masters"),), (("commonName", "kube-apiserver"),)),
    "subjectAltName": (("DNS", "webhook.system.svc"), ("URI", "kubelet"), ("IP Address", "10.0.0.1")),
}


@pytest.mark.parametrize("name", ["kube-apiserver", "webhook.system.svc"])
def test_the_common_name_and_dns_names_count(name: str) -> None:
    assert may_call(frozenset({name, "another"}), CERTIFICATE)


@pytest.mark.parametrize("name", ["system:masters", "kubelet", "10.0.0.1", "KUBE-APISERVER", ""])
def test_other_fields_and_other_case_do_not_count(name: str) -> None:
    assert not may_call(frozenset({name}), CERTIFICATE)


@pytest.mark.parametrize("certificate", [None, {}, {"subject": ()}])
def test_a_missing_or_empty_certificate_carries_no_name(certificate: dict[str, Any] | None) -> None:
    assert not may_call(frozenset({"kube-apiserver"}), certificate)


def test_without_names_every_caller_is_answered() -> None:
    assert may_call(frozenset(), None)
