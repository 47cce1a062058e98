"""Checks of a user's EndpointPickerConfig against a generation of endpoint pickers.

An endpoint picker exits on an invalid configuration, long after admission, so admission reports it: in full
for the newest generations (those of the catalogue that have plugins), for others that it is readable and of
the right kind. Source: `pkg/epp/config/loader` of kubernetes-sigs/gateway-api-inference-extension v1.4.0 and
v1.5.0, and of llm-d/llm-d-router v0.10.0. Messages begin with the path inside of the text: `plugins[0].type`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import Any, Final

from catalog.pickers.fields import ANYTHING, Shape, map_of
from catalog.pickers.generations import CONFIG_KIND, PICKERS, Picker, is_gone
from catalog.pickers.plugins import PARAMETERS, SINGLE_PROFILE, is_picker, is_profile_handler
from intent import Object, yaml
from intent.annotations import PICKER
from intent.errors import FieldError, nearest, suggested
from intent.schema import violations
from intent.shapes import listed, mapping, text

LONGEST: Final = 8_192
"""Characters. Longer texts are not parsed: parsing takes linear time, and admission has a deadline."""

BRACKETS: Final = 128
"""Parsing time is quadratic in the depth of brackets; no configuration needs as many."""
LONGEST_MESSAGE: Final = 1000
"""Characters. Messages quote the configuration, which may be long."""
MOST: Final = 20
"""The most findings reported of one configuration."""

DECIDERS: Final = (
    *("prefill", "encode", "deciderPluginName"),
    *("prefillDeciderPluginName", "encodeDeciderPluginName"),
)
"""Parameters of profile handlers that name a decider, the first two inside of `deciders`."""

FLOW_CONTROL: Final = "flowControl"
"""The feature gate."""
DETECTOR: Final = "utilization-detector"
"""The saturation detector that is added where a configuration names none, or this one."""
_VALUE: Final = re.compile(r"=\s*(?:1|t|true|0|f|false)\s*", re.IGNORECASE)
"""A value of a feature gate (Go's `strconv.ParseBool`)."""

Message = tuple[str, str]
"""A message and its code."""
KEPT: Final = 256
"""The number of configurations whose findings are cached."""
_FOUND: Final[dict[tuple[bytes, str], tuple[Message, ...]]] = {}
"""The findings by digest of the configuration and name of the generation, the oldest first."""
ConfigurationRule = Callable[[Object, Picker], Iterator[Message]]


def check_config(config: str, picker: Picker, path: str) -> Iterator[FieldError]:
    """Report what a generation of endpoint pickers rejects or ignores in a configuration.

    Parsing 16 KiB of YAML takes a tenth of a second, so findings are cached by digest.
    """
    key = blake2b(config.encode("utf-8", "surrogatepass"), digest_size=16).digest(), picker.name
    if key not in _FOUND:
        while len(_FOUND) >= KEPT:
            del _FOUND[next(iter(_FOUND))]
        _FOUND[key] = tuple(_check(config, picker))
    for message, code in _FOUND[key]:
        yield FieldError(path, None, message, code)


@lru_cache(maxsize=KEPT)
def has_flow_control(config: str) -> bool:
    """Return whether a configuration switches flow control on, which orders requests by priority."""
    return FLOW_CONTROL in config and FLOW_CONTROL in listed(_read(config)[0].get("featureGates"))


def _check(config: str, picker: Picker) -> Iterator[Message]:
    value, problem = _read(config)
    rules = RULES if picker.plugins else (_kind,)
    found = (message for rule in rules for message in rule(value, picker))
    for message, code in [(problem, "FI810")] if problem else islice(found, MOST):
        yield message[:LONGEST_MESSAGE], code


def _read(config: str) -> tuple[Object, str]:
    """Parse a text as one map; the second value is the problem, empty if there is none."""
    if len(config) > LONGEST:
        return {}, f"has {len(config)} characters; the limit is {LONGEST}"
    if config.count("[") + config.count("{") > BRACKETS:
        return {}, f"has more than {BRACKETS} brackets; use block style"
    try:
        documents = [one for one in yaml.load(config, yaml.Plain) if one is not None]
    except yaml.UNREADABLE as error:
        return {}, f"must be YAML or JSON: {yaml.problem(error)}"
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return {}, f"must be one {CONFIG_KIND}, a map"
    return documents[0], ""


# --- the rules --------------------------------------------------------------------------------------


def _kind(config: Object, picker: Picker) -> Iterator[Message]:
    """FI811: kind and apiVersion, if present, are those of the generation."""
    for name, right in (("apiVersion", picker.apis), ("kind", (CONFIG_KIND,))):
        if config.get(name) is not None and config[name] not in right:
            yield f"{name}: must be {right[0]}, which {picker.name} reads", "FI811"


def _fields(config: Object, picker: Picker) -> Iterator[Message]:
    """FI812: all fields exist and have the right types; the endpoint picker decodes strictly."""
    for message in _misfits(config, map_of(**picker.fields), picker):
        yield message, "FI812"


def _misfits(value: Any, shape: Shape, picker: Picker, where: str = "") -> Iterator[str]:
    """Report values of another shape; a value that is null is absent."""
    for one in violations(value, shape, where) if value is not None else ():
        hint = suggested(nearest(one.unknown, one.known))
        unknown = f"{picker.name} has no such field{hint}"
        yield f"{one.path.lstrip('.')}: {unknown if one.unknown else one.message}"


def _names(config: Object, _picker: Picker) -> Iterator[Message]:
    """FI813: plugin names are unique."""
    for name, times in Counter(_name(plugin) for plugin in _plugins(config)).items():
        if times > 1:
            yield f"plugins: {times} plugins are named {name}; give each its own name", "FI813"


def _types(config: Object, picker: Picker) -> Iterator[Message]:
    """FI814: plugin types are registered."""
    for at, plugin in enumerate(_plugins(config)):
        kind = text(plugin.get("type"))
        if kind not in picker.plugins:
            hint = _available(kind) or suggested(nearest(kind, picker.plugins))
            yield (
                f"plugins[{at}].type: {picker.name} has no {kind or 'plugin without a type'}{hint}",
                "FI814",
            )


def _parameters(config: Object, picker: Picker) -> Iterator[Message]:
    """FI817, FI818: parameters are read, and have the right types."""
    for at, plugin in enumerate(_plugins(config)):
        kind, given = text(plugin.get("type")), mapping(plugin.get("parameters"))
        known = picker.plugins.get(kind)
        for name in given:
            where = f"plugins[{at}].parameters.{name}"
            instead, unknown = picker.fatal.get((kind, name)), known is not None and name not in known
            if instead and (picker.strict or (given[name] and not given.get(instead.partition(",")[0]))):
                yield f"{where}: stops {picker.name}; use {instead}", "FI817"
            elif unknown and picker.strict and known:
                yield f"{where}: stops {picker.name}{suggested(nearest(str(name), known))}", "FI817"
            elif known is not None and unknown:
                yield f"{where}: {picker.name} ignores it{suggested(nearest(str(name), known))}", "FI818"
            elif known is not None:
                shape = PARAMETERS.get(name, ANYTHING)
                yield from ((one, "FI817") for one in _misfits(given[name], shape, picker, where))


def _references(config: Object, _picker: Picker) -> Iterator[Message]:
    """FI815: profiles refer to declared plugins."""
    names = dict.fromkeys(_name(plugin) for plugin in _plugins(config))
    for at, profile in enumerate(_profiles(config)):
        for number, reference in enumerate(_in(profile)):
            name = text(reference.get("pluginRef"))
            if name not in names:
                where = f"schedulingProfiles[{at}].plugins[{number}].pluginRef"
                yield _undeclared(where, name, names)


def _other_references(config: Object, picker: Picker) -> Iterator[Message]:
    """FI812, FI815: parser and data layer refer to declared plugins."""
    names = dict.fromkeys(_name(plugin) for plugin in _plugins(config))
    wanted = [("parser", config["parser"])] if config.get("parser") is not None else []
    parsers = listed(mapping(config.get("requestHandler")).get("parsers"))
    wanted += [(f"requestHandler.parsers[{at}]", parser) for at, parser in enumerate(parsers)]
    sources = listed(mapping(config.get("dataLayer")).get("sources"))
    wanted += [(f"dataLayer.sources[{at}]", source) for at, source in enumerate(sources)]
    for where, reference in wanted if "parser" in picker.fields else ():
        name = text(mapping(reference).get("pluginRef"))
        added = picker.strict and where[:4] != "data" and name in picker.plugins
        if name not in names and not added:
            yield _undeclared(f"{where}.pluginRef", name, names)
    for where, of in (("", config), ("flowControl.", mapping(config.get("flowControl")))):
        name = text(mapping(of.get("saturationDetector")).get("pluginRef"))
        if picker.strict and name not in {"", DETECTOR, *names}:
            yield _undeclared(f"{where}saturationDetector.pluginRef", name, (*names, DETECTOR))
    needs = "dataLayer" in picker.fields and not picker.strict
    if config.get("dataLayer") is not None and not sources and needs:
        yield f"dataLayer.sources: {picker.name} needs at least one source", "FI812"


def _undeclared(where: str, name: str, names: Iterable[str]) -> Message:
    return f"{where}: {name or 'it'} is not among the plugins{suggested(nearest(name, names))}", "FI815"


def _deciders(config: Object, picker: Picker) -> Iterator[Message]:
    """FI815: the deciders of a handler are declared, and before it unless plugins are sorted."""
    before = {_name(plugin) for plugin in _plugins(config)} if picker.strict else set()
    for at, plugin in enumerate(_plugins(config)):
        kind, given = text(plugin.get("type")), mapping(plugin.get("parameters"))
        if kind in picker.deciders:
            named = given | mapping(given.get("deciders"))
            asked = [name for key in DECIDERS if (name := text(named.get(key)))] or [picker.deciders[kind]]
            for name in asked:
                if name and name not in before:
                    where = "among the plugins" if picker.strict else "among the plugins before it"
                    yield f"plugins[{at}]: {kind} needs {name} {where}", "FI815"
        before.add(_name(plugin))


def _pickers(config: Object, _picker: Picker) -> Iterator[Message]:
    """FI816: a profile has at most one picker plugin."""
    kinds = {_name(plugin): text(plugin.get("type")) for plugin in _plugins(config)}
    for at, profile in enumerate(_profiles(config)):
        names = [text(reference.get("pluginRef")) for reference in _in(profile)]
        found = [name for name in names if is_picker(kinds.get(name, ""))]
        if len(found) > 1:
            yield f"schedulingProfiles[{at}]: needs one picker plugin, not {' and '.join(found)}", "FI816"


def _handlers(config: Object, picker: Picker) -> Iterator[Message]:
    """FI816: profiles have unique names, and several profiles have one handler that supports them."""
    names = [text(profile.get("name")) for profile in _profiles(config)]
    handlers = [kind for plugin in _plugins(config) if is_profile_handler(kind := text(plugin.get("type")))]
    for name, times in Counter(names).items():
        if not name or times > 1:
            yield f"schedulingProfiles: {name or 'a profile'} needs a unique name", "FI816"
    if len(handlers) > 1:
        yield f"plugins: need one profile handler, not {' and '.join(handlers)}", "FI816"
    elif len(names) > 1 and (not handlers or handlers[0] == SINGLE_PROFILE):
        able = ", ".join(
            kind for kind in picker.plugins if is_profile_handler(kind) and kind != SINGLE_PROFILE
        )
        yield f"schedulingProfiles: {len(names)} profiles need {able or 'another endpoint picker'}", "FI816"


def _gates(config: Object, picker: Picker) -> Iterator[Message]:
    """FI820: feature gates are registered, and set together with their fields."""
    for gate in listed(config.get("featureGates")):
        name, equals, value = text(gate).partition("=") if picker.strict else (gate, "", "")
        if name not in picker.gates or (equals and not _VALUE.fullmatch(equals + value)):
            yield f"featureGates: {gate} must be one of {', '.join(picker.gates)} in {picker.name}", "FI820"
    for gate, name in picker.fielded.items():
        if gate in listed(config.get("featureGates")) and not config.get(name):
            yield f"featureGates: in {picker.name} {gate} needs the field {name}", "FI820"


RULES: Final[tuple[ConfigurationRule, ...]] = (
    _kind,
    _fields,
    _names,
    _types,
    _parameters,
    _references,
    _other_references,
    _deciders,
    _pickers,
    _handlers,
    _gates,
)


# --- access to the configuration ----------------------------------------------------------------------


def _plugins(config: Object) -> list[Object]:
    return [mapping(plugin) for plugin in listed(config.get("plugins"))]


def _profiles(config: Object) -> list[Object]:
    return [mapping(profile) for profile in listed(config.get("schedulingProfiles"))]


def _in(profile: Object) -> list[Object]:
    return [mapping(reference) for reference in listed(profile.get("plugins"))]


def _name(plugin: Object) -> str:
    """Return the name of a plugin, which defaults to its type."""
    return text(plugin.get("name")) or text(plugin.get("type"))


def _available(kind: str) -> str:
    able = [row.name for row in PICKERS.values() if kind in row.plugins and not is_gone(row.image)]
    return f"; use {PICKER}: {' or '.join(able)}" if able else ""
