"""Data parallelism of vLLM over pods: the flags of each load balancing by release, and the pods that serve.

Sources are those of `intent.ranks`. What a release refuses or hangs on is in `tests/webhook/validate`.
"""

from typing import Any, Final

import pytest

from catalog.engines import ENGINES, Engines, Stock
from intent import Object
from intent.launch import Decision, LaunchPlan
from intent.lws import Accelerators
from intent.served import LEADERS, Serving, recorded
from intent.settings import Settings
from tests.builders.lws import changed, container, lws, put, template
from tests.laws.strategies import TOOLS
from tests.webhook.launches import SETTINGS, engine, group, written
from webhook.launchers.vllm_native import vllm_native
from webhook.layout import decision
from webhook.mutate import input_of
from webhook.validate.launch import launch as validate

NNODES: Final = "--nnodes 2 --node-rank $(LWS_WORKER_INDEX) --master-addr $(LWS_LEADER_ADDRESS)"
ADDRESS: Final = "--data-parallel-address $(LWS_LEADER_ADDRESS) --data-parallel-rpc-port 13345"
START: Final = "--data-parallel-start-rank"
OLDER: Final = ("0.10.2", "0.11.0", "0.11.2", "0.14.1", "0.17.1", "0.22.1", "0.27.1", "")
NEWER: Final = ("0.12.0", "0.13.0", "0.28.0", "0.32.0")
EVERYWHERE: Final = Serving(everywhere=True)
EIGHT: Final = Serving(everywhere=True, ports=tuple(range(8000, 8008)), supervisor=9256)


def image(version: str) -> str:
    """Return an image of a release; without one, of an unknown release."""
    return f"vllm/vllm-openai:v{version}" if version else "corp/llm:1"


def words(args: str, version: str, leader: str = "", size: int = 2) -> tuple[str, str, Serving]:
    """Return what the launcher adds for the leader and for the others, and what serves.

    A script that computes the rank counts as the flag in it.
    """
    one = engine(args, "vllm serve M", image(version))
    intent = group(one, engine(leader, "vllm serve M", image(version)) if leader else None, size)
    given = input_of(intent, SETTINGS)
    added = []
    for launch in given.layout.launches:
        found = written(intent, launch.template.field)
        said = " ".join([*found.get("command", []), *found.get("args", [])])
        script = said.partition('exec "$@" ')[2].partition(" sh ")[0]
        behind = said.partition(f"vllm serve M {' '.join(launch.engine.args)}")[2]
        added.append(" ".join(f"{behind} {script}".split()))
    return added[0], added[-1], given.layout.serving


HYBRID: Final = "-dp 16 -dpl 8 --data-parallel-hybrid-lb"
EXTERNAL: Final = "-dp 2 -tp 8 --data-parallel-external-lb"
MULTI_PORT: Final = "-dp 16 -dpl 8 --data-parallel-multi-port-external-lb"
RANK_OF: Final = "$((LWS_WORKER_INDEX*8))"


@pytest.mark.parametrize(
    ("args", "leader", "worker", "serving"),
    [
        ("-dp 16 -dpl 8", ADDRESS, f"{ADDRESS} --headless {START} {RANK_OF}", LEADERS),
        (
            "-dp 16",
            f"--data-parallel-size-local 8 {ADDRESS}",
            f"--data-parallel-size-local 8 {ADDRESS} --headless {START} {RANK_OF}",
            LEADERS,
        ),
        (HYBRID, f"{ADDRESS} {START} {RANK_OF}", f"{ADDRESS} {START} {RANK_OF}", EVERYWHERE),
        (EXTERNAL, *[f"{ADDRESS} --data-parallel-rank $(LWS_WORKER_INDEX)"] * 2, EVERYWHERE),
        (MULTI_PORT, *[f"{ADDRESS} {START} {RANK_OF}"] * 2, EIGHT),
    ],
)
@pytest.mark.parametrize("version", OLDER)
def test_releases_in_which_nnodes_fails_get_the_flags_of_data_parallelism(
    args: str, leader: str, worker: str, serving: Serving, version: str
) -> None:
    assert words(args, version) == (leader, worker, serving)


@pytest.mark.parametrize(
    ("args", "worker", "serving"),
    [
        ("-dp 16 -dpl 8", f"{NNODES} --headless", LEADERS),
        (HYBRID, NNODES, EVERYWHERE),
        (EXTERNAL, NNODES, EVERYWHERE),
    ],
)
@pytest.mark.parametrize("version", NEWER)
def test_other_releases_get_nnodes(args: str, worker: str, serving: Serving, version: str) -> None:
    assert words(args, version) == (NNODES, worker, serving)


