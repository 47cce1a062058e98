"""What the loop keeps of an InferenceService: what it asks for, or why it cannot be read, and its status."""

from dataclasses import dataclass, field

from intent import Object
from intent.annotations import is_paused
from intent.errors import FieldError, Subject
from intent.inferenceservice.read import API_VERSION, KIND, InferenceServiceIntent, Reading, read
from intent.service.member import ServiceKey
from intent.shapes import mapping, number, text
from sync.observed.cached import TooDeepError, digest, version
from sync.observed.index_keys import of_picker

UNREADABLE = "FI881"
UNKNOWN_FIELD = "FI702"
"""The API server drops what its definition lacks, so the definition is of a newer release than the loop."""
UNTOLD = frozenset({"resourceVersion", "managedFields"})
"""Fields of the metadata that differ though nobody changed anything that is read."""


@dataclass(frozen=True, slots=True)
class CachedInferenceService:
    """One InferenceService."""

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    value: InferenceServiceIntent | None = field(default=None, compare=False)
    """None if it cannot be read in full: to leave out what only another release knows may restart pods."""
    errors: tuple[FieldError, ...] = field(default=(), compare=False)
    """Why not, or the rules that it breaks.

    Admission denies them; here they come from a time when it was away, or of a release that had other rules.
    """
    status: Object = field(default_factory=dict, compare=False)
    """What is stored. A change of it alone is no news: see `Cache.restated`."""
    fingerprint: bytes = b""
    """Equal for two that are equal in metadata and spec, of which `value` and `errors` are made."""
    reported: bytes = field(default=b"", compare=False)
    """Equal for two that have the same status."""
    deleting: bool = False
    paused: bool = False
    """Whether nothing is to be written for it: its annotation says so."""
    index_keys: tuple[ServiceKey, ...] = ()
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


def cached_inferenceservice(obj: Object) -> CachedInferenceService:
    """Project an InferenceService; what nobody can digest is known by name, and as nothing but wrong."""
    metadata, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
    digests, (value, said) = _read(obj, metadata, status)
    errors = tuple(error for error in said if error.severity == "error")
    return CachedInferenceService(
        namespace=namespace,
        name=name,
        uid=text(metadata.get("uid")),
        generation=number(metadata.get("generation")),
        value=None if any(error.code == UNKNOWN_FIELD for error in errors) else value,
        errors=errors,
        status=status if any(digests) else {},
        fingerprint=digests[0],
        reported=digests[1],
        deleting=bool(metadata.get("deletionTimestamp")),
        paused=is_paused(metadata.get("annotations")),
        index_keys=(of_picker(namespace, name),),
        version=version(metadata),
    )


def _read(obj: Object, metadata: Object, status: Object) -> tuple[tuple[bytes, bytes], Reading]:
    """Digest and read an InferenceService; without a digest nothing that walks through it is safe."""
    told = {key: item for key, item in metadata.items() if key not in UNTOLD}
    try:
        digests = digest({"metadata": told, "spec": obj.get("spec")}), digest(status)
    except TooDeepError as error:
        message = f"cannot be read: {error}; nothing of this service is changed"
        return (b"", b""), (None, (FieldError("spec", None, message, UNREADABLE),))
    return digests, read(obj)
