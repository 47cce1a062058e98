"""Findings about an InferenceService, and the cases in which an error is only a warning."""

import copy
from typing import Any

import orjson
import pytest

from intent import Object, yaml
from intent.errors import FieldError
from intent.schema import MOST
from intent.settings import Settings
from tests.builders.isvc import decoder, isvc, prefiller, router, worker
from tests.builders.lws import changed, container, template
from tests.builders.pickerconfig import config
from webhook import inferenceservice, review
from webhook.review import VERSION

ARGS = "spec.roles.0.template.spec.containers.0.args"
FUSED = ["--model=org/M", "-tp=8", "--seed 1", "-pp=2"]


def stored(live: Object) -> Object:
    """Return the object as the API server first has it."""
    return changed(live, "metadata.generation", 1)


def rewritten(old: Object, path: str, value: Any) -> Object:
    """Return the object with another spec and generation."""
    return changed(changed(old, path, value), "metadata.generation", 2)


def errors(found: list[FieldError]) -> list[str]:
    """Return code and path of each error."""
    return [f"{one.code} {one.path}" for one in found if one.severity == "error"]


def check(*given: Any, **known: Any) -> list[FieldError]:
    """Return all findings but those about the probes of the sample roles, which have none (FI571)."""
    return [one for one in inferenceservice.check(*given, **known) if one.code != "FI571"]


def configured(config: Object, *others: Object) -> Object:
    """Return an InferenceService whose router has a configuration."""
    own = router(strategy=None, endpointPickerConfig=yaml.dump(config))
    return stored(isvc(*(others or (worker(),)), own))


UNKNOWN = config(apiVersion="llm-d.ai/v1alpha1")
"""The generation of prefillers and decoders reads it, and that of workers does not."""
BROKEN = stored(changed(isvc(), ARGS, FUSED))
AT_ITEM = "spec.roles[0].template.spec.containers[0].args[2]"
TEMPLATE = "spec.roles.0.template.metadata"
MISTAKES: dict[str, tuple[Object, str]] = {
    "in the LeaderWorkerSet of a role": (BROKEN, f"FI309 {AT_ITEM}"),
    "a reserved label": (
        changed(isvc(), f"{TEMPLATE}.labels.fusioninfer.io/x", "y"),
        "FI107 spec.roles[0].template.metadata.labels[fusioninfer.io/x]",
    ),
    "one cause for all roles": (
        isvc(prefiller(), decoder(), annotations={"fusioninfer.io/launcher": "mpi"}),
        "FI104 metadata.annotations[fusioninfer.io/launcher]",
    ),
    "a model beside templates, which are not read": (
        isvc(model={"uri": "llama"}, baseRefs=["shared"]),
        "FI104 spec.model.uri",
    ),
    "what stops the endpoint picker": (configured(UNKNOWN), "FI812 spec.roles[1].endpointPickerConfig"),
}


@pytest.mark.parametrize(("broken", "error"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_error_with_the_path_of_its_field(broken: Object, error: str) -> None:
    assert errors(check(broken)) == [error]


def test_every_role_is_checked() -> None:
    both = changed(isvc(prefiller(), decoder()), ARGS, FUSED)

    found = errors(check(changed(both, ARGS.replace("0", "1", 1), FUSED)))

    assert [one.split()[1][:13] for one in found] == ["spec.roles[0]", "spec.roles[1]"]


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        (isvc(name="s" * 45), "FI109 spec.roles[0].name"),
        (isvc(annotations={"fusioninfer.io/skip": "all"}), "FI104 metadata.annotations[fusioninfer.io/skip]"),
        (isvc(worker(template=None)), "FI701 spec.roles[0].template"),
        (
            isvc(worker(template=template(container(ports=[{"containerPort": 2**31}])))),
            "FI921 spec.roles[0].template.spec.containers[0].ports[0].containerPort",
        ),
    ],
)
def test_a_finding_about_the_service_is_not_told_of_its_members(broken: Object, error: str) -> None:
    found = errors(check(broken))

    assert found[0] == error
    assert [one.split()[1] for one in found].count(error.split()[1]) == 1


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.labels", {"a": "b"}),
        ("metadata.annotations", {"note": "x"}),
        ("status", {"url": "http://x"}),
        ("metadata.finalizers", ["a/b"]),
    ],
)
def test_an_error_is_a_warning_while_the_spec_does_not_change(path: str, value: Any) -> None:
    found = check(changed(BROKEN, path, value), BROKEN)

    assert ([one.code for one in found], errors(found)) == (["FI309"], [])


