"""Bases as InferenceTemplates: which are kept, why others are not, and that services stay the same."""

import json
from typing import Any, Final

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from fusioninfer.cli import main as command
from fusioninfer.files.documents import Document, write_yaml
from fusioninfer.files.offline import compose
from fusioninfer.files.sameness import difference
from importer.leaves import leaves, written
from importer.report import as_data, as_text
from importer.table import ImportResult, import_all
from intent import Object
from intent.settings import Settings
from tests.importer import test_llmd as llmd
from tests.importer.kserve.bases import PRESETS, config, service
from tests.importer.kserve.test_translate import MODEL, ROUTER, main
from tests.importer.test_import_laws import check as check_damaged
from tests.importer.test_import_laws import damaged
from tests.tiers import count

TEMPLATE: Final = "InferenceTemplate"


def env(**values: str) -> list[Object]:
    return [{"name": name, "value": value} for name, value in values.items()]


def based(*names: str, **fields: Any) -> Object:
    named = fields.pop("named", "qwen")
    spec = {"baseRefs": [{"name": one} for one in names], "template": main(), **fields}
    return service({"model": MODEL} | spec, name=named)


def base(name: str = "fast", namespace: str = "llm", **spec: Any) -> Object:
    return config(name, spec, namespace)


def run(*objects: Object, keep: bool = True) -> ImportResult:
    found = import_all([*objects, *PRESETS], difference if keep else None)
    assert found.problems == ()
    return found


def templates(found: ImportResult) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in found.objects if one["kind"] == TEMPLATE}


def services(found: ImportResult) -> dict[str, Object]:
    return {one["metadata"]["name"]: one for one in found.objects if one["kind"] == "InferenceService"}


def pod_of(found: ImportResult, name: str = "fast", entry: int = 0) -> Object:
    return dict(templates(found)[name]["spec"]["pods"][entry]["template"])


# --- what expansion makes, compared without the function under test -------------------------------------


def expanded(objects: tuple[Object, ...]) -> dict[str, Any]:
    found = compose([Document("f", at, one) for at, one in enumerate(objects, 1)], Settings())
    assert [str(one) for one in found.found if one.error.severity == "error"] == []
    return bare(found.objects)


def bare(objects: tuple[Object, ...]) -> dict[str, Any]:
    kinds = ("InferenceService", TEMPLATE)
    return {
        f"{one['kind']}/{one['metadata']['name']}": sorted_(one)
        for one in objects
        if one["kind"] not in kinds
    }


def sorted_(value: Any) -> Any:
    """Return a value with its lists of items sorted, without the annotations that tell of templates."""
    if isinstance(value, dict):
        gone = tuple(f"fusioninfer.io/{one}" for one in ("base-refs", "expansion", "templates-version"))
        return {key: sorted_(one) for key, one in value.items() if key not in gone}
    if not isinstance(value, list):
        return value
    found = [sorted_(one) for one in value]
    return sorted(found, key=json.dumps) if all(isinstance(one, dict) for one in found) else found


def check(*objects: Object) -> ImportResult:
    kept, flat = run(*objects), run(*objects, keep=False)
    assert expanded(kept.objects) == expanded(flat.objects)
    check_report(objects, kept, flat)
    return kept


def check_report(objects: tuple[Object, ...], kept: ImportResult, flat: ImportResult) -> None:
    """Each leaf is there once, and as many are lost with templates as without."""
    expected = [(at, written(path)) for at, one in enumerate((*objects, *PRESETS)) for path, _ in leaves(one)]
    assert [(one.document, one.path) for one in kept.report.lines] == expected
    lost = [[(one.document, one.path) for one in each.report.lost] for each in (kept, flat)]
    assert lost[0] == lost[1]


# --- kept ---------------------------------------------------------------------------------------------


def test_a_base_is_a_template_and_the_service_has_its_own_fields_alone() -> None:
    found = check(based("fast"), base(template=main(image="own:1", env=env(B="b"))))
    own = services(found)["qwen"]["spec"]

    assert own["baseRefs"] == ["fast"]
    container = pod_of(found)["spec"]["containers"][0]
    assert (container["name"], container["image"], container["env"]) == ("main", "own:1", env(B="b"))
    assert "image" not in own["roles"][0]["template"]["spec"]["containers"][0]
    assert found.report.notes == ()


