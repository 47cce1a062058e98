"""An EndpointPickerConfig of an author's own, held against what a generation of pickers understands.

A picker exits where it does not understand its configuration, long after the author has left; so it is said
here. Source: `pkg/epp/config/loader` of kubernetes-sigs/gateway-api-inference-extension v1.2.1 to v1.5.0.
A field inside of the text is named in the message: `plugins[0].type`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Final

from catalog.pickers.generations import CONFIG_API, CONFIG_KIND, PICKERS, Picker
from catalog.pickers.plugins import PARAMETERS, SINGLE_PROFILE, is_picker, is_profile_handler, is_scorer
from intent import Object, yaml
from intent.errors import FieldError, nearest, suggested
from intent.pickers.fields import misfits
from intent.shapes import listed, mapping, text

LONGEST: Final = 8_192
"""Characters. Longer texts are not read: it takes time in proportion, and a review has a deadline."""

BRACKETS: Final = 128
"""Reading takes time in square of how deep brackets are nested; no configuration has as many."""
LONGEST_MESSAGE: Final = 1000
"""Characters. A message names what its author wrote, however long that is."""
MOST: Final = 20
"""More findings than these help nobody."""

DECIDERS: Final = (
    *("prefill", "encode", "deciderPluginName"),
    *("prefillDeciderPluginName", "encodeDeciderPluginName"),
)
"""Parameters of profile handlers that name a decider, the first two within `deciders`."""

Said = tuple[str, str]
"""A message and its code."""
KEPT: Final = 256
"""Of so many configurations it is known what is wrong with them."""
_FOUND: Final[dict[tuple[bytes, str], tuple[Said, ...]]] = {}
"""By the digest of a configuration and the name of a picker, which alone decide; the eldest first."""
Rule = Callable[[Object, Picker], Iterator[Said]]


def check_config(config: str, picker: Picker, path: str) -> Iterator[FieldError]:
    """Say what a picker would not understand of a configuration.

    Reading 16 KiB of YAML takes a tenth of a second, so what was found is kept, by digest.
    """
    key = blake2b(config.encode("utf-8", "surrogatepass"), digest_size=16).digest(), picker.name
    if key not in _FOUND:
        while len(_FOUND) >= KEPT:
            del _FOUND[next(iter(_FOUND))]
        _FOUND[key] = tuple(_check(config, picker))
    for message, code in _FOUND[key]:
        yield FieldError(path, None, message, code)


def _check(config: str, picker: Picker) -> Iterator[Said]:
    value, problem = _read(config)
    found = (said for rule in RULES for said in rule(value, picker))
    for message, code in [(problem, "FI810")] if problem else islice(found, MOST):
        yield message[:LONGEST_MESSAGE], code


def _read(config: str) -> tuple[Object, str]:
    """Read the one document of a text; the problem is empty if it is a map."""
    if len(config) > LONGEST:
        return {}, f"has {len(config)} characters; at most {LONGEST} are read"
    if config.count("[") + config.count("{") > BRACKETS:
        return {}, f"has more than {BRACKETS} brackets; write it in block style"
    try:
        documents = [one for one in yaml.load(config, yaml.Plain) if one is not None]
    except yaml.UNREADABLE as error:
        return {}, f"must be YAML or JSON: {yaml.problem(error)}"
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return {}, f"must be one {CONFIG_KIND}, a map"
    return documents[0], ""


# --- the rules --------------------------------------------------------------------------------------


def _kind(config: Object, picker: Picker) -> Iterator[Said]:
    """Hold kind and apiVersion, where they stand, against those of the generation."""
    for name, right in (("apiVersion", CONFIG_API), ("kind", CONFIG_KIND)):
        if config.get(name) is not None and config[name] != right:
            yield f"{name}: {picker.name} reads {right}", "FI811"


def _fields(config: Object, picker: Picker) -> Iterator[Said]:
    """Find what stops the picker, which decodes strictly."""
    for message in misfits(config, dict(picker.fields), picker.name):
        yield message, "FI812"


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
            who = _who_has(kind) or suggested(nearest(kind, picker.plugins))
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
            if instead and given[name] and not given.get(instead.partition(",")[0]):
                yield f"{where}: stops {picker.name}; use {instead}", "FI817"
            elif known is not None and name not in known:
                yield f"{where}: {picker.name} ignores it{suggested(nearest(str(name), known))}", "FI818"
            elif known is not None:
                shape = PARAMETERS.get(name, "anything")
                yield from ((one, "FI817") for one in misfits(given[name], shape, picker.name, where))


def _references(config: Object, _picker: Picker) -> Iterator[Said]:
    """Find references to plugins that are not declared."""
    names = dict.fromkeys(_name(plugin) for plugin in _plugins(config))
    for at, profile in enumerate(_profiles(config)):
        for number, reference in enumerate(_in(profile)):
            name = text(reference.get("pluginRef"))
            if name not in names:
                where = f"schedulingProfiles[{at}].plugins[{number}].pluginRef"
                yield _undeclared(where, name, names)


def _elsewhere(config: Object, picker: Picker) -> Iterator[Said]:
    """Find references of the parser and of the data layer to plugins that are not declared."""
    names = dict.fromkeys(_name(plugin) for plugin in _plugins(config))
    wanted = [("parser", config["parser"])] if config.get("parser") is not None else []
    sources = listed(mapping(config.get("dataLayer")).get("sources"))
    wanted += [(f"dataLayer.sources[{at}]", source) for at, source in enumerate(sources)]
    for where, reference in wanted if "parser" in picker.fields else ():
        if (name := text(mapping(reference).get("pluginRef"))) not in names:
            yield _undeclared(f"{where}.pluginRef", name, names)
    if config.get("dataLayer") is not None and not sources and "dataLayer" in picker.fields:
        yield f"dataLayer.sources: {picker.name} needs one here", "FI812"


def _undeclared(where: str, name: str, names: Iterable[str]) -> Said:
    return f"{where}: {name or 'it'} is not among the plugins{suggested(nearest(name, names))}", "FI815"


def _deciders(config: Object, picker: Picker) -> Iterator[Said]:
    """Find handlers whose decider is not declared before them: they look for it when they are made."""
    before: set[str] = set()
    for at, plugin in enumerate(_plugins(config)):
        kind, given = text(plugin.get("type")), mapping(plugin.get("parameters"))
        if kind in picker.deciders:
            named = given | mapping(given.get("deciders"))
            asked = [name for key in DECIDERS if (name := text(named.get(key)))] or [picker.deciders[kind]]
            for name in asked:
                if name and name not in before:
                    yield f"plugins[{at}]: {kind} needs {name} among the plugins before it", "FI815"
        before.add(_name(plugin))


def _pickers(config: Object, _picker: Picker) -> Iterator[Said]:
    """Find a second picker in a profile."""
    kinds = {_name(plugin): text(plugin.get("type")) for plugin in _plugins(config)}
    for at, profile in enumerate(_profiles(config)):
        names = [text(reference.get("pluginRef")) for reference in _in(profile)]
        found = [name for name in names if is_picker(kinds.get(name, ""))]
        if len(found) > 1:
            yield f"schedulingProfiles[{at}]: one picker, not {' and '.join(found)}", "FI816"


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
    for gate, name in picker.fielded.items():
        if gate in listed(config.get("featureGates")) and not config.get(name):
            yield f"featureGates: in {picker.name} {gate} needs the field {name}", "FI820"
    for name, gate in picker.gated.items():
        if config.get(name) is not None and gate not in listed(config.get("featureGates")):
            yield f"{name}: {picker.name} needs the feature gate {gate} with it", "FI820"


RULES: Final[tuple[Rule, ...]] = (
    _kind,
    _fields,
    _names,
    _types,
    _parameters,
    _references,
    _elsewhere,
    _deciders,
    _pickers,
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
