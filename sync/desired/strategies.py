"""What a strategy is to a picker: an EndpointPickerConfig that this generation understands.

Rules of this file:
1. Every profile has a load term, so that a favourite that fills up is left (the weights of a profile).
2. Filters first, then scorers, each with a weight, the picker of the maximum last: one order that no
   generation stumbles over.
3. Prefill and decode: every prompt is prefilled by a prefiller. A threshold would send short prompts, and
   those that are cached, to the decoders alone, which nobody asked for; who wants it brings a configuration.
"""

from typing import Final

from catalog.pickers.generations import CONFIG_API, CONFIG_KIND, Disaggregation, Picker
from catalog.pickers.plugins import CACHE_SCORER, LORA_SCORER, MAX_SCORE, PREFIX_SCORER, QUEUE_SCORER
from intent import Object
from intent.annotations import DISAGGREGATION, STRATEGIES

Weights = tuple[tuple[str, int], ...]
"""Scorers and their weights. Scores are 0 to 1; that of queues is relative to the candidates' longest one."""

_PREFIX: Final[Weights] = ((PREFIX_SCORER, 3), (QUEUE_SCORER, 2), (CACHE_SCORER, 2))
WEIGHTS: Final[dict[str, Weights]] = {
    "prefix-cache": _PREFIX,
    "kv-cache-utilization": ((CACHE_SCORER, 2), (QUEUE_SCORER, 1)),
    "queue-size": ((QUEUE_SCORER, 4), (CACHE_SCORER, 1)),
    "lora-affinity": ((LORA_SCORER, 8), (QUEUE_SCORER, 1), (CACHE_SCORER, 1)),
    DISAGGREGATION: _PREFIX,
}
"""A pod with the adapter scores 1, one with room for it 0.8: worth a longer queue, or a fuller cache."""
MEANING: Final[dict[str, str]] = {
    "prefix-cache": "the pod that has most of the prompt in its cache, unless it is loaded",
    "kv-cache-utilization": "the pod whose cache is emptiest, and whose queue is short",
    "queue-size": "the pod with the shortest queue; of equal ones that with the emptier cache",
    "lora-affinity": "a pod that has the request's adapter loaded, unless it is full",
    DISAGGREGATION: "a prefiller for the prompt, then a decoder; each by prompt, queue and cache",
}
_PARAMETERS: Final[dict[str, Object]] = {
    PREFIX_SCORER: {"maxPrefixBlocksToMatch": 256, "lruCapacityPerServer": 31250},
}
"""No size of a block: every generation has its own word for it, and takes vLLM's from its metrics."""
_PROFILES: Final = ("prefill", "decode")
"""GIE 1.3 and later index the pods of the profile of the literal name `prefill` (`prefix/plugin.go`)."""


def preset(picker: Picker, strategy: str) -> Object | None:
    """Give the configuration of a strategy for a picker; None if the picker cannot do it."""
    if strategy != DISAGGREGATION:
        return _single(WEIGHTS[strategy])
    return _disaggregated(picker.disaggregation, WEIGHTS[strategy]) if picker.disaggregation else None


def presets(picker: Picker) -> dict[str, Object]:
    """Give every configuration that a picker can have."""
    found = {strategy: preset(picker, strategy) for strategy in STRATEGIES}
    return {strategy: config for strategy, config in found.items() if config is not None}


def _single(weights: Weights) -> Object:
    return _config([*_scorers(weights), {"type": MAX_SCORE}], {"default": _profile((), weights)})


def _disaggregated(words: Disaggregation, weights: Weights) -> Object:
    filters = [{"type": f"{profile}-filter"} for profile in _PROFILES]
    plugins = [*words.before, *filters, *_scorers(weights), {"type": MAX_SCORE}, words.handler]
    return _config(plugins, {name: _profile((f"{name}-filter",), weights) for name in _PROFILES})


def _config(plugins: list[Object], profiles: dict[str, list[Object]]) -> Object:
    return {
        "apiVersion": CONFIG_API,
        "kind": CONFIG_KIND,
        "plugins": plugins,
        "schedulingProfiles": [{"name": name, "plugins": refs} for name, refs in profiles.items()],
    }


def _scorers(weights: Weights) -> list[Object]:
    return [_plugin(name) for name, _ in weights]


def _plugin(name: str) -> Object:
    return {"type": name, "parameters": _PARAMETERS[name]} if name in _PARAMETERS else {"type": name}


def _profile(filters: tuple[str, ...], weights: Weights) -> list[Object]:
    return [
        *({"pluginRef": name} for name in filters),
        *({"pluginRef": name, "weight": weight} for name, weight in weights),
        {"pluginRef": MAX_SCORE},
    ]
