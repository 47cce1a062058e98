"""Where an imported service differs from what KServe's controller makes of it, and why.

A row covers the facts (`meaning.py`) whose names match, if its condition holds. A fact that differs and has
no row is a defect, and so is a row that no input needs.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tests.cluster.kserve.meaning import Facts

Condition = Callable[[Any, Any], bool]
"""Gets the value of KServe and ours; None: there is none."""


class Row(NamedTuple):
    """Facts that differ, and why."""

    names: str
    """A regular expression of the whole name; that of the pod is left out."""
    holds: Condition
    reason: str


def _only_theirs(theirs: Any, ours: Any) -> bool:
    return theirs is not None and ours is None


def _only_ours(theirs: Any, ours: Any) -> bool:
    return theirs is None and ours is not None


def _are(theirs: Any, ours: Any) -> Condition:
    return lambda one, other: one == theirs and other in ours


def _probes_without_tls(theirs: Any, ours: Any) -> bool:
    """Return whether probes differ in scheme and port alone: 8200 is behind a routing sidecar of ours."""
    is_same = bool(_anywhere(theirs) == _anywhere(ours))
    return bool(is_same and ours["httpGet"]["port"] in (theirs["httpGet"]["port"], 8200))


def _anywhere(probe: Any) -> Any:
    check = {key: one for key, one in probe["httpGet"].items() if key not in {"scheme", "port"}}
    return {**probe, "httpGet": check}


def _without_aliases(theirs: Any, ours: Any) -> bool:
    """Return whether adapters differ only in their second names, of which KServe makes routes."""
    names = [one.partition("=")[0] for one in ours]
    return [one for one in _named(theirs) if not one.startswith("publishers/")] == names


def _named(words: tuple[str, ...]) -> list[str]:
    return [found[1] for one in words if (found := re.search(r'"name":"([^"]*)"', one))]


def _without_routes_of_adapters(theirs: Any, ours: Any) -> bool:
    return all(one in theirs for one in ours) and len(theirs) > len(ours)


def _differ(theirs: Any, ours: Any) -> bool:
    return theirs is not None and ours is not None


def _any(_theirs: Any, _ours: Any) -> bool:
    return True


DIFFERENCES: Final = (
    Row(
        r"annotation (fusioninfer\.io/.*|scheduling\.k8s\.io/group-name|volcano\.sh/task-spec)",
        _only_ours,
        "the import names the launcher, and the group is a gang",
    ),
    Row(
        r"argument --(disable-uvicorn-access-log|disable-access-log-for-endpoints|shutdown-timeout)",
        _only_theirs,
        "the script asks the engine for its version before it adds them; the report says that they are gone",
    ),
    Row(
        r"argument --data-parallel-start-rank",
        lambda theirs, ours: theirs == ("0",) and ours is None,
        "the ranks of the leader begin at 0 without the flag",
    ),
    Row(r"env VLLM_HOST_IP", _only_ours, "the launcher gives nodes and ranks"),
    Row(r"init container wait-for-leader", _only_ours, "workers wait for the leader's name in DNS"),
    Row(
        r"(argument --port|sidecar: argument --vllm-port)",
        _are(("8001",), {("8200",), ("8000",)}),
        "the sidecar is FusionInfer's, and so is the port of the engine behind it; workers serve none",
    ),
    Row(
        r"port (8000|8001|8200)",
        lambda theirs, ours: theirs is None or ours is None,
        "the sidecar is FusionInfer's, and so is the port of the engine behind it",
    ),
    Row(
        r"sidecar: image",
        _differ,
        "FusionInfer adds the sidecar of the release that its endpoint picker belongs to",
    ),
    Row(
        r"sidecar: argument (--enable-ssrf-protection|--inference-pool|--pool-group)?",
        _any,
        "the pool is FusionInfer's; pods have no right to read it, so the sidecar does not check against it",
    ),
    Row(
        r"pod serviceAccountName",
        _only_theirs,
        "KServe makes a ServiceAccount that may read the pool, for its sidecar",
    ),
    Row(
        r"(livenessProbe|readinessProbe|startupProbe)",
        _probes_without_tls,
        "pods serve without TLS; behind the sidecar of FusionInfer, the engine has another port",
    ),
    Row(r"(mount /var/run/kserve/tls|volume tls-certs)", _only_theirs, "pods serve without TLS"),
    Row(
        r"env (KSERVE_INFER_ROCE|KSERVE_INFER_IB_GID_INDEX_GREP|VLLM_ADDITIONAL_ARGS|VLLM_API_SERVER_COUNT)",
        _only_theirs,
        "the script reads it: it is among the arguments, or a loss that the report names",
    ),
    Row(
        r"env VLLM_NIXL_SIDE_CHANNEL_HOST",
        _only_ours,
        "FusionInfer adds the address of a connector that the arguments name",
    ),
    Row(
        r"download: (env|limits|requests) .*",
        _any,
        "the download is configured by the cluster, there and here",
    ),
    Row(
        r"init container lora-initializer-.*",
        _only_ours,
        "each adapter has a download of its own; KServe's one downloads all",
    ),
    Row(r"model at /mnt/lora/.*", _only_theirs, "each adapter has a download of its own"),
    Row(
        r"(mount /mnt|volume kserve-provision-location)",
        _only_theirs,
        "model and adapters have volumes of their own",
    ),
    Row(
        r"argument --lora-modules",
        _without_aliases,
        "an adapter is served by its own name alone; the report says so",
    ),
    Row(
        r"rule .*: matches",
        _without_routes_of_adapters,
        "an adapter is routed by its own name alone; the report says so",
    ),
    Row(r"pod resourceClaims", _only_theirs, "the report names the loss: write a ResourceClaimTemplate"),
    Row(
        r"picker: (plugins|profile .*)",
        _differ,
        "the configuration is that of FusionInfer's strategy, for the release of its endpoint picker; one "
        "of the author's that this release refuses is a loss that the report names",
    ),
    Row(r"picker: replicas", _differ, "the report names the loss: write the annotation picker-replicas"),
    Row(r"(picker|pool|route|rule .*): .*", _only_ours, "KServe makes no pool beside a route of its author"),
    Row(
        r"(HorizontalPodAutoscaler|ScaledObject|VariantAutoscaling) .*",
        _only_theirs,
        "the report names the loss: write `scaling`, or a ScaledObject",
    ),
    Row(
        r"(argument --(otlp-traces-endpoint|collect-detailed-traces)|env OTEL_.*)",
        _only_theirs,
        "the report names the loss: write them in the template",
    ),
)
PLACES: Final = re.compile(r"(?:(?:main|prefill)(?: leader| worker)?: )?(?P<name>.*)", re.DOTALL)
"""A name of a fact, without its pod."""

REFUSED: Final[Mapping[str, str]] = {
    "inference_default": "spec.router.scheduler.pool.spec.selector: Required value",
    "inference_pd_disaggregation": "spec.router.scheduler.pool.spec.selector: Required value",
    "inference_prefix_cache": "spec.router.scheduler.pool.spec.selector: Required value",
    "llm-inference-service-latency-predictor": "must be of type object",
}
"""Samples that KServe's own definitions refuse, with a part of the answer."""
UNMADE: Final[Mapping[str, str]] = {
    "router-managed+workload-dp-ep-gpu+workload-dp-ep-prefill-gpu+model-deepseek-v2-lite": "nil pointer"
}
"""Inputs of which KServe makes nothing, with a part of its condition: templates see no bases."""


def unexplained(theirs: Facts, ours: Facts) -> dict[str, tuple[Any, Any]]:
    """Return the facts that differ without a row that says why."""
    return {name: pair for name, pair in _differing(theirs, ours) if _row(name, pair) is None}


def needed(theirs: Facts, ours: Facts) -> set[str]:
    """Return the names of the rows that a comparison needs."""
    rows = (_row(name, pair) for name, pair in _differing(theirs, ours))
    return {row.names for row in rows if row}


def _differing(theirs: Facts, ours: Facts) -> list[tuple[str, tuple[Any, Any]]]:
    pairs = ((name, (theirs.get(name), ours.get(name))) for name in sorted(theirs.keys() | ours.keys()))
    return [(name, pair) for name, pair in pairs if pair[0] != pair[1]]


def _row(name: str, pair: tuple[Any, Any]) -> Row | None:
    """Return the first row that covers a fact."""
    found = PLACES.fullmatch(name)
    own = found["name"] if found else name
    return next((row for row in DIFFERENCES if re.fullmatch(row.names, own) and _holds(row, pair)), None)


def _holds(row: Row, pair: tuple[Any, Any]) -> bool:
    try:
        return row.holds(*pair)
    except (KeyError, TypeError):  # the condition is about other values
        return False
