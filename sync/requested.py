"""What the loop keeps of an InferenceService: what it asks for, or why it cannot be read, and its status."""

from dataclasses import dataclass, field

from intent import Object
from intent.errors import FieldError, Subject
from intent.inferenceservice.read import API_VERSION, KIND, InferenceService, read
from intent.service.member import ServiceKey
from sync.places import of_picker
from sync.stored import version

UNKNOWN_FIELD = "FI702"
"""The API server drops what its definition lacks, so the definition is of a newer release than the loop."""


@dataclass(frozen=True, slots=True)
class Requested:
    """One InferenceService."""

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    value: InferenceService | None = None
    """None if it cannot be read in full: to leave out what only another release knows may restart pods."""
    errors: tuple[FieldError, ...] = ()
    """Why not, or the rules that it breaks.

    Admission denies them; here they come from a time when it was away, or of a release that had other rules.
    """
    status: Object = field(default_factory=dict, compare=False)
    """What is stored. A change of it alone is no news: see `Cache.restated`."""
    deleting: bool = False
    places: tuple[ServiceKey, ...] = ()
    version: int = field(default=0, compare=False)
    """Which version of the object it is; a later one is higher."""

    @property
    def service(self) -> str:
        """The service that it makes: it is named like it."""
        return self.name

    @property
    def subject(self) -> Subject:
        """The InferenceService, as something is said about it."""
        return Subject(API_VERSION, KIND, self.namespace, self.name, self.uid)


def requested(obj: Object) -> Requested:
    """Project an InferenceService."""
    metadata, status = obj["metadata"], obj.get("status")
    value, said = read(obj)
    errors = tuple(error for error in said if error.severity == "error")
    return Requested(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        generation=metadata.get("generation", 0),
        value=None if any(error.code == UNKNOWN_FIELD for error in errors) else value,
        errors=errors,
        status=status if isinstance(status, dict) else {},
        deleting=bool(metadata.get("deletionTimestamp")),
        places=(of_picker(metadata.get("namespace", ""), metadata["name"]),),
        version=version(metadata),
    )
