"""A LeaderWorkerSet that is larger than any that serves: to read its command lines would keep others waiting.

Reading a command line takes a thousand times as long as reading its JSON. Admission refuses such an object;
one that passed it by is not read at all.
"""

from typing import Any, Final

from intent import Object
from intent.shapes import listed, mapping, strings

CHARACTERS: Final = 65_536
"""Characters of all commands and arguments of an object."""
EACH: Final = 64
"""Characters that a container counts for, however few it has."""


class TooLargeError(Exception):
    """An object has more to read than is read."""


def check_size(lws: Object) -> None:
    """Raise TooLargeError if the containers of a LeaderWorkerSet have more than `CHARACTERS` to read."""
    group = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))
    specs = [mapping(mapping(group.get(key)).get("spec")) for key in ("leaderTemplate", "workerTemplate")]
    lists = [listed(spec.get(key)) for spec in specs for key in ("initContainers", "containers")]
    found = sum(len(one) for one in lists) * EACH
    if found <= CHARACTERS:
        found += sum(_characters(container) for one in lists for container in one)
    if found > CHARACTERS:
        raise TooLargeError(f"commands and arguments of more than {CHARACTERS} characters")


def _characters(container: Any) -> int:
    words = (*strings(mapping(container).get("command")), *strings(mapping(container).get("args")))
    return sum(map(len, words)) + len(words)
