"""Plugins of endpoint pickers as data: each type with its parameters, by generation.

Sources, with the plugins' own files: `cmd/epp/runner/runner.go` of
kubernetes-sigs/gateway-api-inference-extension (GIE) v1.2.1, v1.3.1, v1.4.0, v1.5.0;
`pkg/plugins/register.go` of llm-d/llm-d-inference-scheduler v0.4.0, v0.7.1; `cmd/epp/runner/runner.go` and
`pkg/epp/framework/plugins` of llm-d/llm-d-router v0.9.0, v0.10.0.
"""

from typing import Final

from catalog.pickers.fields import Fields

Plugins = dict[str, tuple[str, ...] | None]
"""None: its parameters are not checked. Empty: it reads none, and ignores all."""

PREFIX_SCORER: Final = "prefix-cache-scorer"
QUEUE_SCORER: Final = "queue-scorer"
CACHE_SCORER: Final = "kv-cache-utilization-scorer"
LORA_SCORER: Final = "lora-affinity-scorer"
MAX_SCORE: Final = "max-score-picker"
SINGLE_PROFILE: Final = "single-profile-handler"

_LRU: Final = ("maxPrefixBlocksToMatch", "lruCapacityPerServer", "autoTune")
_METRICS: Final = ("scheme", "path", "insecureSkipVerify")

GIE_1_2: Final[Plugins] = {
    PREFIX_SCORER: ("blockSize", *_LRU),
    QUEUE_SCORER: (),
    CACHE_SCORER: (),
    LORA_SCORER: (),
    MAX_SCORE: ("maxNumOfEndpoints",),
    "random-picker": ("maxNumOfEndpoints",),
    "weighted-random-picker": ("maxNumOfEndpoints",),
    SINGLE_PROFILE: (),
    "header-based-testing-filter": None,
    "destination-endpoint-served-verifier": None,
}
GIE_1_3: Final[Plugins] = GIE_1_2 | {
    "running-requests-size-scorer": (),
    "predicted-latency-scorer": None,
    "metrics-data-source": _METRICS,
    "model-server-protocol-metrics": None,
}
GIE_1_4: Final[Plugins] = GIE_1_3 | {
    PREFIX_SCORER: ("blockSizeTokens", *_LRU),
    "global-strict-fairness-policy": None,
    "round-robin-fairness-policy": None,
    "fcfs-ordering-policy": None,
    "edf-ordering-policy": None,
    "k8s-notification-source": None,
    "request-attribute-reporter": None,
}
_RENAMED_IN_1_5: Final = "model-server-protocol-metrics"
GIE_1_5: Final[Plugins] = {key: value for key, value in GIE_1_4.items() if key != _RENAMED_IN_1_5} | {
    PREFIX_SCORER: ("blockSizeTokens", "maxPrefixTokensToMatch", *_LRU),
    **dict.fromkeys(
        (
            "token-load-scorer",
            "latency-scorer",
            "prefix-cache-affinity-filter",
            "slo-headroom-tier-filter",
            "approx-prefix-cache-producer",
            "inflight-load-producer",
            "predicted-latency-producer",
            "latency-slo-admitter",
            "slo-deadline-ordering-policy",
            "static-usage-limit-policy",
            "core-metrics-extractor",
            "endpoint-notification-source",
            "openai-parser",
            "vllmgrpc-parser",
            "passthrough-parser",
            "concurrency-detector",
            "utilization-detector",
        )
    ),
}

