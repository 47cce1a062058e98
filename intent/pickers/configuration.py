"""Checks of a user's EndpointPickerConfig against a generation of endpoint pickers.

An endpoint picker exits on an invalid configuration, long after admission, so admission reports it: in full
for the newest generations (those of the catalogue that have plugins), for others that it is readable and of
the right kind. Other parameters than renamed ones, parsers and deciders are left to it, and to its log.

Source: `pkg/epp/config/loader` of kubernetes-sigs/gateway-api-inference-extension v1.4.0 and v1.5.0, and of
llm-d/llm-d-router v0.10.0. Messages begin with the path inside of the text: `plugins[0].type`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from catalog.pickers.fields import map_of
from catalog.pickers.generations import CONFIG_KIND, PICKERS, Picker, is_gone
from catalog.pickers.plugins import SINGLE_PROFILE, is_profile_handler
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

KEPT: Final = 256
"""The number of configurations whose findings are cached."""
ConfigurationRule = Callable[[Object, Picker], Iterator[str]]


def check_config(config: str, picker: Picker, path: str) -> Iterator[FieldError]:
    """Report what a generation of endpoint pickers rejects in a configuration."""
    too_long = f"has {len(config)} characters; the limit is {LONGEST}"
    messages = (too_long,) if len(config) > LONGEST else checked(config, picker.name)
    yield from (FieldError(path, None, message, "FI812") for message in messages)


@lru_cache(maxsize=KEPT)
def checked(config: str, generation: str) -> tuple[str, ...]:
    """Return messages about a text of bounded length; parsing it takes up to a tenth of a second."""
    value, problem = _read(config)
    if problem:
        return (problem[:LONGEST_MESSAGE],)
    picker = PICKERS[generation]
    found = (one for rule in (RULES if picker.plugins else (_kind,)) for one in rule(value, picker))
    return tuple([message[:LONGEST_MESSAGE] for message in islice(found, MOST)])


def _read(config: str) -> tuple[Object, str]:
    """Parse a text as one map; the second value is the problem, empty if there is none."""
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


def _kind(config: Object, picker: Picker) -> Iterator[str]:
    """Kind and apiVersion, if present, are those of the generation."""
    for name, right in (("apiVersion", picker.apis), ("kind", (CONFIG_KIND,))):
        if config.get(name) is not None and config[name] not in right:
            yield f"{name}: must be {right[0]}, which {picker.name} reads"


def _fields(config: Object, picker: Picker) -> Iterator[str]:
    """All fields exist and have the right types; the endpoint picker decodes strictly."""
    for one in violations(config, map_of(**picker.fields), ""):
        unknown = f"{picker.name} has no such field{suggested(nearest(one.unknown, one.known))}"
        yield f"{one.path.lstrip('.')}: {unknown if one.unknown else one.message}"


def _names(config: Object, _picker: Picker) -> Iterator[str]:
    """Plugin names are unique."""
    for name, times in Counter(_name(plugin) for plugin in _plugins(config)).items():
        if times > 1:
            yield f"plugins: {times} plugins are named {name}; give each its own name"


def _types(config: Object, picker: Picker) -> Iterator[str]:
    """Plugin types are registered."""
    for at, plugin in enumerate(_plugins(config)):
        kind = text(plugin.get("type"))
        if kind not in picker.plugins:
            hint = _available(kind) or suggested(nearest(kind, picker.plugins))
            yield f"plugins[{at}].type: {picker.name} has no {kind or 'plugin without a type'}{hint}"


def _parameters(config: Object, picker: Picker) -> Iterator[str]:
    """No plugin has a parameter that stops the generation, which has another one in its place."""
    for at, plugin in enumerate(_plugins(config)):
        given = mapping(plugin.get("parameters"))
        for name in given:
            instead = picker.fatal.get((text(plugin.get("type")), name), "")
            if instead and instead.partition(",")[0] not in given:
                yield f"plugins[{at}].parameters.{name}: stops {picker.name}; use {instead}"


def _references(config: Object, _picker: Picker) -> Iterator[str]:
    """Profiles refer to declared plugins."""
    names = dict.fromkeys(_name(plugin) for plugin in _plugins(config))
    for at, profile in enumerate(_profiles(config)):
        for number, reference in enumerate(_in(profile)):
            name = text(reference.get("pluginRef"))
            if name not in names:
                where = f"schedulingProfiles[{at}].plugins[{number}].pluginRef"
                hint = suggested(nearest(name, names))
                yield f"{where}: {name or 'it'} is not among the plugins{hint}"


def _handlers(config: Object, picker: Picker) -> Iterator[str]:
    """Profiles have unique names, and several profiles have one handler that supports them."""
    names = [text(profile.get("name")) for profile in _profiles(config)]
    handlers = [kind for plugin in _plugins(config) if is_profile_handler(kind := text(plugin.get("type")))]
    for name, times in Counter(names).items():
        if not name or times > 1:
            yield f"schedulingProfiles: {name or 'a profile'} needs a unique name"
    if len(handlers) > 1:
        yield f"plugins: need one profile handler, not {' and '.join(handlers)}"
    elif len(names) > 1 and (not handlers or handlers[0] == SINGLE_PROFILE):
        able = ", ".join(
            kind for kind in picker.plugins if is_profile_handler(kind) and kind != SINGLE_PROFILE
        )
        yield f"schedulingProfiles: {len(names)} profiles need {able or 'another endpoint picker'}"


def _gates(config: Object, picker: Picker) -> Iterator[str]:
    """Feature gates are registered; since llm-d 0.10 they have values too (`flowControl=false`)."""
    for gate in listed(config.get("featureGates")):
        if text(gate).partition("=")[0] not in picker.gates:
            yield f"featureGates: {gate} must be one of {', '.join(picker.gates)} in {picker.name}"


RULES: Final[tuple[ConfigurationRule, ...]] = (
    _kind,
    _fields,
    _names,
    _types,
    _parameters,
    _references,
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
