"""Templates of an object: what it gets, when they are read, and what an author sees if there is none."""

import copy
from typing import Any, Final

import jsonpatch
import orjson
import pytest

import webhook.templates.fill
from intent import Object
from intent.annotations import EXPANSION, SERVICE, UNANSWERED
from intent.errors import FieldError
from intent.inferencetemplate.crd import schema
from intent.inferencetemplate.rules import findings
from intent.merge import merged
from intent.names import is_label_value
from intent.template import LARGEST, TEMPLATES_LIMIT, Templates, Unavailable
from tests.builders.lws import changed, container, lws, pod_spec, template
from tests.builders.reviews import review as review_of
from tests.laws.convergence.clients import client_side_apply
from tests.laws.convergence.managed import apply
from webhook import review
from webhook.check import check
from webhook.expand import expand, operations
from webhook.overlay.base import ContentKey
from webhook.state import state
from webhook.templates.content import OFF, content, key_of, needed

POD: Final = "spec.leaderWorkerTemplate.workerTemplate.spec"
ENGINE: Final = f"{POD}.containers.0"
REFS: Final = "metadata.annotations.fusioninfer.io/base-refs"
REFRESH: Final = "metadata.annotations.fusioninfer.io/refresh"
RECORD: Final = f"metadata.annotations.{EXPANSION}"
STARTUP: Final = "spec.startupPolicy"


def inference_template(name: str, *pods: Object, **spec: Any) -> Object:
    """Return a template with these entries."""
    of = {"name": name, "namespace": "llm", "uid": f"uid-{name}", "generation": 3}
    whole = {"apiVersion": "fusioninfer.io/v1alpha1", "kind": "InferenceTemplate", "metadata": of}
    return {**whole, "spec": {"pods": list(pods), **spec}}


def entry(spec: Object, metadata: Object | None = None, **fields: Any) -> Object:
    """Return an entry of `spec.pods` with a partial pod spec."""
    return {**fields, "template": {"spec": spec, **({"metadata": metadata} if metadata else {})}}


def engine(**fields: Any) -> Object:
    """Return a partial engine container."""
    return {"name": "vllm", **fields}


