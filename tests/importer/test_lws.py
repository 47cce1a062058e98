"""Launches that authors wrote by hand: which are replaced by the plain command, and which stay."""

from copy import deepcopy
from typing import Any, Final

import pytest

from importer.account import kept
from importer.report import ImportResult
from importer.table import import_all
from intent import Object
from intent.annotations import COMPONENT_TYPE, LAUNCHER, SCHEDULER_NAME, SERVICE
from tests.builders.imported import errors
from webhook.launchers import LAUNCHERS
from webhook.launchers.ray import PORT as RAY
from webhook.launchers.sglang import PORT as SGLANG_PORT

VLLM: Final = "vllm/vllm-openai:v0.17.1"
SGLANG: Final = "lmsysorg/sglang:v0.5.6"
MODEL: Final = ["meta-llama/Llama-3.3-70B-Instruct", "--tensor-parallel-size", "16"]


def container(command: list[str], **fields: Any) -> Object:
    resources = {"requests": {"cpu": "8", "memory": "64Gi"}, "limits": {"nvidia.com/gpu": "8"}}
    return {"name": "engine", "image": VLLM, "command": command, "resources": resources, **fields}


def lws(leader: Object | None, workers: Object, size: int = 2, **spec: Any) -> Object:
    templates = {"leaderTemplate": leader, "workerTemplate": workers}
    group = {key: {"spec": {"containers": [one]}} for key, one in templates.items() if one}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "llama"},
        "spec": {**spec, "leaderWorkerTemplate": {"size": size, **group}},
    }


def script(text: str, **fields: Any) -> Object:
    return container(["sh", "-c", text], **fields)


SERVE: Final = "vllm serve " + " ".join(MODEL)
NATIVE: Final = ["--nnodes", "$(LWS_GROUP_SIZE)", "--node-rank", "$(LWS_WORKER_INDEX)"]
NATIVES: Final = " ".join(NATIVE).replace("(", "").replace(")", "")
ADDRESS: Final = ["--master-addr", "$(LWS_LEADER_ADDRESS)", "--master-port=29501"]
DIST: Final = ["--dist-init-addr", "$(LWS_LEADER_ADDRESS):20000"]
SG: Final = ["python3", "-m", "sglang.launch_server", "--model-path", "m/n", "--tp", "16"]
WORKER: Final = "ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"

