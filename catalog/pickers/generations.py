"""Generations of endpoint pickers as data: flags, configuration and requirements, with sources.

Those of llm-d 0.9 and 0.10 are by their sources (llm-d/llm-d-router): the tests run none of them.

A generation is a row; to support another one, add a row. Sources are files of the tag in the image:
`cmd/epp/runner/runner.go` and `pkg/epp/server/options.go` (flags), `apix/config/v1alpha1` (configuration),
`pkg/epp/server` (watched resources).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

CONFIG_KIND: Final = "EndpointPickerConfig"
CONFIG_API: Final = "inference.networking.x-k8s.io/v1alpha1"
ROUTER: Final = "llm-d.ai"
ROUTER_API: Final = f"{ROUTER}/v1alpha1"
"""The apiVersion of configurations since llm-d 0.9."""
POOLS: Final = "inference.networking.k8s.io"
OBJECTIVES: Final = "inference.networking.x-k8s.io"
OBJECTIVES_API: Final = f"{OBJECTIVES}/v1alpha2"
"""Those that are made, and that every row reads. GIE 1.6 defines none."""
ROUTER_OBJECTIVES_API: Final = f"{ROUTER}/v1alpha2"

PickerRight = tuple[str, str]
"""API group and resource, with the verbs list and watch; `get` is never requested."""


_WATCHES: Final[tuple[PickerRight, ...]] = (
    ("", "pods"),
    (POOLS, "inferencepools"),
    (OBJECTIVES, "inferenceobjectives"),
)
_REWRITES: Final[PickerRight] = (OBJECTIVES, "inferencemodelrewrites")
"""Read since GIE 1.3, like objectives, if the CRD exists."""


@dataclass(frozen=True, slots=True)
class SidecarRelease:
    """The proxy in a decode pod, which sends the prompt to a prefiller first."""

    image: str
    connector: str
    """The flag of the connector."""
    connectors: tuple[str, ...]
    """The connectors that it supports, the default first; any other one stops it."""
    tls: Mapping[str, str]
    """By stage (prefiller, decoder), the flag by which it calls that stage with TLS."""
    unverified: Mapping[str, str]
    """By stage, the flag by which it does not verify the certificate."""


@dataclass(frozen=True, slots=True)
class Disaggregation:
    """Plugins that prefill and decode need, in addition to filters and scorers."""

    before: tuple[dict[str, Any], ...]
    """Plugins in the order of declaration: a decider precedes the handler that names it."""
    handler: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Picker:
    """One generation of endpoint pickers."""

    name: str
    image: str
    sidecar: SidecarRelease | None = None
    """None: it does not support prefill and decode."""
    is_limited: bool = True
    """Whether its prefix scorer has the parameters that limit what it keeps."""
    apis: tuple[str, ...] = (CONFIG_API,)
    """The versions of configurations that it reads; its own are of the first."""
    flags: tuple[str, ...] = ()
    """In addition to those of every generation."""
    env: tuple[tuple[str, str], ...] = ()
    rights: tuple[PickerRight, ...] = (*_WATCHES, _REWRITES)
    needs: tuple[str, ...] = ()
    """CustomResourceDefinitions that it needs to start."""
    disaggregation: Disaggregation | None = None
    objectives: tuple[str, ...] = (OBJECTIVES_API,)
    """The apiVersions of InferenceObjectives: it reads those of the first one that the cluster serves when it
    starts, and no others (`pkg/epp/server/controller_config.go` of llm-d)."""
    tested: bool = True
    """Whether the tests run it; else it is by its sources."""
    active_ports: bool = True
    """Whether it follows the pool's ports, and reads from a pod's annotation on which of them it serves."""

    def starts(self, served: Collection[str]) -> bool:
        """Return whether it starts where InferenceObjectives of these apiVersions are served."""
        return not self.needs or OBJECTIVES_API in served

    def reads(self, served: Collection[str]) -> str:
        """Return the apiVersion of the InferenceObjectives that it reads there; empty if it finds none."""
        return next((api for api in self.objectives if api in served), "")


PROTOCOLS: Final = {
    **dict.fromkeys(("NixlConnector", "NixlPullConnector", "NixlPushConnector"), "nixlv2"),
    **dict.fromkeys(("SharedStorageConnector", "ExampleConnector"), "shared-storage"),
    "MooncakeConnector": "mooncake",
}
"""By connector of vLLM, the only protocol of a sidecar that fills in the fields of requests that it reads.