@pytest.mark.parametrize("version", NEWER)
def test_nnodes_is_never_written_for_ranks_that_it_overwrites_or_takes_for_equal(version: str) -> None:
    """Multi-port load balancing, unequal local sizes, and a rank of the author's own."""
    assert words(MULTI_PORT, version) == (*[f"{ADDRESS} {START} {RANK_OF}"] * 2, EIGHT)
    assert words("-dp 12 -dpl 8", version, leader="-dp 12 -dpl 4") == (
        ADDRESS,
        f"{ADDRESS} --headless {START} $((4+(LWS_WORKER_INDEX-1)*8))",
        LEADERS,
    )
    assert words("-dp 12 -dpl 8", version, leader="-dp 12")[0] == f"--data-parallel-size-local 4 {ADDRESS}"
    assert words("-dp 16 -dpl 8", version, leader="-dp 16 -dpl 0", size=3)[1].endswith(
        f"{START} $((0+(LWS_WORKER_INDEX-1)*8))"
    )
    assert words("-dp 2 -tp 8 -dpn 1", version, leader="-dp 2 -tp 8 -dpn 0") == (ADDRESS, ADDRESS, EVERYWHERE)


def test_a_leader_of_its_own_has_the_first_rank() -> None:
    leader, worker, serving = words(HYBRID, "0.23.0", leader=HYBRID)

    assert (leader, worker) == (f"{ADDRESS} {START} 0", f"{ADDRESS} {START} {RANK_OF}")
    assert serving == EVERYWHERE


@pytest.mark.parametrize("args", ["-dp 2 -tp 16", "-dp 2 -tp 16 -dpl 1"])
def test_ranks_that_span_pods_need_nnodes(args: str) -> None:
    assert words(args, "0.23.0", size=4)[0].startswith("--nnodes 4")


@pytest.mark.parametrize("args", ["-tp 16", "-dp 2 -tp 16", "-pp 2 -tp 8"])
def test_what_vllm_0_17_cannot_start_is_written_only_if_its_launcher_is_named(args: str) -> None:
    one = engine(args, "vllm serve M --distributed-executor-backend mp", image("0.17.1"))

    assert not input_of(group(one, size=4), SETTINGS).plan.rewritten
    assert input_of(group(one, size=4, launcher="vllm-native"), SETTINGS).plan.rewritten


@pytest.mark.parametrize(
    ("version", "is_written"), [("0.10.2", False), ("0.17.1", False), ("0.20.2", True), ("0.30.0", True)]
)
@pytest.mark.parametrize("args", ["-dp 2 -tp 16", "-dp 2 -tp 16 -dpl 1"])
def test_ranks_span_pods_whose_accelerators_are_unknown_if_pods_outnumber_them(
    args: str, version: str, *, is_written: bool
) -> None:
    def of(args: str) -> LaunchPlan:
        one = engine(args, "vllm serve M", image(version), accelerators=Accelerators(claimed=True))
        return input_of(group(one, size=4), SETTINGS).plan

    assert (of(args).rewritten, of(args).older) == (is_written, False if is_written else None)
    assert of("-dp 4 -tp 8").rewritten


@pytest.mark.parametrize(
    ("model", "code"), [("org/M", "FI549"), ("Qwen/Qwen3-32B", "FI549"), ("deepseek-ai/DeepSeek-R1", "")]
)
@pytest.mark.parametrize("version", ["0.14.1", "0.17.1", "0.27.1"])
def test_a_stored_launch_that_dense_models_cannot_start_names_refresh(
    model: str, code: str, version: str
) -> None:
    """The records of earlier releases say nothing of the form of the flags, which was `--nnodes`."""
    intent = group(engine(f"{model} -tp 8 -dp 2", "vllm serve", image(version)))

    said = [
        one
        for one in validate(input_of(intent, SETTINGS, decided={"launcher": "vllm-native", "older": None}))
        if one.code in {"FI329", "FI549"}
    ]

    assert [one.code for one in said] == ([code] if code else [])
    assert all("fusioninfer.io/refresh" in one.message and "span" not in one.message for one in said)


# --- launches by hand -------------------------------------------------------------------------------

SUPERVISED: Final = "--data-parallel-multi-port-external-lb --data-parallel-supervisor-port 9000"