SHARED: Final = "--data-parallel-size 16 --data-parallel-size-local 8 --data-parallel-rpc-port 5555"
RANKS: Final = f"vllm serve m {SHARED} --data-parallel-address $LWS_LEADER_ADDRESS"
MANY: Final = RANKS.replace("16", "800")
START: Final = "--data-parallel-start-rank $((LWS_WORKER_INDEX * 8))"
WAITS: Final = """\
ray start --head --port=6379 --block &
for i in $(seq 1 60); do
  nodes=$(ray status 2>/dev/null | grep -c node_ || true)
  echo "$nodes nodes"
  if [ "$nodes" -ge 2 ]; then break; fi
  sleep 5
done
"""
SERVING: Final = "/w/multi-node-serving.sh leader --ray_cluster_size=$(LWS_GROUP_SIZE)"
JOINING: Final = "/w/multi-node-serving.sh worker --ray_address=$(LWS_LEADER_ADDRESS)"
EARLIER: Final = ("multi-node-serving", "ray_init")
BY_RAY: Final[dict[str, tuple[str, str]]] = {
    "multi-node-serving.sh": (f"bash {SERVING}; {SERVE}", f"bash {JOINING}"),
    "ray_init.sh": (f"{SERVING}; {SERVE}".replace(*EARLIER), JOINING.replace(*EARLIER)),
    "ray start": (f"ray start --head --port 6379; sleep 30; {SERVE}", WORKER),
    "a loop that waits for Ray": (f"until ray status; do sleep 1; done; ray start --head; {SERVE}", WORKER),
    "a loop that counts nodes": (
        WAITS + SERVE,
        f"while ! nc -z $LWS_LEADER_ADDRESS 6379; do sleep 1; done\n{WORKER}",
    ),
    "scripts that end": (f"ray start --head; {SERVE}; exit $?", f"{WORKER}; exit 0; sleep infinity"),
    "workers that sleep beside Ray": (
        f"ray start --head; {SERVE}",
        f"{WORKER.removesuffix(' --block')}; sleep infinity",
    ),
}
"""The scripts of leader and workers that start Ray."""
RECOGNISED: Final[dict[str, tuple[Object, list[str], str]]] = {
    **{
        name: (lws(script(leader), script(workers)), SERVE.split(), "ray-start")
        for name, (leader, workers) in BY_RAY.items()
    },
    "multi-node-serving.sh, with variables of the shell": (
        lws(
            script(
                "set -e\n/w/multi-node-serving.sh leader --ray_cluster_size=2 &&\n"
                f"exec {SERVE} \\\n --x '{{\"a\": 1}}'"
            ),
            script('/w/multi-node-serving.sh worker --ray_address="${LWS_LEADER_ADDRESS}"'),
        ),
        ["vllm", "serve", *MODEL, "--x", '{"a": 1}'],
        "ray-start",
    ),
    "workers that name their address": (
        lws(
            script(f"ray start --head; {SERVE}"),
            script(
                "ray start --address=$LWS_LEADER_ADDRESS:6379 --node-ip-address=$IP; sleep infinity",
                env=[{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
            ),
        ),
        SERVE.split(),
        "ray-start",
    ),
    "ray start of the workers without a shell": (
        lws(script(f"ray start --head --port 6379; {SERVE}"), container(WORKER.split())),
        SERVE.split(),
        "ray-start",
    ),
    "--nnodes": (
        lws(
            container(["vllm", "serve", *MODEL, *NATIVE, *ADDRESS]),
            container(["vllm", "serve", *MODEL, *NATIVE, *ADDRESS, "--headless"]),
        ),
        SERVE.split(),
        "vllm-native",
    ),
    "--nnodes with ranks": (
        lws(
            container(["vllm", "serve", *MODEL, "--port", "80", "--nnodes=2", "--node-rank=0", *ADDRESS]),
            container(["vllm", "serve", *MODEL, "--nnodes=2", "--node-rank=1", *ADDRESS, "--headless"]),
        ),
        ["vllm", "serve", *MODEL, "--port", "80"],
        "vllm-native",
    ),
    "SGLang in one template": (lws(None, container([*SG, *DIST, *NATIVE], image=SGLANG)), SG, ""),
    "SGLang in a script": (
        lws(
            None,
            script(
                " ".join([*SG, *DIST, "--nnodes ${LWS_GROUP_SIZE} --node-rank $LWS_WORKER_INDEX"]),
                image=SGLANG,
            ),
        ),
        SG,
        "",
    ),
    "ranks, and workers without an API": (
        lws(script(RANKS), script(f"{RANKS} {START} --headless"), size=2),
        ["vllm", "serve", "m", *SHARED.split()],
        "vllm-native",
    ),
    "ranks in a hundred pods": (
        lws(script(MANY), script(f"{MANY} {START} --headless"), size=100),
        ["vllm", "serve", "m", *SHARED.replace("16", "800").split()],
        "vllm-native",
    ),
    "ranks, and an API in each pod": (
        lws(None, script(f"{RANKS} {START} --data-parallel-hybrid-lb"), size=2),
        ["vllm", "serve", "m", *SHARED.split(), "--data-parallel-hybrid-lb"],
        "vllm-native",
    ),
    "a port of the rendezvous": (
        lws(None, container(["vllm", "serve", *MODEL, *NATIVE, *ADDRESS[:2], "--master-port=12345"])),
        ["vllm", "serve", *MODEL, "--master-port=12345"],
        "vllm-native",
    ),
}
KEPT_SCRIPTS: Final[dict[str, tuple[str, str]]] = {
    "another command": (f"ray start --head; pip install x; {SERVE}", "pip install is no known engine"),
    "a sum": (f"ray start --head; {SERVE} --seed $((1 + 1))", "the result of `1 + 1` is not known"),
    "another engine": ("ray start --head; python3 -m dynamo.vllm --model m", "python3 -m is no known engine"),
    "a variable that is unset": (f"unset A; ray start --head; {SERVE}", "unset A is no known engine"),
    "a variable of Ray alone": (
        f"CUDA_VISIBLE_DEVICES= ray start --head; {SERVE}",
        "CUDA_VISIBLE_DEVICES is a variable of Ray, and not of the engine",
    ),
    "an option of the shell": (f"set -a; ray start --head; {SERVE}", "set -a is no known engine"),
    "a loop that does more": (
        f"until ray status; do touch x; done; ray start --head; {SERVE}",
        "`until` does more than wait for Ray, or for the leader",
    ),
    "a variable": (
        f"ray start --head; {SERVE} --port $PORT",
        "neither the script nor the container tells the value of PORT",
    ),
    "a condition": (
        f"if nvidia-smi; then echo ok; fi; ray start --head; {SERVE}",
        "`if` is not read: write what each pod runs in its own template",
    ),
    "a loop that writes a file": (
        f'until [ "$(ray status > /x)" ]; do sleep 1; done; ray start --head; {SERVE}',
        "`until` does more than wait for Ray, or for the leader",
    ),
    "a variable of no command": (f"X=$(> /x); ray start --head; {SERVE}", "the shell expands `$(> /x)`"),
    "no program": (f"exec; ray start --head; {SERVE}", "`exec` starts no program"),
    "an endless sleep behind the engine": (
        f"ray start --head; {SERVE}; sleep infinity",
        "sleep infinity is no known engine",
    ),
    "a head alone": (
        "ray start --head --block",
        "the script does not start one engine, on the leader after a head of Ray",
    ),
}
"""Scripts of a leader whose launch stays, with the reason."""
KEPT: Final[dict[str, tuple[Object, str]]] = {
    **{name: (lws(script(leader), script(WORKER)), why) for name, (leader, why) in KEPT_SCRIPTS.items()},
    "a login shell": (
        lws(container(["bash", "-lc", f"ray start --head; {SERVE}"]), script(WORKER)),
        "`bash -lc` starts the script: only sh or bash is read, and no login shell",
    ),
    "a program that starts the shell": (
        lws(container(["numactl", "-N", "0", "sh", "-c", f"ray start --head; {SERVE}"]), script(WORKER)),
        "`numactl -N` starts the script: only sh or bash is read, and no login shell",
    ),
    "workers that differ": (
        lws(None, script(f"{SERVE} {NATIVES} --headless --seed $((LWS_WORKER_INDEX * 2))"), size=3),
        "the workers do not all start the same",
    ),
    "a rank of all pods": (
        lws(script(RANKS), script(f"{RANKS} --headless --data-parallel-start-rank 0"), size=2),
        "the ranks of pod 1 begin at 0, and 8 is expected",
    ),
    "too few ranks": (
        lws(script(RANKS), script(f"{RANKS} {START} --headless"), size=3),
        "--data-parallel-size is 16, and the pods have 24 ranks",
    ),
    "a variable that workers lack": (
        lws(
            script(f'{RANKS} --api-key "$KEY"', env=[{"name": "KEY", "value": "k"}]),
            script(f"{RANKS} {START} --headless"),
        ),
        "the workers have no variable KEY",
    ),
    "another size": (
        lws(
            None, container([*SG, *DIST, "--nnodes", "4", "--node-rank", "$(LWS_WORKER_INDEX)"], image=SGLANG)
        ),
        "--nnodes is 4, and $(LWS_GROUP_SIZE) is 2: write that",
    ),
    "a rank": (
        lws(None, container([*SG, *DIST, "--nnodes", "2", "--node-rank", "1"], image=SGLANG)),
        "--node-rank is 1, and $(LWS_WORKER_INDEX) is 0: write that",
    ),
    "another address": (
        lws(None, container([*SG, *NATIVE, "--dist-init-addr", "10.0.0.1:1"], image=SGLANG)),
        "--dist-init-addr 10.0.0.1:1 is not what LWS sets",
    ),
    "other arguments": (
        lws(
            container([*SG, *DIST, *NATIVE], image=SGLANG),
            container([*SG, "--mem-fraction-static", "0.5", *DIST, *NATIVE], image=SGLANG),
        ),
        "leader and workers start different engines: mem-fraction-static differs",
    ),
    "data-parallel ranks": (
        lws(None, script(f"{RANKS} {START}")),
        "workers serve an API of their own, and no flag such as --data-parallel-hybrid-lb says so",
    ),
    "no engine": (lws(None, container(["nginx"], image="nginx")), "no engine is known in the containers"),
}


def annotations(made: ImportResult) -> dict[str, str]:
    found: dict[str, str] = made.objects[0]["metadata"].get("annotations", {})
    return found


def starts(made: ImportResult) -> list[list[str]]:
    group = made.objects[0]["spec"]["leaderWorkerTemplate"]
    each = [
        group[key]["spec"]["containers"][0] for key in ("leaderTemplate", "workerTemplate") if key in group
    ]
    return [[*one["command"], *one.get("args", [])] for one in each]


@pytest.mark.parametrize(("obj", "plain", "launcher"), RECOGNISED.values(), ids=RECOGNISED)
def test_a_launch_is_replaced_by_the_plain_command(obj: Object, plain: list[str], launcher: str) -> None:
    made = import_all([obj])

    assert all(one == plain for one in starts(made))
    assert annotations(made) == {SERVICE: "llama", **({LAUNCHER: launcher} if launcher else {})}
    assert not made.lost
    assert not errors(made.objects)


@pytest.mark.parametrize(("obj", "why"), KEPT.values(), ids=KEPT)
def test_a_launch_that_is_not_recognised_stays_with_the_reason(obj: Object, why: str) -> None:
    made = import_all([obj])

    assert [line.outcome for line in made.by_hand] == [kept(f"the launch stays: {why}", "FI975")]
    assert {line.outcome for line in made.lines} == {kept()}
    assert made.objects[0]["spec"] == obj["spec"]
    assert annotations(made) == {SERVICE: "llama", LAUNCHER: "none"}
    assert not made.lost
    assert not errors(made.objects)


CHANGED: Final[dict[str, tuple[Object, list[str]]]] = {
    "another port of Ray": (
        lws(
            script(f"ray start --head --port=6380; {SERVE}"),
            script("ray start --address=$(LWS_LEADER_ADDRESS):6380"),
        ),
        ["--port", "--address"],
    ),
    "resources of Ray": (
        lws(
            script(f"ray start --head --num-gpus 4 --num-cpus=16; {SERVE}"), script(f"{WORKER} --num-gpus 8")
        ),
        ["--num-gpus, --num-cpus", "--num-gpus"],
    ),
    "a dashboard, and a password": (
        lws(
            script(f"ray start --head --redis-password=secret --dashboard-port 9999; {SERVE}"), script(WORKER)
        ),
        ["--redis-password, --dashboard-port"],
    ),
    "a time of the script": (
        lws(
            script(f"/w/multi-node-serving.sh leader --ray_port=7000 --ray_init_timeout=900; {SERVE}"),
            script("/w/multi-node-serving.sh worker --ray_address=$(LWS_LEADER_ADDRESS)"),
        ),
        ["--ray_port, --ray_init_timeout"],
    ),
    "--dist-init-addr": (
        lws(None, container([*SG, *NATIVE, "--dist-init-addr", "$(LWS_LEADER_ADDRESS):5000"], image=SGLANG)),
        ["--dist-init-addr"],
    ),
}
"""Launches with words for which the launcher has another value, and these words."""


@pytest.mark.parametrize(("obj", "words"), CHANGED.values(), ids=CHANGED)
def test_a_word_that_the_launcher_writes_otherwise_is_lost(obj: Object, words: list[str]) -> None:
    made = import_all([obj])

    said = {one.outcome.reason for one in made.lost}
    assert said == {f"the launcher has its own value for {each}, or none" for each in words}
    assert annotations(made)[SERVICE] == "llama"
    assert not made.by_hand


def test_variables_of_a_script_become_those_of_its_container() -> None:
    leader = script(
        f"export NCCL_DEBUG=INFO\nray start --head; A=b {SERVE}",
        env=[{"name": "NCCL_DEBUG", "value": "WARN"}, {"name": "B", "value": "c"}],
    )
    made = import_all([lws(leader, script(f"export NCCL_DEBUG=TRACE; {WORKER}"))])
    group = made.objects[0]["spec"]["leaderWorkerTemplate"]

    assert [group[key]["spec"]["containers"][0]["env"] for key in ("leaderTemplate", "workerTemplate")] == [
        [{"name": "B", "value": "c"}, {"name": "NCCL_DEBUG", "value": "INFO"}, {"name": "A", "value": "b"}],
        [{"name": "NCCL_DEBUG", "value": "TRACE"}],
    ]
    gone = [line for line in made.lines if line.outcome.kind == "dropped"]
    assert [(line.path.rpartition(".")[2], line.outcome.code) for line in gone] == [
        ("name", "FI962"),
        ("value", "FI962"),
    ]
    assert not made.lost


def test_these_are_the_ports_of_the_launchers() -> None:
    assert (RAY, SGLANG_PORT, LAUNCHERS["vllm-native"].port) == (6379, 20000, 29501)


def test_the_words_of_a_script_are_translated_from_it() -> None:
    obj = RECOGNISED["ray start"][0]
    outcomes = {one.path: one.outcome for one in import_all([obj]).lines}
    leader = "spec.leaderWorkerTemplate.leaderTemplate.spec.containers[0]"

    assert outcomes[f"{leader}.command[2]"].kind == "translated"
    assert outcomes[f"{leader}.command[0]"].kind == "default"
    assert outcomes[f"{leader}.image"].kind == "kept"


def test_what_an_author_wrote_in_an_annotation_of_ours_stays() -> None:
    obj = deepcopy(RECOGNISED["--nnodes"][0])
    obj["metadata"]["annotations"] = {SERVICE: "other", LAUNCHER: "auto"}

    assert annotations(import_all([obj])) == {SERVICE: "other", LAUNCHER: "auto"}


@pytest.mark.parametrize(
    ("spec", "metadata", "expected"),
    [
        ({}, {"labels": {"kueue.x-k8s.io/queue-name": "q"}}, "default-scheduler"),
        ({"scheduling": {"schedulerName": "x"}}, {}, "default-scheduler"),
        ({}, {}, None),
    ],
)
def test_there_is_no_second_gang(spec: Object, metadata: Object, expected: str | None) -> None:
    obj = lws(None, container([*SG, *DIST, *NATIVE], image=SGLANG), **spec)
    obj["metadata"] |= metadata
    made = import_all([obj])

    assert annotations(made).get(SCHEDULER_NAME) == expected
    assert not [one for one in errors(made.objects) if "FI920" not in one]


def test_the_engine_is_the_container_that_admission_takes() -> None:
    obj = deepcopy(RECOGNISED["SGLang in one template"][0])
    pod = obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    pod["containers"].append({"name": "small", "image": VLLM, "command": ["vllm", "serve", "m"]})

    assert starts(import_all([obj])) == [SG]


EXCLUSIVE: Final = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}


@pytest.mark.parametrize("command", [[*SG, *DIST, *NATIVE], ["/opt/join.sh"]])
def test_what_a_gang_excludes_is_lost(command: list[str]) -> None:
    obj = lws(None, container(command, image=SGLANG), startupPolicy="LeaderReady")
    obj["metadata"]["annotations"] = dict(EXCLUSIVE)
    made = import_all([obj])

    assert [line.path for line in made.lost] == [
        "metadata.annotations[leaderworkerset.sigs.k8s.io/exclusive-topology]",
        "spec.startupPolicy",
    ]
    assert annotations(made)[SERVICE] == "llama"
    assert not errors(made.objects)


def test_the_roles_of_a_disaggregated_set_become_one_service() -> None:
    made = import_all([disaggregated_set("prefill", "decode", "encode", "router")])
    roles = made.objects[0]["spec"]["roles"]

    assert [role.get("metadata", {}).get("annotations", {}) for role in roles] == [
        {SERVICE: "pd", COMPONENT_TYPE: "prefiller", "fusioninfer.io/role-name": "prefill"},
        {SERVICE: "pd", COMPONENT_TYPE: "decoder", "fusioninfer.io/role-name": "decode"},
        {SERVICE: "pd", COMPONENT_TYPE: "encoder", "fusioninfer.io/role-name": "encode"},
        {},
    ]
    assert [one.path for one in made.lines if one.outcome.code == "FI976"] == ["spec.roles[3].name"]
    assert not made.lost
    assert not errors(made.objects)


def test_a_set_without_prefill_and_decode_stays() -> None:
    given = disaggregated_set("prefill", "encode")

    made = import_all([given])

    assert made.objects == (given,)
    assert [one.outcome.code for one in made.lines if one.path.endswith(".name")].count("FI976") == 2


def disaggregated_set(*names: str) -> Object:
    group = lws(None, container([*SG, *DIST, *NATIVE], image=SGLANG))["spec"]
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": "pd"},
        "spec": {"roles": [{"name": name, "spec": deepcopy(group)} for name in names]},
    }


