"""Findings about a launch: their codes and paths."""

from dataclasses import replace
from typing import Any, Final

import pytest

from catalog.engines import ENGINES, KnownModel
from intent import Object
from intent.lws import Accelerators, Engine
from intent.settings import Settings
from tests.builders.lws import changed, container, lws, put, template
from tests.webhook.launches import SETTINGS, codes, engine, group, path_of
from webhook.check import check
from webhook.mutate import input_of
from webhook.validate.launch import launch

OLD = "vllm/vllm-openai:v0.11.0"
MODULE = "python3 -m vllm.entrypoints.openai.api_server"
FINE = "--model M -tp 8 -pp 2"
GB200, H100 = "NVIDIA-GB200", "NVIDIA-H100-80GB-HBM3"


def selected(key: str, value: str) -> Object:
    """Return the fields of a pod with this node selector."""
    return {"nodeSelector": {key: value}}


def term(operator: str, *values: str, key: str = "nvidia.com/gpu.product") -> list[Object]:
    """Return the expressions of a node selector term."""
    return [{"key": key, "operator": operator} | ({"values": [*values]} if values else {})]


def required(*terms: list[Object]) -> Object:
    """Return the fields of a pod that requires nodes of one of the terms."""
    selector = {"nodeSelectorTerms": [{"matchExpressions": one} for one in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


@pytest.mark.parametrize("args", [FINE, "M -tp 8 -dp 2 -dpb ray", "M -tp 4 -pp 2 -pcp 2", "M -pp $(PP)"])
def test_a_valid_launch_has_no_findings(args: str) -> None:
    assert codes(group(engine(args, variables=(("PP", "16"),)))) == []


@pytest.mark.parametrize("args", ["-tp 16 --new M", "--config c.yaml", "M", "-tp 8 M"])
def test_a_model_that_a_shell_may_expand_is_not_reported_as_missing(args: str) -> None:
    assert "FI306" not in codes(group(engine(args)))


@pytest.mark.parametrize(
    ("args", "command", "path"),
    [
        (["vllm serve $M -tp 32"], "sh -c", "args[0]"),
        ("--seed 1 -tp 32", ["sh", "-c", 'vllm serve M "$@"', "--"], "args[3]"),
        ("", "vllm serve M -tp 32", "command[4]"),
    ],
)
def test_a_finding_has_the_path_of_the_script_or_an_item_beside(args: Any, command: Any, path: str) -> None:
    assert path_of("FI307", group(engine(args, command))) == path


@pytest.mark.parametrize("item", ["--kv-transfer-config '{\"a\": 1}'", "-tp 16", "--model\tM", "--x y=z"])
def test_a_flag_and_its_value_in_one_item_are_denied(item: str) -> None:
    assert path_of("FI309", group(engine(["M", item]))) == "args[1]"


@pytest.mark.parametrize("item", ["--x=a b", "--x={'a': 1}", "a -b c"])
def test_a_space_in_a_value_is_no_fused_argument(item: str) -> None:
    assert "FI309" not in codes(group(engine(["M", "--y", "1", item])))


@pytest.mark.parametrize(
    ("accelerators", "found"),
    [
        (Accelerators(), ["FI303"]),
        (Accelerators(claimed=True), []),
        (Accelerators("nvidia.com/mig-1g.5gb", 1), []),
        (Accelerators("nvidia.com/gpu.shared", 1), []),
        (Accelerators("google.com/tpu", 8), ["FI307"]),
    ],
)
def test_sizes_are_compared_with_counted_accelerators(accelerators: Accelerators, found: list[str]) -> None:
    assert codes(group(engine("M -tp 8 -pp 4", accelerators=accelerators))) == found


@pytest.mark.parametrize(("size", "found"), [(2, ["FI307"]), (3, [])])
def test_a_group_has_the_leaders_accelerators_and_those_of_the_workers(size: int, found: list[str]) -> None:
    leader = engine("M -tp 4 -pp 5", accelerators=Accelerators("nvidia.com/gpu", 4))

    assert codes(group(engine("M -tp 4 -pp 5"), leader, size)) == found


@pytest.mark.parametrize("flag", ["--tensor-parallel", "--te", "--tp", "--tp-size", "--tensor-parallel-size"])
def test_an_abbreviated_size_of_sglang_is_read(flag: str) -> None:
    command = f"python3 -m sglang.launch_server --host :: --model-path org/M {flag} 16"

    assert codes(group(engine("", command, "lmsysorg/sglang:v0.5.9"))) == []


@pytest.mark.parametrize(("command", "size"), [("", 1), (MODULE, 1), (f"/bin/{MODULE}", 2)])
def test_a_positional_model_that_stays_ignored_is_denied(command: str, size: int) -> None:
    assert "FI306" in codes(group(engine("M", command, OLD), size=size))
    assert "FI306" in codes(group(engine([f"cd /x; {MODULE} M"], "sh -c", OLD)))


def test_an_image_alone_is_reported_if_it_is_not_known_to_start_an_engine() -> None:
    intent = group(engine(image="corp/llm:1"))

    assert (codes(intent), path_of("FI517", intent)) == (["FI517"], "image")


SPANNING: Final = "vllm/vllm-openai:v0.16.0"


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("ray symmetric-run --min-nodes 3 -- vllm serve M", "command[2]"),
        ("ray symmetric-run --min-nodes=3 -- vllm serve M", "command[2]"),
        ("vllm serve M -n3", "command[3]"),
        (
            ["sh", "-c", "bash /x/multi-node-serving.sh leader --ray_cluster_size=3; vllm serve M"],
            "command[2]",
        ),
    ],
)
def test_a_number_of_nodes_that_is_not_the_size_is_a_warning(command: Any, path: str) -> None:
    intent = group(engine(command=command, image=SPANNING))

    assert (codes(intent), path_of("FI512", intent)) == (["FI512"], path)


