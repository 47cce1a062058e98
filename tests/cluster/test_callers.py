"""Who calls the webhook, on the real API server: what a certificate and an address are worth."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

import pytest

from intent import Object
from intent.annotations import SERVICE
from tests.builders.lws import changed, lws
from tests.builders.reviews import review
from tests.builders.templates import template
from tests.cluster.testbed.admissions import called
from tests.cluster.testbed.api import ApiError, create, patch, path
from tests.cluster.testbed.cluster import Cluster, api_as
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.ours import SHARED, start_webhook
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.service_accounts import kubeconfig_of
from tests.cluster.testbed.wait import until
from webhook.review import CALLED_FROM

SECRET: Final = "registry.b.internal/vllm:private"
PODS: Final = {"template": {"spec": {"containers": [{"name": "vllm", "image": SECRET}]}}}


@pytest.mark.parametrize("presents", [True, False])
def test_an_api_server_that_presents_its_certificate_is_answered_and_has_templates_read(
    templated: Cluster, *, presents: bool
) -> None:
    port = templated.ports["webhook-known"] if presents else free_ports(["another"])["another"]
    flags = {
        "--client-ca": templated.directory / "ca.crt",
        "--client-name": "kube-apiserver",
        "--templates-namespace": SHARED,
        "--kubeconfig": kubeconfig_of(templated, templated.url, SHARED, "fusioninfer-webhook"),
    }
    expected = SECRET if presents else f'failed to call webhook: Post "https://127.0.0.1:{port}'
    trial = changed(lws(), "metadata.annotations.fusioninfer.io/base-refs", "base")

    def became(namespace: str) -> str:
        try:
            return json.dumps(create(templated.api, path("leaderworkersets", namespace), trial, dryRun="All"))
        except ApiError as error:
            return str(error)

    with new_namespace(templated) as own:
        create(templated.api, path("inferencetemplates", own), template(PODS, name="base", namespace=own))
        with called(templated, flags, port):
            until(lambda: expected in became(own), expected)


# --- addresses ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OnNode:
    """A user's pod whose address is that of the API server's machine, on which a webhook listens too."""

    cluster: Cluster
    address: str
    where: str


@pytest.fixture
def on_node(templated: Cluster) -> Iterator[OnNode]:
    """Let a user proxy to a pod of a namespace; its address is the machine's, as with `hostNetwork`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("198.51.100.1", 9))  # sends nothing
        address = sock.getsockname()[0]
    with new_namespace(templated) as own:
        spec = {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]}
        create(templated.api, path("pods", own), {"metadata": {"name": "mine"}, "spec": spec})
        patch(templated.api, path("pods", own, "mine", "status"), {"status": {"podIP": address}})
        rule = {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["create"]}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "proxy"}
        guest = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "guest"}
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces"
        create(templated.api, f"{rbac}/{own}/roles", {"metadata": {"name": "proxy"}, "rules": [rule]})
        bound = {"metadata": {"name": "proxy"}, "roleRef": role, "subjects": [guest]}
        create(templated.api, f"{rbac}/{own}/rolebindings", bound)
        port = templated.ports["webhook"]
        yield OnNode(templated, address, f"/api/v1/namespaces/{own}/pods/https:mine:{port}/proxy/validate")


def proxied(there: OnNode, **flags: object) -> Object:
    """Start a webhook on the address, and have the API server send it a user's own review."""
    start_webhook(there.cluster, name="on-node", flags={"--host": there.address, **flags})
    until(lambda: answers(there), "the webhook answers on the address")
    asking = lws()
    asking["metadata"]["annotations"] = {SERVICE: "x", CALLED_FROM: ""}
    try:
        return create(api_as(there.cluster, "guest"), there.where, review(asking, dryRun=True))
    finally:
        kill_process(there.cluster, "on-node")


def answers(there: OnNode) -> bool:
    """Return whether the webhook answers on the address: an API server, by its certificate."""
    context = ssl.create_default_context(cafile=str(there.cluster.directory / "ca.crt"))
    context.check_hostname = False
    there.cluster.authority.issue_cert("kube-apiserver").configure_cert(context)
    line = http.client.HTTPSConnection(there.address, there.cluster.ports["webhook"], context=context)
    with closing(line), suppress(OSError, http.client.HTTPException):
        line.request("POST", "/validate", b"{}", {"Content-Type": "application/json"})
        with line.getresponse() as answer:
            return answer.status == http.client.BAD_REQUEST
    return False


def test_a_user_who_may_proxy_to_a_pod_calls_the_webhook_from_the_address_of_the_api_server(
    on_node: OnNode,
) -> None:
    answer = proxied(on_node)

    assert f"called from {on_node.address}" in answer["response"]["warnings"]


def test_the_api_server_presents_no_certificate_for_a_user(on_node: OnNode) -> None:
    authority = on_node.cluster.directory / "ca.crt"

    with pytest.raises(ApiError) as refused:
        proxied(on_node, **{"--client-ca": authority, "--client-name": "kube-apiserver"})

    assert "error trying to reach service" in str(refused.value), (
        "while a caller with a certificate is answered"
    )
