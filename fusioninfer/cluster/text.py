"""The words in which subcommands speak of objects: names, KIND/NAME as users write it, and differences."""

from collections.abc import Mapping
from difflib import unified_diff
from typing import Any, Final

from intent import Object, yaml
from intent.annotations import SERVICE
from intent.names import is_dns_1035_label
from intent.service.member import ejected, member
from intent.shapes import annotations, mapping, text
from sync.kinds import INFERENCE_SERVICE, LWS, Kind

WRITTEN: Final[Mapping[str, Kind[Any]]] = {kind.kind: kind for kind in (LWS, INFERENCE_SERVICE)}
"""The kinds of which an author writes objects."""
WORDS: Final[dict[str, str]] = {
    word: kind.kind
    for short, kind in (("lws", LWS), ("isvc", INFERENCE_SERVICE))
    for word in (short, kind.kind.lower(), kind.resource.plural)
}
"""The words for a kind in KIND/NAME, as kubectl has them."""


def parse(word: str) -> tuple[str, str]:
    """Read NAME or KIND/NAME as kind and name; both are empty if it is neither.

    Without a kind it is the name of a service, or of a LeaderWorkerSet.
    """
    prefix, slash, name = word.rpartition("/")
    kind = WORDS.get(prefix.lower().partition(".")[0], "") if slash else ""
    return (kind, name) if bool(kind) == bool(slash) and is_dns_1035_label(name) else ("", "")


def name_of(obj: Object) -> str:
    """Return the name of an object."""
    return text(mapping(obj.get("metadata")).get("name"))


def service_of(lws: Object) -> str:
    """Return the service of a LeaderWorkerSet: expanded, only annotated, or ejected; empty if it has none."""
    one = member(lws) or ejected(lws)
    return (one.service or one.group) if one else text(annotations(lws).get(SERVICE))


def is_named(lws: Object, word: str) -> bool:
    """Return whether a word names a LeaderWorkerSet, or its service."""
    kind, name = parse(word)
    names = {LWS.kind: {name_of(lws)}, INFERENCE_SERVICE.kind: {service_of(lws)}}
    return bool(name) and name in names.get(kind, {name_of(lws), service_of(lws)})


def described(obj: Object) -> str:
    """Return kind, namespace and name of an object."""
    return f"{obj['kind']} {obj['metadata'].get('namespace', '')}/{name_of(obj)}"


def unified(before: Object | None, after: Object | None, context: int = 3) -> list[str]:
    """Return the lines of the unified diff of an object; `context`: so many of what is equal."""
    old, new = (yaml.dump(obj).splitlines() if obj else [] for obj in (before, after))
    name = described(after or before or {})
    return list(unified_diff(old, new, f"LIVE {name}", f"MERGED {name}", lineterm="", n=context))