@pytest.mark.parametrize("count", ["2", "$(LWS_GROUP_SIZE)"])
def test_a_number_of_nodes_that_is_the_size_or_unknown_is_accepted(count: str) -> None:
    assert codes(group(engine(command=f"vllm serve M --nnodes {count}", image=SPANNING))) == []


@pytest.mark.parametrize("launcher", ["ray-symmetric", "vllm-native", "ray-start"])
@pytest.mark.parametrize(
    "command",
    [
        "ray start --head",
        "ray symmetric-run --min-nodes 2 -- vllm serve M",
        "vllm serve M --nnodes 2",
        ["sh", "-c", "ray start --block && vllm serve M"],
        f"{MODULE} --model M --nnodes=2",
        "mpirun -n 16 trtllm-serve M",
    ],
)
def test_a_launch_of_the_author_is_a_warning_beside_a_launcher_alone(command: Any, launcher: str) -> None:
    own = engine(command=command, image="vllm/vllm-openai:v0.17.1")

    assert ("FI518" in codes(group(own, launcher=launcher)), "FI518" in codes(group(own))) == (True, False)


@pytest.mark.parametrize(
    "leader",
    [
        "mpirun -np 16 trtllm-llmapi-launch trtllm-serve M --tp_size 16",
        ["bash", "-c", "set -e\nmpirun -np 16 trtllm-llmapi-launch trtllm-serve M --tp_size 16"],
        ["sh", "-c", "ray start --head; vllm serve M -tp 16 --distributed-executor-backend ray"],
        f"{MODULE} --model M -tp 16 --nnodes 2",
    ],
)
@pytest.mark.parametrize(
    "worker", ["/usr/sbin/sshd -D -p 2233", ["sh", "-c", "until x; do y; done"], "sleep inf"]
)
def test_a_worker_without_an_engine_waits_for_the_authors_launch(leader: Any, worker: Any) -> None:
    waits, starts = (engine(command=one, image="vllm/vllm-openai:v0.17.1") for one in (worker, leader))

    assert {"FI514", "FI517", "FI518", "FI519"}.isdisjoint(codes(group(waits, starts)))
    assert "FI518" in codes(group(waits, starts, launcher="vllm-native"))
    assert "FI517" in codes(group(engine(command="/usr/sbin/sshd -D")))


