"""Names in a client certificate."""

from typing import Any

import pytest

from certs.callers import is_one_of

CERTIFICATE: dict[str, Any] = {
    "subject": ((("organizationName", "system:masters"),), (("commonName", "kube-apiserver"),)),
    "subjectAltName": (("DNS", "webhook.system.svc"), ("URI", "kubelet"), ("IP Address", "10.0.0.1")),
}


@pytest.mark.parametrize("name", ["kube-apiserver", "webhook.system.svc"])
def test_the_common_name_and_dns_names_count(name: str) -> None:
    assert is_one_of(frozenset({name, "another"}), CERTIFICATE)


@pytest.mark.parametrize("name", ["system:masters", "kubelet", "10.0.0.1", "KUBE-APISERVER", ""])
def test_nothing_else_counts(name: str) -> None:
    assert not is_one_of(frozenset({name}), CERTIFICATE)


@pytest.mark.parametrize("certificate", [None, {}, {"subject": ()}])
def test_no_certificate_carries_no_name(certificate: dict[str, Any] | None) -> None:
    assert not is_one_of(frozenset({"kube-apiserver"}), certificate)


def test_without_names_anybody_may_call() -> None:
    assert is_one_of(frozenset(), None)
