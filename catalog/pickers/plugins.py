"""The types of plugins of endpoint pickers, by generation.

Sources: `cmd/epp/runner/runner.go` of kubernetes-sigs/gateway-api-inference-extension (GIE) v1.4.0, v1.5.0;
`pkg/plugins/register.go` of llm-d/llm-d-inference-scheduler v0.7.1; `cmd/epp/runner/runner.go` of
llm-d/llm-d-router v0.10.0.
"""

from typing import Final

Plugins = tuple[str, ...]

PREFIX_SCORER: Final = "prefix-cache-scorer"
QUEUE_SCORER: Final = "queue-scorer"
CACHE_SCORER: Final = "kv-cache-utilization-scorer"
LORA_SCORER: Final = "lora-affinity-scorer"
MAX_SCORE: Final = "max-score-picker"
SINGLE_PROFILE: Final = "single-profile-handler"
PREFIX_PRODUCER: Final = "approx-prefix-cache-producer"
"""Since llm-d 0.9 it has the parameters of the prefix scorer, which makes one unless one is declared."""

_GIE: Final[Plugins] = (
    *(QUEUE_SCORER, CACHE_SCORER, LORA_SCORER, MAX_SCORE, "random-picker", "weighted-random-picker"),
    *(PREFIX_SCORER, SINGLE_PROFILE, "running-requests-size-scorer", "metrics-data-source"),
    *("header-based-testing-filter", "destination-endpoint-served-verifier"),
    *("global-strict-fairness-policy", "round-robin-fairness-policy", "fcfs-ordering-policy"),
    *("edf-ordering-policy", "k8s-notification-source", "request-attribute-reporter"),
)  # fmt: skip
"""Those of GIE 1.4 and 1.5, and so of llm-d."""
_SINCE_1_5: Final[Plugins] = (
    *("token-load-scorer", "latency-scorer", "prefix-cache-affinity-filter", "slo-headroom-tier-filter"),
    *(PREFIX_PRODUCER, "inflight-load-producer", "predicted-latency-producer", "latency-slo-admitter"),
    *("slo-deadline-ordering-policy", "static-usage-limit-policy", "core-metrics-extractor"),
    *("endpoint-notification-source", "openai-parser", "vllmgrpc-parser", "passthrough-parser"),
    *("concurrency-detector", "utilization-detector"),
)  # fmt: skip
GIE_1_5: Final[Plugins] = (*_GIE, *_SINCE_1_5, "predicted-latency-scorer")

_LLM_D: Final[Plugins] = (
    *("prefill-filter", "decode-filter", "encode-filter", "by-label", "by-label-selector"),
    *("disagg-headers-handler", "prefill-header-handler", "data-parallel-profile-handler"),
    *("pd-profile-handler", "disagg-profile-handler", "prefix-based-pd-decider"),
    *("always-disagg-pd-decider", "always-disagg-multimodal-decider", "load-aware-scorer"),
    *("precise-prefix-cache-scorer", "active-request-scorer", "no-hit-lru-scorer", "context-length-aware"),
    *("session-affinity-scorer", "tokenizer", "models-data-source"),
)  # fmt: skip
"""Those of llm-d 0.7 and 0.10."""
LLM_D_0_7: Final[Plugins] = (
    *(*_GIE, *_LLM_D, "model-server-protocol-models", "model-server-protocol-metrics"),
    "predicted-latency-scorer",
)  # fmt: skip
LLM_D_0_10: Final[Plugins] = (
    *(*_GIE, *_SINCE_1_5, *_LLM_D, "label-selector-filter", "models-data-extractor"),
    *("mm-embeddings-cache-producer", "precise-prefix-cache-producer", "session-id-producer"),
    *("token-producer", "mm-embeddings-cache-scorer", "session-affinity-filter", "file-discovery"),
    *("probabilistic-admitter", "program-aware-fairness", "agent-identity", "anthropic-parser"),
    *("vertexai-parser", "vllmhttp-parser", "burst-prefix-cache-producer", "p2p-source-producer"),
    *("dcgm-data-source", "dcgm-extractor", "topology-extractor", "disaggregatedset-rollout-screener"),
    *("header-profile-handler", "endpoint-attribute-filter", "topology-affinity-filter"),
    *("utilization-filter", "endpoint-attribute-scorer", "header-label-affinity-scorer"),
    *("topology-affinity-scorer", "priority-holdback-policy", "soft-reflective-ceiling-policy"),
    *("sheddable-eviction-filter", "priority-then-time-eviction-order-policy"),
    *(
        f"multicluster-{name}"
        for name in (
            *(PREFIX_PRODUCER, PREFIX_SCORER, QUEUE_SCORER, CACHE_SCORER, "session-affinity-filter"),
            *("file-discovery", "metrics-data-source", "metrics-extractor"),
        )
    ),
)  # fmt: skip


def is_profile_handler(plugin: str) -> bool:
    """Return whether a plugin chooses the profiles that run."""
    return plugin.endswith("-profile-handler")