HAND: Final = "vllm serve M -tp 8 -pp 2 --nnodes 2 --master-addr $(LWS_LEADER_ADDRESS)"
ABOUT_HAND: Final = frozenset({"FI328", "FI570", "FI313", "FI333", "FI504", "FI549", "FI569"})
HAND_RANK: Final = f"{HAND} --node-rank $(LWS_WORKER_INDEX)"
NEWER: Final = "vllm/vllm-openai:v0.23.0"
WITH_RAY: Final = "vllm/vllm-openai:v0.16.0"
RAY: Final = "ray start --head && vllm serve M"


@pytest.mark.parametrize("launcher", ["", "none"])
@pytest.mark.parametrize(
    ("command", "image", "found"),
    [
        (f"{MODULE} --model M -tp 8 -dp 2 --data-parallel-start-rank 1", NEWER, ["FI328"]),
        (f"{HAND_RANK} --distributed-executor-backend ray", NEWER, ["FI313"]),
        (["sh", "-c", "ray start --head && vllm serve M -tp 8 -pp 2"], NEWER, ["FI504"]),
        ("ray symmetric-run --min-nodes 2 -- vllm serve M -tp 8 -pp 2", NEWER, ["FI504"]),
        (
            ["bash", "-c", "/x/multi-node-serving.sh leader; vllm serve M -tp 16"],
            "vllm/vllm-openai",
            ["FI504"],
        ),
        (["sh", "-c", "ray start --block"], "ghcr.io/llm-d/llm-d-cuda:v0.9.0", ["FI504"]),
        (["sh", "-c", f"pip install ray; {RAY} -tp 16"], NEWER, ["FI569"]),
        (["sh", "-c", f"pip install ray; {RAY} -tp 16 --distributed-executor-backend ray"], NEWER, []),
        (["sh", "-c", f"{RAY} -tp 16"], "vllm/vllm-openai:v0.17.1", ["FI569"]),
        (["sh", "-c", f"{RAY} --tensor-parallel-size=8 -pp 2"], "vllm/vllm-openai:v0.11.1", ["FI569"]),
        (["sh", "-c", f"ray start --head; {MODULE} --model M -tp 16"], WITH_RAY, ["FI569"]),
        (["sh", "-c", f"N=$((2 * 8)); {RAY} -dp 2 -tp 16"], WITH_RAY, ["FI569"]),
        ("ray symmetric-run --min-nodes 2 -- vllm serve M -tp 16", WITH_RAY, ["FI569"]),
        (
            ["sh", "-c", 'ray start --head; exec "$@"', "sh", *["vllm", "serve", "M", "-tp", "16"]],
            WITH_RAY,
            ["FI569"],
        ),
        (["sh", "-c", f"{RAY} -tp 8"], WITH_RAY, []),
        (["sh", "-c", f"{RAY} -tp 16 -dp 2 --data-parallel-backend ray"], WITH_RAY, []),
        (["sh", "-c", f"{RAY} -tp $N"], WITH_RAY, []),
        (["sh", "-c", f"{RAY} -tp 16"], "vllm/vllm-openai:v0.11.0", []),
        (["sh", "-c", f"{RAY} -tp 16"], "corp/llm:1", []),
        (["sh", "-c", f"{RAY} -tp 16 --config c.yaml"], WITH_RAY, []),
        (["sh", "-c", "uv pip install -q ray; ray start --head && vllm serve M -tp 16"], NEWER, ["FI569"]),
        (["sh", "-c", "cd /opt/install; ray start --head && vllm serve M -tp 16"], NEWER, ["FI504"]),
        (HAND_RANK.replace("vllm serve", f"{MODULE} --model"), "rocm/vllm:rocm7_vllm_0.17.1", ["FI504"]),
        (HAND_RANK, "vllm/vllm-openai:v0.11.0", ["FI333"]),
        (HAND_RANK, "vllm/vllm-openai:v0.16.0", []),
        (HAND_RANK, "corp/llm:1", []),
        (HAND_RANK.replace("-pp", "-dp"), "vllm/vllm-openai:v0.17.1", ["FI549"]),
        (HAND_RANK.replace("-pp", "-dp"), "vllm/vllm-openai:v0.28.0", []),
        (HAND_RANK.replace("-pp", "-dp").replace("M", "org/Qwen3-30B-A3B"), NEWER, []),
    ],
)
def test_a_launch_of_the_author_that_cannot_run_is_reported(
    command: Any, image: str, found: list[str], launcher: str
) -> None:
    said = codes(group(engine(command=command, image=image), launcher=launcher))

    assert [code for code in said if code in ABOUT_HAND] == found


