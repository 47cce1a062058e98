"""The written launch: command and args, and the cases in which they stay."""

import pytest

from intent.lws import Accelerators
from intent.settings import Settings
from tests.webhook.launches import EXECUTOR, SETTINGS, SYMMETRIC_RUN, codes, engine, group, written
from webhook.mutate import input_of
from webhook.mutate.launch import launch

CLI = "python3 -m vllm.entrypoints.cli.main"
ENTRYPOINT = "/opt/nvidia/nvidia_entrypoint.sh"
MODULE = "python3 -m vllm.entrypoints.openai.api_server"
OLD = "vllm/vllm-openai:v0.11.0"
RAY = " ".join(["ray", *SYMMETRIC_RUN, ""])
NAMED = " ".join(["", *EXECUTOR])


@pytest.mark.parametrize(
    ("command", "args", "served"),
    [
        ("", "--model M -tp 16", "vllm serve M -tp 16"),
        ("", "-tp=16 --model=M --seed 1", "vllm serve M -tp=16 --seed 1"),
        ("", "--model A -tp 16 --model B", "vllm serve B -tp 16"),
        ("", "M --tensor_parallel_size 16", "vllm serve M --tensor_parallel_size 16"),
        ("", "M -tp 16 --model N", "vllm serve M -tp 16"),
        ("", "-tp 16 M", "vllm serve -tp 16 M"),
        ("", "--config c.yaml", "vllm serve --config c.yaml"),
        ("", "vllm serve M", "vllm serve M"),
        ("", "serve M -tp 16", "vllm serve M -tp 16"),
        ("vllm serve", "--model M -tp 16", "vllm serve --model M -tp 16"),
        ("/opt/bin/vllm", "serve M", "/opt/bin/vllm serve M"),
        (MODULE, "--port 80 --model M", "vllm serve M --port 80"),
        (f"{CLI} serve", "M -tp 16", f"{CLI} serve M -tp 16"),
        (
            "/usr/bin/python3",
            "-m vllm.entrypoints.openai.api_server --model M",
            "/usr/bin/python3 -m vllm.entrypoints.openai.api_server --model M",
        ),
        (
            "python3 -u",
            "-m vllm.entrypoints.openai.api_server --model M",
            "python3 -u -m vllm.entrypoints.openai.api_server --model M",
        ),
    ],
)
def test_ray_runs_the_engine_with_the_authors_arguments(command: str, args: str, served: str) -> None:
    container = written(group(engine(args, command)))

    assert container["command"] == ["ray"]
    assert container["args"] == [*SYMMETRIC_RUN, *served.split(), *EXECUTOR]


@pytest.mark.parametrize(
    ("command", "args", "prefix", "served"),
    [
        ("env A=b", f"{MODULE} --model M", "env A=b", "vllm serve M"),
        ("tini -- exec vllm", "serve M", "tini -- exec", "vllm serve M"),
        ("/usr/bin/dumb-init --", "vllm serve M", "/usr/bin/dumb-init --", "vllm serve M"),
        ("numactl -N 0 --membind=0 vllm serve", "M", "numactl -N 0 --membind=0", "vllm serve M"),
        ("timeout -k 9 3600 vllm serve M", "", "timeout -k 9 3600", "vllm serve M"),
        (
            "tini -g -- env -u X A=b nice -n 5 vllm serve M",
            "",
            "tini -g -- env -u X A=b nice -n 5",
            "vllm serve M",
        ),
        (f"{ENTRYPOINT} vllm", "serve M", ENTRYPOINT, "vllm serve M"),
        ("uv run --no-sync --extra gpu vllm serve", "M", "uv run --no-sync --extra gpu", "vllm serve M"),
        ("uv run --", f"{CLI} serve M", "uv run --", f"{CLI} serve M"),
        (f"uv run {MODULE}", "--model M", "uv run", "vllm serve M"),
    ],
)
def test_a_prefix_stays_first(command: str, args: str, prefix: str, served: str) -> None:
    container = written(group(engine(args, command)))

    assert container["command"] == [*prefix.split(), "ray"]
    assert container["args"] == [*SYMMETRIC_RUN, *served.split(), *EXECUTOR]