def test_what_a_template_may_give_is_not_missed_on_an_update_either() -> None:
    named = changed(
        isvc(baseRefs=["shared"]), "spec.roles.0.template.spec", {"containers": [{"name": "vllm"}]}
    )

    assert check(named) == []
    assert check(changed(named, "metadata.labels", {"a": "b"}), named) == []


def test_an_error_denies_without_a_generation() -> None:
    uncounted = isvc(worker(replicas="many"))

    assert errors(check(uncounted, uncounted)) == ["FI701 spec.roles[0].replicas"]


MISPLACED = stored(isvc(annotations={"fusioninfer.io/strategy": "queue-size"}))
"""It has an annotation for which there is a field."""
TWO_NAMES = stored(changed(changed(isvc(), "spec.roles.0.roleReplicas", 2), "spec.roles.0.replicas", 3))
UNREADABLE = stored(changed(isvc(), "spec.roles.0.replicas", "many"))
EARLIER: dict[str, tuple[Object, int, str]] = {
    "in a role": (BROKEN, 0, "FI309"),
    "an annotation": (MISPLACED, 0, "FI709"),
    "a side alone": (stored(isvc(prefiller())), 0, "FI703"),
    "an earlier name of the field too": (TWO_NAMES, 0, "FI732"),
    "a configuration": (configured(UNKNOWN), 0, "FI812"),
}
DENIED: dict[str, tuple[Object, Object, str]] = {
    "an annotation that its role has": (
        BROKEN,
        changed(BROKEN, "metadata.annotations.fusioninfer.io/launcher", "auto"),
        f"FI309 {AT_ITEM}",
    ),
    "its role": (
        BROKEN,
        rewritten(BROKEN, f"{ARGS.removesuffix('args')}image", "vllm/vllm-openai:v0.18.0"),
        f"FI309 {AT_ITEM}",
    ),
    "what breaks another rule": (
        MISPLACED,
        rewritten(MISPLACED, "spec.roles.0.name", "x" * 60),
        "FI109 spec.roles[0].name",
    ),
    "what breaks the rule elsewhere": (
        MISPLACED,
        rewritten(MISPLACED, f"{TEMPLATE}.annotations.fusioninfer.io/strategy", "queue-size"),
        "FI709 spec.roles[0].template.metadata.annotations[fusioninfer.io/strategy]",
    ),
    "a spec that cannot be read": (
        UNREADABLE,
        rewritten(UNREADABLE, "spec.roles.0.multinode.nodeCount", 3),
        "FI701 spec.roles[0].replicas",
    ),
    "a configuration": (
        configured(config()),
        changed(configured(UNKNOWN), "metadata.generation", 2),
        "FI812 spec.roles[1].endpointPickerConfig",
    ),
}


@pytest.mark.parametrize(("old", "role", "code"), EARLIER.values(), ids=EARLIER)
def test_an_earlier_error_does_not_block_scaling(old: Object, role: int, code: str) -> None:
    found = check(rewritten(old, f"spec.roles.{role}.replicas", 5), old)

    assert [one.split()[0] for one in errors(check(old))] == [code]
    assert ([one.code for one in found if one.code != "FI539"], errors(found)) == ([code], [])


@pytest.mark.parametrize(("old", "new", "error"), DENIED.values(), ids=DENIED)
def test_an_error_denies_when_its_input_changes(old: Object, new: Object, error: str) -> None:
    assert errors(check(new, old)) == [error]


LISTENERS = [{"name": "http", "port": 80, "protocol": "HTTP"}]
BRINGING = isvc(router(gateway={"gatewayClassName": "istio", "listeners": LISTENERS}), worker())
RESTRICTED = Settings(gateways=("shared",))


def test_a_gateway_that_the_operator_does_not_allow_denies() -> None:
    assert errors(check(BRINGING, settings=RESTRICTED)) == ["FI833 spec.roles[0].gateway.gatewayClassName"]
    assert check(BRINGING, settings=Settings(gateways=("istio",))) == []


def test_a_gateway_that_is_no_longer_allowed_is_a_warning_until_it_changes() -> None:
    scaled = rewritten(BRINGING, "spec.roles.1.replicas", 5)
    other = rewritten(BRINGING, "spec.roles.0.gateway.listeners.0.port", 81)

    assert (
        [one.code for one in check(scaled, BRINGING, RESTRICTED)],
        errors(check(scaled, BRINGING, RESTRICTED)),
    ) == (["FI833"], [])
    assert [one.split()[0] for one in errors(check(other, BRINGING, RESTRICTED))] == ["FI833"]


def test_a_route_without_a_gateway_is_a_warning() -> None:
    (found,) = check(isvc(router(httproute={"hostnames": ["a.example.com"]}), worker()))

    assert (found.path, found.code) == ("spec.roles[0].httproute", "FI752")