KEPT: Final[dict[str, tuple[Object, Any]]] = {
    "labels and annotations": (
        {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        ("metadata", "labels", "a"),
    ),
    "a volume": ({"template": {"volumes": [{"name": "v", "emptyDir": {}}]}}, ("spec", "volumes", 0, "name")),
    "an atomic list": ({"template": {"tolerations": [{"key": "k"}]}}, ("spec", "tolerations", 0, "key")),
    "a probe": (
        {"template": {"containers": [{"name": "main", "livenessProbe": {"exec": {"command": ["a"]}}}]}},
        ("spec", "containers", 0, "livenessProbe", "exec", "command", 0),
    ),
    "an item that is only a name": (
        {"template": {"imagePullSecrets": [{"name": "s"}]}},
        ("spec", "imagePullSecrets", 0, "name"),
    ),
}


@pytest.mark.parametrize(("spec", "path"), KEPT.values(), ids=KEPT)
def test_a_part_of_a_pod_template_is_kept(spec: Object, path: tuple[Any, ...]) -> None:
    value: Any = pod_of(check(based("fast"), base(**spec)))
    for step in path:
        value = value[step]

    assert value


@pytest.mark.parametrize(
    ("expression", "variable"),
    [
        ("{{ .Name }}-x", "$(service.name)-x"),
        ("{{.ObjectMeta.Namespace}}", "$(service.namespace)"),
        ("{{- .Spec.Model.Name -}}", "$(model.name)"),
        ("{{ .Spec.Parallelism.Tensor }}", "$(parallelism.tensor)"),
        ("$(HOME)/x", "$(HOME)/x"),
    ],
)
def test_an_expression_is_a_variable_of_the_same_value(expression: str, variable: str) -> None:
    given_base = base(template={"containers": [{"name": "main", "env": env(A=expression)}]})
    found = check(based("fast", parallelism={"tensor": 8}), given_base)

    assert pod_of(found)["spec"]["containers"][0]["env"] == env(A=variable)


@pytest.mark.parametrize(
    "text", ["{{ ChildName .Name `-x` }}", "{{ if .Spec.Prefill }}a{{ else }}b{{ end }}", "$(model.path)"]
)
def test_another_expression_stays_in_the_service(text: str) -> None:
    container = {"name": "main", "env": env(A=text, B="b")}
    found = check(based("fast"), base(template={"containers": [container]}))
    own = services(found)["qwen"]["spec"]["roles"][0]["template"]["spec"]["containers"][0]["env"]

    assert pod_of(found)["spec"]["containers"][0]["env"] == env(B="b")
    assert "A" in [one["name"] for one in own]


def test_the_parts_of_roles_and_groups_have_entries_of_their_own() -> None:
    ranks = {"data": 16, "dataLocal": 8}
    found = check(
        based("fast", parallelism=ranks, worker=main()),
        base(template={"runtimeClassName": "a"}, worker={"runtimeClassName": "b"}),
    )
    entries = templates(found)["fast"]["spec"]["pods"]

    assert [(one["for"], one["part"], one["template"]["spec"]["runtimeClassName"]) for one in entries] == [
        ("worker", "leader", "a"),
        ("worker", "worker", "b"),
    ]


def test_the_model_and_sizes_of_a_base_are_those_of_its_template() -> None:
    obj = service({"baseRefs": [{"name": "fast"}], "template": main()})
    found = check(obj, base(model=MODEL, parallelism={"tensor": 8}, template=main(image="own:1")))
    spec = templates(found)["fast"]["spec"]

    assert (spec["model"]["uri"], spec["parallelism"]) == (MODEL["uri"], {"tensor": 8})
    assert "model" not in services(found)["qwen"]["spec"]


def test_routes_of_a_base_are_those_of_its_template() -> None:
    route = {"route": {"http": {"spec": {"hostnames": ["a.example"]}}}}
    found = check(based("fast", router=ROUTER), base(router=route))

    assert templates(found)["fast"]["spec"]["router"] == {"httproute": {"hostnames": ["a.example"]}}


def test_the_configuration_of_a_picker_stays_in_the_service_since_its_strategy_is_that_of_pods() -> None:
    config = {"kind": "EndpointPickerConfig", "plugins": []}
    router = {"scheduler": {"config": {"inline": config}}, "route": {}}
    found = check(based("fast"), base(router=router, template=main(image="own:1")))

    own = next(one for one in services(found)["qwen"]["spec"]["roles"] if one["name"] == "router")
    assert (list(templates(found)), "endpointPickerConfig" in own) == (["fast"], True)
    assert found.report.notes == ()


def test_variables_keep_their_order_only_where_one_refers_to_another() -> None:
    own = env(A="$(B)", B="b")
    found = check(based("fast", template=main(env=env(C="c"))), base(template=main(image="own:1", env=own)))

    assert pod_of(found)["spec"]["containers"][0]["env"] == own
    assert found.report.notes == ()


def test_two_services_share_the_template_of_their_base() -> None:
    found = check(
        based("fast", named="a", template=main(image="own:2")),
        based("fast", named="b"),
        base(template={"schedulerName": "s", "containers": [{"name": "main", "image": "own:1"}]}),
    )

    assert list(templates(found)) == ["fast"]
    assert pod_of(found)["spec"] == {"schedulerName": "s", "containers": [{"name": "main", "image": "own:1"}]}
    images = [
        one["spec"]["roles"][0]["template"]["spec"]["containers"][0].get("image")
        for one in services(found).values()
    ]
    assert images == ["own:2", None]


def test_arguments_of_a_base_are_replaced_as_a_whole() -> None:
    own = {
        "name": "main",
        "image": "own:1",
        "command": ["vllm", "serve"],
        "args": ["/mnt/models", "--seed", "1"],
    }
    other = main(args=["/mnt/models", "--max-model-len", "8"])
    both = based("fast", named="a", template=other), based("fast", named="b")
    found = check(*both, base(template={"containers": [own]}))

    assert (templates(found)["fast"]["spec"]["pods"][0]["args"], found.report.notes) == ("replace", ())


def test_a_base_of_kserves_namespace_is_one_of_ours_for_all_namespaces() -> None:
    found = check(based("fast"), base(namespace="kserve", template={"schedulerName": "s"}))

    assert templates(found)["fast"]["metadata"]["namespace"] == "fusioninfer-system"


def test_the_base_config_of_llm_d_is_a_template() -> None:
    inputs = [llmd.base(decodeDeployment=llmd.DEPLOYMENT), llmd.service()]
    kept, flat = import_all(inputs, difference), import_all(inputs)

    assert expanded(kept.objects) == expanded(flat.objects)
    container = pod_of(kept, "base")["spec"]["containers"][0]
    assert (container["image"], "args" in container) == (llmd.IMAGE, False)
    assert services(kept)["llama"]["spec"]["baseRefs"] == ["base"]


# --- flattened ----------------------------------------------------------------------------------------

SIDE: Final = {"name": "side", "image": "side:1"}
FLATTENED: Final[dict[str, tuple[list[Object], str]]] = {
    "no field has a place in a template": (
        [based("fast"), base(replicas=3)],
        "no field of its bases has a place in a template",
    ),
    "variables that refer to each other would have another order": (
        [
            based("fast", template=main(env=env(A="$(B)"))),
            base(template={"containers": [{"name": "main", "env": env(B="b")}]}),
        ],
        "env[0].name would be",
    ),
}


@pytest.mark.parametrize(("inputs", "reason"), FLATTENED.values(), ids=FLATTENED)
def test_a_service_that_would_not_be_the_same_is_flattened_with_the_reason(
    inputs: list[Object], reason: str
) -> None:
    found = check(*inputs)

    assert (templates(found), [one.document for one in found.report.notes]) == ({}, [0])
    assert reason in found.report.notes[0].text
    assert found.objects == run(*inputs, keep=False).objects


def test_a_flattened_service_leaves_others_their_templates() -> None:
    refers = based("fast", named="bad", template=main(env=env(A="$(B)")))
    found = check(refers, based("fast"), base(template={"containers": [{"name": "main", "env": env(B="b")}]}))

    assert [name for name, one in services(found).items() if "baseRefs" in one["spec"]] == ["qwen"]
    assert [one.document for one in found.report.notes] == [0]


def test_a_base_config_of_another_namespace_is_merged_in() -> None:
    far = llmd.base(decodeDeployment=llmd.DEPLOYMENT)
    far["metadata"]["namespace"] = "far"
    obj = llmd.service()
    obj["spec"]["baseConfigMapRef"]["namespace"] = "far"

    found = import_all([far, obj], difference)

    assert templates(found) == {}
    assert "would be refused" in found.report.notes[0].text


# --- the report and the command -----------------------------------------------------------------------


def test_the_report_has_the_reason_as_text_and_as_json() -> None:
    inputs = [*FLATTENED["no field has a place in a template"][0], *PRESETS]
    found = import_all(inputs, difference).report
    places = ["f"] * len(inputs)

    assert any(
        line.startswith("  note       its bases are merged") for line in as_text(found, inputs, places)
    )
    assert as_data(found, inputs, places)["notes"][0]["object"] == "LLMInferenceService llm/qwen"


def test_the_command_keeps_bases_unless_it_flattens(tmp_path: Any) -> None:
    file = tmp_path / "in.yaml"
    file.write_text(write_yaml([based("fast"), base(template=main(image="own:1")), *PRESETS]))

    kept, flat = (
        CliRunner().invoke(command, ["import", "-f", str(file), *more]) for more in ([], ["--flatten"])
    )

    assert (TEMPLATE in kept.stdout, f"kind: {TEMPLATE}" in flat.stdout) == (True, False)
    assert kept.exit_code == flat.exit_code


# --- laws ---------------------------------------------------------------------------------------------

FIELDS: Final[dict[str, list[Any]]] = {
    "image": ["own:1", "own:2"],
    "env": [env(A="{{ .Name }}"), env(A="a", B="b"), env(HOME="/h"), env(C="$(A)"), env(A="$(C)")],
    "args": [["--seed", "1"], ["{{ .Spec.Model.Name }}"]],
    "readinessProbe": [{"exec": {"command": ["a"]}}, {"httpGet": {"port": 1}}, {"periodSeconds": 3}],
    "resources": [{"limits": {"cpu": "1"}}, {"requests": {"cpu": "1", "memory": "1Gi"}}],
    "volumeMounts": [[{"name": "home", "mountPath": "/home"}], [{"name": "v", "mountPath": "/v"}]],
}
PODS: Final[dict[str, list[Any]]] = {
    "tolerations": [[{"key": "a"}], [{"key": "b"}]],
    "volumes": [[{"name": "v", "emptyDir": {}}], [{"name": "home", "emptyDir": {"medium": "Memory"}}]],
    "runtimeClassName": ["a", "{{ .Name }}"],
    "nodeSelector": [{"a": "b"}, {"a": "c", "d": ""}],
}
SPECS: Final[dict[str, list[Any]]] = {
    "replicas": [2],
    "labels": [{"a": "b"}, {"a": "c"}],
    "parallelism": [{"tensor": 2}, {"tensor": 4}],
    "router": [ROUTER, {"route": {"http": {"spec": {"hostnames": ["a.example"]}}}}],
}


def some(rows: dict[str, list[Any]]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(each) for name, each in rows.items()})