@pytest.mark.parametrize("args", ["--model N M", "M --model N"])
def test_the_old_entrypoint_reads_the_model_from_its_flag(args: str) -> None:
    container = written(group(engine(args, image=OLD), launcher="ray-symmetric"))

    assert container["args"] == [*SYMMETRIC_RUN, "vllm", "serve", "N"]


@pytest.mark.parametrize(
    "spelled", ["--distributed-executor-backend ray", "--distributed_executor_backend=ray", "--dist ray"]
)
def test_a_named_executor_is_not_added_again(spelled: str) -> None:
    container = written(group(engine(f"M {spelled}")))

    assert container["args"] == [*SYMMETRIC_RUN, "vllm", "serve", "M", *spelled.split()]


@pytest.mark.parametrize(
    ("image", "is_named"),
    [
        (OLD, False),
        ("vllm/vllm-openai:v0.11.1", True),
        ("vllm/vllm-openai:latest", True),
        ("corp/llm:1", True),
    ],
)
def test_the_executor_is_added_where_vllm_does_not_detect_it(image: str, *, is_named: bool) -> None:
    container = written(group(engine("serve M", "vllm", image), launcher="ray-symmetric"))

    assert container["args"] == [*SYMMETRIC_RUN, "vllm", "serve", "M", *(EXECUTOR if is_named else [])]


@pytest.mark.parametrize(
    ("accelerators", "count"),
    [
        (Accelerators("nvidia.com/gpu", 4), ["--num-gpus", "4"]),
        (Accelerators("amd.com/gpu", 8), ["--num-gpus", "8"]),
        (Accelerators("gpu.intel.com/xe", 2), ["--num-gpus", "2"]),
        (Accelerators("google.com/tpu", 4), []),
        (Accelerators("habana.ai/gaudi", 8), []),
        (Accelerators("nvidia.com/mig-1g.5gb", 1), []),
        (Accelerators(claimed=True), []),
        (Accelerators(), []),
    ],
)
def test_ray_gets_the_number_of_gpus_if_it_counts_them(accelerators: Accelerators, count: list[str]) -> None:
    container = written(group(engine("M", accelerators=accelerators)))

    assert container["args"] == [*SYMMETRIC_RUN[:5], *count, "--", "vllm", "serve", "M", *EXECUTOR]


def test_each_template_has_its_own_number_of_gpus() -> None:
    intent = group(engine("M"), leader=engine("M", accelerators=Accelerators("nvidia.com/gpu", 4)), size=3)

    leader = written(intent, "leaderTemplate")

    assert leader["args"] == [
        *SYMMETRIC_RUN[:4],
        "3",
        "--num-gpus",
        "4",
        "--",
        "vllm",
        "serve",
        "M",
        *EXECUTOR,
    ]


def test_rays_port_is_opened() -> None:
    assert written(group(engine("M")))["ports"] == [{"containerPort": 6379}]


@pytest.mark.parametrize(
    ("script", "rewritten"),
    [
        ("vllm serve $M -tp 16", f"{RAY}vllm serve $M -tp 16{NAMED}"),
        ("exec vllm serve M >log 2>&1", f"exec {RAY}vllm serve M{NAMED} >log 2>&1"),
        ("pip install x && vllm serve M | tee log", f"pip install x && {RAY}vllm serve M{NAMED} | tee log"),
        ("A=1 vllm serve M # M", f"A=1 {RAY}vllm serve M{NAMED} # M"),
        (f"cd /x; {MODULE} --model M", f"cd /x; {RAY}{MODULE} --model M{NAMED}"),
        ('vllm serve M "$@"', f'{RAY}vllm serve M "$@"{NAMED}'),
        ("vllm serve M --dist ray;", f"{RAY}vllm serve M --dist ray;"),
    ],
)
def test_ray_is_inserted_into_a_script_that_must_stay(script: str, rewritten: str) -> None:
    container = written(group(engine(command=["bash", "-c", script])))

    assert container == {
        "name": "vllm",
        "command": ["bash", "-c", rewritten],
        "ports": [{"containerPort": 6379}],
    }