def test_a_null_in_a_route_is_an_absent_field() -> None:
    nulls = {"parentRefs": [{"name": "g", "port": None}], "hostnames": None, "rules": [{"timeouts": None}]}

    assert check(isvc(router(httproute=nulls), worker())) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.annotations", {"fusioninfer.io/inject": "disabled"}),
        ("metadata.deletionTimestamp", "2026-01-01T00:00:00Z"),
    ],
)
def test_an_ignored_object_has_no_findings(path: str, value: Any) -> None:
    assert check(changed(BROKEN, path, value)) == []


@pytest.mark.parametrize(
    "path",
    [
        "template.spec.x",
        "gateway",
        "httproute",
        "httproute.rules",
        "replicas",
        "template.metadata.annotations.fusioninfer.io/skip",
    ],
)
def test_a_spec_of_any_depth_is_answered(path: str) -> None:
    deep: Object = {}
    for _ in range(950):
        deep = {"a": deep}
    live = changed(BROKEN, f"spec.roles.0.{path}", deep)

    assert [str(one) for one in check(live, live)] != []
    assert errors(check(live)) != []


def test_arguments_are_not_changed() -> None:
    live, old = copy.deepcopy(BROKEN), isvc()
    before = copy.deepcopy((live, old))

    check(live, old)

    assert (live, old) == before


# --- options that are fields of their own -------------------------------------------------------------


def test_a_finding_about_a_sidecar_option_is_at_its_field() -> None:
    options = {"connector": "lmcache"}
    sidecars = check(isvc(router(strategy=None), prefiller(), decoder(sidecar=options)))

    assert [(one.path, one.code) for one in sidecars if "sidecar" in one.path] == [
        ("spec.roles[2].sidecar.connector", "FI840")
    ]


def test_a_finding_about_a_parallel_size_is_at_its_field() -> None:
    engine = container(command=["python3", "-m", "sglang.launch_server"], args=["--model-path", "org/M"])
    found = check(isvc(worker(parallelism={"data": 2, "dataRPCPort": 5555}, template=template(engine))))

    assert "spec.roles[0].parallelism.dataRPCPort" in {one.split()[1] for one in errors(found)}


# --- over AdmissionReview ---------------------------------------------------------------------------


def reviewed(door: Any, live: Object) -> Any:
    request = {"uid": "u", "operation": "CREATE", "object": live}
    return orjson.loads(door(orjson.dumps({"apiVersion": VERSION, "request": request})).body)["response"]


def test_a_denial_names_its_kind() -> None:
    details = reviewed(review.validate, BROKEN)["status"]["details"]

    assert (details["kind"], details["name"]) == ("InferenceService", "svc")


def test_one_violation_less_denies_nothing_however_many_are_left() -> None:
    ports = [{"containerPort": 2**31 + number} for number in range(MOST + 2)]
    mended = [{"containerPort": 80}, *ports[1:]]
    before, after = (isvc(worker(template=template(container(ports=some)))) for some in (ports, mended))

    assert errors(check(after, before)) == []


def test_the_managers_of_fields_are_left_to_the_api_server() -> None:
    managers = [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]

    assert reviewed(review.validate, changed(isvc(), "metadata.managedFields", managers))["allowed"] is True


@pytest.mark.parametrize("kind", [["InferenceService"], {}, None, 7])
def test_a_kind_that_is_no_string_is_answered(kind: Any) -> None:
    assert reviewed(review.validate, isvc() | {"kind": kind})["allowed"] is True


def test_mutate_leaves_an_inferenceservice_unchanged() -> None:
    carried = isvc(annotations={"fusioninfer.io/launcher": "auto"})

    assert "patch" not in reviewed(review.mutate, carried)


def test_a_configuration_is_checked_against_the_endpoint_picker_of_its_roles() -> None:
    assert errors(check(configured(UNKNOWN, prefiller(), decoder()))) == []


def test_a_configuration_beside_stored_sidecars_only_warns() -> None:
    """The generation of the sidecars, which its endpoint picker has, stands on other objects."""
    roles = prefiller(), decoder()
    old, new = (changed(configured(UNKNOWN, *roles), "metadata.generation", at) for at in (1, 2))
    new = rewritten(new, "spec.roles.2.endpointPickerConfig", yaml.dump(config(kind="Other")))

    found = check(new, changed(old, "spec.roles.2.endpointPickerConfig", yaml.dump(config())))

    assert [(one.code, one.severity) for one in found if one.path.endswith("endpointPickerConfig")] == [
        ("FI812", "warning")
    ]