@pytest.mark.parametrize(("experts", "found"), [(False, ["FI549"]), (True, [])])
def test_a_model_of_the_settings_is_known(found: list[str], *, experts: bool) -> None:
    mine = KnownModel("corp-llm-*", experts=experts)
    settings = Settings(engines=replace(ENGINES, models=(mine, *ENGINES.models)))
    command = HAND_RANK.replace("-pp", "-dp").replace("M", "corp/corp-llm-7b")
    intent = group(engine(command=command, image=NEWER))

    assert [one.code for one in launch(input_of(intent, settings)) if one.code == "FI549"] == found


def test_a_short_flag_joined_with_its_value_is_quoted_once() -> None:
    given = input_of(group(engine(command=f"{HAND} -r1", image=NEWER)), SETTINGS)

    assert [one.message[:11] for one in launch(given) if one.code == "FI570"] == ["-r 1 gives "]


def test_a_rank_of_the_annotation_may_span_pods() -> None:
    sizes = "tensor=8,pipeline=2,data=2,dataLocal=1"
    live = lws(4, template(container(args=["org/M"], image="vllm/vllm-openai:v0.28.0")), parallelism=sizes)

    assert [one for one in check(put(live)) if one.severity == "error"] == []


OWN_RANK: Final = "vllm serve M -tp 8 -dp 2 --data-parallel-rank $(LWS_WORKER_INDEX)"
FIRST: Final = "vllm serve M -dp 16 -dpl 8 -dpa $(LWS_LEADER_ADDRESS)"


@pytest.mark.parametrize("launcher", ["", "none"])
@pytest.mark.parametrize(
    ("leader", "worker", "needed"),
    [
        ("", OWN_RANK, "--data-parallel-address"),
        ("", OWN_RANK.replace("vllm serve", f"{MODULE} --model"), "--data-parallel-address"),
        ("", f"{OWN_RANK} -dpa $(LWS_LEADER_ADDRESS)", ""),
        (FIRST, f"{FIRST} -dpr 8 --headless", ""),
        (FIRST, f"{FIRST} -dpr 8", "--headless"),
        (FIRST, f"{FIRST} -dpr 8 --api-server-count 0", ""),
        (FIRST, "vllm serve M -dp 16 -dpl 8 -dpr 8 --headless", "--data-parallel-address"),
        (f"{FIRST} -dph", f"{FIRST} -dpr 8 -dph", ""),
        ("", f"{HAND_RANK} -dp 2", ""),
        ("", "ray symmetric-run --address a:1 -- vllm serve M -dp 2 -dpr $(LWS_WORKER_INDEX)", ""),
    ],
)
def test_a_launch_of_the_author_that_lacks_a_flag_is_reported(
    leader: str, worker: str, needed: str, launcher: str
) -> None:
    first, other = (engine(command=one, image="vllm/vllm-openai:v0.32.0") for one in (leader, worker))
    given = input_of(group(other, first if leader else None, launcher=launcher), SETTINGS)

    said = [one.message for one in launch(given) if one.code == "FI518"]

    assert [needed in one for one in said] == ([True] if needed else [])


