"""Events name their object, and keep their names from release to release."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from typing import Final

import grimp

from catalog.codes import CODES
from intent.errors import FieldError, Finding, Subject
from sync.events import lasting, rendered
from tests.hostile.names import HOSTILE
from tests.sync.samples import prefill

ERROR = FieldError("spec.roles", None, "service r1 waits for a decoder", "FI410")
SERVICE = Subject("fusioninfer.io/v1alpha1", "InferenceService", "team-a", "r1", "uid-r1")


NEVER: Final = {
    **dict.fromkeys(
        ("FI750", "FI755"),
        "a warning: an InferenceService that cannot be read gets Events for errors alone",
    ),
    **dict.fromkeys(("FI952", "FI954"), "an InferenceTemplate is refused at its admission"),
    **dict.fromkeys(("FI920", "FI921", "FI925"), "a schema refuses it: the API server's, or that of a file"),
}


def written() -> Iterator[str]:
    """Return the codes in all modules that compute desired objects, except the table of codes.

    Those of failing pods are in a status and in `why` alone.
    """
    graph = grimp.build_graph("catalog", "intent", "kube", "sync", cache_dir=None)
    desired = {"sync.parts.service", *graph.find_upstream_modules("sync.parts.service")}
    tables = {"catalog.codes", "sync.observed.pod", *graph.find_descendants("catalog.codes")}
    for module in {"sync.decide", *desired} - tables:
        for node in ast.walk(ast.parse(inspect.getsource(importlib.import_module(module)))):
            if isinstance(node, ast.Constant) and node.value in CODES:
                yield str(node.value)


def test_every_code_of_a_service_has_a_reason() -> None:
    of_one_template = {code for code in written() if code[2] in "13"}

    named = {code for code, row in CODES.items() if row.event != "Invalid"}
    assert set(written()) - of_one_template - NEVER.keys() == named


def test_the_name_of_an_event_stays_the_same() -> None:
    (found,) = lasting([Finding(prefill().subject, ERROR)])

    assert found.name == "p.79b8cd567c52d105"


def test_a_refusal_keeps_its_event_whatever_else_is_refused() -> None:
    refused = FieldError("spec", None, "is refused", "FI872")
    one, other = (Finding(SERVICE, refused, ("Service", name)) for name in ("r1-api", "r1-epp"))

    names = [[found.name for found in lasting(findings)] for findings in ((one, other), (other,))]

    assert (names[0][1], len({*names[0]})) == (names[1][0], 2)


def test_an_event_is_about_its_subject() -> None:
    (found,) = lasting([Finding(SERVICE, ERROR)])
    told = rendered(found, "2026-01-01T00:00:00Z", 1)

    assert told["involvedObject"] == {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceService",
        "namespace": "team-a",
        "name": "r1",
        "uid": "uid-r1",
    }


def test_the_message_of_an_event_controls_no_terminal() -> None:
    wrong = FieldError("spec", None, f"has {HOSTILE * 300}", "FI108")

    (found,) = lasting([Finding(SERVICE, wrong)])
    message = rendered(found, "2026-01-01T00:00:00Z", 1)["message"]

    assert message.isprintable()
    assert (len(message), message[-1]) == (1024, ")")
