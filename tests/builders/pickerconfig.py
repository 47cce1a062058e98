"""Builders of EndpointPickerConfigs for tests."""

from typing import Any, Final

from catalog.pickers.generations import CONFIG_API, CONFIG_KIND
from intent import Object

QUEUE: Final[tuple[Object, ...]] = ({"type": "queue-scorer"}, {"type": "max-score-picker"})


def config(*plugins: Object, **fields: Any) -> Object:
    """Return a configuration of these plugins, with one profile of all of them, in their order."""
    listed = list(plugins or QUEUE)
    names = [str(plugin.get("name", plugin["type"])) for plugin in listed]
    weighed = [{"pluginRef": name} | ({"weight": 1} if name.endswith("scorer") else {}) for name in names]
    return {
        "apiVersion": CONFIG_API,
        "kind": CONFIG_KIND,
        "plugins": listed,
        "schedulingProfiles": [profile(*weighed)],
        **fields,
    }


def profile(*references: Object, name: str = "default") -> Object:
    """Return a profile."""
    return {"name": name, "plugins": list(references)}
