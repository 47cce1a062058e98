"""An InferenceService is rendered into annotated LeaderWorkerSets that a user could have written."""

import copy

import pytest

from intent import Object
from intent.errors import FieldError
from intent.inferenceservice.members import authored, leader_worker_sets
from intent.inferenceservice.read import InferenceServiceIntent, read
from tests.builders.isvc import decoder, isvc, prefiller, router, worker
from tests.builders.lws import changed, template

PREFIX = "fusioninfer.io/"
GROUP, ROLE, NOTES = "spec.leaderWorkerTemplate", "spec.roles[1]", "metadata.annotations"


def service(obj: Object) -> InferenceServiceIntent:
    """Read a valid InferenceService."""
    made, errors = read(obj)
    assert made is not None
    assert [one for one in errors if one.severity == "error"] == []
    return made


def rendered(obj: Object) -> tuple[Object, ...]:
    return leader_worker_sets(service(obj))


def annotations(lws: Object) -> Object:
    found: Object = lws["metadata"]["annotations"]
    return found


def test_the_order_is_that_of_the_roles() -> None:
    made = rendered(isvc(decoder(), router(strategy=None), prefiller()))

    assert [lws["metadata"]["name"] for lws in made] == ["svc-decode", "svc-prefill"]


def test_a_role_may_have_zero_replicas() -> None:
    (lws,) = rendered(isvc(worker(replicas=0)))

    assert lws["spec"]["replicas"] == 0


def test_every_member_has_the_scheduler() -> None:
    made = rendered(isvc(prefiller(), decoder(), schedulingStrategy={"schedulerName": "mine"}))

    assert [annotations(lws)[PREFIX + "scheduler-name"] for lws in made] == ["mine", "mine"]


@pytest.mark.parametrize("key", ["fusioninfer.io/launcher", "scheduling.volcano.sh/queue-name"])
def test_an_annotation_of_the_role_overrides_that_of_the_service(key: str) -> None:
    plain = isvc(prefiller(), decoder(), annotations={key: "none"})

    made = rendered(
        changed(plain, f"spec.roles.1.template.metadata.annotations.{key.replace('.', '~')}", "auto")
    )

    assert [annotations(lws)[key] for lws in made] == ["none", "auto"]


def test_annotations_of_other_systems_are_not_carried() -> None:
    (lws,) = rendered(isvc(annotations={"kubectl.kubernetes.io/last-applied-configuration": "{}"}))

    assert {key.partition("/")[0] for key in annotations(lws)} == {"fusioninfer.io"}


def test_labels_and_annotations_of_a_template_are_kept() -> None:
    metadata = {"labels": {"app": "x"}, "annotations": {"note": "y"}}

    (lws,) = rendered(isvc(worker(template=template() | {"metadata": metadata})))

    assert lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"] == metadata


def test_rendering_changes_no_template_of_the_input() -> None:
    obj = isvc(prefiller(acceleratorTypes={"labelKey": "gpu", "labelValues": ["H100"]}), decoder())
    before = copy.deepcopy(obj)

    assert "affinity" in rendered(obj)[0]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    assert obj == before


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (f"{GROUP}.workerTemplate.spec.containers[0].args[1]", f"{ROLE}.template.spec.containers[0].args[1]"),
        ("spec.leaderWorkerTemplate.size", "spec.roles[1].multinode.nodeCount"),
        ("spec.leaderWorkerTemplate.restartPolicy", "spec.roles[1].restartPolicy"),
        ("spec.replicas", "spec.roles[1].replicas"),
        ("metadata.name", "spec.roles[1].name"),
        ("metadata.annotations[fusioninfer.io/service]", "metadata.name"),
        ("metadata.annotations[fusioninfer.io/component-type]", "spec.roles[1].componentType"),
        ("metadata.annotations[fusioninfer.io/role-name]", "spec.roles[1].name"),
        ("metadata.annotations[fusioninfer.io/roles]", "spec.roles"),
        ("metadata.annotations[fusioninfer.io/scheduler-name]", "spec.schedulingStrategy.schedulerName"),
        ("metadata.annotations[fusioninfer.io/strategy]", "spec.roles[0].strategy"),
        (f"{NOTES}[fusioninfer.io/launcher]", f"{ROLE}.template.{NOTES}[fusioninfer.io/launcher]"),
        ("metadata.annotations[fusioninfer.io/skip]", "metadata.annotations[fusioninfer.io/skip]"),
    ],
)
def test_a_finding_has_the_path_in_the_inferenceservice(path: str, field: str) -> None:
    annotated = template() | {"metadata": {"annotations": {"fusioninfer.io/launcher": "auto"}}}
    made = service(isvc(router(), worker(template=annotated)))

    assert authored(FieldError(path, None, "", "FI108"), made, made.roles[0]).path == field


def test_a_finding_names_fields_of_the_inferenceservice() -> None:
    made = service(isvc())
    error = FieldError("x", None, "or raise spec.leaderWorkerTemplate.size", "FI308")

    assert authored(error, made, made.roles[0]).message == "or raise multinode.nodeCount"


def test_a_template_of_the_workers_makes_that_of_the_role_the_leaders() -> None:
    (lws,) = rendered(isvc(worker(template=template(hostIPC=True), worker=template())))

    group = lws["spec"]["leaderWorkerTemplate"]

    assert group == {"size": 2, "leaderTemplate": template(hostIPC=True), "workerTemplate": template()}


@pytest.mark.parametrize(
    ("rendered_path", "field"), [("leaderTemplate", "template"), ("workerTemplate", "worker")]
)
def test_a_finding_on_one_of_two_templates_is_moved_to_its_field(rendered_path: str, field: str) -> None:
    made = service(isvc(worker(worker=template())))
    error = FieldError(f"spec.leaderWorkerTemplate.{rendered_path}.spec", None, "x", "FI301")

    assert authored(error, made, made.roles[0]).path == f"spec.roles[0].{field}.spec"


def test_the_options_of_a_decoders_sidecar_are_its_annotation() -> None:
    options = {"connector": "sglang", "tls": ["decoder", "prefiller"], "secretName": "certs"}

    made = rendered(isvc(router(strategy=None), prefiller(), decoder(sidecar=options)))

    assert [annotations(lws).get(PREFIX + "sidecar") for lws in made] == [
        None,
        "connector=sglang,tls=prefiller+decoder,secretName=certs",
    ]


# --- templates ---------------------------------------------------------------------------------------

REFS = PREFIX + "base-refs"


@pytest.mark.parametrize(
    ("shared", "own", "expected"),
    [(["a", "b"], [], "a,b"), ([], ["a"], "a"), (["a", "b"], ["c"], "a,b,c"), (["a", "b"], ["a"], "b,a")],
)
def test_templates_of_a_role_come_after_those_of_the_service(
    shared: list[str], own: list[str], expected: str
) -> None:
    obj = changed(changed(isvc(), "spec.baseRefs", shared), "spec.roles.0.baseRefs", own)

    assert annotations(rendered(obj)[0])[REFS] == expected


@pytest.mark.parametrize(("own", "path"), [([], "spec.baseRefs"), (["c"], "spec.roles[0].baseRefs")])
def test_a_finding_about_templates_is_at_the_field_of_their_author(own: list[str], path: str) -> None:
    obj = changed(changed(isvc(), "spec.baseRefs", ["a"]), "spec.roles.0.baseRefs", own)
    made = service(obj)

    found = authored(FieldError(f"metadata.annotations[{REFS}]", None, "a", "FI951"), made, made.roles[0])

    assert found.path == path
