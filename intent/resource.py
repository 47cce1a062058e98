"""Whole objects of the kinds that are read from files, held against the schemas of their definitions.

The API server refuses the same values, and the same unknown fields where validation is strict, as it is with
kubectl. LWS's webhooks refuse what no schema can express.

Source: LWS v0.9.0 `pkg/webhooks/leaderworkerset_webhook.go` (`generalValidate`) and
`pkg/webhooks/disaggregatedset`, for newer fields that of v0.10.0; metadata: `k8s.io/apimachinery`
`pkg/api/validation/objectmeta.go`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
from intent.annotations import EXCLUSIVE_TOPOLOGY
from intent.inferenceservice import crd, v1alpha1
from intent.inferencetemplate import crd as template_crd
from intent.inferencetemplate import v1alpha1 as template
from intent.names import is_dns_1035_label, is_label_key, is_label_value, is_subdomain
from intent.rollout import MOST_PODS, OF_ROLLOUT
from intent.schema import FieldCheck, Rules, Violation, violations
from intent.shapes import annotations, listed, mapping, metadata, text, without_nulls

SUBGROUP_TOPOLOGY: Final = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
FIELDS: Final = ("apiVersion", "kind", "metadata", "spec", "status")
Beyond = Callable[[Object], Iterator[Violation]]
"""Checks of several fields together, on an object whose types are right."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind that is read from files."""

    name: str
    group: str
    version: str
    spec: Callable[[], Schema]
    """The schema of its spec."""
    rules: Rules = field(default_factory=dict)
    beyond: Beyond = lambda _obj: iter(())
    defaulted: frozenset[str] = frozenset()
    """Required fields that a mutating webhook sets before the schema is checked."""
    is_all_or_nothing: bool = False
    """Whether nothing can be read of an object with a value of the wrong type."""
    needs_spec: bool = False
    """Whether an object without a spec is refused by its schema alone."""
    is_name: Callable[[str], bool] = is_subdomain
    name_rule: str = "a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'"

    @property
    def api_version(self) -> str:
        """The value of `apiVersion`."""
        return f"{self.group}/{self.version}"

    @property
    def source(self) -> str:
        """The release that defines the kind, for messages."""
        return self.spec().source or self.api_version

    def place_of(self, path: str, name: str) -> str:
        """Return the path of an object that may have a field of this name, near a path; empty for none."""
        fields = {"metadata": schemas()[OBJECT_META].root, "spec": self.spec().root}
        place = nearest_place({"properties": fields}, path, name)
        positions = iter(re.findall(r"\[[0-9]+\]", path))
        return re.sub(r"\[\]", lambda _: next(positions, "[]"), place)


def kind_of(obj: Object) -> FileKind | None:
    """Return the kind of an object, of any version; None for kinds that are not checked."""
    group = text(obj.get("apiVersion")).partition("/")[0]
    return next((one for one in KINDS if (one.name, one.group) == (obj.get("kind"), group)), None)


def violations_of(obj: Object, kind: FileKind) -> Iterator[Violation]:
    """Yield the violations by an object, of its metadata first."""
    found = list(_by_schema(obj, kind))
    yield from found
    wrong = tuple(one.path for one in found if one.is_wrong)
    yield from (one for one in kind.beyond(obj) if not one.path.startswith(wrong or ("\0",)))


def _by_schema(obj: Object, kind: FileKind) -> Iterator[Violation]:
    for name in obj:
        if name not in FIELDS:
            yield Violation(name, None, "unknown field", name, FIELDS)
    meta, spec = (obj[name] if obj.get(name) is not None else {} for name in ("metadata", "spec"))
    yield from violations(meta, schemas()[OBJECT_META].root, "metadata", OF_METADATA)
    yield from _name(obj, kind)
    if kind.needs_spec and obj.get("spec") is None:
        yield Violation("spec", None, "is required")
    found = violations(spec, kind.spec().root, "spec", kind.rules)
    yield from (one for one in found if one.message != "is required" or one.path not in kind.defaulted)


# --- metadata -----------------------------------------------------------------------------------------


def _name(obj: Object, kind: FileKind) -> Iterator[Violation]:
    if not isinstance(obj.get("metadata"), dict | None):
        return
    name = metadata(obj).get("name")
    if name in (None, "") and not metadata(obj).get("generateName"):
        yield Violation("metadata.name", None, "is required")
    elif isinstance(name, str) and name and not kind.is_name(name):
        yield Violation("metadata.name", name, f"must be {kind.name_rule}")