BASE: Final = inference_template(
    "base",
    entry(
        {
            "containers": [
                engine(
                    image="vllm/vllm-openai:v0.17.1",
                    command=["vllm", "serve"],
                    args=["--max-model-len", "4096", "--tensor-parallel-size", "16"],
                    env=[{"name": "LOG", "value": "info"}],
                    resources={"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}},
                )
            ],
            "tolerations": [{"key": "gpu"}],
            "nodeSelector": {"gpu": "h100"},
            "terminationGracePeriodSeconds": 90,
            "hostNetwork": True,
        },
        {"labels": {"team": "platform"}},
    ),
)
LIBRARY: Final[Templates] = {"base": BASE}


def named(worker: Object | None = None, refs: str = "base", **notes: Any) -> Object:
    """Return an object that names templates."""
    whole = lws(worker={} if worker is None else worker, model="hf://org/M", **{"base-refs": refs, **notes})
    whole["metadata"]["namespace"] = "llm"
    whole["spec"]["leaderWorkerTemplate"]["workerTemplate"] = {} if worker is None else worker
    return whole


def put(live: Object, old: Object | None = None, templates: Templates | None = LIBRARY) -> Object:
    """Mutate an object as an API server does: the templates that it needs are read."""
    read = templates if needed(live, old) else None
    made: Object = jsonpatch.apply_patch(live, expand(live, old, templates=read))
    return made


def vllm(whole: Object, field: str = "workerTemplate") -> Any:
    """Return the engine container of an object."""
    return next(one for one in pod_spec(whole, field)["containers"] if one["name"] == "vllm")


def codes(live: Object, old: Object | None = None, **options: Any) -> list[tuple[str, str]]:
    """Return codes and severities of the errors, and of warnings about templates."""
    found = check(live, old, **options)
    return [(one.code, one.severity) for one in found if one.severity == "error" or one.code >= "FI95"]


def other(value: str) -> Templates:
    """Return the template with another label of nodes."""
    return {"base": changed(BASE, "spec.pods.0.template.spec.nodeSelector.gpu", value)}


STORED: Final = put(named())
MISSING: Final = put(named(), None, {})
"""As it is stored where no validating webhook is installed."""


# --- what an object gets ------------------------------------------------------------------------------


@pytest.mark.parametrize("old", [None, STORED])
def test_a_stored_object_is_left_as_it_is(old: Object | None) -> None:
    assert expand(STORED, old) == []


def some(**fields: Any) -> list[Object]:
    """Return two items with other names, and the same fields."""
    return [{"name": name, "mountPath": f"/{name}", **fields} for name in ("one", "two")]


SHARED: Final[list[tuple[str, list[Object]]]] = [
    (f"{ENGINE}.env", some(value="1")),
    (f"{ENGINE}.volumeMounts", some()),
    (
        f"{ENGINE}.ports",
        [{"containerPort": 8000, "protocol": "TCP"}, {"containerPort": 1, "protocol": "TCP"}],
    ),
    (f"{POD}.volumes", some(emptyDir={})),
    (f"{POD}.initContainers", some(image="busybox")),
    (f"{POD}.imagePullSecrets", some()),
    (f"{POD}.initContainers.0.env", some(value="1")),
    (f"{POD}.initContainers.0.volumeMounts", some()),
]
"""Lists that an author and a template share: the template has both items, the author one."""


@pytest.mark.parametrize(("path", "items"), SHARED, ids=[path.removeprefix(POD) for path, _ in SHARED])
@pytest.mark.parametrize("mine", [0, 1], ids=["first", "last"])
def test_a_file_that_is_applied_again_leaves_lists_in_their_order(
    path: str, items: list[Object], mine: int
) -> None:
    whole = template(engine(), initContainers=[{"name": "first", "image": "busybox"}])
    base, author = named(whole), named(template(engine(), initContainers=[{"name": "first"}]))
    base, file = changed(base, path, items), changed(author, path, [items[mine]])
    library = {"base": inference_template("base", entry(pod_spec(base)))}

    stored = put(client_side_apply(None, file) or {}, None, library)
    live = client_side_apply(stored, file)

    assert live
    assert pod_spec(put(live, stored, library)) == pod_spec(stored)


ZEROS: Final[list[tuple[str, Any]]] = [
    (f"{POD}.terminationGracePeriodSeconds", 0),
    (f"{POD}.hostNetwork", False),
    (f"{POD}.tolerations", []),
    (f"{ENGINE}.env", []),
    (f"{POD}.schedulerName", ""),
]


@pytest.mark.parametrize(("path", "zero"), ZEROS)
def test_a_zero_of_the_author_wins(path: str, zero: Any) -> None:
    author = changed(named(template(engine())), path, zero)
    stored = put(author)
    below: Any = stored
    for key in path.split("."):
        below = below[int(key)] if isinstance(below, list) else below[key]

    kept = [one for one in below if one["name"] == "LOG"] if path.endswith("env") else below
    assert kept == (zero if path.rpartition(".")[2] != "schedulerName" else kept)
    assert expand(changed(stored, "spec.replicas", 2), stored) == []
    assert put(author, stored) == stored


@pytest.mark.parametrize(("path", "zero"), ZEROS)
def test_a_zero_that_the_author_writes_later_wins(path: str, zero: Any) -> None:
    author = named(template(engine()))
    before = put(author)

    later = put(changed(before, path, zero), before)

    wanted = put(changed(author, path, zero))
    assert later["spec"] == wanted["spec"]
    assert expand(changed(later, "spec.replicas", 2), later) == []


ARGUMENTS: Final[list[tuple[str | None, list[str], list[str]]]] = [
    (None, ["--max-model-len", "8192"], ["--tensor-parallel-size", "16", "--max-model-len", "8192"]),
    ("merge", ["--max-model-len=8192"], ["--tensor-parallel-size", "16", "--max-model-len=8192"]),
    ("replace", ["--max-model-len", "8192"], ["--max-model-len", "8192"]),
    (
        "append",
        ["--max-model-len", "8192"],
        ["--max-model-len", "4096", "--tensor-parallel-size", "16", "--max-model-len", "8192"],
    ),
]


@pytest.mark.parametrize(("mode", "own", "expected"), ARGUMENTS)
def test_arguments_merge_as_the_template_says(mode: str | None, own: list[str], expected: list[str]) -> None:
    library = {"base": changed(BASE, "spec.pods.0.args", mode) if mode else BASE}
    author = named(template(engine(args=own)), launcher="none", size=1)

    assert vllm(put(author, templates=library))["args"][1:] == expected


ONE_OVER: Final = [row for row in ARGUMENTS if row[1] == ["--max-model-len", "8192"]]
"""The ways to merge the same arguments."""


@pytest.mark.parametrize("leader", ONE_OVER)
@pytest.mark.parametrize("worker", ONE_OVER)
def test_each_part_merges_arguments_in_its_own_way(leader: Any, worker: Any) -> None:
    (both,) = BASE["spec"]["pods"]
    modes = (("leader", leader[0]), ("worker", worker[0]))
    parts = [{**both, "part": part, **({"args": mode} if mode else {})} for part, mode in modes]
    library = {"base": inference_template("base", *parts)}
    stored = put(named(template(engine(args=worker[1])), launcher="none"), templates=library)
    has_leader = "leaderTemplate" in stored["spec"]["leaderWorkerTemplate"]

    assert vllm(stored)["args"][1:] == worker[2]
    assert vllm(stored, "leaderTemplate" if has_leader else "workerTemplate")["args"][1:] == leader[2]
    assert expand(changed(stored, "spec.replicas", 2), stored) == []


def test_entries_apply_by_component_type_and_part() -> None:
    library = {
        "base": inference_template(
            "base",
            *BASE["spec"]["pods"],
            entry({"priorityClassName": "leaders"}, part="leader"),
            entry({"runtimeClassName": "workers"}, part="worker"),
            {**entry({"dnsPolicy": "None"}), "for": "decoder"},
        )
    }
    stored = put(named(), templates=library)

    assert [
        pod_spec(stored, field).get("priorityClassName") for field in ("leaderTemplate", "workerTemplate")
    ] == ["leaders", None]
    assert [
        pod_spec(stored, field).get("runtimeClassName") for field in ("leaderTemplate", "workerTemplate")
    ] == [None, "workers"]
    assert "dnsPolicy" not in pod_spec(stored)
    assert expand(stored, stored) == []
    alone = put(changed(named(), "spec.leaderWorkerTemplate.size", 1), templates=library)
    assert "leaderTemplate" not in alone["spec"]["leaderWorkerTemplate"]
    assert pod_spec(alone)["priorityClassName"] == "leaders"


def test_later_templates_win_and_remove() -> None:
    more = entry({"nodeSelector": {"gpu": "b200"}}, remove=["tolerations", "containers/vllm/env/LOG"])
    stored = put(named(refs="base,more"), templates={**LIBRARY, "more": inference_template("more", more)})

    assert pod_spec(stored)["nodeSelector"] == {"gpu": "b200"}
    assert "tolerations" not in pod_spec(stored)
    assert "LOG" not in [one["name"] for one in vllm(stored).get("env", ())]


VARIABLES: Final = {
    "$(service.name)": "svc",
    "$(service.namespace)": "llm",
    "$(role.name)": "worker",
    "$(group.size)": "2",
    "$(model.name)": "org/M",
    "$(model.path)": "org/M",
    "$(parallelism.pipeline)": "2",
    "$(role.port)": "8000",
    "$(parallelism.data|none)": "none",
    "$(HOME)": "$(HOME)",
    "$$(model.name)": "$(model.name)",
}


def test_variables_have_the_values_of_the_object() -> None:
    env = [{"name": f"V{at}", "value": text} for at, text in enumerate(VARIABLES)]
    library = {
        **LIBRARY,
        "more": inference_template(
            "more", entry({"containers": [engine(env=env)]}), parallelism={"pipeline": 2}
        ),
    }
    stored = put(named(refs="base,more"), templates=library)
    given = {one["name"]: one.get("value") for one in vllm(stored)["env"]}

    assert [given[f"V{at}"] for at in range(len(VARIABLES))] == [*VARIABLES.values()]


def test_texts_of_the_author_are_never_searched_for_variables() -> None:
    own = [{"name": "PROMPT", "value": "$(model.name) {{ messages }}"}]
    stored = put(named(template(engine(env=own, args=["--chat-template", "$(service.name)"]))))

    assert own[0] in vllm(stored)["env"]
    assert "$(service.name)" in vllm(stored)["args"]


def test_variables_follow_the_author() -> None:
    env = [{"name": "MODEL", "value": "$(model.name)"}]
    library = {"base": changed(BASE, "spec.pods.0.template.spec.containers.0.env", env)}
    stored = put(named(), templates=library)
    after = put(changed(stored, "metadata.annotations.fusioninfer.io/model", "hf://org/N"), stored, None)

    assert "MODEL=org/N" in [f"{one['name']}={one.get('value')}" for one in vllm(after)["env"]]


@pytest.mark.parametrize(("mode", "own", "expected"), ARGUMENTS)
def test_a_container_merges_by_its_name_s_value(
    mode: str | None, own: list[str], expected: list[str]
) -> None:
    library = {"base": changed(BASE, "spec.pods.0.template.spec.containers.0.name", "$(service.name)")}
    if mode:
        library = {"base": changed(library["base"], "spec.pods.0.args", mode)}
    stored = put(
        named(template(engine(args=own)), service="vllm", launcher="none", size=1), templates=library
    )

    assert vllm(stored)["args"][1:] == expected
    assert codes(stored) == []


def test_the_port_is_the_value_of_a_variable_if_the_flag_is() -> None:
    env = [{"name": "PORT", "value": "$(role.port)"}]
    args = ["--port", "$(parallelism.data|9000)"]
    library = {
        **LIBRARY,
        "more": inference_template("more", entry({"containers": [engine(env=env, args=args)]})),
    }
    stored = put(named(refs="base,more"), templates=library)

    assert {"name": "PORT", "value": "9000"} in vllm(stored)["env"]


def test_pull_secrets_of_a_template_are_added_to_the_author_s() -> None:
    theirs = {"base": inference_template("base", entry({"imagePullSecrets": [{"name": "registry"}]}))}
    made = put(named(template(container(), imagePullSecrets=[{"name": "own"}])), templates=theirs)

    assert pod_spec(made)["imagePullSecrets"] == [{"name": "registry"}, {"name": "own"}]


def test_two_services_share_a_template_and_no_names() -> None:
    one, two = (put(named(service=name)) for name in ("one", "two"))

    assert [made["metadata"]["annotations"][SERVICE] for made in (one, two)] == ["one", "two"]
    assert vllm(one)["image"] == vllm(two)["image"]
    assert b'"two"' not in orjson.dumps(one)
    assert b'"one"' not in orjson.dumps(two)


def test_blocks_are_annotations_where_the_author_has_none() -> None:
    blocks = {
        "model": {"uri": "hf://org/T", "name": "theirs", "cache": "9Gi"},
        "parallelism": {"tensor": 8, "pipeline": 2, "expert": True},
        "lora": {"adapters": [{"name": "sql", "uri": "hf://org/sql"}], "maxRank": 64},
        "priority": 5,
    }
    base = content(key_of(named()), {"base": inference_template("base", **blocks)})  # type: ignore[arg-type]

    assert base.annotations == {
        "fusioninfer.io/model": "hf://org/T",
        "fusioninfer.io/model-name": "theirs",
        "fusioninfer.io/model-cache": "9Gi",
        "fusioninfer.io/parallelism": "tensor=8,pipeline=2,expert",
        "fusioninfer.io/lora": "sql=hf://org/sql,maxRank=64",
        "fusioninfer.io/priority": "5",
    }


def test_a_later_model_has_no_name_of_an_earlier_one() -> None:
    models = {"base": {"uri": "hf://org/T", "name": "theirs"}, "top": {"uri": "hf://org/U"}}
    library = {name: inference_template(name, model=model) for name, model in models.items()}

    base = content(key_of(named(refs="base,top")), library)  # type: ignore[arg-type]

    assert base.annotations == {"fusioninfer.io/model": "hf://org/U"}


def test_the_name_of_a_template_s_model_is_not_given_to_the_author_s_model() -> None:
    model = {"uri": "hf://org/T", "name": "theirs", "cache": "9Gi"}
    stored = put(named(), templates={"base": {**BASE, "spec": {**BASE["spec"], "model": model}}})
    notes = stored["metadata"]["annotations"]

    assert notes["fusioninfer.io/model"] == "hf://org/M"
    assert "fusioninfer.io/model-name" not in notes
    assert notes["fusioninfer.io/model-cache"] == "9Gi"


ADAPTER: Final = {"name": "sql", "uri": "hf://org/sql"}
SAMPLES: Final = {"string": "a", "integer": 5000, "boolean": True, "array": [ADAPTER]}
"""A value of each type."""
BLOCKS: Final = {
    f"{block}.{name}": {block: {name: SAMPLES[field["type"]]}}
    for block in ("model", "parallelism", "lora")
    for name, field in schema()["properties"]["spec"]["properties"][block]["properties"].items()
}
"""Blocks with one field alone, for each field of the definition."""


@pytest.mark.parametrize("field", BLOCKS)
def test_each_field_of_a_block_reaches_the_object_or_is_a_finding(field: str) -> None:
    one = inference_template("base", **BLOCKS[field])

    reaches = bool(content(ContentKey(("base",), "worker", ""), {"base": one}).annotations)

    assert reaches != (f"spec.{field}" in [found.path for found in findings(one)])


# --- when templates are read --------------------------------------------------------------------------

BYPASSED: Final = "metadata.annotations.fusioninfer.io/inject"
NEEDED: Final[list[tuple[str, Object, Object | None, tuple[str, ...]]]] = [
    ("a new object", named(), None, ("base",)),
    ("two templates, in order", named(refs="more, base"), None, ("more", "base")),
    ("no templates", lws(), None, ()),
    ("a new object with a record", STORED, None, ("base",)),
    ("the same object", STORED, STORED, ()),
    ("the author's file again", named(), STORED, ()),
    ("another image", changed(STORED, f"{ENGINE}.image", "corp/llm:1"), STORED, ()),
    ("another name", changed(STORED, REFS, "more"), STORED, ("more",)),
    ("a refresh", changed(STORED, REFRESH, "now"), STORED, ("base",)),
    (
        "another component type",
        changed(STORED, "metadata.annotations.fusioninfer.io/component-type", "decoder"),
        STORED,
        ("base",),
    ),
    ("a lost record, and nothing else", named(), named(), ()),
    ("a lost record, and a change", changed(named(), f"{POD}.hostIPC", True), named(), ("base",)),
    ("a missing template, and a change", changed(MISSING, f"{POD}.hostIPC", True), MISSING, ("base",)),
    ("no service", changed(named(), "metadata.annotations.fusioninfer.io/service", None), None, ()),
    ("too many names", named(refs=",".join(map("t{}".format, range(TEMPLATES_LIMIT + 1)))), None, ()),
    ("a name twice", named(refs="base,base"), None, ()),
    ("a forged record", changed(named(), RECORD, '{"base": 1}'), None, ("base",)),
    ("a record past the webhooks", named(), changed(STORED, BYPASSED, "disabled"), ("base",)),
]


@pytest.mark.parametrize(("what", "live", "old", "expected"), NEEDED, ids=lambda one: str(one)[:40])
def test_templates_are_read_only_where_they_are_needed(
    what: str, live: Object, old: Object | None, expected: tuple[str, ...]
) -> None:
    assert needed(live, old) == expected, what
    wanted = review.wanted(orjson.dumps(review_of(live, old)))
    assert wanted.names == expected
    assert wanted.namespace == "llm" or not expected


LATER: Final[dict[str, Object]] = {
    "the file again": named(),
    "another image": changed(STORED, f"{ENGINE}.image", "vllm/vllm-openai:v0.20.2"),
    "another size": changed(STORED, "spec.leaderWorkerTemplate.size", 4),
    "another model": changed(STORED, "metadata.annotations.fusioninfer.io/model", "hf://org/N"),
    "a paused controller": changed(STORED, "metadata.annotations.fusioninfer.io/paused", "true"),
}


@pytest.mark.parametrize("change", LATER)
@pytest.mark.parametrize("library", [other("b200"), {}, None], ids=["edited", "deleted", "no access"])
def test_a_changed_template_changes_no_stored_object(change: str, library: Templates | None) -> None:
    after = put(LATER[change], STORED, library)

    assert pod_spec(after)["nodeSelector"] == {"gpu": "h100"}
    assert codes(after, STORED) == []


def test_refresh_takes_the_template_as_it_is_now() -> None:
    after = put(changed(STORED, REFRESH, "now"), STORED, other("b200"))

    assert pod_spec(after)["nodeSelector"] == {"gpu": "b200"}
    assert codes(after, STORED) == []


@pytest.mark.parametrize("worker", [{}, {"spec": {}}, {"metadata": {"labels": {}}, "spec": {"volumes": []}}])
def test_who_applies_an_empty_template_owns_nothing_that_templates_give(worker: Object) -> None:
    """A server-side apply owns `{}` as a field: the map as it was sent, without what admission added."""
    author = named(worker)
    stored = put(apply(None, author))

    after = put(apply(stored, changed(author, REFRESH, "now")), stored, other("b200"))

    assert pod_spec(after)["nodeSelector"] == {"gpu": "b200"}


def test_other_names_give_other_content() -> None:
    library = {"more": inference_template("more", entry({"nodeSelector": {"zone": "a"}}))}
    author = template(container(), hostIPC=True)
    stored = put(named(author))
    after = put(changed(stored, REFS, "more"), stored, library)

    assert pod_spec(after)["nodeSelector"] == {"zone": "a"}
    assert "tolerations" not in pod_spec(after)


def test_without_templates_the_author_has_their_object_back() -> None:
    author = named(template(container(env=[{"name": "MINE", "value": "1"}])))
    plain = changed(author, REFS, None)
    stored = put(author)
    after = put(changed(stored, REFS, None), stored, None)

    assert {**after, "metadata": {}} == {**put(plain), "metadata": {}}


# --- edits of a container that only a template gives ----------------------------------------------------

FIELDS: Final = ("leaderTemplate", "workerTemplate")
GROUP: Final = put(named(launcher="ray-start"))
"""With a template for the leader, which is a copy."""


def edited(whole: Object, *fields: str, **values: Any) -> Object:
    """Return an object with other values in the engine containers of these templates."""
    after = copy.deepcopy(whole)
    for field in fields:
        vllm(after, field).update(copy.deepcopy(values))
    return after


@pytest.mark.parametrize("fields", [FIELDS, FIELDS[1:], FIELDS[:1]])
def test_an_edit_goes_with_the_container_of_the_template(fields: tuple[str, ...]) -> None:
    stored = put(edited(GROUP, *fields, workingDir="/w"), GROUP)
    library = {"base": changed(BASE, "spec.pods.0.template.spec.containers.0.name", "engine")}
    after = put(changed(stored, REFRESH, "now"), stored, library)
    names = [[one["name"] for one in pod_spec(after, field)["containers"]] for field in FIELDS]

    assert names == [["engine"], ["engine"]]
    assert codes(after, stored) == []


EMPTY: Final = {
    "nodeSelector": {},
    "tolerations": [],
    "schedulerName": "",
    "terminationGracePeriodSeconds": 0,
    "hostNetwork": False,
    "securityContext": {},
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("size", [1, 2])
def test_an_empty_value_of_a_template_goes_with_the_template(name: str, size: int) -> None:
    empty = inference_template("empty", entry({name: EMPTY[name]}))
    author = named(template(container("vllm")), refs="empty", size=size)
    stored = put(author, templates={"empty": empty})
    left = put(changed(stored, REFS, None), stored)

    assert pod_spec(stored)[name] == EMPTY[name]
    assert left["spec"] == put(changed(author, REFS, None))["spec"]


def test_an_empty_value_of_another_webhook_stays_where_templates_add_the_same() -> None:
    stored = put(named(launcher="ray-symmetric"))
    of_another = changed(stored, f"{POD}.initContainers.0.env", [])
    edited = changed(of_another, "metadata.annotations.fusioninfer.io/model", "hf://org/N")

    assert pod_spec(put(edited, of_another))["initContainers"] == pod_spec(of_another)["initContainers"]


def test_a_release_that_merges_otherwise_or_is_stricter_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    other, stricter = ("spec.priorityClassName", "other"), FieldError(POD, None, "", "FI953")
    monkeypatch.setattr(webhook.templates.fill, "merged", lambda *sides: changed(merged(*sides), *other))
    for field, value in ("metadata.annotations.fusioninfer.io/paused", "true"), (STARTUP, "LeaderReady"):
        edited = changed(STORED, field, value)
        assert {one["path"] for one in expand(edited, STORED)} <= {f"/{RECORD.replace('.', '/', 1)}"}
        assert pod_spec(put(edited, STORED, None)) == pod_spec(STORED)
    past = changed(STORED, f"{POD}.terminationGracePeriodSeconds", 30)
    assert pod_spec(put(changed(past, STARTUP, "LeaderReady"), past))["terminationGracePeriodSeconds"] == 30
    monkeypatch.undo()
    monkeypatch.setattr(webhook.templates.fill, "_unmatched", lambda *_sides: [stricter])
    assert pod_spec(put(named(), STORED, None)) == pod_spec(STORED)


# --- without a template -------------------------------------------------------------------------------

ABSENT: Final[list[tuple[Templates | None, str]]] = [
    ({}, "InferenceTemplate base does not exist: apply it, or correct the name"),
    (
        {"base": Unavailable("could not be read in 1.5 s")},
        "InferenceTemplate base could not be read in 1.5 s",
    ),
    (None, f"InferenceTemplate base {OFF.reason}"),
]


@pytest.mark.parametrize(("library", "says"), ABSENT)
def test_a_missing_template_is_refused_with_the_reason(library: Templates | None, says: str) -> None:
    noted = put(named(), None, library)
    [found] = check(noted)

    assert (found.code, found.severity) == ("FI951", "error")
    assert found.message == says
    assert {**noted, "metadata": {}} == {**named(), "metadata": {}}


def test_the_audit_annotation_says_that_there_is_no_content() -> None:
    answer = orjson.loads(review.mutate(orjson.dumps(review_of(named())), templates={}).body)

    assert answer["response"]["auditAnnotations"] == {"record": "unfilled"}


@pytest.mark.parametrize("refs", ["base", "Wrong!"])
def test_the_reason_is_not_hidden_by_a_null_of_another_webhook(refs: str) -> None:
    """LWS adds `containers: null` to an empty template, and the schema denies it before /validate."""
    live = changed(
        changed(lws(), "spec.leaderWorkerTemplate.workerTemplate.spec", {"containers": None}), REFS, refs
    )

    made = jsonpatch.apply_patch(live, expand(live, templates={"base": Unavailable("is gone")}))

    assert made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"] == {"containers": []}
    assert next(one.code for one in check(made) if one.severity == "error") in {"FI951", "FI104"}


@pytest.mark.parametrize("old", [None, changed(lws(), REFS, "other")], ids=["CREATE", "UPDATE"])
def test_the_seal_of_the_controller_says_the_reason_and_stays_invalid(old: Object | None) -> None:
    """Where /validate is not asked, the API server denies the label: nothing is stored unexpanded."""
    sealed = changed(changed(lws(), "metadata.labels", {SERVICE: UNANSWERED}), REFS, "base")

    made = jsonpatch.apply_patch(sealed, expand(sealed, old, templates={"base": Unavailable("is gone")}))

    label = made["metadata"]["labels"][SERVICE]
    assert label.startswith("not expanded: FI951: InferenceTemplate base is gone")
    assert not is_label_value(label)


def test_the_seal_stays_on_an_object_with_an_error_in_its_input() -> None:
    wrong = changed(changed(named(), "metadata.labels", {SERVICE: UNANSWERED}), REFS, "Wrong!")

    made = jsonpatch.apply_patch(wrong, expand(wrong, templates=LIBRARY))

    assert made["metadata"]["labels"][SERVICE] == UNANSWERED


def test_a_missing_template_is_a_warning_on_a_dry_run() -> None:
    noted = put(named(), None, {})
    request = orjson.dumps({**(whole := review_of(noted)), "request": {**whole["request"], "dryRun": True}})

    assert codes(noted, dry_run=True) == [("FI951", "warning")]
    assert orjson.loads(review.validate(request).body)["response"]["allowed"] is True
    wrong = {"base": inference_template("base", entry({}, part="x"))}
    assert codes(put(named(), None, wrong), dry_run=True) == [("FI954", "error")]


def test_an_object_that_was_not_mutated_is_refused() -> None:
    assert codes(named()) == [("FI902", "error")]


def test_other_names_without_a_template_leave_what_is_there() -> None:
    wrong = changed(STORED, REFS, "absent")
    noted = put(wrong, STORED, {})

    assert codes(noted, STORED) == [("FI951", "error")]
    assert noted["spec"] == STORED["spec"]
    assert put(changed(noted, REFS, "base"), noted)["spec"] == STORED["spec"]


UNUSABLE: Final = {
    "in a field that no rule reads": {"priorityClassName": "class-$(parallelism.data)"},
    "in a field that is read": {"schedulerName": "$(parallelism.data)"},
    "in a container": {"containers": [engine(workingDir="/$(parallelism.data)")]},
    "in the engine's arguments": {"containers": [engine(args=["--port", "$(parallelism.data)"])]},
    "in another container": {"containers": [{"name": "proxy", "image": "$(parallelism.data)"}]},
}
"""Content with a variable that has no value."""


@pytest.mark.parametrize("spec", UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("key", [REFRESH, "metadata.annotations.fusioninfer.io/templates-version"])
def test_a_template_that_cannot_be_used_changes_no_stored_object(key: str, spec: Object) -> None:
    broken = {"base": inference_template("base", *BASE["spec"]["pods"], entry(spec))}
    for asked in (changed(STORED, key, "1"), changed(named(), key, "1")):
        noted = put(asked, STORED, broken)

        assert ("FI950", "error") in codes(noted, STORED)
        assert noted["spec"] == asked["spec"]
        assert put(changed(named(), key, "2"), STORED)["spec"] == STORED["spec"]


REFUSED: Final[list[tuple[str, Object, Templates, str]]] = [
    (
        "a variable without a value",
        changed(named(), "metadata.annotations.fusioninfer.io/model", None),
        {"base": changed(BASE, "spec.pods.0.template.spec.containers.0.workingDir", "/$(model.name)")},
        "FI950",
    ),
    (
        "values that are too long together",
        named(service="s" * 60),
        {"base": changed(BASE, "spec.pods.0.template.spec.nodeSelector.gpu", "$(service.name)" * 1200)},
        "FI950",
    ),
    (
        "too large together",
        named(),
        {"base": inference_template("base", entry({}, {"annotations": {"a": "x" * LARGEST}}))},
        "FI952",
    ),
    (
        "too many words together",
        named(),
        {"base": inference_template("base", entry({"containers": [engine(args=["x"] * 5000)]}))},
        "FI952",
    ),
    ("an author's object over a limit", named(template(engine(args=["x"] * 5000))), LIBRARY, "FI904"),
    ("another name of the container", named(template(container("main"))), LIBRARY, "FI953"),
    ("no path", named(), {"base": inference_template("base", entry({}, remove=["spec/"]))}, "FI954"),
    (
        "odd name",
        named(template({"name": []})),
        {"base": inference_template("base", entry({}, part="leader"))},
        "FI108",
    ),
    ("no mode", named(), {"base": inference_template("base", entry({}, args="some"))}, "FI954"),
]


@pytest.mark.parametrize(("what", "author", "library", "code"), REFUSED, ids=[one[0] for one in REFUSED])
def test_validate_finds_from_the_record_what_is_wrong(
    what: str, author: Object, library: Templates, code: str
) -> None:
    assert (code, "error") in codes(put(author, None, library)), what
    assert (code, "error") in codes(author, mutated=False, templates=library)


def test_a_variable_that_the_author_replaces_needs_no_value() -> None:
    library = {"base": changed(BASE, "spec.pods.0.template.spec.containers.0.workingDir", "$(model.name)")}
    author = changed(
        named(template(engine(workingDir="/mine", args=["--model", "m"]))),
        "metadata.annotations.fusioninfer.io/model",
        None,
    )

    assert codes(put(author, None, library)) == []


# --- records that others wrote -------------------------------------------------------------------------

ODD: Final = [{"name": 7, "image": "x"}, {"name": "y", "image": "z"}]
FORGED: Final[list[tuple[str, Any]]] = [
    ("base", []),
    ("pods", []),
    ("pods", {"spec": {"containers": 5}}),
    ("pods", {"spec": {"containers": [{"name": "vllm", "args": 5}]}}),
    ("pods", {"spec": {"containers": [{"name": "vllm", "args": [5], "command": {}}]}}),
    ("pods", {"spec": "x"}),
    ("pods", {"a": "x" * (LARGEST + 1)}),
    ("pods", {"spec": {"containers": [{"name": "vllm", "args": ["x"] * 5000}]}}),
    ("annotations", {"fusioninfer.io/service": "x"}),
    ("args", {"vllm": "unknown"}),
    ("faults", [["FI102", "x"]]),
    ("set", {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": ODD}}}}}),
    ("refs", 5),
    ("set", {"spec": {"replicas": 5}}),
    ("set", {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [5]}}}}}),
    ("was", {"spec": {"leaderWorkerTemplate": 5}}),
    ("was", {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [5]}}}}}),
]


@pytest.mark.parametrize(("member", "value"), FORGED, ids=str)
@pytest.mark.parametrize("old", [None, STORED], ids=["create", "update"])
def test_a_forged_base_is_harmless(member: str, value: Any, old: Object | None) -> None:
    record = orjson.loads(STORED["metadata"]["annotations"][EXPANSION])
    forged = copy.deepcopy(record)
    if member == "base":
        forged["base"] = value
    else:
        forged["base"][member] = value
    live = changed(STORED, RECORD, orjson.dumps(forged).decode())
    live = changed(live, f"{POD}.hostIPC", True)

    made = jsonpatch.apply_patch(live, operations(live, state(live, old)))
    check(made, old)


def test_a_record_of_workers_that_are_not_there_is_no_fault() -> None:
    live = copy.deepcopy(put(named(launcher="ray-start")))
    del live["spec"]["leaderWorkerTemplate"]["workerTemplate"]

    assert "workerTemplate" not in put(live)["spec"]["leaderWorkerTemplate"]
