"""Whole objects of the kinds that are read from files, held against the schemas of their definitions.

The API server refuses the same values, and the same unknown fields where validation is strict, as it is with
kubectl. Rules that no schema has, those of labels and of LWS's webhooks, are for a dry run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Final

from catalog.schemas import (
    DISAGGREGATED_SET,
    LEADER_WORKER_SET,
    OBJECT_META,
    Schema,
    schemas,
    with_later_fields,
)
from intent import Object, disaggregatedset, lws
from intent.inferenceservice import crd, v1alpha1
from intent.inferencetemplate import crd as template_crd
from intent.inferencetemplate import v1alpha1 as template
from intent.names import is_subdomain
from intent.schema import Violation, violations
from intent.shapes import metadata, text

FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status")


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind that is read from files."""

    name: str
    group: str
    version: str
    spec: Callable[[], Schema]
    """The schema of its spec."""
    defaulted: frozenset[str] = frozenset()
    """Required fields that a mutating webhook sets before the schema is checked."""
    needs_spec: bool = False
    """Whether an object without a spec is refused by its schema alone."""

    @property
    def api_version(self) -> str:
        """The value of `apiVersion`."""
        return f"{self.group}/{self.version}"

    @property
    def source(self) -> str:
        """The release that defines the kind, for messages."""
        return self.spec().source or self.api_version


def kind_of(obj: Object) -> FileKind | None:
    """Return the kind of an object, of any version; None for kinds that are not checked."""
    group = text(obj.get("apiVersion")).partition("/")[0]
    return next((one for one in KINDS if (one.name, one.group) == (obj.get("kind"), group)), None)


def violations_of(obj: Object, kind: FileKind) -> Iterator[Violation]:
    """Yield the violations by an object, of its metadata first."""
    for name in obj:
        if name not in FIELDS:
            yield Violation(name, None, "unknown field", name, FIELDS)
    meta, spec = (obj[name] if obj.get(name) is not None else {} for name in ("metadata", "spec"))
    yield from violations(meta, schemas()[OBJECT_META].root, "metadata")
    yield from _name(obj)
    if kind.needs_spec and obj.get("spec") is None:
        yield Violation("spec", None, "is required")
    found = violations(spec, kind.spec().root, "spec")
    yield from (one for one in found if one.message != "is required" or one.path not in kind.defaulted)


# --- metadata -----------------------------------------------------------------------------------------


def _name(obj: Object) -> Iterator[Violation]:
    if not isinstance(obj.get("metadata"), dict | None):
        return
    name = metadata(obj).get("name")
    if name in (None, "") and not metadata(obj).get("generateName"):
        yield Violation("metadata.name", None, "is required")
    elif isinstance(name, str) and name and not is_subdomain(name):
        rule = "must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'"
        yield Violation("metadata.name", name, rule)


# --- the kinds --------------------------------------------------------------------------------------------


def _ours(definition: ModuleType) -> Callable[[], Schema]:
    return lambda: Schema("", definition.schema()["properties"]["spec"])


KINDS: Final = (
    FileKind(
        *(lws.KIND, "leaderworkerset.x-k8s.io", "v1", partial(with_later_fields, LEADER_WORKER_SET)),
        frozenset({"spec.networkConfig.subdomainPolicy"}),
    ),
    FileKind(
        *(disaggregatedset.KIND, disaggregatedset.GROUP, "v1", partial(with_later_fields, DISAGGREGATED_SET)),
    ),
    FileKind(v1alpha1.KIND, v1alpha1.GROUP, v1alpha1.VERSION, _ours(crd)),
    FileKind(template.KIND, v1alpha1.GROUP, v1alpha1.VERSION, _ours(template_crd), needs_spec=True),
)
"""The kinds that are checked in files."""
