"""Projection of an InferenceService: what it asks for, or why it cannot be read, and its status.

Parsed templates take up to 25 times the memory of their JSON, and one tenant may store hundreds of
InferenceServices near the size limit. So a row keeps compressed JSON, which is parsed for each reconcile.
A tenant may change them faster than they can be read, so they are not read before.
"""

import zlib
from dataclasses import dataclass, field
from functools import lru_cache

import orjson

from intent import Object, budget
from intent.errors import FieldError, Subject
from intent.inferenceservice.read import API_VERSION, KIND, InferenceServiceIntent, ReadResult, read
from intent.shapes import listed, mapping, number, text
from sync.observed.cached import LONGEST, AppliedObject, TooDeepError, canonical, common_fields, digest
from sync.observed.index_keys import namesake_keys
from sync.observed.inferencetemplate import keys_of

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
class CachedInferenceService(AppliedObject):
    """One InferenceService; the service that it defines has the same name.

    Its fingerprint is that of metadata and spec, from which `content` derives.
    """

    generation: int = 0
    content: bytes = field(default=b"", compare=False)
    """Its compressed JSON; empty if it is not safe to read."""
    intent: InferenceServiceIntent | None = field(default=None, compare=False)
    """What it asks for, where there is no content: one that was not read from an API server."""
    unread: tuple[FieldError, ...] = field(default=(), compare=False)
    """Why it is not safe to read."""
    status: Object = field(default_factory=dict, compare=False)
    """The stored status. A change of it alone is no change of the row: it causes no reconcile."""

    @property
    def value(self) -> InferenceServiceIntent | None:
        """What it asks for.

        None if it cannot be read in full: ignoring fields of another release might restart pods.
        """
        return _parsed(self.content)[0] if self.content else self.intent

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """Why it cannot be read, and the rules that it breaks.

        Admission denies these; they were written while admission was down, or under another release's rules.
        """
        return _parsed(self.content)[1] if self.content else self.unread

    @property
    def subject(self) -> Subject:
        """The InferenceService as the subject of a finding."""
        return Subject(API_VERSION, KIND, self.namespace, self.name, self.uid)


def cached_inferenceservice(obj: Object) -> CachedInferenceService:
    """Project an InferenceService; one that is nested too deeply has only its metadata and an error."""
    metadata, status = mapping(obj.get("metadata")), mapping(obj.get("status"))
    namespace, name = text(metadata.get("namespace")), text(metadata.get("name"))
    fingerprint, unread = _digested(obj, metadata, status)
    return CachedInferenceService(
        **common_fields(obj) | {"service": name, "fingerprint": fingerprint},
        generation=number(metadata.get("generation")),
        content=b"" if unread else _packed(obj),
        unread=unread,
        status=status if fingerprint else {},
        index_keys=(*namesake_keys(namespace, name), *keys_of(namespace, () if unread else _base_refs(obj))),
    )


def _digested(obj: Object, metadata: Object, status: Object) -> tuple[bytes, tuple[FieldError, ...]]:
    """Digest metadata and spec, and return why an InferenceService is not safe to read.

    One of which any part is nested too deeply is not; over the budget of admission it takes too long to read.
    """
    kept = {key: item for key, item in metadata.items() if key not in NOT_DIGESTED}
    try:
        digest(status)
        fingerprint = digest({"metadata": kept, "spec": obj.get("spec")})
    except TooDeepError as error:
        return b"", (_unreadable(str(error)),)
    over = budget.of_inferenceservice(obj)
    return fingerprint, (over,) if over else ()


def _unreadable(why: str) -> FieldError:
    message = f"cannot be read: {why}; nothing of this service is changed"
    return FieldError("spec", None, message, UNREADABLE)


def _base_refs(obj: Object) -> tuple[str, ...]:
    """Return the names of the templates that an InferenceService names anywhere, without reading the rest."""
    spec = mapping(obj.get("spec"))
    owners = (spec, *map(mapping, listed(spec.get("roles"))))
    names = (name for owner in owners for name in listed(owner.get("baseRefs")))
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))


def _packed(obj: Object) -> bytes:
    """Return the compressed JSON of what `read` needs."""
    metadata = {name: item for name, item in mapping(obj.get("metadata")).items() if name not in NOT_DIGESTED}
    needed = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": obj.get("spec")}
    return zlib.compress(canonical(needed), FASTEST)


@lru_cache(maxsize=PARSED)
def _parsed(content: bytes) -> ReadResult:
    """Read what an InferenceService asks for, and its errors; one that cannot be read affects itself only."""
    try:
        value, found = read(orjson.loads(zlib.decompress(content)))
    except Exception as error:  # noqa: BLE001 - as `Cache.project`
        return None, (_unreadable(f"{type(error).__name__}: {str(error)[:LONGEST]}"),)
    errors = tuple(one for one in found if one.severity == "error")
    return None if any(one.code == UNKNOWN_FIELD for one in errors) else value, errors
