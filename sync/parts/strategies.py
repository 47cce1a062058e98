"""The EndpointPickerConfig of each routing strategy, as a generation of endpoint pickers accepts it.

Rules of this file:
1. Every profile has a load term, so that a preferred pod that fills up is no longer chosen.
2. Filters first, then scorers, each with a weight, then the plugin that takes the maximum: every generation
   accepts this order.
3. Prefill and decode: a prefiller handles every prompt. A threshold would send short and cached prompts to
   the decoders alone, which no strategy promises; for that, write an own configuration.
"""

from functools import lru_cache
from typing import Final

from catalog.pickers.generations import CONFIG_KIND, PICKERS, Picker
from catalog.pickers.plugins import CACHE_SCORER, LORA_SCORER, MAX_SCORE, PREFIX_SCORER, QUEUE_SCORER
from intent import Object, yaml
from intent.annotations import DISAGGREGATION, STRATEGIES

Weights = tuple[tuple[str, int], ...]
"""Scorers and their weights. Scores are 0 to 1; that of queues is relative to the longest queue."""

_PREFIX: Final[Weights] = ((PREFIX_SCORER, 3), (QUEUE_SCORER, 2), (CACHE_SCORER, 2))
WEIGHTS: Final[dict[str, Weights]] = {
    "prefix-cache": _PREFIX,
    "kv-cache-utilization": ((CACHE_SCORER, 2), (QUEUE_SCORER, 1)),
    "queue-size": ((QUEUE_SCORER, 4), (CACHE_SCORER, 1)),
    "lora-affinity": ((LORA_SCORER, 8), (QUEUE_SCORER, 1), (CACHE_SCORER, 1)),
    DISAGGREGATION: _PREFIX,
}
"""LoRA: a pod with the adapter scores 1, one with a free slot 0.8; worth a longer queue or fuller cache."""
OF_ADAPTERS: Final = 4
"""The weight of adapters in other strategies: that of KServe. A pod with a free slot scores 0.8 of it."""
MEANING: Final[dict[str, str]] = {
    "prefix-cache": "the pod that has most of the prompt in its cache, unless it is loaded",
    "kv-cache-utilization": "the pod whose cache is emptiest, and whose queue is short",
    "queue-size": "the pod with the shortest queue; of equal ones that with the emptier cache",
    "lora-affinity": "a pod that has the request's adapter loaded, unless it is full",
    DISAGGREGATION: "a prefiller for the prompt, then a decoder; each by prompt, queue and cache",
}
_LIMITS: Final = {"maxPrefixBlocksToMatch": 256, "lruCapacityPerServer": 31250}
"""Of the prefix scorer. No block size: its name differs between generations, and each reads vLLM's from its
metrics. Where the scorer has no such parameters, the defaults of its producer hold (llm-d 0.9: 131,072
tokens)."""
_PROFILES: Final = ("prefill", "decode")
"""GIE 1.3 and later index the pods of the profile with the literal name `prefill` (`prefix/plugin.go`)."""


def preset(picker: Picker, strategy: str, *, adapters: bool = False) -> Object | None:
    """Return the configuration of a strategy for an endpoint picker; None if it is not supported.

    `adapters`: whether engines serve LoRA adapters, which every strategy then takes into account.
    """
    weights, split = WEIGHTS[strategy], picker.disaggregation if strategy == DISAGGREGATION else None
    if strategy == DISAGGREGATION and split is None:
        return None
    if adapters and LORA_SCORER not in dict(weights):
        weights = ((LORA_SCORER, OF_ADAPTERS), *weights)
    limited = {"parameters": dict(_LIMITS)} if picker.is_limited else {}
    scorers = [{"type": name} | (limited if name == PREFIX_SCORER else {}) for name, _ in weights]
    plugins = [*scorers, {"type": MAX_SCORE}]
    profiles = {"default": _profile((), weights)}
    if split:
        filters = [{"type": f"{name}-filter"} for name in _PROFILES]
        plugins = [*split.before, *filters, *plugins, split.handler]
        profiles = {name: _profile((f"{name}-filter",), weights) for name in _PROFILES}
    return {
        "apiVersion": picker.apis[0],
        "kind": CONFIG_KIND,
        "plugins": plugins,
        "schedulingProfiles": [{"name": name, "plugins": refs} for name, refs in profiles.items()],
    }


@lru_cache(maxsize=128)
def preset_text(picker: str, strategy: str, *, adapters: bool = False) -> str:
    """Return the configuration of a strategy as YAML, for the endpoint picker of this name.

    Every reconcile of a service with routes needs it. There are fewer strategies and generations than texts
    are kept.
    """
    return yaml.dump(preset(PICKERS[picker], strategy, adapters=adapters))


def presets(picker: Picker) -> dict[str, Object]:
    """Return every configuration that an endpoint picker supports, by strategy."""
    found = {strategy: preset(picker, strategy) for strategy in STRATEGIES}
    return {strategy: config for strategy, config in found.items() if config is not None}


def _profile(filters: tuple[str, ...], weights: Weights) -> list[Object]:
    return [
        *({"pluginRef": name} for name in filters),
        *({"pluginRef": name, "weight": weight} for name, weight in weights),
        {"pluginRef": MAX_SCORE},
    ]