@pytest.mark.parametrize(
    ("image", "args", "is_found"),
    [
        ("v0.28.0", "M -tp 16", True),
        ("v0.27.1", "M --tensor_parallel_size=16", True),
        ("v0.28.0", "M -tp 16 --disable-custom-all-reduce", False),
        ("v0.28.0", "M -tp 8 -pp 2", False),
        ("v0.26.0", "M -tp 16", False),
        ("v0.29.0", "M -tp 16", False),
    ],
)
def test_a_release_that_hangs_is_reported(image: str, args: str, is_found: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert ("FI569" in codes(group(engine(args, image=f"vllm/vllm-openai:{image}")))) is is_found


@pytest.mark.parametrize(
    ("spec", "is_joined"),
    [
        ({}, False),
        (selected("nvidia.com/gpu.product", "NVIDIA-GB200"), True),
        (selected("cloud.google.com/gke-accelerator", "nvidia-gb300"), True),
        (selected("example.com/rack", "gb200-nvl72"), True),
        (selected("nvidia.com/gpu.clique", "a.1"), True),
        (required(term("In", GB200)), True),
        (required(term("Exists", key="nvidia.com/gpu.clique")), True),
        (required(term("In", H100)), False),
        (required(term("In")), False),
        (required(), False),
        ({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [GB200]}}}, False),
    ],
)
def test_tensor_parallelism_over_nodes_that_nvlink_joins_is_no_warning(
    spec: Object,
    is_joined: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    crossing = lws(worker=template(container(args=["org/M", "-tp", "16"]), **spec))

    assert ("FI502" in {one.code for one in check(crossing, mutated=False)}) is not is_joined


@pytest.mark.parametrize(
    ("args", "image", "found"),
    [
        ("--model M -tp 8", OLD, []),
        ("--model M -tp 16", OLD, ["FI308"]),
        ("vllm serve Qwen/Qwen3-8B -tp 8", OLD, ["FI516"]),
        ("", OLD, []),
        ("-tp 8", OLD, ["FI306"]),
        ("M -tp8", "vllm/vllm-openai:v0.17.1", ["FI333", "FI501"]),
        ("--model M -tp 8 --port 6379 --dist mp", OLD, []),
        ("--model M", OLD, ["FI501"]),
        ("--model M -dp 8", OLD, []),
        ("--model M -dpl 2", OLD, ["FI501"]),
        ("--model M --config c.yaml", OLD, ["FI509"]),
        ("--model M --tensor-paralel-size 8", OLD, ["FI333", "FI501"]),
        ("--model M -tp $(TP)", OLD, []),
        ("--model M", "corp/llm:1", []),
        ("--model M -dp 16 -dpl 8", OLD, []),
        ("--model M --nnodes 2 --node-rank 0", SPANNING, ["FI512"]),
    ],
)
def test_a_group_of_one_pod_is_checked(args: str, image: str, found: list[str]) -> None:
    assert codes(group(engine(args, image=image), size=1)) == found


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    ("one", "found"),
    [
        (engine("-tp8 --port"), ["FI333", "FI306", "FI501"]),
        (engine("--model M -tp 0"), []),
        (engine("--model M -tp 16"), ["FI569"]),
        (engine("M --distributed-executor-backend ray", "vllm serve"), []),
        (engine("--model M", accelerators=Accelerators("nvidia.com/mig-1g.5gb", 4)), []),
        (engine("--model M", accelerators=Accelerators(claimed=True)), []),
        (engine("", "/start.sh"), []),
    ],
)
def test_without_a_launcher_each_pod_s_command_is_checked(one: Engine, found: list[str], size: int) -> None:
    assert codes(group(one, size=size, launcher="none")) == found


@pytest.mark.parametrize(
    ("script", "found"), [("vllm serve M '--x y'", True), ("vllm serve M --x$(echo a b)", False)]
)
def test_a_fused_argument_is_found_in_a_literal_script(script: str, *, found: bool) -> None:
    assert ("FI309" in codes(group(engine([script], "sh -c")))) is found


