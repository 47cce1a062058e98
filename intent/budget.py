"""How much of one object is read. Checked by counting, before a script, a flag or a YAML text is parsed.

To parse takes many times as long as to count, and one process answers for every tenant. An object over a
limit is refused where it is created or changed, and is left as it is where it was stored before.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from intent import Object
from intent.annotations import INJECT, PREFIX, SERVICE
from intent.errors import FieldError
from intent.lws import LWT
from intent.shapes import listed, mapping, strings

CODE: Final = "FI904"
_BREAKS: Final = " \t\n;&|()<>"
"""A shell's word or operator ends at each of them (POSIX.1 2.3): they bound what a script is cut into."""


class Limit(NamedTuple):
    """One row: what is counted over one object, how many there may be, and why no service has as many."""

    name: str
    most: int
    reason: str


CONTAINERS: Final = Limit(
    "containers", 100, "Containers and init containers of all pod templates; a service has 2 to 10."
)
ARGUMENTS: Final = Limit(
    "arguments", 4_096, "Items of `command` and `args` of all containers; engines take 50."
)
CHARACTERS: Final = Limit(
    "characters",
    65_536,
    "Characters of `command` and `args`; a long launch script has 3,000.",
)
BREAKS: Final = Limit(
    "blanks and operators",
    4_096,
    "Of a shell, in `command` and `args`: a script is cut into so many words, and each takes microseconds.",
)
VARIABLES: Final = Limit(
    "variables", 2_048, "Items of `env` and `envFrom` of all containers; a service has 10 to 60."
)
KEYS: Final = Limit(
    "annotations",
    256,
    f"Annotations under `{PREFIX}`; there are fewer than 30, and each other one is an error.",
)
VALUES: Final = Limit(
    "characters of annotations",
    262_144,
    f"Keys and values under `{PREFIX}`; Kubernetes allows as many for all annotations together.",
)
LIMITS: Final = (CONTAINERS, ARGUMENTS, CHARACTERS, BREAKS, VARIABLES, KEYS, VALUES)
"""All of them. `docs/edge.md` is made from this."""


def of_leaderworkerset(lws: Object) -> FieldError | None:
    """Say by what a LeaderWorkerSet is over the budget; None if it is not.

    Of one that names no service the templates are not read, so that it can be opted out at any size.
    """
    if SERVICE not in mapping(mapping(lws.get("metadata")).get("annotations")):
        return _over(lws, (), LWT)
    return _over(lws, _templates(lws), LWT)


def of_inferenceservice(service: Object) -> FieldError | None:
    """Say by what an InferenceService is over the budget, all roles together; None if it is not."""
    roles = listed(mapping(service.get("spec")).get("roles"))
    return _over(service, [mapping(role).get("template") for role in roles], "spec.roles")


def counted(lws: Object) -> Iterator[tuple[Limit, int]]:
    """Count what a LeaderWorkerSet has of everything that is limited, the cheapest first."""
    return _counted(lws, _templates(lws))


def _templates(lws: Object) -> tuple[Any, Any]:
    group = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))
    return group.get("leaderTemplate"), group.get("workerTemplate")


def _over(value: Object, templates: Iterable[Any], path: str) -> FieldError | None:
    for limit, found in _counted(value, templates):
        if found > limit.most:
            return _error("metadata.annotations" if limit in (KEYS, VALUES) else path, limit, found)
    return None


def _counted(value: Object, templates: Iterable[Any]) -> Iterator[tuple[Limit, int]]:
    """Count one limit after the other: what is over one is not looked at for the next."""
    annotations = mapping(mapping(value.get("metadata")).get("annotations"))
    ours = [(key, text) for key, text in annotations.items() if key.startswith(PREFIX)]
    yield KEYS, len(ours)
    yield VALUES, sum(len(key) + len(text) for key, text in ours if isinstance(text, str))
    containers = list(chain.from_iterable(map(_containers, templates)))
    yield CONTAINERS, len(containers)
    yield VARIABLES, sum(len(listed(one.get("env"))) + len(listed(one.get("envFrom"))) for one in containers)
    fields = [one.get(field) for one in containers for field in ("command", "args")]
    yield ARGUMENTS, sum(len(listed(items)) for items in fields)
    text = "\n".join(chain.from_iterable(map(strings, fields)))
    yield CHARACTERS, len(text)
    yield BREAKS, 0 if len(text) <= BREAKS.most else sum(map(text.count, _BREAKS))


def _containers(template: Any) -> Iterator[Object]:
    spec = mapping(mapping(template).get("spec"))
    for field in ("containers", "initContainers"):
        yield from map(mapping, listed(spec.get(field)))


def _error(path: str, limit: Limit, found: int) -> FieldError:
    message = (
        f"has {found} {limit.name}, and at most {limit.most} are read; have fewer, "
        f"or have the object left alone: {INJECT}: disabled"
    )
    return FieldError(path, None, message, CODE)
