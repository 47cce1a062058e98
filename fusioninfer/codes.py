"""The documentation of each code: of findings, and of rules that add fields. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from catalog.codes import CODES
from catalog.release import SITE
from webhook.mutate import CONCERNS
from webhook.mutate.concern import SIZE, Cause

PAGE: Final = f"{SITE}/codes/"
RULE: Final = "rule"
"""The severity of the rules, which are no findings."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is documented of a code. The texts are without a final period."""

    code: str
    severity: str
    title: str
    cause: str
    """Empty where title and remedy tell it."""
    remedy: str
    """What to do about a finding; for a rule, how to opt out."""

    @property
    def link(self) -> str:
        """Return the place on the site."""
        return f"{PAGE}#{self.code.lower()}"


def _entries() -> Iterator[Entry]:
    yield from (Entry(code, row.severity, row.title, row.cause, row.remedy) for code, row in CODES.items())
    for concern in CONCERNS:
        for rule in concern.rules:
            causes = f"the first of these in your object: {', '.join(map(_named, rule.causes))}"
            title = f"`{concern.name}`: {rule.reason}"
            yield Entry(rule.code, RULE, title, causes, concern.opt_out)


def _named(cause: Cause) -> str:
    """Format an annotation, or the last part of a field's path."""
    if "/" in cause:
        return f"`{cause}`"
    return "a `size` of 2 or more" if cause == SIZE else f"the engine's `{cause.rpartition('.')[2]}`"


ENTRIES: Final[Mapping[str, Entry]] = {one.code: one for one in sorted(_entries(), key=lambda one: one.code)}
"""All entries by code, in order."""


def as_json(one: Entry) -> dict[str, str]:
    """Return an entry as a JSON object."""
    return asdict(one) | {"link": one.link}


def as_text(entries: Iterable[Entry]) -> str:
    """Render entries for a terminal."""
    return "\n".join(
        f"\n{'':15}".join(
            (
                f"{one.code}  {one.severity:8} {one.title}".rstrip(),
                *((f"cause: {one.cause}",) if one.cause else ()),
                f"{'opt out' if one.severity == RULE else 'remedy'}: {one.remedy}",
                f"see: {one.link}",
            )
        )
        for one in entries
    )