Source: `pkg/sidecar/proxy` of llm-d. A connector that is not here takes what the first protocol sends.
"""


def pulled_from(registry: str, image: str) -> str:
    """Return an image with the same path and tag in another registry; an empty registry changes nothing."""
    return f"{registry}/{image.partition('/')[2]}" if registry else image


_OBJECTIVES_CRD: Final = f"inferenceobjectives.{OBJECTIVES}"
"""GIE before 1.3 does not check that it exists (`pkg/epp/server/controller_manager.go`)."""
_NEW_NAME: Final = "--kv-cache-usage-percentage-metric=vllm:kv_cache_usage_perc"
"""vLLM's name since 0.11; GIE before 1.3 defaults to the old name, and GIE 1.5 rejects the flag."""
_OF_ROUTER: Final[tuple[PickerRight, ...]] = (
    *_WATCHES,
    _REWRITES,
    (ROUTER, "inferenceobjectives"),
    (ROUTER, "inferencemodelrewrites"),
)
"""Of either group, those whose definition exists."""
_OBJECTIVES_OF_ROUTER: Final = (ROUTER_OBJECTIVES_API, OBJECTIVES_API)
_GIE: Final = "registry.k8s.io/gateway-api-inference-extension/epp"
_LLM_D: Final = "ghcr.io/llm-d/llm-d-inference-scheduler"
_SIDECAR: Final = "ghcr.io/llm-d/llm-d-routing-sidecar"
_ROUTER: Final = "ghcr.io/llm-d/llm-d-router-endpoint-picker"
_DISAGG: Final = "ghcr.io/llm-d/llm-d-router-disagg-sidecar"
"""The names since llm-d 0.9 (`.github/workflows/ci-release.yaml`)."""
_STAGES: Final = ("prefiller", "decoder")
"""Flags of sidecars: `cmd/pd-sidecar/main.go` (0.4), `pkg/sidecar/proxy/options.go` (from 0.7 on)."""


def _sidecar(image: str, *connectors: str) -> SidecarRelease:
    """Return a sidecar with the flags since llm-d 0.7."""
    return SidecarRelease(
        image,
        "--kv-connector",
        connectors,
        tls={stage: f"--enable-tls={stage}" for stage in _STAGES},
        unverified={stage: f"--tls-insecure-skip-verify={stage}" for stage in _STAGES},
    )


_ALWAYS: Final = "always-disagg-pd-decider"
_DECIDED: Final = {"type": "disagg-profile-handler", "parameters": {"deciders": {"prefill": _ALWAYS}}}

PICKERS: Final = {
    row.name: row
    for row in (
        Picker(
            "gie-1.2",
            f"{_GIE}:v1.2.1",
            flags=(_NEW_NAME,),
            rights=_WATCHES,
            needs=(_OBJECTIVES_CRD,),
            active_ports=False,
        ),
        Picker("gie-1.3", f"{_GIE}:v1.3.1", active_ports=False),
        Picker("gie-1.4", f"{_GIE}:v1.4.0"),
        Picker("gie-1.5", f"{_GIE}:v1.5.0"),
        Picker(
            "llm-d-0.4",
            f"{_LLM_D}:v0.4.0",
            SidecarRelease(
                f"{_SIDECAR}:v0.4.0",
                "--connector",
                ("nixlv2", "lmcache", "sglang"),
                tls={stage: f"--{stage}-use-tls=true" for stage in _STAGES},
                unverified={stage: f"--{stage}-tls-insecure-skip-verify=true" for stage in _STAGES},
            ),
            flags=(_NEW_NAME,),
            rights=_WATCHES,
            needs=(_OBJECTIVES_CRD,),
            active_ports=False,
            disaggregation=Disaggregation(
                ({"type": "prefill-header-handler"},),
                {"type": "pd-profile-handler", "parameters": {"threshold": 0}},
            ),
        ),
        Picker(
            "llm-d-0.7",
            f"{_LLM_D}:v0.7.1",
            _sidecar(f"{_SIDECAR}:v0.7.1", "nixlv2", "shared-storage", "sglang"),
            env=(("OTEL_TRACES_SAMPLER_ARG", "0"),),  # tracing has no switch (`pkg/telemetry/tracing.go`)
            disaggregation=Disaggregation(({"type": "disagg-headers-handler"}, {"type": _ALWAYS}), _DECIDED),
        ),
        Picker(
            "llm-d-0.9",
            f"{_ROUTER}:v0.9.0",
            _sidecar(f"{_DISAGG}:v0.9.0", "nixlv2", "shared-storage", "sglang", "mooncake"),
            is_limited=False,
            apis=(ROUTER_API, CONFIG_API),
            rights=_OF_ROUTER,
            objectives=_OBJECTIVES_OF_ROUTER,
            tested=False,
            disaggregation=Disaggregation(({"type": _ALWAYS},), _DECIDED),
        ),
        Picker(
            "llm-d-0.10",
            f"{_ROUTER}:v0.10.0",
            _sidecar(f"{_DISAGG}:v0.10.0", "nixlv2", "shared-storage", "sglang", "mooncake", "offloading"),
            is_limited=False,
            apis=(ROUTER_API, CONFIG_API),
            flags=("--allow-experimental-plugins=true",),  # no preset has one: its author asks for it
            rights=_OF_ROUTER,
            objectives=_OBJECTIVES_OF_ROUTER,
            tested=False,
            disaggregation=Disaggregation(({"type": _ALWAYS},), _DECIDED),
        ),
    )
}
SPLITTING: Final = tuple(row.name for row in PICKERS.values() if row.disaggregation)
"""Generations that support prefill and decode, the newest last."""


def release_of(image: str) -> str:
    """Return name and minor version of an image of any registry: `llm-d-routing-sidecar:v0.7` of v0.7.1."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return f"{name}:{'.'.join(tag.split('.')[:2])}"


SIDECARS: Final = {release_of(row.sidecar.image): row.name for row in PICKERS.values() if row.sidecar}
"""The generation of a sidecar by `release_of` its image."""
