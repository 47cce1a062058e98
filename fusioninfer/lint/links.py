"""Services whose names set variables in all pods of a namespace that an engine takes for its own."""

from collections.abc import Iterator
from typing import Final

from fusioninfer.lint.checked import Checked
from fusioninfer.lint.documents import Document
from intent import Object
from intent.errors import FieldError
from intent.read import read
from intent.shapes import containers_of, listed, mapping, metadata, text

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