def test_a_name_that_cannot_name_a_service_is_an_error_of_the_output() -> None:
    made = import_all([lws(None, container(["x"])) | {"metadata": {"name": "9a"}}])

    assert [each.rpartition("(")[2] for each in errors(made.objects)] == ["FI104)"]
    assert not made.problems


def services(names: str) -> list[dict[str, str]]:
    """Return the annotations of LeaderWorkerSets of these names, perhaps with a namespace."""
    objects = []
    for place in names.split():
        namespace, _, name = place.rpartition("/")
        metadata = {"name": name, "namespace": namespace}
        objects.append(lws(None, container(["vllm", "serve", *MODEL])) | {"metadata": metadata})
    return [each["metadata"]["annotations"] for each in import_all(objects).objects]


@pytest.mark.parametrize(
    ("names", "service"),
    [
        ("r1-prefill r1-decode", "r1"),
        ("r1-prefill r1-decoder", "r1"),
        ("prefill-r1 decode-r1", ""),
        ("r1-prefill r1-decode r1-encode", "r1"),
        ("encoder-7b-prefill encoder-7b-decode", "encoder-7b"),
        ("r1-prefill r1-encode", ""),
        ("r1-prefill1 r1-decode1", ""),
        ("r1-prefill r2-decode", ""),
        ("r1-prefill r1-prefiller", ""),
        ("r1-prefill r1-decode r1-decoder", ""),
        ("r1-prefill-decode r1-decode", ""),
        ("prefill decode", ""),
        ("r1-prefill other/r1-decode", ""),
    ],
)
def test_prefill_and_decode_of_one_name_are_one_service(names: str, service: str) -> None:
    notes = services(names)

    own = [place.rpartition("/")[2] for place in names.split()]
    assert [each[SERVICE] for each in notes] == ([service] * len(own) if service else own)
    expected = ["prefiller", "decoder", "encoder"][: len(own)] if service else [None] * len(own)
    assert [each.get(COMPONENT_TYPE) for each in notes] == expected


def test_a_name_that_only_begins_as_a_role_is_another_service() -> None:
    own = [each[SERVICE] for each in services("r1-prefill r1-decode r1-decode2")]
    assert own == ["r1", "r1", "r1-decode2"]
