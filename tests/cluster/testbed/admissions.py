"""Admissions under way: annotated LeaderWorkerSets sent as dry runs, and what became of each.

A write that a webhook does not answer fails, since `failurePolicy` is Fail; one that it did not expand counts
as failed too.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from intent import Object
from intent.annotations import EXPANSION, SERVICE
from tests.cluster.testbed.api import ApiError, amend, create, delete, get, path
from tests.cluster.testbed.cluster import Cluster, kubectl
from tests.cluster.testbed.components import TRIAL_LWS
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.install import on_loopback
from tests.cluster.testbed.ours import start_webhook
from tests.cluster.testbed.relay import Relay, hang_up
from tests.cluster.testbed.wait import kept_doing

CONFIGURATIONS: Final = (
    path("mutatingwebhookconfigurations", "", "mutate.fusioninfer.io"),
    path("validatingwebhookconfigurations", "", "validate.fusioninfer.io"),
)
TOGETHER: Final = 12
"""How many writes are under way at once."""
REST: Final = 0.1
"""Seconds between two bursts: without them they take all processors, and see no more."""
Write = Callable[[Cluster], str]
"""Sends one write; says why it failed, or nothing."""


@dataclass(slots=True)
class Sent:
    """How many writes were sent, and what was said of those that failed."""

    count: int = 0
    failures: list[str] = field(default_factory=list)


def call_at(cluster: Cluster, port: int, configurations: Iterable[str] = CONFIGURATIONS) -> None:
    """Have the API server call our webhooks, or some of them, at a port of loopback."""
    for where in configurations:
        webhooks = get(cluster.api, where)["webhooks"]
        amend(cluster.api, where, [_at(index, webhook, port) for index, webhook in enumerate(webhooks)])


@contextmanager
def called(cluster: Cluster, flags: Object, port: int) -> Iterator[None]:
    """Have the API server call another webhook, with these flags, and afterwards the usual one again."""
    usual = {"--port": port, "--metrics-port": cluster.ports["webhook-known-metrics"]}
    start_webhook(cluster, name="another-webhook", flags={**usual, **flags})
    try:
        call_at(cluster, port)
        yield
    finally:
        call_at(cluster, cluster.ports["webhook"])
        kill_process(cluster, "another-webhook")


def trust(cluster: Cluster, bundle: bytes) -> None:
    """Have our webhook configurations trust a bundle, as cert-manager's injector does."""
    encoded = b64encode(bundle).decode()
    for where in CONFIGURATIONS:
        places = range(len(get(cluster.api, where)["webhooks"]))
        paths = [f"/webhooks/{place}/clientConfig/caBundle" for place in places]
        amend(cluster.api, where, [{"op": "add", "path": each, "value": encoded} for each in paths])


def bundles(cluster: Cluster) -> dict[str, str]:
    """Return what our webhooks trust, by their names; empty for one that trusts nothing."""
    webhooks = [webhook for where in CONFIGURATIONS for webhook in get(cluster.api, where)["webhooks"]]
    return {webhook["name"]: webhook["clientConfig"].get("caBundle", "") for webhook in webhooks}


def trusted(cluster: Cluster) -> set[bytes]:
    """Return the bundles that our webhook configurations trust: one, if they agree."""
    return set(map(b64decode, bundles(cluster).values()))


def call_on_loopback(cluster: Cluster) -> None:
    """Have the API server call the webhook on loopback, in place of its Service, and trust its authority."""
    for where in CONFIGURATIONS:
        placed = on_loopback(get(cluster.api, where), cluster.ports["webhook"], cluster.authority_pem)
        changes = [
            {"op": "replace", "path": f"/webhooks/{number}/clientConfig", "value": webhook["clientConfig"]}
            for number, webhook in enumerate(placed["webhooks"])
        ]
        amend(cluster.api, where, changes)


@contextmanager
def without(cluster: Cluster, *configurations: str) -> Iterator[None]:
    """Delete webhook configurations for a while."""
    kept = [get(cluster.api, where) for where in configurations]
    for where in configurations:
        delete(cluster.api, where)
    try:
        yield
    finally:
        for stored in kept:
            metadata = {key: stored["metadata"][key] for key in ("name", "labels")}
            made = json.dumps({**stored, "metadata": metadata})
            kubectl(cluster, "apply", "--server-side", "--filename=-", stdin=made)  # as the installation does


@contextmanager
def bursts(cluster: Cluster, line: Relay, write: Write | None = None) -> Iterator[Sent]:
    """Send bursts of writes, one after the other, each on new connections to the webhook."""
    sent = Sent()

    def send() -> None:
        answers = list(pool.map(write or _refusal, [cluster] * TOGETHER))
        sent.count += len(answers)
        sent.failures += filter(None, answers)
        hang_up(line)

    with ThreadPoolExecutor(TOGETHER) as pool, kept_doing(send, every=REST):
        yield sent


def _refusal(cluster: Cluster) -> str:
    """Send one write; return why it failed, or nothing."""
    trial = {**TRIAL_LWS, "metadata": {"generateName": "trial-", "annotations": {SERVICE: "trial"}}}
    try:
        admitted = create(cluster.api, path("leaderworkersets", "default"), trial, dryRun="All")
    except ApiError as error:
        return str(error)
    return "" if EXPANSION in admitted["metadata"]["annotations"] else "was not expanded"


def _at(index: int, webhook: Object, port: int) -> Object:
    path_of = webhook["clientConfig"]["url"].rpartition("/")[2]
    where = f"/webhooks/{index}/clientConfig/url"
    return {"op": "replace", "path": where, "value": f"https://127.0.0.1:{port}/{path_of}"}
