"""Limits on the size of one object, checked by counting before any script, flag or YAML text is parsed.

Parsing takes many times longer than counting, and one process serves every tenant. An object over a limit is
refused on CREATE and on a change; one that was stored earlier is left as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple

import orjson

from intent import Object
from intent.annotations import INJECT, PREFIX, ROLES, SERVICE
from intent.errors import FieldError
from intent.lws import LWT
from intent.shapes import annotations, containers_of, listed, mapping, strings

CODE: Final = "FI904"
_BREAKS: Final = " \t\n;&|()<>"
"""Each ends a word or an operator of a shell (POSIX.1 2.3), so their number bounds the tokens of a script."""


class Limit(NamedTuple):
    """One row: the counted items of an object, their limit, and the reason for it."""

    name: str
    most: int
    reason: str


CONTAINERS: Final = Limit(
    "containers", 100, "Containers and init containers of all pod templates; usually 2 to 10."
)
ARGUMENTS: Final = Limit("arguments", 4_096, "Items of `command` and `args` of all containers; usually 50.")
CHARACTERS: Final = Limit(
    "characters",
    65_536,
    "Characters of `command` and `args`; a long launch script has 3,000.",
)
BREAKS: Final = Limit(
    "blanks and operators",
    4_096,
    "Shell separators in `command` and `args`: they bound the tokens of a script, microseconds each.",
)
VARIABLES: Final = Limit(
    "variables", 2_048, "Items of `env` and `envFrom` of all containers; usually 10 to 60."
)
KEYS: Final = Limit(
    "annotations",
    256,
    f"Annotations under `{PREFIX}`; fewer than 30 are known, and any other one is an error.",
)
VALUES: Final = Limit(
    "characters of annotations",
    262_144,
    f"Keys and values under `{PREFIX}`; the limit of Kubernetes for all annotations together.",
)
NAMES: Final = Limit("declared roles", 128, f"Names in `{ROLES}`; an InferenceService has at most 32 roles.")
ITEMS: Final = Limit(
    "items and fields",
    8_192,
    "Items of lists and fields of maps in `spec`, at any depth; usually 50 to 200.",
)
BYTES: Final = Limit(
    "bytes",
    262_144,
    "JSON of `spec` of an InferenceService: the controller keeps it; usually 2,000 to 10,000.",
)
LIMITS: Final = (CONTAINERS, ARGUMENTS, CHARACTERS, BREAKS, VARIABLES, KEYS, VALUES, NAMES, ITEMS, BYTES)
"""All limits of one object. The table of `docs/webhook.md` is generated from them."""
GROWTH: Final = 3
"""How much more an expanded object may have of anything: the leader is a copy, and fields are injected."""
IN_CONFIG_MAP: Final = "keep long values in a ConfigMap"
BYPASS: Final = f"or bypass the webhooks for this object with {INJECT}: disabled"
"""For a LeaderWorkerSet: the controller reads no InferenceService over a limit, however it was stored."""
MEMBERS: Final = 128
"""The limit on the LeaderWorkerSets of one service. They are compared with each other, for every change."""


def of_leaderworkerset(lws: Object) -> FieldError | None:
    """Return the first limit that a LeaderWorkerSet exceeds; None if it exceeds none.

    Without the annotation `service` the spec is not counted, so an object of any size can opt out.
    """
    asks = SERVICE in annotations(lws)
    return _over(counted(lws if asks else {"metadata": lws.get("metadata")}), LWT)


def of_expanded(lws: Object) -> FieldError | None:
    """Return the first limit that a stored LeaderWorkerSet exceeds `GROWTH` times; None if it exceeds none.

    So the controller reads whatever admission accepts.
    """
    return _over(chain([(BYTES, _length(lws.get("spec")))], counted(lws)), LWT, GROWTH)


def is_small(lws: Object) -> bool:
    """Return whether a LeaderWorkerSet has a quarter of each limit at most: it may be read beside another."""
    return all(4 * count <= limit.most for limit, count in counted(lws))


def of_inferenceservice(service: Object, old: Object | None = None) -> FieldError | None:
    """Return the first limit that an InferenceService exceeds, all roles together; None for none.

    It is softened if the stored object exceeds every one of these limits as far.
    """
    error = _over(_of_service(service), "spec.roles")
    if error is None or old is None:
        return error
    grown = _over(_of_service(service), "spec.roles", before=dict(_of_service(old)))
    return grown or replace(error, softened=True)


def _of_service(service: Object) -> Iterator[tuple[Limit, int]]:
    roles = map(mapping, listed(mapping(service.get("spec")).get("roles")))
    yield BYTES, _length(service.get("spec"))
    pods = (role.get(name) for role in roles if role for name in ("template", "worker"))
    yield from counted(service, filter(None, pods))


def of_template(template: Object, pods: Iterable[Any]) -> FieldError | None:
    """Return the first limit that the parts of an InferenceTemplate exceed together; None for none."""
    return _over(counted(template, pods), "spec.pods")


def of_service(members: int) -> FieldError:
    """Return the error of a service with more than `MEMBERS` LeaderWorkerSets."""
    message = f"the service has {members} LeaderWorkerSets, and the limit is {MEMBERS}; nothing is changed"
    return FieldError(f"metadata.annotations[{SERVICE}]", None, message, CODE)


def _over(
    counts: Iterable[tuple[Limit, int]], path: str, times: int = 1, before: Mapping[Limit, int] | None = None
) -> FieldError | None:
    """Return the first limit that is exceeded, and farther than before."""
    for limit, count in counts:
        if count > max(limit.most * times, (before or {}).get(limit, 0)):
            remedies = [
                "use fewer",
                *([IN_CONFIG_MAP] if limit is BYTES else [BYPASS] if path == LWT else []),
            ]
            message = (
                f"has {count} {limit.name}, and the limit is {limit.most * times}; {', '.join(remedies)}"
            )
            return FieldError(_PATHS.get(limit, path), None, message, CODE)
    return None


_PATHS: Final = {**dict.fromkeys((KEYS, VALUES, NAMES), "metadata.annotations"), ITEMS: "spec", BYTES: "spec"}
"""What a limit is about, unless it is the templates."""


def counted(value: Object, templates: Iterable[Any] | None = None) -> Iterator[tuple[Limit, int]]:
    """Yield each limit with its count, the cheapest first: a caller stops at the first exceeded one.

    Without pod templates they are those of a LeaderWorkerSet.
    """
    written = annotations(value)
    ours = [(key, text) for key, text in written.items() if key.startswith(PREFIX)]
    yield KEYS, len(ours)
    yield VALUES, sum(len(key) + len(text) for key, text in ours if isinstance(text, str))
    yield NAMES, str(written.get(ROLES, "")).count(",") + 1
    if templates is None:
        group = mapping(mapping(value.get("spec")).get("leaderWorkerTemplate"))
        templates = (group.get("leaderTemplate"), group.get("workerTemplate"))
    specs = [mapping(mapping(template).get("spec")) for template in templates]
    containers = [container for spec in specs for _, container in containers_of(spec)]
    yield CONTAINERS, len(containers)
    length = _length(value.get("spec"))
    if 0 < length <= BREAKS.most:  # fewer bytes than any other limit needs
        return
    yield (
        VARIABLES,
        sum(len(listed(item.get("env"))) + len(listed(item.get("envFrom"))) for item in containers),
    )
    fields = [container.get(field) for container in containers for field in ("command", "args")]
    yield ARGUMENTS, sum(len(listed(items)) for items in fields)
    text = "\n".join(chain.from_iterable(map(strings, fields)))
    yield CHARACTERS, len(text)
    yield BREAKS, 0 if len(text) <= BREAKS.most else sum(map(text.count, _BREAKS))
    is_short = 0 < length <= 2 * ITEMS.most  # each item has a character and a comma
    yield ITEMS, 0 if is_short else _items(value.get("spec"))


def _length(value: Any) -> int:
    """Return the bytes of a value as JSON; 0 if it is nested deep, or has a number of more than 64 bits."""
    try:
        return len(orjson.dumps(value))
    except orjson.JSONEncodeError:
        return 0


def _items(value: Any) -> int:
    """Count the items of lists and the fields of maps in a value, at any depth."""
    nodes = [value]
    for node in nodes:
        if isinstance(node, dict):
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    return len(nodes) - 1
