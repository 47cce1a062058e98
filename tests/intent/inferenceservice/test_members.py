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


def test_a_role_may_have_zero_replicas() -> None:
    (lws,) = rendered(isvc(worker(replicas=0)))

    assert lws["spec"]["replicas"] == 0


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


def test_rendered_objects_share_no_data_with_the_input() -> None:
    obj = isvc(prefiller(), decoder())
    before = copy.deepcopy(obj)

    for lws in rendered(obj):
        lws["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["args"].append("x")

    assert obj == before


def test_the_options_of_a_decoders_sidecar_are_its_annotation() -> None:
    options = {"connector": "sglang", "tls": ["decoder", "prefiller"], "secretName": "certs"}

    made = rendered(isvc(router(strategy=None), prefiller(), decoder(sidecar=options)))

    assert [annotations(lws).get(PREFIX + "sidecar") for lws in made] == [
        None,
        "connector=sglang,tls=prefiller+decoder,secretName=certs",
    ]


# --- templates ---------------------------------------------------------------------------------------

REFS = PREFIX + "base-refs"


@pytest.mark.parametrize(("own", "path"), [([], "spec.baseRefs"), (["c"], "spec.roles[0].baseRefs")])
def test_a_finding_about_templates_is_at_the_field_of_their_author(own: list[str], path: str) -> None:
    obj = changed(changed(isvc(), "spec.baseRefs", ["a"]), "spec.roles.0.baseRefs", own)
    made = service(obj)

    found = authored(FieldError(f"metadata.annotations[{REFS}]", None, "a", "FI951"), made, made.roles[0])

    assert found.path == path
