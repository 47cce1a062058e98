"""The controller under test: killed and restarted, several at once, behind a bad network; and its results."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from intent import Object
from tests.builders.patience import PATIENCE
from tests.cluster.testbed.api import delete, get_or_none, items, path
from tests.cluster.testbed.cluster import Cluster, kubeconfig, kubectl
from tests.cluster.testbed.components import http_body
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.ours import start_sync, start_webhook, wait_admission
from tests.cluster.testbed.relay import Relay
from tests.cluster.testbed.written import EXAMPLES

T = TypeVar("T")
LEASE: Final = path("leases", "fusioninfer-system", "fusioninfer-sync")
MONOLITHIC, PREFILL, DECODE = (EXAMPLES / f"{name}.yaml" for name in ("monolithic", "prefill", "decode"))
SERVICE: Final = "deepseek-r1-disagg"
"""The service of the two files of prefill and decode."""
Required = tuple[int, dict[str, tuple[int, int]]]
"""minMember, and by policy how many groups of which size; 0 and none without PodGroup."""
CODE: Final = re.compile(r"\((FI\d{3}): ")


# --- processes --------------------------------------------------------------------------------------


@contextmanager
def controller_down(cluster: Cluster) -> Iterator[None]:
    """Kill the controller for a while; its Lease is taken away, as time would."""
    kill_process(cluster, "sync")
    try:
        yield
    finally:
        delete(cluster.api, LEASE)
        start_sync(cluster)


@contextmanager
def configured(cluster: Cluster, **settings: object) -> Iterator[None]:
    """Run the webhook and the controller with other settings for a while."""
    file = cluster.directory / "settings.yaml"
    file.write_text(json.dumps(settings))
    _restart(cluster, {"--config": file})
    try:
        yield
    finally:
        _restart(cluster, {})


def _restart(cluster: Cluster, flags: Mapping[str, object]) -> None:
    for name in ("webhook", "sync"):
        kill_process(cluster, name)
    delete(cluster.api, LEASE)
    start_webhook(cluster, flags=flags)
    start_sync(cluster, flags=flags)
    wait_admission(cluster)


def kubeconfig_through(cluster: Cluster, line: Relay, identity: str = "sync") -> Path:
    """Write a kubeconfig of the controller that leads through a relay."""
    text = kubeconfig(cluster, identity).read_text()
    through = cluster.directory / f"{identity}-relayed.kubeconfig"
    through.write_text(text.replace(cluster.url, f"https://127.0.0.1:{line.port}"))
    return through


# --- files ------------------------------------------------------------------------------------------


def apply(cluster: Cluster, namespace: str, *files: Path | Object) -> None:
    """Have kubectl apply files as they are, or objects."""
    for file in files:
        text = file.read_text() if isinstance(file, Path) else json.dumps(file)
        kubectl(cluster, "apply", "--namespace", namespace, "--filename=-", stdin=text)


# --- what there is ----------------------------------------------------------------------------------


def becomes(read: Callable[[], T], expected: object, seconds: float = PATIENCE) -> T:
    """Read until it is as expected or time is up; return what was read last."""
    deadline = time.monotonic() + seconds
    while (last := read()) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return last


def pod_group(cluster: Cluster, namespace: str, name: str = SERVICE) -> Object | None:
    """Read spec, labels and annotations of a PodGroup; None if there is none."""
    stored = _stored(cluster, namespace, name)
    return _part(stored) if stored else None


def pod_group_and_owners(cluster: Cluster, namespace: str) -> Object | None:
    """Read all that the controller puts into a PodGroup; None if there is none."""
    stored = _stored(cluster, namespace, SERVICE)
    return {**_part(stored), "owners": stored["metadata"].get("ownerReferences")} if stored else None


def required(cluster: Cluster, namespace: str, name: str = SERVICE) -> Required:
    """Read what must start together."""
    spec = (pod_group(cluster, namespace, name) or {"spec": {}})["spec"]
    policies = {each["name"]: _least(each) for each in spec.get("subGroupPolicy", ())}
    policies.pop("unassigned", None)
    return spec.get("minMember", 0), policies


def told(cluster: Cluster, namespace: str) -> list[tuple[str, str]]:
    """Return which LeaderWorkerSets are told which code, sorted; one entry for each Event and each count."""
    events = [
        each
        for each in items(cluster.api, path("events", namespace))
        if each.get("source", {}).get("component") == "fusioninfer-sync" and CODE.search(each["message"])
    ]
    return sorted(_about(each) for each in events for _ in range(each["count"]))


def metric(port: int, name: str, **labels: str) -> float:
    """Return a metric of a controller, summed over the labels that are not given."""
    families = text_string_to_metric_families(http_body(port, "/metrics"))
    samples = [sample for family in families for sample in family.samples if sample.name == name]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def _stored(cluster: Cluster, namespace: str, name: str) -> Object | None:
    return get_or_none(cluster.api, path("podgroups", namespace, name))


DEFAULTS: Final = {"queue": "default"}
"""What Volcano's definition fills in (`config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml`)."""


def _part(obj: Object) -> Object:
    metadata = obj["metadata"]
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    return {"spec": DEFAULTS | obj["spec"], "labels": labels, "annotations": annotations}


def _least(policy: Object) -> tuple[int, int]:
    return policy["minSubGroups"], policy["subGroupSize"]


def _about(event: Object) -> tuple[str, str]:
    found: Any = CODE.search(event["message"])
    return event["involvedObject"]["name"], found[1]