@pytest.mark.parametrize(
    ("leader", "worker", "serving"),
    [
        ("-dp 16 -dpl 8 -dpa $(LWS_LEADER_ADDRESS)", "-dp 16 -dpl 8 -dpr 8 --headless", LEADERS),
        ("-dp 16 -dpl 8 -dpa $(LWS_LEADER_ADDRESS)", "-dp 16 -dpl 8 -dpr 8 --api-server-count 0", LEADERS),
        ("-dp 16 -dpl 8 -dpr 0 -dph", "-dp 16 -dpl 8 -dpr 8 -dph", EVERYWHERE),
        ("-dp 16 -dpl 8 -dpr 0", "-dp 16 -dpl 8 -dpr 8", EVERYWHERE),
        ("-dp 2 -dpn 0 -dpa $(LWS_LEADER_ADDRESS)", "-dp 2 -dpn 1 -dpa $(LWS_LEADER_ADDRESS)", EVERYWHERE),
        ("", f"-dp 16 -dpl 8 -dpr $(LWS_WORKER_INDEX) {SUPERVISED}", Serving(True, EIGHT.ports, 9000)),
        ("", "-dp 16 -dpl 8 --nnodes 2 --node-rank $(LWS_WORKER_INDEX) -dph", EVERYWHERE),
        ("", "--nnodes 2 --node-rank $(LWS_WORKER_INDEX)", LEADERS),
        ("", "-tp 8", LEADERS),
    ],
)
def test_what_a_launch_by_hand_serves_is_read_from_each_template(
    leader: str, worker: str, serving: Serving
) -> None:
    def of(args: str) -> Object:
        return template(container(command=["vllm", "serve", "M"], args=args.split(), image=image("0.30.0")))

    live = lws(2, of(worker), leader=of(leader) if leader else None, launcher="none")

    stored = put(live)

    assert recorded(stored["metadata"]["annotations"]["fusioninfer.io/expansion"]).serving == serving
    marks = [one["metadata"]["labels"].get("fusioninfer.io/serves") for one in templates(stored)]
    assert set(marks) == ({"all"} if serving.everywhere else {None})


@pytest.mark.parametrize(
    ("script", "serving"),
    [
        (
            "R=$(( LWS_WORKER_INDEX * N ))\nexec vllm serve M -dp $((LWS_GROUP_SIZE * N)) -dph -dpr $R",
            EVERYWHERE,
        ),
        (
            "vllm serve M --data-parallel-hybrid-lb --data-parallel-start-rank $((LWS_WORKER_INDEX*8))",
            EVERYWHERE,
        ),
        (
            'python3 -m vllm.entrypoints.openai.api_server --model M -dpr="$((LWS_WORKER_INDEX*8))"',
            EVERYWHERE,
        ),
        ("[ $((LWS_WORKER_INDEX % 2)) = 0 ] && sleep 1\nvllm serve M -dpn $((LWS_WORKER_INDEX))", EVERYWHERE),
        ("vllm serve M --headless -dpr $((LWS_WORKER_INDEX*8))", LEADERS),
        ("vllm serve M --api-server-count 0 -dpr $((LWS_WORKER_INDEX*8))", LEADERS),
    ],
)
def test_a_script_that_computes_its_ranks_serves_as_its_flags_say(script: str, serving: Serving) -> None:
    live = lws(2, template(container(command=["bash", "-c"], args=[script], image=image("0.28.0"))))
    found = put(live)

    assert recorded(found["metadata"]["annotations"]["fusioninfer.io/expansion"]).serving == serving
    assert [one["spec"]["containers"][0]["args"] for one in templates(found)] == [[script]]


def test_a_start_rank_of_zero_serves_from_vllm_0_28_on() -> None:
    for version, serving in (("0.27.1", LEADERS), ("0.28.0", EVERYWHERE)):
        live = lws(
            2, template(container(command=["vllm", "serve", "M"], args=["-dpr", "0"], image=image(version)))
        )
        assert recorded(put(live)["metadata"]["annotations"]["fusioninfer.io/expansion"]).serving == serving


def test_in_ray_the_leader_alone_runs_the_engine() -> None:
    args = ["symmetric-run", "--address", "a:1", "--", "vllm", "serve", "M", *HYBRID.split()]
    stored = put(lws(2, template(container(command=["ray"], args=args))))

    assert recorded(stored["metadata"]["annotations"]["fusioninfer.io/expansion"]).serving == LEADERS


def templates(stored: Object) -> list[Object]:
    """Return the pod templates of an object."""
    group = stored["spec"]["leaderWorkerTemplate"]
    return [group[name] for name in ("leaderTemplate", "workerTemplate") if name in group]


# --- marks on pods, and their pin -------------------------------------------------------------------


def moe(args: str, version: str = "0.30.0", **fields: Any) -> Object:
    """Return an object with a plain command."""
    one = container(command=["vllm", "serve", "M"], args=args.split(), image=image(version), **fields)
    return lws(2, template(one))


def test_pods_that_serve_on_several_ports_say_so_to_endpoint_pickers() -> None:
    (pods,) = templates(put(moe(MULTI_PORT)))

    ports = "8000,8001,8002,8003,8004,8005,8006,8007"
    found = {name: value for name, value in pods["metadata"]["annotations"].items() if "active" in name}
    assert found == {"inference.networking.k8s.io/active-ports": ports, "llm-d.ai/active-ports": ports}
    assert pods["metadata"]["labels"]["fusioninfer.io/serves"] == "all"


