"""Projection of an InferenceService: what it asks for, or why it cannot be read, and its status.

Parsed templates take up to 25 times the memory of their JSON, and one tenant may store hundreds of
InferenceServices near the size limit. So a row keeps compressed JSON, which is parsed for each reconcile.
"""

import zlib
from dataclasses import dataclass, field
from functools import lru_cache

import orjson

from intent import Object, budget
from intent.annotations import is_paused
from intent.errors import FieldError, Subject
from intent.inferenceservice.read import API_VERSION, KIND, InferenceServiceIntent, ReadResult, read
from intent.service.member import ServiceKey
from intent.shapes import mapping, number, text
from sync.observed.cached import TooDeepError, digest, resource_version
from sync.observed.index_keys import namesake_keys

UNREADABLE = "FI881"
UNKNOWN_FIELD = "FI702"
"""The API server prunes fields that its CRD lacks, so the CRD is of a newer release than the controller."""
NOT_DIGESTED = frozenset({"resourceVersion", "managedFields"})
"""Fields of the metadata that are not part of the digest."""
PARSED = 8
"""InferenceServices that are kept as parsed: a reconcile needs its own several times."""
FASTEST = 1
"""The level of compression."""


@dataclass(frozen=True, slots=True)
class CachedInferenceService:
    """One InferenceService."""

    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    content: bytes = field(default=b"", compare=False)
    """Its compressed JSON; empty if it cannot be read in full."""
    intent: InferenceServiceIntent | None = field(default=None, compare=False)
    """What it asks for, where there is no content: one that was not read from an API server."""
    errors: tuple[FieldError, ...] = field(default=(), compare=False)
    """Why it cannot be read, and the rules that it breaks.

    Admission denies these; they were written while admission was down, or under another release's rules.
    """
    status: Object = field(default_factory=dict, compare=False)
    """The stored status. A change of it alone is no change of the row: see `Cache.status_changed`."""
    fingerprint: bytes = b""
    """Equal for two objects with equal metadata and spec; `content` and `errors` derive from these."""
    status_digest: bytes = field(default=b"", compare=False)
    """Equal for two with equal status."""
    deleting: bool = False
    paused: bool = False
    """Whether an annotation pauses its service."""
    index_keys: tuple[ServiceKey, ...] = ()
    resource_version: int = field(default=0, compare=False)
    """The version of the object; a later version has a higher number."""

    @property
    def value(self) -> InferenceServiceIntent | None:
        """What it asks for.

        None if it cannot be read in full: ignoring fields of another release might restart pods.
        """
        return _parsed(self.content) if self.content else self.intent

    @property
    def service(self) -> str:
        """The service that it defines has the same name."""
        return self.name

    @property
    def subject(self) -> Subject:
        """The InferenceService as the subject of a finding."""
        return Subject(API_VERSION, KIND, self.namespace, self.name, self.uid)


def cached_inferenceservice(obj: Object) -> CachedInferenceService:
    """Project an InferenceService; one that is nested too deeply has only its metadata and an error."""
    metadata, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
    digests, (value, found) = _read(obj, metadata, status)
    errors = tuple(error for error in found if error.severity == "error")
    is_whole = value is not None and all(error.code != UNKNOWN_FIELD for error in errors)
    return CachedInferenceService(
        namespace=namespace,
        name=name,
        uid=text(metadata.get("uid")),
        generation=number(metadata.get("generation")),
        content=_packed(obj) if is_whole else b"",
        errors=errors,
        status=status if any(digests) else {},
        fingerprint=digests[0],
        status_digest=digests[1],
        deleting=bool(metadata.get("deletionTimestamp")),
        paused=is_paused(metadata.get("annotations")),
        index_keys=namesake_keys(namespace, name),
        resource_version=resource_version(metadata),
    )


def _read(obj: Object, metadata: Object, status: Object) -> tuple[tuple[bytes, bytes], ReadResult]:
    """Digest and read an InferenceService.

    Without a digest it is not safe to read; over the budget of admission it takes too long to read.
    """
    kept = {key: item for key, item in metadata.items() if key not in NOT_DIGESTED}
    try:
        digests = digest({"metadata": kept, "spec": obj.get("spec")}), digest(status)
    except TooDeepError as error:
        message = f"cannot be read: {error}; nothing of this service is changed"
        return (b"", b""), (None, (FieldError("spec", None, message, UNREADABLE),))
    over = budget.of_inferenceservice(obj)
    return digests, ((None, (over,)) if over else read(obj))


def _packed(obj: Object) -> bytes:
    """Return the compressed JSON of what `read` needs."""
    metadata = {name: item for name, item in mapping(obj.get("metadata")).items() if name not in NOT_DIGESTED}
    return zlib.compress(orjson.dumps({**obj, "metadata": metadata, "status": {}}), FASTEST)


@lru_cache(maxsize=PARSED)
def _parsed(content: bytes) -> InferenceServiceIntent | None:
    return read(orjson.loads(zlib.decompress(content)))[0]
