"""What the kubelet makes of a container: its words and its environment.

Source: Kubernetes `third_party/forked/golang/expansion/expand.go` and `pkg/kubelet/kubelet_pods.go`.
"""

import re
from collections.abc import Mapping
from typing import Final

from intent import Object

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def words(container: Object, environment: Mapping[str, str]) -> list[str]:
    """Give command and args, each with its variables expanded. A container here always has a command."""
    return [expand(word, environment) for word in (*container["command"], *container.get("args", ()))]


def environment(container: Object, address: str) -> dict[str, str]:
    """Give the variables of a container, each expanded by those before it."""
    known: dict[str, str] = {}
    for item in container.get("env", ()):
        known[item["name"]] = expand(item["value"], known) if "value" in item else _field(item, address)
    return known


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand `$(X)` where X is known and leave it where not; `$$` is one `$`."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(value, text)


def _field(item: Object, address: str) -> str:
    if item["valueFrom"] != {"fieldRef": {"fieldPath": "status.podIP"}}:
        raise ValueError(f"only status.podIP is known here: {item}")
    return address
