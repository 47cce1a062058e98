"""The size of a group that follows from parallel sizes, where the author of a role counts no nodes."""

from typing import Any, Final

import pytest

from intent import Object
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.pods import pods_of
from intent.inferenceservice.read import read
from intent.parallelism import fault, read_parallelism, written
from tests.builders import lws
from tests.builders.isvc import isvc, worker
from tests.builders.lws import container
from webhook.inferenceservice import check

ARGS: Final = ["--model", "org/M"]


def template(gpus: Any = None, *more: Object, **metadata: Any) -> Object:
    limits = {} if gpus is None else {"limits": {"nvidia.com/gpu": gpus}}
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}, **limits}
    engine = container(image="vllm/vllm-openai:v0.20.2", command=None, args=ARGS, resources=resources)
    return {"metadata": metadata, **lws.template(engine, *more)}


def service(parallelism: Object, gpus: Any = None, **role: Any) -> Object:
    fields = {"multinode": None, "parallelism": parallelism, "template": template(gpus), **role}
    return isvc(worker(**fields))


def rendered(obj: Object) -> Object:
    intent, errors = read(obj)
    assert intent is not None
    assert [one for one in errors if one.severity == "error"] == []
    return leader_worker_sets(intent)[0]


@pytest.mark.parametrize(
    ("sizes", "gpus", "pods"),
    [
        ("tensor=8", 8, 1),
        ("tensor=8,pipeline=2", 8, 2),
        ("tensor=16", 8, 2),
        ("tensor=12", "8", 2),
        ("tensor=1,data=16,dataLocal=8", 8, 2),
        ("tensor=2,data=8,dataLocal=2", 8, 4),
        ("tensor=8,pipeline=2,data=2,dataLocal=1", 8, 4),
        ("data=4", 1, 4),
        ("tensor=8", None, 1),
        ("tensor=8,pipeline=2", None, 2),
        ("data=16,dataLocal=8", None, 2),
        ("pipeline=2,data=4,dataLocal=2", None, 4),
        ("expert", 8, 1),
    ],
)
def test_as_many_pods_as_the_sizes_need(sizes: str, gpus: Any, pods: int) -> None:
    assert pods_of(read_parallelism(sizes), template(gpus)) == pods


def test_the_accelerators_are_those_of_the_engine_container() -> None:
    other = {"name": "draft", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    named = template(8, other, annotations={"fusioninfer.io/engine-container": "vllm"})

    assert pods_of(read_parallelism("tensor=16"), named) == 2
    assert pods_of(read_parallelism("tensor=16"), template(8, other)) == 1


WHOLE: Final = "tensor=8,pipeline=2,data=4,dataLocal=2,dataRPCPort=99,expert"


@pytest.mark.parametrize("sizes", [WHOLE, "expert", "data=2"])
def test_the_annotation_of_a_member_says_the_same(sizes: str) -> None:
    assert fault(written(read_parallelism(sizes))) == ""
    assert read_parallelism(written(read_parallelism(sizes))) == read_parallelism(sizes)


def test_a_role_is_rendered_as_a_user_writes_it() -> None:
    made = service({"tensor": 8, "pipeline": 2, "expert": True, "dataRPCPort": 5555}, 8)

    assert rendered(made)["spec"]["leaderWorkerTemplate"]["size"] == 2
    noted = rendered(made)["metadata"]["annotations"]["fusioninfer.io/parallelism"]
    assert noted == "tensor=8,pipeline=2,dataRPCPort=5555,expert"
    assert errors(made) == []


@pytest.mark.parametrize("nodes", [{"multinode": {"nodeCount": 4}}, {"podReplicas": 4}])
def test_the_number_of_nodes_of_the_author_stays(nodes: Object) -> None:
    found = rendered(service({"tensor": 8, "pipeline": 2}, 8, **nodes))

    assert found["spec"]["leaderWorkerTemplate"]["size"] == 4


def test_a_role_without_parallelism_has_one_pod() -> None:
    found = rendered(service({}, 8))

    assert found["spec"]["leaderWorkerTemplate"]["size"] == 1
    assert "fusioninfer.io/parallelism" not in found["metadata"]["annotations"]


def errors(made: Object) -> list[str]:
    return [str(one) for one in check(made) if one.severity == "error"]


@pytest.mark.parametrize(
    ("sizes", "fields", "message"),
    [
        (
            {"data": 16, "dataLocal": 8},
            {"multinode": {"nodeCount": 4}},
            (
                "spec.roles[0].parallelism: dataLocal=8 on each of 4 pods is not data=16: "
                "set multinode.nodeCount to 2 (FI316)"
            ),
        ),
        (
            {"data": 13, "dataLocal": 8},
            {},
            (
                'spec.roles[0].parallelism: Invalid value: "data=13,dataLocal=8": '
                "data=13 must be a multiple of dataLocal=8 (FI104)"
            ),
        ),
    ],
)
def test_a_mistake_names_the_field_of_the_role(sizes: Object, fields: Object, message: str) -> None:
    assert errors(service(sizes, 8, **fields)) == [message]


def test_the_annotation_is_refused_in_favour_of_the_field() -> None:
    made = service({}, 8)
    made["metadata"]["annotations"] = {"fusioninfer.io/parallelism": "tensor=8"}

    assert "use spec.roles[].parallelism instead (FI709)" in errors(made)[0]
