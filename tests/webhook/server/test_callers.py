"""Which callers are known, by certificate or address, and which addresses are one caller."""

from ipaddress import ip_network
from typing import Any

import pytest

from webhook.server.callers import Callers

CERTIFICATE: dict[str, Any] = {
    "subject": ((("organizationName", "system:masters"),), (("commonName", "kube-apiserver"),)),
    "subjectAltName": (("DNS", "webhook.system.svc"), ("URI", "kubelet"), ("IP Address", "10.0.0.1")),
}


def is_known(names: frozenset[str], certificate: dict[str, Any] | None) -> bool:
    return Callers(names).verified("10.0.0.1", certificate).is_known


@pytest.mark.parametrize("name", ["kube-apiserver", "webhook.system.svc"])
def test_the_common_name_and_dns_names_count(name: str) -> None:
    assert is_known(frozenset({name, "another"}), CERTIFICATE)


@pytest.mark.parametrize("name", ["system:masters", "kubelet", "10.0.0.1", "KUBE-APISERVER", ""])
def test_other_fields_and_other_case_do_not_count(name: str) -> None:
    assert not is_known(frozenset({name}), CERTIFICATE)


@pytest.mark.parametrize("certificate", [None, {}, {"subject": ()}])
def test_a_missing_or_empty_certificate_carries_no_name(certificate: dict[str, Any] | None) -> None:
    assert not is_known(frozenset({"kube-apiserver"}), certificate)


NETWORKS = tuple(map(ip_network, ("10.0.0.0/24", "fd00:1::/64", "192.0.2.7")))


@pytest.mark.parametrize(
    ("address", "known"),
    [
        ("10.0.0.255", True),
        ("10.0.1.0", False),
        ("::ffff:10.0.0.1", True),
        ("::ffff:10.0.1.1", False),
        ("::10.0.0.1", False),
        ("fd00:1::2", True),
        ("fd00:1::2%eth0", True),
        ("fd00:1:0:1::2", False),
        ("192.0.2.7", True),
        ("127.0.0.1", False),
    ],
)
def test_without_names_the_address_decides(address: str, known: bool) -> None:  # noqa: FBT001 - a parameter
    callers = Callers(networks=NETWORKS)

    assert (callers.accepted(address).is_known, callers.verified(address, None).is_known) == (known, known)


def test_with_names_an_address_counts_until_the_handshake_is_complete() -> None:
    callers = Callers(frozenset({"kube-apiserver"}), NETWORKS)

    assert callers.accepted("10.0.0.1").is_known
    assert not callers.verified("10.0.0.1", {}).is_known
    assert callers.verified("127.0.0.1", CERTIFICATE) is callers.known


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("fd00:1::1", "fd00:1::ffff:ffff:ffff:ffff", True),
        ("fd00:1::1%eth0", "fd00:1::2%eth1", True),
        ("fd00:1::1", "fd00:1:0:1::1", False),
    ],
)
def test_an_ipv4_address_and_a_64_of_ipv6_are_one_caller(one: str, other: str, same: bool) -> None:  # noqa: FBT001 - a parameter
    callers = Callers()
    first, second = callers.accepted(one), callers.accepted(other)

    assert (first is second) == same


def test_a_caller_is_forgotten_with_its_last_connection() -> None:
    callers = Callers()
    kept = callers.accepted("10.0.0.1")
    for last in range(250):
        callers.accepted(f"10.0.1.{last}")

    assert list(callers.peers.values()) == [kept]
