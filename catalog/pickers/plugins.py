"""Plugins of endpoint pickers as data: each type with its parameters, by generation.

Sources, with the plugins' own files: `cmd/epp/runner/runner.go` of
kubernetes-sigs/gateway-api-inference-extension (GIE) v1.4.0, v1.5.0; `pkg/plugins/register.go` of
llm-d/llm-d-inference-scheduler v0.7.1; `cmd/epp/runner/runner.go` and `pkg/epp/framework/plugins` of
llm-d/llm-d-router v0.10.0.
"""

from typing import Final

from catalog.pickers.fields import FLAG, NUMBER, TEXT, WHOLE, Fields, list_of, map_of

Plugins = dict[str, tuple[str, ...] | None]
"""None: its parameters are not checked. Empty: it reads none, and ignores all."""

PREFIX_SCORER: Final = "prefix-cache-scorer"
QUEUE_SCORER: Final = "queue-scorer"
CACHE_SCORER: Final = "kv-cache-utilization-scorer"
LORA_SCORER: Final = "lora-affinity-scorer"
MAX_SCORE: Final = "max-score-picker"
SINGLE_PROFILE: Final = "single-profile-handler"
PREFIX_PRODUCER: Final = "approx-prefix-cache-producer"
"""Since llm-d 0.9 it has the parameters of the prefix scorer, which makes one unless one is declared."""

_LRU: Final = ("maxPrefixBlocksToMatch", "lruCapacityPerServer", "autoTune")
_METRICS: Final = ("scheme", "path", "insecureSkipVerify")

_GIE: Final[Plugins] = {
    QUEUE_SCORER: (),
    CACHE_SCORER: (),
    LORA_SCORER: (),
    MAX_SCORE: ("maxNumOfEndpoints",),
    "random-picker": ("maxNumOfEndpoints",),
    "weighted-random-picker": ("maxNumOfEndpoints",),
    SINGLE_PROFILE: (),
    "running-requests-size-scorer": (),
    "metrics-data-source": _METRICS,
    **dict.fromkeys(
        (
            *("header-based-testing-filter", "destination-endpoint-served-verifier"),
            *("global-strict-fairness-policy", "round-robin-fairness-policy"),
            *("fcfs-ordering-policy", "edf-ordering-policy"),
            *("k8s-notification-source", "request-attribute-reporter"),
        )
    ),
}
"""Those of GIE 1.4 and 1.5, and so of llm-d."""
_SINCE_1_5: Final[Plugins] = dict.fromkeys(
    (
        *("token-load-scorer", "latency-scorer", "prefix-cache-affinity-filter", "slo-headroom-tier-filter"),
        *(PREFIX_PRODUCER, "inflight-load-producer", "predicted-latency-producer", "latency-slo-admitter"),
        *("slo-deadline-ordering-policy", "static-usage-limit-policy", "core-metrics-extractor"),
        *("endpoint-notification-source", "openai-parser", "vllmgrpc-parser", "passthrough-parser"),
        *("concurrency-detector", "utilization-detector"),
    )
)
GIE_1_5: Final[Plugins] = {
    **_GIE,
    **_SINCE_1_5,
    "predicted-latency-scorer": None,
    PREFIX_SCORER: ("blockSizeTokens", "maxPrefixTokensToMatch", *_LRU),
}

