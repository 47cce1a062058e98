"""Hints about documents that are not checked, though their authors may expect it, or that break others."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from fusioninfer.lint.checked import Checked
from fusioninfer.lint.documents import Document
from intent import Object, disaggregatedset, lws
from intent.annotations import INJECT, PREFIX, is_ours
from intent.errors import FieldError, nearest
from intent.inferenceservice.v1alpha1 import GROUP
from intent.inferenceservice.v1alpha1 import KIND as INFERENCE_SERVICE
from intent.inferencetemplate.v1alpha1 import KIND as INFERENCE_TEMPLATE
from intent.read import read
from intent.resource import KINDS, kind_of
from intent.shapes import annotations, containers_of, labels, listed, mapping, metadata, text

REFUSED: Final = "FI921"
NO_EFFECT: Final = "FI930"
NOT_CHECKED: Final = "FI931"
EMPTY: Final = "FI932"
NOT_RENDERED: Final = "FI933"

KUSTOMIZE: Final = "kustomize.config.k8s.io/"
KUSTOMIZATION_FILES: Final = frozenset({"kustomization.yaml", "kustomization.yml"})
SIMILAR: Final = 0.85
"""The least similarity at which the prefix of an annotation is taken for ours."""
PLACES: Final = {
    lws.KIND: "metadata.annotations",
    disaggregatedset.KIND: "spec.roles[].metadata.annotations",
    INFERENCE_SERVICE: "metadata.annotations",
    INFERENCE_TEMPLATE: f"metadata.annotations, {INJECT} only",
}
"""Where each kind has our annotations."""


def is_kustomization(document: Document) -> bool:
    """Return whether a document is an instruction for kustomize: no object of a cluster."""
    obj = document.object
    if text(obj.get("apiVersion")).startswith(KUSTOMIZE):
        return True
    return PurePath(document.file).name in KUSTOMIZATION_FILES and not obj.get("kind")


def hints(document: Document) -> Iterator[FieldError]:
    """Report why a document is not checked, or which keys of ours do nothing in it."""
    obj = document.object
    if not obj:
        yield FieldError("", None, "contains no object", EMPTY)
    elif is_kustomization(document):
        message = "is an instruction for kustomize: check the output of kubectl kustomize DIRECTORY instead"
        yield FieldError("kind", None, message, NOT_RENDERED)
    elif not (text(obj.get("kind")) and text(obj.get("apiVersion"))):
        name = "apiVersion" if text(obj.get("kind")) else "kind"
        fault = "is missing" if obj.get(name) in (None, "") else "must be a string"
        message = f"{fault}: the object is not checked, and cannot be applied"
        yield FieldError(name, None, message, REFUSED if _is_for_us(obj) else NOT_CHECKED)
    elif kind := kind_of(obj):
        yield from _of_other_prefix(obj)
        if key := _key_of_ours(obj, kind.name):
            message = f"has no effect there: annotations of {kind.name}s are read from {PLACES[kind.name]}"
            yield FieldError(key, None, message, NO_EFFECT)


def unchecked(obj: Object) -> FieldError:
    """FI931: an object is not checked, and no other one of the files is."""
    names = ", ".join(f"{one.name}.{one.group}" for one in KINDS)
    message = f"nothing in the files is checked: they have none of {names}"
    return FieldError("kind", text(obj.get("kind")), message, NOT_CHECKED)


def _is_for_us(obj: Object) -> bool:
    """Return whether the group or the kind of an object is one of ours."""
    group = text(obj.get("apiVersion")).partition("/")[0]
    return any(obj.get("kind") == kind.name or group == kind.group for kind in KINDS)


# --- keys without an effect ---------------------------------------------------------------------------


def _of_other_prefix(obj: Object) -> Iterator[FieldError]:
    """Report annotations whose prefix resembles ours: nobody reads them."""
    for key in annotations(obj):
        prefix, slash, name = key.partition("/") if isinstance(key, str) else ("", "", "")
        if slash and prefix != GROUP and nearest(prefix, [GROUP], SIMILAR):
            message = f"is not read; did you mean {PREFIX}{name}?"
            yield FieldError(f"metadata.annotations[{key}]", None, message, NO_EFFECT)


def _key_of_ours(obj: Object, kind: str) -> str:
    """Return the path of a key of ours in a place of an object of ours where it is not read."""
    group, written = mapping(mapping(obj.get("spec")).get("leaderWorkerTemplate")), annotations(obj)
    places = {"metadata.annotations": written if kind not in {lws.KIND, INFERENCE_SERVICE} else {}}
    if kind == lws.KIND:
        places |= {"metadata.labels": {} if is_ours(written) else labels(obj)} | {
            f"{lws.LWT}.{field}.metadata.annotations": annotations(mapping(group.get(field)))
            for field in lws.TEMPLATES
        }
    read = {INJECT} if kind == INFERENCE_TEMPLATE else set[str]()
    keys = ((path, str(key)) for path, keys in places.items() for key in keys if key not in read)
    return next((f"{path}[{key}]" for path, key in keys if key.startswith(PREFIX)), "")


# --- Services whose names set variables in the pods of a namespace ---------------------------------

_VARIABLE: Final = "VLLM_PORT"
"""vLLM's own variable, a number. Of a Service `vllm` the kubelet makes it `tcp://…`, with which vLLM ends."""


def links(each: list[Checked]) -> Iterator[tuple[Document, FieldError]]:
    """Yield the Services `vllm` beside pods that run vLLM and read the variables of Services."""
    sets = [part.object for one in each for part in one.parts if read(part.object).intent]
    places = {text(metadata(one).get("namespace")) for one in sets if any(map(_reads, _pods(one)))}
    for document in (one.document for one in each if places):
        of, spec = metadata(document.object), mapping(document.object.get("spec"))
        has_address = spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName"
        is_named = document.object.get("kind") == "Service" and of.get("name") == "vllm"
        if is_named and has_address and text(of.get("namespace")) in {"", *places}:
            message = (
                f"a Service of this name sets {_VARIABLE} in the pods, with which vLLM does not start: "
                "use another name, or enableServiceLinks: false in the pods"
            )
            yield document, FieldError("metadata.name", None, message, "FI924")


def _pods(lws: Object) -> Iterator[Object]:
    group = mapping(mapping(lws.get("spec")).get("leaderWorkerTemplate"))
    yield from (mapping(mapping(one).get("spec")) for one in group.values())


def _reads(pod: Object) -> bool:
    engines = [one for _, one in containers_of(pod) if "vllm" in f"{one.get('image')} {one.get('command')}"]
    own = {text(mapping(item).get("name")) for one in engines for item in listed(one.get("env"))}
    return bool(engines) and pod.get("enableServiceLinks") is not False and _VARIABLE not in own