@pytest.mark.parametrize(
    ("one", "launcher", "found"),
    [
        (engine(["--model M", *FINE.split()[2:]]), "", ["FI309"]),
        (engine("M -tp 32"), "", ["FI307"]),
        (engine(command="mpirun -n 16 trtllm-serve M"), "", []),
        (engine("M --nnodes 4", "vllm serve", SPANNING), "none", ["FI512"]),
        (engine(f"vllm serve {FINE}", image="rocm/vllm:latest"), "", ["FI527"]),
        (engine("M -tp 8 -dp 2"), "vllm-native", []),
    ],
    ids=[
        *("a model fused with its flag is not missing too", "what cannot run has only the error"),
        *("processes are no nodes", "nodes without a launcher", "args may be a program"),
        "ranks without Ray are spread",
    ],
)
def test_a_launch_has_these_findings_and_no_others(one: Engine, launcher: str, found: list[str]) -> None:
    assert codes(group(one, launcher=launcher)) == found


CPU = "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.17.1"


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        ("volcano.sh/vgpu-number", "FI537"),
        ("hugepages-2Mi", "FI303"),
        ("requests.kubernetes.io/x", "FI303"),
    ],
)
def test_a_resource_that_may_be_an_accelerator_warns(resource: str, code: str) -> None:
    resources = {"limits": {resource: "8"}, "requests": {"cpu": "8", "memory": "1Gi"}}
    found = check(put(lws(worker=template(container(resources=resources)))))

    assert [one.code for one in found] == [code]


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({}, {"FI303"}),
        ({"image": CPU}, set()),
        ({"image": "vllm/vllm-openai:v0.17.1-cpu"}, set()),
        ({"image": "corp/llm:1"}, {"FI538"}),
        ({"image": "corp/cpuset:1"}, {"FI538"}),
        ({"env": [{"name": "VLLM_TARGET_DEVICE", "value": "cpu"}]}, set()),
        ({"args": ["--model", "org/M", "--device", "cpu"], "image": "vllm/vllm-openai:v0.9.2"}, set()),
        ({"args": ["org/M", "--device", "cuda"], "image": "corp/llm:1"}, {"FI538"}),
    ],
)
def test_an_engine_without_accelerators_warns_if_not_for_cpu(fields: dict[str, Any], codes: set[str]) -> None:
    resources = {"requests": {"cpu": "8", "memory": "1Gi"}}
    asked = lws(worker=template(container(resources=resources, **fields)), launcher="ray-symmetric")

    assert {one.code for one in check(put(asked))} - {"FI504"} == codes


def test_accelerators_of_another_container_are_not_the_engines() -> None:
    engine_alone = container(image="corp/llm:1", resources={"requests": {"cpu": "8", "memory": "1Gi"}})
    other = container("other", image="corp/other:1", command=["run"], args=None)

    named: dict[str, Any] = {"engine_container": "vllm", "launcher": "ray-symmetric"}
    found = check(put(lws(worker=template(engine_alone, other), **named)))

    assert [one.code for one in found] == ["FI303"]


def claiming(name: str, **fields: Any) -> Object:
    return container(name, resources={"claims": [{"name": "nic"}]}, **fields)


SIDECAR = {"image": "corp/nic:1", "command": ["run"], "args": None}


@pytest.mark.parametrize(
    "engine_container", [container(), claiming("vllm")], ids=["in numbers", "by a claim too"]
)
def test_a_claim_of_a_sidecar_does_not_make_the_engine_ambiguous(engine_container: Object) -> None:
    pods = template(claiming("nic", **SIDECAR), engine_container)

    once = put(lws(worker=pods))

    commands = {
        one["name"]: one["command"]
        for one in once["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"]
    }
    assert commands == {"nic": ["run"], "vllm": ["ray"]}
    assert "FI301" not in {one.code for one in check(once)}


