"""⊕ of pod templates, case by case."""

from typing import Any, Final

import pytest

from catalog.schemas import POD_TEMPLATE, schemas
from intent import Object
from intent.command_line.merge import by_flag
from intent.merge import BadPathError, merged, removed, steps
from intent.tree import MERGE_KEYS

Case = tuple[Object, Object, Object]


def pod(**spec: Any) -> Object:
    return {"spec": spec}


def engine(**fields: Any) -> Object:
    return pod(containers=[{"name": "vllm", **fields}])


POD_IP: Final = {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
KEY: Final = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
PROFILE: Final = {"seccompProfile": {"type": "Localhost", "localhostProfile": "p"}}
CLAIM: Final = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
PORT: Final = {"containerPort": 1, "name": "a"}
STAYS: Final[dict[str, tuple[Object, Object]]] = {
    "a field of the base": (pod(nodeName="a"), pod()),
    "null sets nothing": (pod(nodeName="a"), pod(nodeName=None)),
    "an empty object adds nothing": (pod(securityContext={"runAsUser": 1}), pod(securityContext={})),
    "a volume without a source keeps it": (
        pod(volumes=[{"name": "v", "emptyDir": {}}]),
        pod(volumes=[{"name": "v"}]),
    ),
}
"""What leaves the base as it is."""
WINS: Final[dict[str, tuple[Object, Object]]] = {
    "a field of over": (pod(nodeName="a"), pod(nodeName="b")),
    "zero": (pod(priority=5), pod(priority=0)),
    "false": (pod(hostIPC=True), pod(hostIPC=False)),
    "an empty string": (pod(nodeName="a"), pod(nodeName="")),
    "an empty list removes all items": (engine(env=[{"name": "A"}]), engine(env=[])),
    "tolerations are replaced": (pod(tolerations=[{"key": "a"}]), pod(tolerations=[{"key": "b"}])),
    "value replaces valueFrom": (engine(env=[POD_IP]), engine(env=[{"name": "A", "value": ""}])),
    "one source of a variable replaces another": (engine(env=[POD_IP]), engine(env=[KEY])),
    "a hook replaces another": (
        engine(lifecycle={"preStop": {"exec": {"command": ["a"]}}}),
        engine(lifecycle={"preStop": {"sleep": {"seconds": 1}}}),
    ),
    "a source of a volume replaces another": (
        pod(volumes=[{"name": "v", "emptyDir": {"medium": "Memory"}}]),
        pod(volumes=[CLAIM]),
    ),
    "TCP is the default of a port": (
        engine(ports=[PORT]),
        engine(ports=[{**PORT, "protocol": "TCP", "name": "b"}]),
    ),
    "a profile is replaced": (
        pod(securityContext=PROFILE),
        pod(securityContext={"seccompProfile": {"type": "RuntimeDefault"}}),
    ),
    "items without a name replace the list": (engine(env=[{"name": "A"}]), engine(env=[{"value": "x"}])),
    "duplicates replace the list": (
        engine(env=[{"name": "A"}]),
        engine(env=[{"name": "B", "value": "1"}, {"name": "B", "value": "2"}]),
    ),
    "another type replaces": (pod(volumes=[{"name": "v"}]), pod(volumes="x")),
}
"""What replaces what the base has there."""
MERGED: Final[dict[str, Case]] = {
    "labels are added": (
        {"metadata": {"labels": {"a": "1", "b": "1"}}},
        {"metadata": {"labels": {"b": "2"}}},
        {"metadata": {"labels": {"a": "1", "b": "2"}}},
    ),
    "names are added to a set": (
        {"metadata": {"finalizers": ["a/b"]}},
        {"metadata": {"finalizers": ["c/d", "a/b"]}},
        {"metadata": {"finalizers": ["a/b", "c/d"]}},
    ),
    "containers merge by name": (engine(image="a", tty=True), engine(image="b"), engine(image="b", tty=True)),
    "a container of another name is added behind": (
        pod(containers=[{"name": "sidecar"}]),
        pod(containers=[{"name": "vllm"}]),
        pod(containers=[{"name": "sidecar"}, {"name": "vllm"}]),
    ),
    "resources merge by name": (
        engine(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
        engine(resources={"limits": {"cpu": "2"}}),
        engine(resources={"limits": {"cpu": "2", "memory": "1Gi"}}),
    ),
    "a variable of the template comes first": (
        engine(env=[{"name": "A", "value": "1"}]),
        engine(env=[{"name": "B", "value": "$(A)"}]),
        engine(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}]),
    ),
    "a handler replaces another, and the times stay": (
        engine(readinessProbe={"httpGet": {"path": "/health", "port": 1}, "periodSeconds": 5}),
        engine(readinessProbe={"tcpSocket": {"port": 2}}),
        engine(readinessProbe={"tcpSocket": {"port": 2}, "periodSeconds": 5}),
    ),
    "times alone keep the handler": (
        engine(readinessProbe={"httpGet": {"path": "/health", "port": 1}, "periodSeconds": 5}),
        engine(readinessProbe={"periodSeconds": 9}),
        engine(readinessProbe={"httpGet": {"path": "/health", "port": 1}, "periodSeconds": 9}),
    ),
    "mounts merge by path": (
        engine(volumeMounts=[{"name": "a", "mountPath": "/models", "readOnly": True}]),
        engine(volumeMounts=[{"name": "b", "mountPath": "/models"}]),
        engine(volumeMounts=[{"name": "b", "mountPath": "/models", "readOnly": True}]),
    ),
    "ports merge by port and protocol": (
        engine(ports=[PORT]),
        engine(ports=[{"containerPort": 1, "protocol": "UDP"}]),
        engine(ports=[PORT, {"containerPort": 1, "protocol": "UDP"}]),
    ),
}
CASES: Final[dict[str, Case]] = {
    **{name: (base, over, base) for name, (base, over) in STAYS.items()},
    **{name: (base, over, over) for name, (base, over) in WINS.items()},
    **MERGED,
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_template_is_merged_under_another(case: Case) -> None:
    before, (base, over, expected) = repr(case), case

    assert merged(base, over) == expected
    assert repr(case) == before, "neither side is changed"


def test_all_lists_of_the_schema_that_merge_are_in_the_table() -> None:
    """Claims of devices merge only in server-side apply: strategic merge replaces them."""
    found = set(_list_maps(schemas()[POD_TEMPLATE].root, ""))

    assert found - {"claims"} | {"ports", "imagePullSecrets"} == MERGE_KEYS.keys()


def _list_maps(node: Object, name: str) -> list[str]:
    below = [one for key, each in node.get("properties", {}).items() for one in _list_maps(each, key)]
    items = _list_maps(node["items"], "") if isinstance(node.get("items"), dict) else []
    return [*([name] if node.get("x-kubernetes-list-type") == "map" else []), *below, *items]


# --- arguments ---------------------------------------------------------------------------------------

VLLM: Final = ["vllm", "serve"]
ARGUMENTS: Final[dict[str, tuple[list[str], list[str], list[str], list[str]]]] = {
    "other flags stay": (VLLM, ["--a=1"], ["--b"], ["--a=1", "--b"]),
    "a flag replaces its own": (
        VLLM,
        ["--max-model-len", "8", "--seed=1"],
        ["--max-model-len=9"],
        ["--seed=1", "--max-model-len=9"],
    ),
    "another spelling replaces too": (
        VLLM,
        ["-tp", "8"],
        ["--tensor_parallel_size=4"],
        ["--tensor_parallel_size=4"],
    ),
    "an unknown flag with its values": (
        VLLM,
        ["--new", "1", "2", "--a"],
        ["--new", "3"],
        ["--a", "--new", "3"],
    ),
    "a negation replaces": (VLLM, ["--enforce-eager"], ["--no-enforce-eager"], ["--no-enforce-eager"]),
    "the model of over comes first": (VLLM, ["m", "--switch"], ["n"], ["n", "--switch"]),
    "a named model replaces a positional one": (VLLM, ["m", "--a"], ["--model=n"], ["--a", "--model=n"]),
    "a positional model replaces a named one": (VLLM, ["--model", "m", "--a"], ["n"], ["n", "--a"]),
    "what follows two dashes stays last": (VLLM, ["--a", "--", "x"], ["--b"], ["--a", "--b", "--", "x"]),
    "an engine with flags of its own": (
        ["python3", "-m", "sglang.launch_server"],
        ["--tp", "8", "--model-path", "m"],
        ["--tp-size=4"],
        ["--model-path", "m", "--tp-size=4"],
    ),
    "another program": (["server"], ["--a"], ["--b"], ["--b"]),
    "a script": (["sh", "-c"], ["vllm serve m"], ["vllm serve n"], ["vllm serve n"]),
}


@pytest.mark.parametrize("case", ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments_of_an_engine_merge_by_flag(case: tuple[list[str], ...]) -> None:
    command, base, over, expected = case
    below = engine(command=command, args=base)

    assert merged(below, engine(args=over), by_flag) == engine(command=command, args=expected)


def test_an_image_of_vllm_tells_the_engine() -> None:
    found = merged(engine(image="vllm/vllm-openai:v0.12.0", args=["m", "--a"]), engine(args=["--b"]), by_flag)

    assert found["spec"]["containers"][0]["args"] == ["m", "--a", "--b"]


# --- removal -----------------------------------------------------------------------------------------

FULL: Final = {
    "metadata": {"labels": {"a": "1"}, "annotations": {"example.com/a": "1"}},
    "spec": {
        "containers": [
            {
                "name": "vllm",
                "env": [{"name": "DEBUG", "value": "1"}, {"name": "B"}],
                "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}],
                "volumeMounts": [{"name": "m", "mountPath": "/models"}],
                "command": ["a", "b"],
            },
            {"name": "sidecar"},
        ],
        "hostIPC": True,
    },
}


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ("containers/sidecar", {"name": "sidecar"}),
        ("spec/containers/sidecar", {"name": "sidecar"}),
        ("containers/vllm/env/DEBUG", {"name": "DEBUG", "value": "1"}),
        ("containers/vllm/ports/1", {"containerPort": 1}),
        ("containers/vllm/ports[1/TCP]", {"containerPort": 1}),
        ("containers/vllm/ports[1/UDP]", {"containerPort": 1, "protocol": "UDP"}),
        ("containers/vllm/volumeMounts[/models]", {"name": "m", "mountPath": "/models"}),
        ("containers/vllm/command/b", "b"),
    ],
)
def test_an_item_is_removed(path: str, gone: Any) -> None:
    before, after = repr(FULL), repr(removed(FULL, [path]))

    assert after in (
        before.replace(f", {gone!r}", ""),
        before.replace(f"{gone!r}, ", ""),
        before.replace(repr(gone), ""),
    )
    assert after != before


@pytest.mark.parametrize("path", ["hostIPC", "metadata/labels", "metadata/annotations[example.com/a]"])
def test_a_field_is_removed(path: str) -> None:
    *above, name = steps(path)
    node: Any = removed(FULL, [path])
    for step in above:
        node = node[step]

    assert name not in node


@pytest.mark.parametrize("path", ["containers/none", "containers/none/env", "hostIPC/x", "volumes/v"])
def test_a_path_of_nothing_removes_nothing(path: str) -> None:
    assert removed(FULL, [path]) == FULL


@pytest.mark.parametrize("path", ["", "/", "spec", "metadata", "a//b", "a/", "a[b", "a[]", "]", "a" * 600])
def test_other_texts_are_no_paths(path: str) -> None:
    with pytest.raises(BadPathError):
        steps(path)