_PROFILES: Final = ("decodeProfile", "prefillProfile", "primaryPort")
_LLM_D: Final[Plugins] = {
    "prefill-filter": (),
    "decode-filter": (),
    "encode-filter": (),
    "by-label": ("label", "validValues", "allowsNoLabel"),
    "by-label-selector": ("matchLabels", "matchExpressions"),
    "disagg-headers-handler": ("prefillProfile", "encodeProfile"),
    "prefill-header-handler": ("prefillProfile", "encodeProfile"),
    "data-parallel-profile-handler": ("primaryPort",),
    "always-disagg-pd-decider": (),
    "always-disagg-multimodal-decider": (),
    "load-aware-scorer": ("threshold",),
    "precise-prefix-cache-scorer": None,
    "tokenizer": None,
    "models-data-source": None,
}
"""Those of llm-d 0.7 and 0.10."""
LLM_D_0_7: Final[Plugins] = {
    **_GIE,
    **_LLM_D,
    PREFIX_SCORER: ("blockSizeTokens", *_LRU),
    "session-affinity-scorer": (),
    "pd-profile-handler": (*_PROFILES, "deciderPluginName", "prefixPluginType", "prefixPluginName"),
    "prefix-based-pd-decider": ("nonCachedTokens",),
    **dict.fromkeys(
        (
            *("active-request-scorer", "no-hit-lru-scorer", "disagg-profile-handler", "context-length-aware"),
            *("model-server-protocol-models", "model-server-protocol-metrics", "predicted-latency-scorer"),
        )
    ),
}
_FROM_PREFIX: Final = "prefixMatchInfoProducerName"
_FROM_LOAD: Final = "inFlightLoadProducerName"
_FLAT: Final = ("decodeProfile", "prefillProfile", "encodeProfile", "deciderPluginName")
LLM_D_0_10: Final[Plugins] = {
    **_GIE,
    **_SINCE_1_5,
    **_LLM_D,
    PREFIX_SCORER: (_FROM_PREFIX, "matchLengthWeight", "matchLengthScaleTokens"),
    PREFIX_PRODUCER: ("blockSize", "blockSizeTokens", "maxPrefixTokensToMatch", *_LRU),
    "disagg-profile-handler": (
        *("stageOrder", "profiles", "deciders", *_FLAT),
        *("prefillDeciderPluginName", "encodeDeciderPluginName"),
    ),
    "pd-profile-handler": (
        *(*_PROFILES, "deciderPluginName", "prefixPluginType", "prefixPluginName", _FROM_PREFIX),
    ),
    "prefix-based-pd-decider": ("nonCachedTokens", "promptTokens"),
    "label-selector-filter": ("matchLabels", "matchExpressions"),
    "active-request-scorer": ("requestTimeout", "idleThreshold", "maxBusyScore", _FROM_LOAD),
    "no-hit-lru-scorer": ("prefixPluginType", "prefixPluginName", "lruSize", _FROM_PREFIX),
    "token-load-scorer": ("queueThresholdTokens", _FROM_LOAD),
    "context-length-aware": ("label", "enableFiltering"),
    "utilization-detector": (
        *("queueDepthThreshold", "kvCacheUtilThreshold", "metricsStalenessThreshold", "headroom"),
    ),
    "metrics-data-source": (*_METRICS, "port", "caCertPath", "clientCertPath", "clientKeyPath", "interval"),
    **dict.fromkeys(
        (
            *("mm-embeddings-cache-producer", "precise-prefix-cache-producer", "session-id-producer"),
            *("token-producer", "mm-embeddings-cache-scorer", "session-affinity-filter", "file-discovery"),
            *("probabilistic-admitter", "program-aware-fairness", "agent-identity", "models-data-extractor"),
            *("anthropic-parser", "vertexai-parser", "vllmhttp-parser", "session-affinity-scorer"),
            *("burst-prefix-cache-producer", "p2p-source-producer", "dcgm-data-source", "dcgm-extractor"),
            *("topology-extractor", "disaggregatedset-rollout-screener", "header-profile-handler"),
            *("endpoint-attribute-filter", "topology-affinity-filter", "utilization-filter"),
            *("endpoint-attribute-scorer", "header-label-affinity-scorer", "topology-affinity-scorer"),
            *("priority-holdback-policy", "soft-reflective-ceiling-policy", "sheddable-eviction-filter"),
            "priority-then-time-eviction-order-policy",
            *(
                f"multicluster-{name}"
                for name in (
                    *(PREFIX_PRODUCER, PREFIX_SCORER, QUEUE_SCORER, CACHE_SCORER, "session-affinity-filter"),
                    *("file-discovery", "metrics-data-source", "metrics-extractor"),
                )
            ),
        )
    ),
}

_WHOLE: Final = (
    *("blockSize", "blockSizeTokens", "maxPrefixBlocksToMatch", "maxPrefixTokensToMatch"),
    *("lruCapacityPerServer", "maxNumOfEndpoints", "threshold", "hashBlockSize", "primaryPort"),
    *("nonCachedTokens", "promptTokens", "matchLengthScaleTokens", "idleThreshold", "lruSize", "port"),
    *("queueThresholdTokens", "queueDepthThreshold"),
)
_TEXT: Final = (
    *("prefillProfile", "decodeProfile", "encodeProfile", "prefixPluginName", "prefixPluginType"),
    *("deciderPluginName", "scheme", "path", "label", "stageOrder", "requestTimeout", "interval"),
    *("prefillDeciderPluginName", "encodeDeciderPluginName", _FROM_PREFIX, _FROM_LOAD),
    *("caCertPath", "clientCertPath", "clientKeyPath"),
)
_NUMBERS: Final = ("matchLengthWeight", "maxBusyScore", "kvCacheUtilThreshold", "headroom")
PARAMETERS: Final[Fields] = {
    **dict.fromkeys(_WHOLE, WHOLE),
    **dict.fromkeys(_TEXT, TEXT),
    **dict.fromkeys(("autoTune", "insecureSkipVerify", "allowsNoLabel", "enableFiltering"), FLAG),
    **dict.fromkeys(_NUMBERS, NUMBER),
    "validValues": list_of(TEXT),
    "profiles": map_of(decode=TEXT, prefill=TEXT, encode=TEXT),
    "deciders": map_of(prefill=TEXT, encode=TEXT),
}
"""The type of each checked parameter, for all plugins; a value of another type stops the endpoint picker."""


def is_picker(plugin: str) -> bool:
    """Return whether a plugin picks an endpoint by its score."""
    return plugin.endswith("-picker")


def is_profile_handler(plugin: str) -> bool:
    """Return whether a plugin chooses the profiles that run."""
    return plugin.endswith("-profile-handler")
