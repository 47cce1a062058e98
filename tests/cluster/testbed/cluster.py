"""A cluster as a value: where it is, who may call it, which processes it has."""

import json
import os
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trustme

from intent import Object
from tests.cluster.testbed.api import Api
from tests.cluster.testbed.build import Built
from tests.cluster.testbed.pki import issue
from tests.cluster.testbed.ports import free_ports
from tests.cluster.testbed.processes import Process

REQUEST_SECONDS: Final = 600
"""How long kubectl waits for an answer; by itself it waits 32 s for the OpenAPI document."""
PORTS: Final = (
    *("etcd", "etcd-peer", "kube-apiserver", "lws-webhook", "lws-health", "kube-scheduler"),
    *("webhook", "webhook-metrics", "sync-metrics", "sync-other-metrics"),
    *("webhook-known", "webhook-known-metrics"),
)
"""To a webhook at `webhook-known`, and to no other one, the API server presents its certificate."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody whom the API server knows by a token."""

    user: str
    groups: tuple[str, ...]


CONTROLLER: Final = Identity(
    "system:serviceaccount:fusioninfer-system:fusioninfer-sync",
    ("system:serviceaccounts", "system:serviceaccounts:fusioninfer-system", "system:authenticated"),
)
MASTERS: Final = ("system:masters",)
IDENTITIES: Final = {
    "admin": Identity("admin", MASTERS),
    "kube-controller-manager": Identity("system:kube-controller-manager", MASTERS),
    "sync": CONTROLLER,
    "sync-other": CONTROLLER,
    "guest": Identity("guest", ("system:authenticated",)),
}
"""The components are `admin`, but the one whose name our webhooks know; our controller is a service account;
our webhook is nobody: it reads no API. A guest has no rights.

Two controllers are one user with two uids, by which the audit log tells them apart.
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A control plane on loopback: its state folder, its ports by name, its processes by name."""

    directory: Path
    built: Built
    ports: Mapping[str, int]
    authority: trustme.CA
    tokens: Mapping[str, str]
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self.ports['kube-apiserver']}"

    @property
    def api(self) -> Api:
        """The API server, called as admin."""
        return api_as(self, "admin")

    @property
    def authority_pem(self) -> bytes:
        """The certificate that every server of this cluster is checked against."""
        return self.authority.cert_pem.bytes()


class KubectlError(Exception):
    """What kubectl said on standard error."""


def prepare(built: Built, directory: Path) -> Cluster:
    """Choose ports, issue certificates, and write tokens and kubeconfigs into the state folder."""
    tokens = {name: secrets.token_urlsafe(16) for name in IDENTITIES}
    cluster = Cluster(directory, built, free_ports(PORTS), trustme.CA(), tokens)
    issue(cluster.authority, directory / "kube-apiserver", "kube-apiserver")
    issue(cluster.authority, directory / "lws-webhook")
    issue(cluster.authority, directory / "webhook", "fusioninfer-webhook.fusioninfer-system.svc")
    (directory / "ca.crt").write_bytes(cluster.authority_pem)
    (directory / "tokens.csv").write_text("".join(_token_line(cluster, name) for name in IDENTITIES))
    for name in IDENTITIES:
        own = kubeconfig_for(cluster, cluster.url, name, tokens[name])
        kubeconfig(cluster, name).write_text(json.dumps(own))
    return cluster


def kubeconfig(cluster: Cluster, identity: str = "admin") -> Path:
    """Return the path of an identity's kubeconfig."""
    return cluster.directory / f"{identity}.kubeconfig"


def kubeconfig_for(cluster: Cluster, server: str, name: str, token: str) -> Object:
    """Return a kubeconfig: the API server at an address, called with a token."""
    called = {
        "server": server,
        "certificate-authority": str(cluster.directory / "ca.crt"),
        "tls-server-name": "localhost",
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": called}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": name}}],
        "current-context": "testbed",
    }


def api_as(cluster: Cluster, identity: str) -> Api:
    """Return the API server, called as one of `IDENTITIES`."""
    return Api(cluster.url, cluster.tokens[identity], cluster.directory / "ca.crt")


def kubectl(
    cluster: Cluster, *args: str, stdin: str = "", identity: str = "admin", check: bool = True
) -> str:
    """Run the kubectl of this API server; return its output, raise KubectlError if it fails."""
    done = run_kubectl(cluster, *args, stdin=stdin, identity=identity)
    if check and done.returncode != 0:
        raise KubectlError(done.stderr)
    return done.stdout


def run_kubectl(
    cluster: Cluster, *args: str, stdin: str = "", identity: str = "admin"
) -> subprocess.CompletedProcess[str]:
    """Run kubectl; return its exit status and both of its streams: warnings are on standard error."""
    environment = {
        **os.environ,
        "HOME": str(cluster.directory),
        "KUBECONFIG": str(kubeconfig(cluster, identity)),
    }
    command = [str(cluster.built.binary("kubectl")), f"--request-timeout={REQUEST_SECONDS}s", *args]
    return subprocess.run(command, input=stdin, env=environment, capture_output=True, text=True, check=False)


def _token_line(cluster: Cluster, name: str) -> str:
    identity = IDENTITIES[name]
    return f'{cluster.tokens[name]},{identity.user},{name},"{",".join(identity.groups)}"\n'
