"""Generations of endpoint pickers as data: what each takes, understands and needs, with its source.

A generation is a row; to support another one, add a row.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The proxy in a decode pod that has the prompt prefilled elsewhere."""

    image: str
    flags: tuple[str, ...]
    """Beside `--port` and `--vllm-port`, which every generation has."""


@dataclass(frozen=True, slots=True)
class Picker:
    """One generation."""

    name: str
    image: str
    sidecar: Sidecar | None = None
    """None: it knows nothing of prefill and decode."""


PICKERS: Final = {
    row.name: row
    for row in (
        Picker("gie-1.5", "registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0"),
        Picker(
            "llm-d-0.4",
            "ghcr.io/llm-d/llm-d-inference-scheduler:v0.4.0",
            Sidecar(
                "ghcr.io/llm-d/llm-d-routing-sidecar:v0.4.0", ("--connector=nixlv2", "--secure-proxy=false")
            ),
        ),
    )
}