def test_flags_follow_the_items_that_the_script_passes_on() -> None:
    command = ["bash", "-c", 'exec vllm serve M "$@"', "--"]

    container = written(group(engine("-tp 16", command)))

    assert container["command"] == ["bash", "-c", f'exec {RAY}vllm serve M "$@"', "--"]
    assert container["args"] == ["-tp", "16", *EXECUTOR]


def test_a_script_in_args_leaves_the_command() -> None:
    container = written(group(engine(["vllm serve $M"], "sh -c")))

    assert container["args"] == [f"{RAY}vllm serve $M{NAMED}"]
    assert "command" not in container


def test_a_plain_script_needs_no_shell() -> None:
    container = written(group(engine(["exec vllm serve M \\\n  --hf-overrides '{\"a\": 1}'\n"], "sh -c")))

    assert container["command"] == ["ray"]
    assert container["args"] == [
        *SYMMETRIC_RUN,
        "vllm",
        "serve",
        "M",
        "--hf-overrides",
        '{"a": 1}',
        *EXECUTOR,
    ]


def test_a_written_launch_is_not_rewritten() -> None:
    container = written(group(engine("M")))

    again = engine(container["args"], container["command"])

    assert written(group(again)) == {}


@pytest.mark.parametrize(
    ("command", "args", "image"),
    [
        ("", "--model M", "corp/llm:1"),
        ("/start.sh", "", OLD),
        ("trtllm-serve M", "", "corp/llm:1"),
        ("lmdeploy serve api_server M", "", "corp/llm:1"),
        ("ray start --head", "", OLD),
        ("vllm serve M --nnodes 2", "", OLD),
        ("vllm serve M --distributed-executor-backend mp", "", OLD),
    ],
)
def test_an_unknown_command_stays(command: str, args: str, image: str) -> None:
    assert written(group(engine(args, command, image))) == {}


@pytest.mark.parametrize(
    "script", ["for i in 1; do vllm serve M; done", 'eval "vllm serve M"', "vllm serve M &"]
)
def test_a_script_that_is_too_complex_stays(script: str) -> None:
    assert written(group(engine([script], "bash -c"))) == {}


def test_a_template_that_stays_keeps_the_other_one_too() -> None:
    intent = group(engine("ray start --block"), leader=engine("M"))

    assert launch(input_of(intent, SETTINGS)) == {}


def test_a_group_of_one_stays() -> None:
    assert launch(input_of(group(engine("M"), size=1), SETTINGS)) == {}


@pytest.mark.parametrize("launcher", ["none", "sglang"])
def test_another_launcher_leaves_the_command(launcher: str) -> None:
    assert launch(input_of(group(engine("M"), launcher=launcher), SETTINGS)) == {}


def test_the_launcher_of_the_settings_is_the_default() -> None:
    assert launch(input_of(group(engine("M")), Settings(launcher="none"))) == {}


@pytest.mark.parametrize("stray", [["", "-tp", "16"], ["-tp", "16", ""], ["-tp", "16", "--", "x"]])
@pytest.mark.parametrize("command", ["", MODULE])
def test_an_empty_argument_or_one_after_two_dashes_is_never_the_model(command: str, stray: list[str]) -> None:
    one = group(engine(["--model", "M", *stray], command))
    ends = stray.index("--") if "--" in stray else len(stray)

    container = written(one)

    assert container["args"] == [
        *SYMMETRIC_RUN,
        "vllm",
        "serve",
        "M",
        *stray[:ends],
        *EXECUTOR,
        *stray[ends:],
    ]
    assert [code for code in codes(one) if code in {"FI306", "FI515", "FI536"}] == ["FI536"]


def test_an_empty_argument_alone_names_no_model() -> None:
    assert "FI306" in codes(group(engine(["", "-tp", "16"])))
