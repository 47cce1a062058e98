"""An HTTPRoute: where it wants to be attached, what the gateways answer, and what its URL is made of."""

from dataclasses import dataclass

from intent import Object
from intent.shapes import listed, mapping, strings, text
from sync.observed.condition import generation
from sync.observed.parents import Parent, ParentStatus, answers, references


@dataclass(frozen=True, slots=True)
class HTTPRoute:
    """What one HTTPRoute asks for and is answered."""

    name: str
    parents: tuple[Parent, ...] = ()
    answers: tuple[ParentStatus, ...] = ()
    hostnames: tuple[str, ...] = ()
    prefix: str = ""
    """The path of its first match, without a slash at the end."""


def project(obj: Object) -> HTTPRoute:
    """Project an HTTPRoute."""
    metadata, spec, status = (mapping(obj.get(key)) for key in ("metadata", "spec", "status"))
    namespace = text(metadata.get("namespace"))
    return HTTPRoute(
        name=text(metadata.get("name")),
        parents=references(spec.get("parentRefs"), namespace),
        answers=answers(status.get("parents"), namespace, generation(obj)),
        hostnames=strings(spec.get("hostnames")),
        prefix=_prefix(spec),
    )


def _prefix(spec: Object) -> str:
    """Read the path of the first match of the first rule; a pattern is none."""
    rule = mapping(next(iter(listed(spec.get("rules"))), None))
    match = mapping(next(iter(listed(rule.get("matches"))), None))
    path = mapping(match.get("path"))
    return "" if path.get("type") == "RegularExpression" else text(path.get("value")).rstrip("/")