def _labels(labels: Object) -> str:
    wrong = next(
        (key for key, value in labels.items() if not (is_label_key(key) and is_label_value(value))), None
    )
    return (
        ""
        if wrong is None
        else f"{wrong}: {labels[wrong]} is not a label: at most 63 letters, digits, -, _ and ."
    )


def _annotations(annotations: Object) -> str:
    wrong = next((key for key in annotations if not is_label_key(key.lower())), None)
    return "" if wrong is None else f"{wrong} is not the key of an annotation: write NAME or DOMAIN/NAME"


OF_METADATA: Final[Rules] = {".labels": (_labels,), ".annotations": (_annotations,)}


# --- LeaderWorkerSet ----------------------------------------------------------------------------------


def _least(limit: int) -> FieldCheck:
    return lambda value: "" if value >= limit else f"must be at least {limit}"


def _different(**keys: Any) -> FieldCheck:
    """Return the check that items of a list differ in some keys, of which one has a default.

    The schemas of `catalog.schemas` have no defaults, and treat such a list as a whole.
    """

    def check(items: list[Object]) -> str:
        found = [tuple(item.get(key, default) for key, default in keys.items()) for item in items]
        twice = next((one for at, one in enumerate(found) if one in found[:at]), None)
        return f"must not list {' '.join(map(str, twice))} twice: remove one" if twice else ""

    return check


_GROUP: Final = ".leaderWorkerTemplate"
_TEMPLATES: Final = (f"{_GROUP}.leaderTemplate", f"{_GROUP}.workerTemplate")
OF_LEADER_WORKER_SET: Final[Rules] = {
    ".replicas": (_least(0),),
    f"{_GROUP}.size": (_least(1),),
    f"{_GROUP}.subGroupPolicy.subGroupSize": (_least(1),),
    **{
        f"{template}.spec.{containers}[].ports": (_different(containerPort=0, protocol="TCP"),)
        for template in _TEMPLATES
        for containers in ("containers", "initContainers", "ephemeralContainers")
    },
    **{f"{template}.spec.imagePullSecrets": (_different(name=""),) for template in _TEMPLATES},
    **{f".rolloutStrategy{path}": checks for path, checks in OF_ROLLOUT.items()},
}


def _of_groups(spec: Object, path: str) -> Iterator[Violation]:
    """Check the sizes of one LeaderWorkerSet against each other."""
    group = mapping(spec.get("leaderWorkerTemplate"))
    size, replicas = _whole(group.get("size"), 1), _whole(spec.get("replicas"), 1)
    if replicas * size > MOST_PODS:
        yield Violation(f"{path}.replicas", replicas, f"times the size must not exceed {MOST_PODS} pods")
    policy = group.get("subGroupPolicy")
    if not isinstance(policy, dict):
        return
    at, part = (
        f"{path}.leaderWorkerTemplate.subGroupPolicy.subGroupSize",
        _whole(policy.get("subGroupSize"), 0),
    )
    if not part:
        yield Violation(at, None, "is required")
    elif part > size:
        yield Violation(at, part, f"must not be larger than the size, {size}")
    elif (size - 1) % part and (size % part or policy.get("subGroupPolicyType") == "LeaderExcluded"):
        yield Violation(at, part, f"must divide the size, {size}, or the size without the leader, {size - 1}")


def _whole(value: Any, absent: int) -> int:
    """Return a number; `absent` for anything else, which the schema reports."""
    return value if type(value) is int and 0 <= value <= MOST_PODS else absent


def _of_lws(obj: Object) -> Iterator[Violation]:
    spec = mapping(without_nulls(obj.get("spec")))
    yield from _of_groups(spec, "spec")
    needs = SUBGROUP_TOPOLOGY in mapping(metadata(obj).get("annotations"))
    if needs and "subGroupPolicy" not in mapping(spec.get("leaderWorkerTemplate")):
        path = f"metadata.annotations[{SUBGROUP_TOPOLOGY}]"
        yield Violation(path, None, "needs spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize")


# --- DisaggregatedSet ---------------------------------------------------------------------------------


def _no_partition(value: int) -> str:
    return "must be 0: a DisaggregatedSet rolls its roles out together" if value else ""


_ROLE: Final = ".roles[].spec"
OF_DISAGGREGATED_SET: Final[Rules] = {
    **{f"{_ROLE}{path}": checks for path, checks in OF_LEADER_WORKER_SET.items()},
    f"{_ROLE}.rolloutStrategy.rollingUpdateConfiguration.partition": (_no_partition,),
}


