"""What the kubelet makes of a container: its words and its environment.

Source: Kubernetes `third_party/forked/golang/expansion/expand.go` and `pkg/kubelet/kubelet_pods.go`.
"""

import re
from collections.abc import Mapping
from typing import Final

from intent import Object

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^)]*)\))")


def words(container: Object, environment: Mapping[str, str]) -> list[str]:
    """Return command and args, each with its variables expanded; without command, the image's comes first."""
    return [expand(word, environment) for word in (*container.get("command", ()), *container.get("args", ()))]


def environment(container: Object, fields: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a container, each expanded by those before it; `fields` are of its pod."""
    known: dict[str, str] = {}
    for item in container.get("env", ()):
        known[item["name"]] = expand(item["value"], known) if "value" in item else _field(item, fields)
    return known


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand `$(X)` where X is known and leave it where not; `$$` is one `$`."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(value, text)


def _field(item: Object, fields: Mapping[str, str]) -> str:
    path = item["valueFrom"].get("fieldRef", {}).get("fieldPath")
    if path not in fields:
        raise ValueError(f"only {', '.join(fields)} is known here: {item}")
    return fields[path]
