"""InferenceTemplates on the real API server, with the token and the rights of the manifests."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from intent import Object
from sync.kinds import sealed
from tests.builders.isvc import isvc, worker
from tests.builders.lws import container
from tests.builders.templates import template
from tests.cluster.testbed.admissions import without
from tests.cluster.testbed.api import ApiError, create, get, items, path
from tests.cluster.testbed.cluster import Cluster, kubectl, run_kubectl
from tests.cluster.testbed.namespaces import new_namespace
from tests.cluster.testbed.wait import until
from tests.docs.test_examples import SERVICES, TEMPLATES
from tests.tiers import count

TIMES: Final = count("TEMPLATE_APPLIES")
"""How often a template and its service are applied at once; `make soak` says 100."""
ENGINE: Final = container(
    args=["$(model.path)", "--tensor-parallel-size", "16", "--port", "8000"],
    ports=[{"containerPort": "$(role.port)"}],
)
PODS: Final = {"template": {"spec": {"containers": [ENGINE], "priorityClassName": "models"}}}
SHORT: Final = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: NAME
  annotations:
    fusioninfer.io/service: NAME
    fusioninfer.io/base-refs: REFS
    fusioninfer.io/model: hf://Qwen/Qwen3-8B
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {}
"""
"""All that its author writes: fewer than 15 lines."""


@pytest.fixture
def namespace(templated: Cluster) -> Iterator[str]:
    with new_namespace(templated) as name:
        yield name


def short(name: str, refs: str = "base") -> str:
    return SHORT.replace("NAME", name).replace("REFS", refs)


def written(namespace: str, *pods: Object, name: str = "base", **spec: Any) -> Object:
    return template(*(pods or (PODS,)), name=name, namespace=namespace, **spec)


def applied(there: Cluster, namespace: str, text: str, *flags: str) -> tuple[int, str]:
    done = run_kubectl(there, "apply", "--namespace", namespace, *flags, "--filename=-", stdin=text)
    return done.returncode, done.stdout + done.stderr


def engine(there: Cluster, namespace: str, name: str) -> Object:
    found = get(there.api, path("leaderworkersets", namespace, name))
    (container,) = (
        one
        for one in found["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
        if one["name"] == "vllm"
    )
    made: Object = container
    return made


def test_template_and_service_may_be_applied_at_once(templated: Cluster, namespace: str) -> None:
    for at in range(TIMES):
        both = json.dumps(written(namespace, name=f"t-{at}")) + "\n---\n" + short(f"s-{at}", f"t-{at}")
        code, text = applied(templated, namespace, both)
        assert code == 0, text

    found = items(templated.api, path("leaderworkersets", namespace))
    pods = [one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"] for one in found]
    assert len(pods) == TIMES
    assert {pod["priorityClassName"] for pod in pods} == {"models"}
    assert {pod["schedulerName"] for pod in pods} == {"volcano"}
    assert engine(templated, namespace, "s-0")["ports"][0]["containerPort"] == 8000


@pytest.mark.parametrize("service", SERVICES, ids=lambda file: file.stem)
def test_the_examples_are_admitted_without_warning(templated: Cluster, namespace: str, service: Path) -> None:
    """A gang whose role is missing waits for it: that is said of its first role (FI410)."""
    for file in (*TEMPLATES, service):
        code, text = applied(templated, namespace, file.read_text())
        assert code == 0, text
        assert "Warning" not in text

    until(lambda: items(templated.api, path("podgroups", namespace)), "the gang of the service exists")


# --- the objects themselves --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "says"),
    [
        ({"remove": ["containers/vllm/evn"]}, "FI954"),
        ({"template": {"spec": {"terminationGracePeriodSeconds": "5s"}}}, "should match"),
        ({"for": "router"}, "Unsupported value"),
    ],
)
def test_a_mistake_in_templates_is_denied(
    templated: Cluster, namespace: str, pods: Object, says: str
) -> None:
    with pytest.raises(ApiError) as refused:
        create(templated.api, path("inferencetemplates", namespace), written(namespace, pods, name="wrong"))

    assert says in str(refused.value)


def test_everything_that_a_template_may_say_is_stored(templated: Cluster, namespace: str) -> None:
    """The API server adds no default, and drops nothing."""
    whole = written(
        namespace,
        {
            "for": "decoder",
            "part": "leader",
            "args": "append",
            "remove": ["tolerations"],
            "template": {
                "spec": {
                    "containers": [
                        {**ENGINE, "readinessProbe": {"periodSeconds": 3}, "env": [{"name": "A"}]}
                    ],
                    "volumes": [{"name": "v"}],
                    "topologySpreadConstraints": [{"topologyKey": "zone"}],
                    "terminationGracePeriodSeconds": "$(group.size)",
                }
            },
        },
        router={"httproute": {"parentRefs": [{"name": "gateway"}]}, "gateway": {"gatewayClassName": "a"}},
        model={"cache": "500Gi"},
        parallelism={"tensor": 8},
        lora={"adapters": [{"name": "sql", "uri": "hf://org/sql"}], "maxRank": 64},
        priority="Critical",
    )
    stored = create(templated.api, path("inferencetemplates", namespace), whole)

    assert stored["spec"] == whole["spec"]
    assert "base" in kubectl(templated, "get", "ift", "--namespace", namespace)


# --- without validation ------------------------------------------------------------------------------


@pytest.fixture
def unvalidated(templated: Cluster) -> Iterator[None]:
    """Delete the validating configuration for a while."""
    with without(templated, path("validatingwebhookconfigurations", "", "validate.fusioninfer.io")):
        yield
    until(lambda: applied(templated, "default", short("a"))[0] != 0, "a missing template is denied again")


@pytest.mark.usefixtures("unvalidated")
def test_a_sealed_object_whose_template_is_missing_is_denied(templated: Cluster, namespace: str) -> None:
    """It denies the label, which says why. Without the seal the object is stored without its template."""
    where = path("leaderworkersets", namespace)
    until(lambda: applied(templated, namespace, short("probe"))[0] == 0, "nothing is validated")
    with pytest.raises(ApiError) as refused:
        create(templated.api, where, sealed(yaml.safe_load(short("a"))))

    assert refused.value.status == http.client.UNPROCESSABLE_ENTITY
    assert "not expanded: FI951: InferenceTemplate base does not exist" in str(refused.value)
    assert [one["metadata"]["name"] for one in items(templated.api, where)] == ["probe"]

    create(templated.api, path("inferencetemplates", namespace), written(namespace))
    create(templated.api, where, sealed(yaml.safe_load(short("a"))))
    assert engine(templated, namespace, "a")["image"] == ENGINE["image"]


# --- InferenceService --------------------------------------------------------------------------------


def test_a_service_waits_for_its_template(templated: Cluster, namespace: str) -> None:
    where = path("inferenceservices", namespace)
    service = isvc(worker(template={}), name="llm", baseRefs=["base"], model={"uri": "hf://Qwen/Qwen3-8B"})
    create(templated.api, where, service)

    def failure() -> str:
        conditions = get(templated.api, f"{where}/llm").get("status", {}).get("conditions", [])
        return next((one["message"] for one in conditions if one["type"] == "Failed"), "")

    until(lambda: "FI951" in failure(), "the status says which template is missing")
    create(templated.api, path("inferencetemplates", namespace), written(namespace))
    until(
        lambda: items(templated.api, path("leaderworkersets", namespace)),
        "the LeaderWorkerSet is created once the template exists",
    )
    assert engine(templated, namespace, "llm-inference")["image"] == ENGINE["image"]
    until(lambda: "FI951" not in failure(), "the condition is gone")