def test_probes_call_the_supervisor_of_several_servers() -> None:
    health = {"httpGet": {"path": "/health", "port": 8000}}
    models = {"httpGet": {"path": "/v1/models", "port": 8000}}

    (pods,) = templates(put(moe(MULTI_PORT, livenessProbe=health, readinessProbe=models)))

    one = pods["spec"]["containers"][0]
    assert (one["livenessProbe"]["httpGet"]["port"], one["readinessProbe"]) == (9256, models)
    assert one["startupProbe"]["httpGet"] == {"path": "/health", "port": 9256}


def earlier(stored: Object) -> Object:
    """Return an object whose record says nothing of serving, as an earlier release stored it."""
    text = stored["metadata"]["annotations"]["fusioninfer.io/expansion"]
    bare = text.replace('"serving":{"everywhere":true,"ports":[],"supervisor":0},', "").replace(
        ',"serving":{"everywhere":true,"ports":[],"supervisor":0}', ""
    )
    assert bare != text
    return changed(stored, "metadata.annotations.fusioninfer.io/expansion", bare)


@pytest.mark.parametrize(
    ("path", "value", "everywhere"),
    [
        ("metadata.annotations.fusioninfer.io/strategy", "prefix-cache", False),
        ("spec.leaderWorkerTemplate.workerTemplate.spec.nodeSelector", {"a": "b"}, False),
        ("spec.leaderWorkerTemplate.size", 3, True),
        ("metadata.annotations.fusioninfer.io/refresh", "1", True),
    ],
)
def test_what_a_stored_launch_serves_is_derived_again_only_with_the_launch(
    path: str, value: object, *, everywhere: bool
) -> None:
    stored = earlier(put(moe(HYBRID)))
    assert recorded(stored["metadata"]["annotations"]["fusioninfer.io/expansion"]).serving == LEADERS

    found = put(changed(stored, path, value), stored)

    serving = recorded(found["metadata"]["annotations"]["fusioninfer.io/expansion"]).serving
    assert serving.everywhere is everywhere


KNOWN: Final = Settings(
    engines=Engines(
        (Stock("corp/llm", "vllm", version=(0, 30), source="a test"), *ENGINES.images), ENGINES.traits
    )
)
"""Settings under which the image gets `--nnodes`, as every unknown one did in earlier releases."""


@pytest.mark.parametrize(
    ("args", "nnodes"),
    [
        (f"{HYBRID} --max-model-len 8192", True),
        (f"{HYBRID} -tp 1", True),
        (HYBRID.replace("-dp 16", "-dp 32"), True),
        (f"{HYBRID} -tp 2", False),
        ("-dp 16 -dpl 8", False),
    ],
)
def test_with_an_unknown_image_flags_keep_their_form_until_the_kind_of_launch_changes(
    args: str, *, nnodes: bool
) -> None:
    file = moe(HYBRID, "")
    stored = put(file, None, KNOWN)

    applied = put(TOOLS["client-side"](stored, moe(args, "")), stored)

    assert ("--nnodes" in str(applied["spec"])) is nnodes
    refreshed = put(changed(stored, "metadata.annotations.fusioninfer.io/refresh", "1"), stored)
    assert "--nnodes" not in str(refreshed["spec"])


@pytest.mark.parametrize("ports", [(0,), (70000,), (8000, 8000), tuple(range(1, 100))])
def test_a_record_with_impossible_ports_says_leaders(ports: tuple[int, ...]) -> None:
    stored = put(moe(MULTI_PORT))
    text = stored["metadata"]["annotations"]["fusioninfer.io/expansion"]
    listed = ",".join(map(str, EIGHT.ports))
    forged = text.replace(f"[{listed}]", f"[{','.join(map(str, ports))}]")

    assert (forged != text, recorded(forged).serving) == (True, LEADERS)


def test_workers_of_a_record_with_multi_port_and_nnodes_stay_headless() -> None:
    intent = group(engine(MULTI_PORT, "vllm serve M", image("0.20.2")), size=2)
    recorded = {"launcher": "vllm-native", "older": False, "serving": LEADERS}
    given = input_of(intent, SETTINGS, decided=recorded)

    found = [vllm_native(one, given.plan).args or () for one in given.layout.launches]

    assert [("--nnodes" in args, "--headless" in args) for args in found] == [(True, False), (True, True)]


def test_decisions_that_older_records_lack_change_no_digest() -> None:
    given = input_of(group(engine("M -tp 16", "vllm serve")), SETTINGS)

    assert decision(given) == Decision("ray-symmetric", splits=False)
