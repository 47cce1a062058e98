"""The EndpointPickerConfig in a ConfigMap that a router refers to (`configRef`), or why it is not known."""

from dataclasses import dataclass
from typing import Final

from intent import Object
from intent.inferenceservice.read import InferenceServiceIntent
from intent.inferenceservice.v1alpha1 import ConfigRef
from intent.names import is_key_of_data, is_subdomain
from intent.shapes import mapping, text

KIND: Final = "ConfigMap"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The text of a configuration; empty if it is not known."""

    text: str = ""
    problem: str = ""
    """Why it is not known; empty if it is."""
    is_transient: bool = False
    """Whether another read may succeed without a change of the ConfigMap."""


def configuration(ref: ConfigRef, config_map: Object | None) -> Configuration:
    """Return the configuration in a ConfigMap; None: there is no such ConfigMap."""
    if config_map is None:
        return Configuration(problem=f"there is no ConfigMap {ref.name} in this namespace")
    content = text(mapping(config_map.get("data")).get(ref.key))
    if content.strip():
        return Configuration(content)
    return Configuration(problem=f"ConfigMap {ref.name} has no text at its key {ref.key}")


def reference(service: InferenceServiceIntent | None) -> ConfigRef | None:
    """Return the ConfigMap that a router refers to.

    None if there is none, if it has no effect, or an error (FI734): admission may not have been asked.
    """
    router = service.router if service else None
    ref = router.config_ref if router and not router.pool else None
    return ref if ref and is_subdomain(ref.name) and is_key_of_data(ref.key) else None


def is_config_map(obj: Object) -> bool:
    """Return whether an object is a ConfigMap."""
    return obj.get("kind") == KIND and obj.get("apiVersion") == "v1"


def unread(ref: ConfigRef, why: str) -> Configuration:
    """Return that a ConfigMap could not be read."""
    return Configuration(problem=f"ConfigMap {ref.name} cannot be read: {why}", is_transient=True)