_LLM_D: Final[Plugins] = {
    "prefill-filter": (),
    "decode-filter": (),
    "by-label": ("label", "validValues", "allowsNoLabel"),
    "by-label-selector": ("matchLabels", "matchExpressions"),
    "prefill-header-handler": ("prefillProfile",),
    "data-parallel-profile-handler": ("primaryPort",),
    "precise-prefix-cache-scorer": None,
    "load-aware-scorer": ("threshold",),
    "session-affinity-scorer": (),
    "active-request-scorer": None,
    "no-hit-lru-scorer": None,
}
_PROFILES: Final = ("decodeProfile", "prefillProfile", "primaryPort")
LLM_D_0_4: Final[Plugins] = (
    GIE_1_2 | _LLM_D | {"pd-profile-handler": (*_PROFILES, "threshold", "prefixPluginName", "hashBlockSize")}
)
LLM_D_0_7: Final[Plugins] = (
    GIE_1_4
    | _LLM_D
    | {
        "encode-filter": (),
        "disagg-headers-handler": ("prefillProfile", "encodeProfile"),
        "prefill-header-handler": ("prefillProfile", "encodeProfile"),
        "disagg-profile-handler": None,
        "pd-profile-handler": (*_PROFILES, "deciderPluginName", "prefixPluginType", "prefixPluginName"),
        "prefix-based-pd-decider": ("nonCachedTokens",),
        "always-disagg-pd-decider": (),
        "always-disagg-multimodal-decider": (),
        "context-length-aware": None,
        "tokenizer": None,
        "models-data-source": None,
        "model-server-protocol-models": None,
    }
)
PREFIX_PRODUCER: Final = "approx-prefix-cache-producer"
"""Since llm-d 0.9 it has the parameters of the prefix scorer, which makes one unless one is declared."""
_FROM_PREFIX: Final = "prefixMatchInfoProducerName"
_FROM_LOAD: Final = "inFlightLoadProducerName"
_SELECTS: Final = ("matchLabels", "matchExpressions")
_FLAT: Final = ("decodeProfile", "prefillProfile", "encodeProfile", "deciderPluginName")
_HANDLED: Final = ("profiles", "deciders", *_FLAT, "prefillDeciderPluginName", "encodeDeciderPluginName")
_GONE_IN_0_9: Final = {
    *("predicted-latency-scorer", "model-server-protocol-metrics", "model-server-protocol-models"),
}
LLM_D_0_9: Final[Plugins] = {
    **{key: value for key, value in (LLM_D_0_7 | GIE_1_5).items() if key not in _GONE_IN_0_9},
    PREFIX_SCORER: (_FROM_PREFIX,),
    PREFIX_PRODUCER: ("blockSize", "blockSizeTokens", "maxPrefixTokensToMatch", *_LRU),
    "disagg-profile-handler": _HANDLED,
    "pd-profile-handler": (
        *_PROFILES,
        "deciderPluginName",
        "prefixPluginType",
        "prefixPluginName",
        _FROM_PREFIX,
    ),
    "label-selector-filter": _SELECTS,
    "active-request-scorer": ("requestTimeout", "idleThreshold", "maxBusyScore", _FROM_LOAD),
    "no-hit-lru-scorer": ("prefixPluginType", "prefixPluginName", "lruSize", _FROM_PREFIX),
    "token-load-scorer": ("queueThresholdTokens", _FROM_LOAD),
    "context-length-aware": ("label", "enableFiltering"),
    "utilization-detector": (
        *("queueDepthThreshold", "kvCacheUtilThreshold", "metricsStalenessThreshold", "headroom"),
    ),
    "session-affinity-scorer": None,
    **dict.fromkeys(
        (
            *("mm-embeddings-cache-producer", "precise-prefix-cache-producer", "session-id-producer"),
            *("token-producer", "mm-embeddings-cache-scorer", "session-affinity-filter", "file-discovery"),
            *("probabilistic-admitter", "program-aware-fairness", "agent-identity", "models-data-extractor"),
            *("anthropic-parser", "vertexai-parser", "vllmhttp-parser"),
        )
    ),
}
LLM_D_0_10: Final[Plugins] = LLM_D_0_9 | {
    PREFIX_SCORER: (_FROM_PREFIX, "matchLengthWeight", "matchLengthScaleTokens"),
    "disagg-profile-handler": ("stageOrder", *_HANDLED),
    "prefix-based-pd-decider": ("nonCachedTokens", "promptTokens"),
    "metrics-data-source": (*_METRICS, "port", "caCertPath", "clientCertPath", "clientKeyPath", "interval"),
    **dict.fromkeys(
        (
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
    **dict.fromkeys(_WHOLE, "whole"),
    **dict.fromkeys(_TEXT, "text"),
    **dict.fromkeys(("autoTune", "insecureSkipVerify", "allowsNoLabel", "enableFiltering"), "flag"),
    **dict.fromkeys(_NUMBERS, "number"),
    "validValues": ["text"],
    "profiles": dict.fromkeys(("decode", "prefill", "encode"), "text"),
    "deciders": dict.fromkeys(("prefill", "encode"), "text"),
}
"""The type of each checked parameter, for all plugins; a value of another type stops the endpoint picker."""


def is_scorer(plugin: str) -> bool:
    """Return whether a plugin scores endpoints, so that it takes a weight."""
    return plugin.endswith("-scorer") or plugin == "context-length-aware"


def is_picker(plugin: str) -> bool:
    """Return whether a plugin picks an endpoint by its score."""
    return plugin.endswith("-picker")


def is_profile_handler(plugin: str) -> bool:
    """Return whether a plugin chooses the profiles that run."""
    return plugin.endswith("-profile-handler")