@st.composite
def specs(draw: st.DrawFn) -> Object:
    containers = [{"name": "main", **draw(some(FIELDS))}]
    extra = draw(st.sampled_from([[], [SIDE]]))
    ordered = draw(st.permutations([*containers, *extra]))
    found = {**draw(some(SPECS)), "template": {"containers": ordered, **draw(some(PODS))}}
    return found | ({"prefill": {"template": main()}} if draw(st.booleans()) else {})


@st.composite
def families(draw: st.DrawFn) -> list[Object]:
    bases = [base(name, **draw(specs())) for name in ("one", "two")]
    refs = st.permutations(["one", "two"]).flatmap(lambda names: st.integers(1, 2).map(lambda n: names[:n]))
    named = ["a", "b"][: draw(st.integers(1, 2))]
    found = []
    for name in named:
        spec = draw(specs())
        volumes = [{"name": "v", "emptyDir": {}}]
        spec["template"].setdefault("volumes", volumes)
        found.append(based(*draw(refs), named=name, **spec))
    return [*found, *bases]


@settings(max_examples=count("IMPORTED_BASES"))
@given(objects=families())
def test_services_with_templates_expand_to_what_merged_ones_do(objects: list[Object]) -> None:
    kept, flat = run(*objects), run(*objects, keep=False)

    check_report(tuple(objects), kept, flat)
    assert made(kept) == made(flat)


def made(found: ImportResult) -> Any:
    """Return what objects expand to; `refused` if admission denies one."""
    documents = [Document("f", at, one) for at, one in enumerate(found.objects, 1)]
    composed = compose(documents, Settings())
    return "refused" if composed.denied else bare(composed.objects)


BASED: Final[dict[str, list[Object]]] = {
    "llm-d": [
        llmd.base(decodeDeployment=llmd.DEPLOYMENT, httpRoute=llmd.ROUTE),
        llmd.service(prefill=llmd.container(image="own:1")),
    ],
    "KServe": [
        service({"baseRefs": [{"name": "own"}], "template": {"containers": [{"name": "main"}]}}),
        base(
            "own",
            model=MODEL,
            template={"containers": [{"name": "main", "env": env(A="{{ .Name }}", B="b")}]},
        ),
        next(one for one in PRESETS if one["metadata"]["name"] == "kserve-config-llm-template"),
    ],
}


@settings(max_examples=count("IMPORTED_BASES"))
@given(objects=damaged(BASED))
def test_each_leaf_of_a_damaged_input_with_bases_is_reported_once(objects: list[Object]) -> None:
    check_damaged(objects, difference)
