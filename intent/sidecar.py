"""The options of a decoder's routing sidecar: connector and TLS, as an annotation writes them.

`connector=sglang,tls=prefiller+decoder,insecureSkipVerify=prefiller,secretName=certs`
"""

from dataclasses import dataclass
from typing import Final

from intent.names import is_label, is_subdomain

STAGES: Final = ("prefiller", "decoder")
"""What the sidecar calls: the prefiller of another pod, and the decoder in its own."""
STAGED: Final = ("tls", "insecureSkipVerify")
"""The options that list stages."""
FORM: Final = (
    "must be options separated by commas, each once: connector=NAME, secretName=NAME, tls=STAGES and "
    "insecureSkipVerify=STAGES; stages are prefiller, decoder or prefiller+decoder"
)


@dataclass(frozen=True, slots=True)
class SidecarOptions:
    """What the author of a decoder chooses of its sidecar."""

    connector: str = ""
    """The protocol of the KV cache transfer; empty: the first one that the sidecar supports."""
    tls: tuple[str, ...] = ()
    """The stages that it calls with TLS."""
    unverified: tuple[str, ...] = ()
    """The stages whose certificates it does not verify."""
    secret: str = ""
    """The Secret with the certificate with which it serves; empty: it serves without TLS."""

    def __str__(self) -> str:
        """Return the value of the annotation; empty without options."""
        parts = {
            "connector": self.connector,
            "tls": "+".join(self.tls),
            "insecureSkipVerify": "+".join(self.unverified),
            "secretName": self.secret,
        }
        return ",".join(f"{name}={value}" for name, value in parts.items() if value)


NO_OPTIONS: Final = SidecarOptions()


def ordered(stages: tuple[str, ...]) -> tuple[str, ...]:
    """Return stages in their order, each once."""
    return tuple(stage for stage in STAGES if stage in stages)


def read_options(text: str) -> SidecarOptions | None:
    """Parse the value of the annotation; None if it is invalid."""
    split = [item.partition("=") for item in text.split(",")]
    pairs = [(name.strip(), value.strip()) for name, _, value in split]
    options = dict(pairs)
    if len(options) < len(pairs) or not all(_is_option(name, value) for name, value in pairs):
        return None
    tls, unverified = (ordered(tuple(options.get(name, "").split("+"))) for name in STAGED)
    return SidecarOptions(options.get("connector", ""), tls, unverified, options.get("secretName", ""))


def _is_option(name: str, value: str) -> bool:
    if name in STAGED:
        stages = value.split("+")
        return len(set(stages)) == len(stages) and set(stages) <= set(STAGES)
    return is_label(value) if name == "connector" else name == "secretName" and is_subdomain(value)
