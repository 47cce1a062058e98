"""Whole objects of the kinds that are read from files, held against the schemas of their definitions.

The API server refuses the same values, and the same unknown fields where validation is strict, as it is with
kubectl. Rules that no schema has, those of labels and of LWS's webhooks, are for a dry run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any, Final

from catalog.schemas import (
    DISAGGREGATED_SET,
    LEADER_WORKER_SET,
    OBJECT_META,
    Schema,
    schemas,
    with_later_fields,
)
from intent import Object, disaggregatedset, lws
from intent.errors import FieldError
from intent.inferenceservice import crd, v1alpha1
from intent.inferencetemplate import crd as template_crd
from intent.inferencetemplate import v1alpha1 as template
from intent.names import is_subdomain
from intent.schema import INVALID, REQUIRED, violations
from intent.shapes import mapping, text


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind that is read from files."""

    name: str
    group: str
    version: str
    spec: Callable[[], Schema]
    """The schema of its spec."""
    defaulted: str = ""
    """A required field that a mutating webhook sets before the schema is checked."""

    @property
    def api_version(self) -> str:
        """The value of `apiVersion`."""
        return f"{self.group}/{self.version}"


def kind_of(obj: Object) -> FileKind | None:
    """Return the kind of an object, of any version; None for kinds that are not checked."""
    group = text(obj.get("apiVersion")).partition("/")[0]
    return next((kind for kind in KINDS if (kind.name, kind.group) == (obj.get("kind"), group)), None)


def violations_of(obj: Object, kind: FileKind) -> Iterator[FieldError]:
    """Yield the violations by an object (FI920, FI921), and fields of later releases (FI925)."""
    anything: Object = {}
    fields = {
        **dict.fromkeys(("apiVersion", "kind", "status"), anything),
        "metadata": schemas()[OBJECT_META].root,
        "spec": kind.spec().root,
    }
    present = {"metadata": {}, "spec": {}} | {key: value for key, value in obj.items() if value is not None}
    yield from _name(present["metadata"])
    for error in violations(present, {"type": "object", "properties": fields}, ""):
        path = error.path.removeprefix(".")
        if (error.message, path) != (REQUIRED, kind.defaulted):
            yield replace(error, path=path)


def _name(metadata: Any) -> Iterator[FieldError]:
    name = mapping(metadata).get("name")
    if name in (None, "") and isinstance(metadata, dict) and not metadata.get("generateName"):
        yield FieldError("metadata.name", None, REQUIRED, INVALID)
    elif isinstance(name, str) and name and not is_subdomain(name):
        rule = "must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'"
        yield FieldError("metadata.name", name, rule, INVALID)


# --- the kinds --------------------------------------------------------------------------------------------


def _ours(definition: ModuleType) -> Callable[[], Schema]:
    return lambda: Schema("", definition.schema()["properties"]["spec"])


KINDS: Final = (
    FileKind(
        *(lws.KIND, "leaderworkerset.x-k8s.io", "v1", partial(with_later_fields, LEADER_WORKER_SET)),
        "spec.networkConfig.subdomainPolicy",
    ),
    FileKind(
        *(disaggregatedset.KIND, disaggregatedset.GROUP, "v1", partial(with_later_fields, DISAGGREGATED_SET)),
    ),
    FileKind(v1alpha1.KIND, v1alpha1.GROUP, v1alpha1.VERSION, _ours(crd)),
    FileKind(template.KIND, v1alpha1.GROUP, v1alpha1.VERSION, _ours(template_crd)),
)
"""The kinds that are checked in files."""
