"""What the API server answered to a request, as a value. Unknown is not absent."""

from dataclasses import dataclass
from typing import Final

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