def _of_roles(obj: Object) -> Iterator[Violation]:
    whole = mapping(without_nulls(obj.get("spec")))
    written = list(map(mapping, listed(whole.get("roles"))))
    roles = [mapping(one.get("spec")) for one in written]
    for at, spec in enumerate(map(without_nulls, roles)):
        if spec:
            yield from _of_groups(spec, f"spec.roles[{at}].spec")
        else:
            yield Violation(f"spec.roles[{at}].spec", None, "is required")
    external = [at for at, one in enumerate(written) if disaggregatedset.is_external(one)]
    if len({spec.get("replicas") == 0 for at, spec in enumerate(roles) if at not in external}) > 1:
        yield Violation("spec.roles", None, "replicas must be 0 for all roles, or for none")
    if external and _whole(whole.get("slices"), 1) > 1:
        yield Violation(
            "spec.slices", None, f"must be 1: spec.roles[{external[0]}] has scaling.mode External"
        )
    policy = mapping(whole.get("placementPolicy"))
    if policy.get("type", "None") != "None":
        if not policy.get("topology"):
            yield Violation("spec.placementPolicy.topology", None, "is required")
        for at, one in enumerate(written):
            yield from _exclusive(one, f"spec.roles[{at}]")


def _exclusive(role: Object, path: str) -> Iterator[Violation]:
    """Report the annotations by which LWS keeps other groups away, which exclude a placementPolicy."""
    group = mapping(mapping(role.get("spec")).get("leaderWorkerTemplate"))
    places = {f".spec.leaderWorkerTemplate.{name}": group.get(name) for name in disaggregatedset.TEMPLATES}
    for below, value in ({"": role} | places).items():
        for key in (EXCLUSIVE_TOPOLOGY, SUBGROUP_TOPOLOGY):
            if key in annotations(value):
                where = f"{path}{below}.metadata.annotations[{key}]"
                yield Violation(where, None, "must not be set beside spec.placementPolicy")


def _ours(definition: ModuleType) -> Callable[[], Schema]:
    return lambda: Schema("", definition.schema()["properties"]["spec"])


KINDS: Final = (
    FileKind(
        *(lws.KIND, "leaderworkerset.x-k8s.io", "v1", partial(with_later_fields, LEADER_WORKER_SET)),
        *(OF_LEADER_WORKER_SET, _of_lws, frozenset({"spec.networkConfig.subdomainPolicy"})),
        is_name=is_dns_1035_label,
        name_rule="a DNS-1035 label, since a Service has the same name: lower-case letters, digits and '-', "
        "a letter first, at most 63 characters",
    ),
    FileKind(
        *(disaggregatedset.KIND, disaggregatedset.GROUP, "v1", partial(with_later_fields, DISAGGREGATED_SET)),
        *(OF_DISAGGREGATED_SET, _of_roles),
    ),
    FileKind(v1alpha1.KIND, v1alpha1.GROUP, v1alpha1.VERSION, _ours(crd), is_all_or_nothing=True),
    FileKind(template.KIND, v1alpha1.GROUP, v1alpha1.VERSION, _ours(template_crd), needs_spec=True),
)
"""The kinds that are checked in files."""


# --- misplaced fields ---------------------------------------------------------------------------------

DEEP: Final = 7
"""How deep a misplaced field is looked for."""


def nearest_place(root: Object, path: str, name: str) -> str:
    """Return the path of an object with a field of this name, below, above or beside the one at `path`.

    One level below comes first: there the indentation is wrong by one level only.
    """
    here = _general(path.removesuffix(name).rstrip("."))
    found = [one for one in _objects_with(root, name, "", DEEP) if one and one != here]
    near = [one for one in found if is_near(one, here)]
    return min(near, key=lambda one: _distance(one, here), default="")


def _distance(one: str, here: str) -> tuple[int, bool]:
    """Return how many levels are between two paths, of siblings two, and whether the first is not below."""
    levels = one.count(".") - here.count(".")
    return abs(levels) if levels else 2, levels <= 0


def is_near(one: str, other: str) -> bool:
    """Return whether one path is above the other, or both have the same parent."""
    same_parent = one.rpartition(".")[0] == other.rpartition(".")[0]
    return not other or same_parent or f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _general(path: str) -> str:
    """Return a path without the positions of items."""
    return re.sub(r"\[[0-9]+\]", "[]", path)


def _objects_with(node: Object, name: str, path: str, depth: int) -> Iterator[str]:
    fields = node.get("properties", {})
    if name in fields:
        yield path
    if not depth:
        return
    for key, below in fields.items():
        yield from _objects_with(below, name, f"{path}.{key}" if path else key, depth - 1)
    if "items" in node:
        yield from _objects_with(node["items"], name, f"{path}[]", depth)