def test_two_claims_of_unknown_containers_are_ambiguous() -> None:
    pods = template(claiming("nic", **SIDECAR), claiming("other", **SIDECAR))

    assert "FI301" in {one.code for one in check(put(lws(worker=pods)))}


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    ("component_type", "more", "told"),
    [
        ("prefiller", [], True),
        ("decoder", ["-tp", "8"], True),
        ("worker", [], False),
        ("prefiller", ["--config", "c.yaml"], False),
        ("prefiller", ["--kv-transfer-config.kv_role=kv_both"], False),
        ("prefiller", ["--kv-transfer-config", "$(CONFIG)"], False),
    ],
)
def test_one_side_of_a_kv_transfer_without_a_connector_is_a_warning(
    component_type: str, more: list[str], size: int, *, told: bool
) -> None:
    pods = template(container(args=["org/M", *more]))

    found = check(put(lws(size=size, worker=pods, component_type=component_type)))

    assert ("FI539" in {one.code for one in found}) is told


def test_flags_that_a_shell_expands_may_contain_the_connector_and_the_sizes() -> None:
    def found(script: str) -> set[str]:
        pods = template(container(command=["sh", "-c", script], args=None, image="vllm/vllm-openai:v0.32.0"))
        return {one.code for one in check(put(lws(worker=pods, component_type="prefiller")))}

    assert {"FI539", "FI316"} <= found("cd /; vllm serve $MODEL")
    assert {"FI539", "FI316"}.isdisjoint(found("cd /; vllm serve $MODEL $FLAGS"))


@pytest.mark.parametrize(("skip", "found"), [("", ["FI320"]), ("dns", [])])
def test_a_container_with_the_name_of_an_injected_one_is_refused(skip: str, found: list[str]) -> None:
    other = container("wait-for-leader", image="corp/x:1", command=["run"], args=None, resources=None)
    annotations: dict[str, Any] = {"skip": skip} if skip else {}

    said = check(put(lws(worker=template(container(), other), **annotations)))

    assert [one.code for one in said] == found


def test_an_injected_container_is_not_refused_for_its_name() -> None:
    once = put(lws())

    assert check(changed(once, "spec.replicas", 2), once) == []


@pytest.mark.parametrize(
    ("image", "example"),
    [
        ("lmsysorg/sglang:v0.5.5", "[python3, -m, sglang.launch_server]"),
        ("openmmlab/lmdeploy:v0.9", "[lmdeploy, serve, api_server]"),
        ("corp/llm:1", "[vllm, serve]"),
    ],
)
def test_an_image_without_a_command_gets_an_example_for_its_engine(image: str, example: str) -> None:
    (found,) = [
        one
        for one in launch(input_of(group(engine("--tp 16", image=image)), SETTINGS))
        if one.code == "FI517"
    ]

    assert f"for example {example}, or" in found.message


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("M -tp 8 -dp 2", "add --data-parallel-backend ray --data-parallel-size-local 1"),
        ("M -tp 2 -dp 8", "add --data-parallel-backend ray --data-parallel-size-local 4"),
        (
            "M -tp 8 -pp 2 -dp 2",
            "raise --pipeline-parallel-size instead",
        ),
        ("M -tp 8 -dp 2 --data-parallel-backend ray", ""),
        ("M -tp 4 -dp 2", ""),
        ("M -tp 8 -dp 2 -dpl 1", "add --data-parallel-backend ray"),
        ("M -tp 8 -pp 2", ""),
    ],
)
def test_data_parallel_ranks_that_all_start_on_the_leader_are_a_warning(args: str, message: str) -> None:
    asked = group(engine(args), launcher="ray-symmetric")
    found = [one.message for one in launch(input_of(asked, SETTINGS)) if one.code == "FI541"]

    assert [text.partition("; ")[2] for text in found] == ([message] if message else [])


def test_of_accelerators_that_are_not_counted_one_rank_a_pod_is_advised() -> None:
    parts = Accelerators("nvidia.com/mig-1g.5gb", 8)
    asked = group(engine("M -tp 8 -dp 2", accelerators=parts), launcher="ray-symmetric")
    (found,) = (one.message for one in launch(input_of(asked, SETTINGS)) if one.code == "FI541")

    assert found.endswith("add --data-parallel-backend ray --data-parallel-size-local 1")
