"""Explanations cover every field, and name its mutator and an input that the author wrote."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from fusioninfer.cli import main
from fusioninfer.lint import documents, explain, offline
from intent.settings import Settings
from intent.tree import COPY, LIST_KEYS
from tests.builders import lws
from tests.builders.documents import read_files
from tests.builders.templates import template
from tests.golden.test_golden import CASES, inputs
from tests.laws.laws import leaves
from webhook.mutate import CONCERNS, REPLACEABLE, input_of, rule_for
from webhook.overlay import record
from webhook.overlay.overlay import combine
from webhook.overlay.put import inject
from webhook.state import Fresh, state

SETTINGS: Final = Settings()
NEEDED: Final = "ray-symmetric needs Ray 2.54 or later"
PROBED: Final = next(case for case in CASES if case.name == "engine-53-probes") / "input.yaml"
ARGS: Final = "spec.leaderWorkerTemplate.workerTemplate.spec.containers[vllm].args"


def documents_of(case: Path) -> list[documents.Document]:
    """Return the LeaderWorkerSets of a case that are admitted. They must not be changed: tests share them."""
    return [document for document, _ in admitted(case)]


@cache
def admitted(case: Path) -> list[tuple[documents.Document, offline.Composition]]:
    """Expand each LeaderWorkerSet of a case, and return the pairs that are not denied."""
    pairs = [
        (one, offline.compose([one], SETTINGS, admission_only=True))
        for one in inputs(case)
        if offline.is_lws(one.object)
    ]
    return [(document, made) for document, made in pairs if not made.count("error")]


@cache
def explained(case: Path) -> list[tuple[documents.Document, list[explain.Explanation]]]:
    """Explain each LeaderWorkerSet of a case that is admitted."""
    return [(document, explain.explain([document], SETTINGS)) for document in documents_of(case)]


def spelled(path: tuple[Any, ...]) -> str:
    """Render a path of the record as explanations do."""
    text = ""
    for step in path:
        if isinstance(step, tuple):
            text += f"[{'/'.join(map(str, step))}]"
        else:
            text += f"[{step}]" if "." in step or "/" in step else f".{step}"
    return text[1:]


def recorded(document: documents.Document, made: offline.Composition) -> list[str]:
    """List the leaves of the record that a document gets, without the keys of list items."""
    text = record.find(document.object, *made.objects)
    parts = json.loads(text)["parts"] if text else {}
    applied = combine(part.get("set", {}) for part in parts.values())
    return [
        spelled(path)
        for path, _ in leaves(applied)
        if path[-1] != COPY and not (len(path) > 1 and _is_key(path))
    ]


def _is_key(path: tuple[Any, ...]) -> bool:
    return isinstance(path[-2], tuple) and path[-1] in LIST_KEYS[path[-3]]


@pytest.mark.slow
def test_each_leaf_of_the_record_is_explained() -> None:
    left = []
    for case in CASES:
        pairs = zip(explained(case), admitted(case), strict=True)
        for (document, explanations), (_, made) in pairs:
            paths = [re.escape(one.field.path) for one in explanations if one.concern != "split"]
            below = re.compile(rf"({'|'.join(paths)})($|[.\[])")
            left += [(case.name, leaf) for leaf in recorded(document, made) if not below.match(leaf)]

    assert left == []


def test_a_copied_template_is_one_field() -> None:
    found = explain.explain(read_files([str(PROBED)]), SETTINGS)

    (one,) = [one.field for one in found if one.concern == "split"]
    assert (one.path, one.now) == ("spec.leaderWorkerTemplate.leaderTemplate", "a copy of workerTemplate")


SHARED: Final = {"model": ["model", "lora"], "shm": ["shm", "shm_limit"]}
"""A model and its adapters have one token, memory and its size are one volume: the first one explains it."""


def test_the_concern_is_the_mutator_that_writes_the_field() -> None:
    others = []
    for case in CASES:
        for document, explanations in explained(case):
            fields = written(document)
            for one in explanations:
                writers = [name for name, paths in fields.items() if one.field.path in paths]
                if writers not in ([one.concern], SHARED.get(one.concern)):
                    others.append((case.name, one.field.path, writers))

    assert others == []


def written(document: documents.Document) -> dict[str, set[str]]:
    """List the fields that each mutator writes on its own; for a copied template, those of the copy."""
    found = state(document.object)
    if not isinstance(found, Fresh):
        return {}
    given = input_of(found.intent, SETTINGS)
    overlays = {one.name: one.mutate(given) for one in CONCERNS if one.name in given.concerns}
    copied = overlays["split"]
    fields = {
        name: {
            field.path
            for field in explain.fields(
                *inject(found.write.original, combine([copied, overlay]), REPLACEABLE)[1:3]
            )
        }
        for name, overlay in overlays.items()
    }
    return {name: paths - fields["split"] if name != "split" else paths for name, paths in fields.items()}


def test_a_cause_is_an_input_of_the_author() -> None:
    causes = [
        (case.name, one.cause, one.value)
        for case in CASES
        for _, explanations in explained(case)
        for one in explanations
    ]

    assert len(causes) > len(CASES)
    assert [(name, cause) for name, cause, value in causes if value is None] == []


@pytest.mark.parametrize(
    ("case", "choice"),
    [
        ("engine-02-names-the-executor", "ray-symmetric: vllm-openai v0.17.1 runs it"),
        ("engine-01-documents-example-2", "ray-symmetric: fusioninfer.io/launcher names it"),
        (
            "engine-01-documents-example-2-auto",
            f"ray-start: vllm-openai v0.11.0 has Ray 2.49 or older: {NEEDED}; ray-start is used",
        ),
        ("engine-70-launcher-none", None),
    ],
)
def test_a_launch_names_the_launcher_and_the_reason(case: str, choice: str | None) -> None:
    found = explain.explain(documents_of(CASES[0].parent / case), SETTINGS)

    launched = [one for one in found if one.concern == "launch"]
    assert {one.choice for one in launched} == ({choice} if choice else set())
    assert {one.choice for one in found if one.concern != "launch"} == {""}
    assert all(f"launcher {choice}" in explain.as_text([one]) for one in launched)


def test_a_recorded_launch_that_would_not_be_chosen_now_is_marked() -> None:
    stored = read_files([str(CASES[0].parents[1] / "webhook" / "expanded_before_auto.yaml")])

    launched = [one for one in explain.explain(stored, SETTINGS) if one.concern == "launch"]

    assert {one.choice for one in launched} == {
        "ray-symmetric: recorded earlier; the current rules would choose another launcher"
    }


def test_a_field_without_a_mutator_has_no_rule() -> None:
    assert rule_for("spec.leaderWorkerTemplate.workerTemplate.spec.hostNetwork") is None


def test_an_expanded_object_is_explained_by_its_record() -> None:
    before = read_files([str(PROBED)])
    stored = offline.compose(before, SETTINGS, admission_only=True).objects

    after = explain.explain([documents.Document("-", 1, one) for one in stored], SETTINGS)

    assert {one.field.path for one in after} == {one.field.path for one in explain.explain(before, SETTINGS)}


def test_size_1_and_launcher_none_are_not_causes() -> None:
    plain = PROBED.parents[1] / "sidecar-01-args-only" / "input.yaml"
    (document,) = read_files([str(plain)])
    document.object["metadata"]["annotations"]["fusioninfer.io/launcher"] = "none"

    found = explain.explain([document], SETTINGS)

    causes = {one.cause for one in found if one.field.path == ARGS}
    assert causes == {"metadata.annotations[fusioninfer.io/strategy]"}


def test_the_command_writes_what_the_text_has_as_json() -> None:
    found = explain.explain(read_files([str(PROBED)]), SETTINGS)
    answer = CliRunner().invoke(main, ["explain", "-f", str(PROBED), "-o", "json"])

    rows = json.loads(answer.stdout)
    assert [row["field"] for row in rows] == [one.field.path for one in found]
    assert all("choice" in row for row in rows if row["concern"] == "launch")
    (row,) = [row for row in rows if row["field"] == ARGS]
    assert row.pop("now")[0] == "symmetric-run"
    assert row.pop("choice").startswith("ray-symmetric: ")
    assert row.pop("reason").startswith("starts one engine over all pods of the group")
    assert row == {
        "file": str(PROBED),
        "document": 1,
        "field": ARGS,
        "was": ["--model", "org/M", "-tp", "16"],
        "concern": "launch",
        "rule": "FI621",
        "input": "spec.leaderWorkerTemplate.size",
        "inputValue": 2,
    }


def test_the_templates_are_those_of_the_namespace(tmp_path: Path) -> None:
    args = {name: [f"org/{name}", "--tensor-parallel-size", "16"] for name in "ab"}
    pods = {name: lws.template(lws.container(args=words)) for name, words in args.items()}
    templates = [template({"for": "common", "template": pods[name]}, namespace=name) for name in pods]
    short = lws.changed(lws.lws(base_refs="base"), lws.WORKER, {})
    file = tmp_path / "a.yaml"
    file.write_text(documents.write_yaml([*templates, short]))

    answer = CliRunner().invoke(main, ["explain", "-n", "a", str(file)])

    assert ("org/a" in answer.stdout, "org/b" in answer.stdout) == (True, False), answer.output
