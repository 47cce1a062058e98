"""What the API server answered to a request, as a value. Unknown is not absent."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from intent import Object


@dataclass(frozen=True, slots=True)
class Answer:
    """The objects that a request returned, or why they are not known."""

    objects: tuple[Object, ...] = ()
    """Empty if there are none, or if they are not known."""
    unknown: str = ""
    """Why the objects are not known: a missing right, or no answer. Empty if they are known."""
    served: bool = True
    """Whether the API server serves the kind."""

    @property
    def first(self) -> Object:
        """The first object; empty if there is none."""
        return self.objects[0] if self.objects else {}


ABSENT: Final = Answer()
NOT_SERVED: Final = Answer(served=False)


class Right(NamedTuple):
    """What a client may be allowed to do, as a SubjectAccessReview asks for it."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    """Empty: in all namespaces, or for a resource without namespaces."""
    subresource: str = ""
    name: str = ""
    """Of the one object; empty: of all."""

    @property
    def attributes(self) -> Object:
        """The `resourceAttributes` of a review."""
        return {key: value for key, value in self._asdict().items() if value}

    def __str__(self) -> str:
        """Return the right for messages: `create leaderworkersets in namespace llm`."""
        resource = "/".join(part for part in (self.resource, self.subresource, self.name) if part)
        return f"{self.verb} {resource}{f' in namespace {self.namespace}' if self.namespace else ''}"


Rights = dict[Right, bool | None]
"""Whether each right is granted; None if the API server does not say."""
