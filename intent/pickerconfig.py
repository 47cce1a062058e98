"""An EndpointPickerConfig of an author's own, held against what a generation of pickers understands.

A picker exits where it does not understand its configuration, long after the author has left; so it is said
here. Source: `pkg/epp/config/loader` of kubernetes-sigs/gateway-api-inference-extension v1.2.1 to v1.5.0.
A field inside of the text is named in the message: `plugins[0].type`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

from intent import Object, yaml
from intent.errors import FieldError
from intent.pickers import CONFIG_API, CONFIG_KIND, PICKERS, Picker
from intent.plugins import SINGLE_PROFILE, is_picker, is_profile_handler, is_scorer
from intent.shapes import listed, mapping, text

LONGEST: Final = 16_384
"""Longer texts are not read: it takes time in proportion, and a review has a deadline."""

BRACKETS: Final = 512
"""Reading takes time in square of how deep brackets are nested; no configuration has as many."""
MOST: Final = 20
"""More findings than these help nobody."""

Said = tuple[str, str]
"""A message and its code."""
Rule = Callable[[Object, Picker], Iterator[Said]]


def check_config(config: str, picker: Picker, path: str) -> Iterator[FieldError]:
    """Say what a picker would not understand of a configuration."""
    value, problem = _read(config)
    if problem:
        yield FieldError(path, None, problem, "FI810")
        return
    found = (said for rule in RULES for said in rule(value, picker))
    for message, code in islice(found, MOST):
        yield FieldError(path, None, message, code)


def _read(config: str) -> tuple[Object, str]:
    """Read the one document of a text; the problem is empty if it is a map."""
    if len(config) > LONGEST:
        return {}, f"has {len(config)} characters; at most {LONGEST} are read"
    if config.count("[") + config.count("{") > BRACKETS:
        return {}, f"has more than {BRACKETS} brackets; write it in block style"
    try:
        documents = list(yaml.load(config, yaml.Plain))
    except yaml.UNREADABLE as error:
        return {}, f"must be YAML or JSON: {yaml.problem(error)}"
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return {}, f"must be one {CONFIG_KIND}, a map"
    return documents[0], ""


# --- the rules --------------------------------------------------------------------------------------


def _kind(config: Object, picker: Picker) -> Iterator[Said]:
    """Hold kind and apiVersion against those of the generation."""
    for name, right in (("apiVersion", CONFIG_API), ("kind", CONFIG_KIND)):
        if config.get(name) != right:
            yield f"{name}: {picker.name} reads {right}", "FI811"


def _fields(config: Object, picker: Picker) -> Iterator[Said]:
    """Find fields that stop the picker, which decodes strictly, and lists that are none."""
    for name in config:
        if name not in picker.fields:
            yield f"{name}: {picker.name} knows no such field{_nearest(name, picker.fields)}", "FI812"
    for name in ("plugins", "schedulingProfiles", "featureGates"):
        if config.get(name) is not None and not isinstance(config[name], list):
            yield f"{name}: must be a list", "FI812"


def _names(config: Object, _picker: Picker) -> Iterator[Said]:
    """Find names that stand twice."""
    for name, times in Counter(_name(plugin) for plugin in _plugins(config)).items():
        if times > 1:
            yield f"plugins: {name} is there {times} times; give each its own name", "FI813"


def _types(config: Object, picker: Picker) -> Iterator[Said]:
    """Find types that are not registered."""
    for at, plugin in enumerate(_plugins(config)):
        kind = text(plugin.get("type"))
        if kind not in picker.plugins:
            who = _who_has(kind) or _nearest(kind, picker.plugins)
            yield (
                f"plugins[{at}].type: {picker.name} has no {kind or 'plugin without a type'}{who}",
                "FI814",
            )


def _parameters(config: Object, picker: Picker) -> Iterator[Said]:
    """Find parameters that stop the picker, and those that it does not look at."""
    for at, plugin in enumerate(_plugins(config)):
        kind, given = text(plugin.get("type")), mapping(plugin.get("parameters"))
        known = picker.plugins.get(kind)
        for name in given:
            where = f"plugins[{at}].parameters.{name}"
            instead = picker.fatal.get((kind, name))
            if instead and instead.partition(",")[0] not in given:
                yield f"{where}: stops {picker.name}; use {instead}", "FI817"
            elif known is not None and name not in known:
                yield f"{where}: {picker.name} ignores it{_nearest(name, known)}", "FI818"


def _references(config: Object, _picker: Picker) -> Iterator[Said]:
    """Find references to plugins that are not declared."""
    names = [_name(plugin) for plugin in _plugins(config)]
    for at, profile in enumerate(_profiles(config)):
        for number, reference in enumerate(_in(profile)):
            name = text(reference.get("pluginRef"))
            if name not in names:
                where = f"schedulingProfiles[{at}].plugins[{number}].pluginRef"
                yield f"{where}: {name or 'it'} is not among the plugins{_nearest(name, names)}", "FI815"


def _handlers(config: Object, picker: Picker) -> Iterator[Said]:
    """Count profiles and those who choose among them."""
    names = [text(profile.get("name")) for profile in _profiles(config)]
    handlers = [kind for plugin in _plugins(config) if is_profile_handler(kind := text(plugin.get("type")))]
    for name, times in Counter(names).items():
        if not name or times > 1:
            yield f"schedulingProfiles: {name or 'a profile'} needs a name of its own", "FI816"
    if len(handlers) > 1:
        yield f"plugins: one profile handler, not {' and '.join(handlers)}", "FI816"
    elif len(names) > 1 and (not handlers or handlers[0] == SINGLE_PROFILE):
        able = ", ".join(
            kind for kind in picker.plugins if is_profile_handler(kind) and kind != SINGLE_PROFILE
        )
        yield f"schedulingProfiles: {len(names)} profiles need {able or 'another picker'}", "FI816"


def _weights(config: Object, picker: Picker) -> Iterator[Said]:
    """Find a picker that stands before a scorer without a weight, where that is a nil pointer."""
    kinds = {_name(plugin): text(plugin.get("type")) for plugin in _plugins(config)}
    if not picker.panics:
        return
    if not _profiles(config) and any(map(is_picker, kinds.values())):
        yield f"schedulingProfiles: without one {picker.name} may panic; write the one that you mean", "FI819"
    for at, profile in enumerate(_profiles(config)):
        bare, picked = False, False
        for reference in _in(profile):
            kind = kinds.get(text(reference.get("pluginRef")), "")
            bare = bare or (picked and is_scorer(kind) and reference.get("weight") is None)
            picked = picked or is_picker(kind)
        if bare:
            message = (
                "a picker before a scorer without a weight is a panic; weigh every scorer, the picker last"
            )
            yield f"schedulingProfiles[{at}]: {message}", "FI819"


def _gates(config: Object, picker: Picker) -> Iterator[Said]:
    """Find feature gates that are not registered."""
    for gate in listed(config.get("featureGates")):
        if gate not in picker.gates:
            yield f"featureGates: {picker.name} knows {', '.join(picker.gates)}, not {gate}", "FI820"


RULES: Final[tuple[Rule, ...]] = (
    _kind,
    _fields,
    _names,
    _types,
    _parameters,
    _references,
    _handlers,
    _weights,
    _gates,
)


# --- the parts --------------------------------------------------------------------------------------


def _plugins(config: Object) -> list[Object]:
    return [mapping(plugin) for plugin in listed(config.get("plugins"))]


def _profiles(config: Object) -> list[Object]:
    return [mapping(profile) for profile in listed(config.get("schedulingProfiles"))]


def _in(profile: Object) -> list[Object]:
    return [mapping(reference) for reference in listed(profile.get("plugins"))]


def _name(plugin: Object) -> str:
    """Name a plugin as the picker does: by its type where it has no name."""
    return text(plugin.get("name")) or text(plugin.get("type"))


def _who_has(kind: str) -> str:
    able = [row.name for row in PICKERS.values() if kind in row.plugins]
    return f"; {', '.join(able)} would do" if able else ""


def _nearest(name: Any, known: Any) -> str:
    close = get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""
