"""Which bases KServe merges below a service: the presets that its fields ask for, then its own `baseRefs`.

Source: kserve `pkg/controller/v1alpha2/llmisvc/config_merge.go` v0.20.0, `combineBaseRefsConfig`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from importer.kserve.merge import merged
from importer.leaves import Tree, at, plain, value_at
from intent.shapes import number, text

PREFIX: Final = "kserve-"
SYSTEM: Final = "kserve"
"""The namespace of presets."""


class ConfigKey(NamedTuple):
    """Namespace and name of an LLMInferenceServiceConfig."""

    namespace: str
    name: str


Configs = Mapping[ConfigKey, Tree]


def found(configs: Configs, namespace: str, name: str) -> ConfigKey | None:
    """Return the config of a name: in the namespace of the service, else of KServe, else without one."""
    candidates = (ConfigKey(space, name) for space in (namespace, SYSTEM, ""))
    return next((key for key in candidates if key in configs), None)


def references(spec: Tree) -> list[str]:
    """Return the names of `baseRefs`, in order."""
    refs = at(spec, "baseRefs")
    return [text(value_at(one, "name")) for one in refs] if isinstance(refs, list) else []


def seen(spec: Tree, bases: list[Tree]) -> Tree:
    """Return the spec by which presets are chosen: here bases are merged over the service."""
    return merged([spec, *bases])


def presets(spec: Tree) -> Iterator[str]:
    """Yield the names of the presets that a spec asks for, in the order in which they are merged."""
    for suffix, asks in _PRESETS:
        if asks(spec):
            yield f"{PREFIX}{suffix}"


def _has(*path: str) -> Callable[[Tree], bool]:
    return lambda spec: at(spec, *path) is not None


def is_data_parallel(workload: Tree) -> bool:
    """Return whether a workload has data-parallel ranks."""
    return any(number(value_at(workload, "parallelism", name)) > 0 for name in ("data", "dataLocal"))


def _is_pipeline_parallel(workload: Tree) -> bool:
    return number(value_at(workload, "parallelism", "pipeline")) > 0


def _predicts_latency(spec: Tree) -> bool:
    return "predicted-latency-producer" in str(plain(at(spec, "router", "scheduler", "config", "inline")))


_main: Final = _has("worker")
_prefill: Final = _has("prefill")
_prefill_worker: Final = _has("prefill", "worker")
_PRESETS: Final[tuple[tuple[str, Callable[[Tree], bool]], ...]] = (
    (
        "config-llm-scheduler",
        lambda spec: (
            _has("router", "scheduler")(spec) and not _has("router", "scheduler", "pool", "ref")(spec)
        ),
    ),
    ("config-llm-scheduler-latency-predictor", _predicts_latency),
    (
        "config-llm-router-route",
        lambda spec: _has("router", "route")(spec) and not at(spec, "router", "route", "http", "refs"),
    ),
    ("config-llm-tracing", _has("tracing")),
    ("config-llm-prefill-template", lambda spec: _prefill(spec) and not _prefill_worker(spec)),
    (
        "config-llm-prefill-worker-data-parallel",
        lambda spec: _prefill_worker(spec) and is_data_parallel(at(spec, "prefill")),
    ),
    (
        "config-llm-prefill-worker-pipeline-parallel",
        lambda spec: (
            _prefill_worker(spec)
            and not is_data_parallel(at(spec, "prefill"))
            and _is_pipeline_parallel(at(spec, "prefill"))
        ),
    ),
    ("config-llm-decode-template", lambda spec: _prefill(spec) and not _main(spec)),
    (
        "config-llm-decode-worker-data-parallel",
        lambda spec: _prefill(spec) and _main(spec) and is_data_parallel(spec),
    ),
    (
        "config-llm-decode-worker-pipeline-parallel",
        lambda spec: (
            _prefill(spec) and _main(spec) and not is_data_parallel(spec) and _is_pipeline_parallel(spec)
        ),
    ),
    ("config-llm-template", lambda spec: not _prefill(spec) and not _main(spec)),
    (
        "config-llm-worker-data-parallel",
        lambda spec: not _prefill(spec) and _main(spec) and is_data_parallel(spec),
    ),
    (
        "config-llm-worker-pipeline-parallel",
        lambda spec: (
            not _prefill(spec) and _main(spec) and not is_data_parallel(spec) and _is_pipeline_parallel(spec)
        ),
    ),
)
"""Each preset with the specs that ask for it."""
