"""Command lines: their kind, and the first argument of the engine."""

import pytest

from intent.command_line.command import looks_like_engine, read_command
from intent.command_line.programs import Program
from intent.image import read_image

STOCK = "vllm/vllm-openai:v0.17.1"
OTHER = "corp/llm:1"
MODULE = "python3 -m vllm.entrypoints.openai.api_server"


def kind_of(command: list[str] | str, args: list[str] | str = "", image: str = STOCK) -> Program:
    """Read the kind of a command line; text is split at blanks."""
    words = [tuple(part.split() if isinstance(part, str) else part) for part in (command, args)]
    return read_command(words[0], words[1], read_image(image)).kind


@pytest.mark.parametrize(
    ("command", "args", "kind"),
    [
        ("", "--model M", "flags"),
        ("", "M -tp 8", "flags"),
        ("", "", "flags"),
        ("", "serve M", "subcommand"),
        ("", "vllm serve M", "serve"),
        ("vllm", "serve M", "serve"),
        ("/opt/venv/bin/vllm serve M", "", "serve"),
        (MODULE, "--model M", "module"),
        ("python", "-m vllm.entrypoints.openai.api_server", "module"),
        ("python3.12 -m vllm.entrypoints.openai.api_server", "", "module"),
        ("/usr/bin/python3 -m vllm.entrypoints.openai.api_server", "", "interpreter"),
        ("python3 -u -X dev -m vllm.entrypoints.openai.api_server", "", "interpreter"),
        ("exec vllm serve M", "", "serve"),
        ("env A=b C= vllm serve M", "", "serve"),
        ("tini -g -- env -u X A=b numactl -N 0 vllm serve M", "", "serve"),
        ("dumb-init -- vllm serve M", "", "serve"),
        ("python3 -m vllm.entrypoints.cli.main serve M", "", "serve"),
        ("/opt/venv/bin/python -u -m vllm.entrypoints.cli.main", "serve M", "serve"),
        ("python3 -m vllm.entrypoints.cli.main bench", "serve M", "unknown"),
        ("python3 -m vllm.entrypoints.cli.main", "", "unknown"),
        ("uv run vllm serve M", "", "unknown"),
        ("numactl --cpunodebind 0 -m 0 vllm serve M", "", "serve"),
        ("timeout 3600 vllm serve M", "", "unknown"),
        ("tini", "", "unknown"),
        ("/opt/nvidia/nvidia_entrypoint.sh vllm serve M", "", "serve"),
        ("env -i PATH=/bin vllm serve M", "", "unknown"),
        ("env - vllm serve M", "", "unknown"),
        ("trtllm-serve M", "", "tensorrt-llm"),
        ("python3 -m sglang.launch_server", "--tp 16", "sglang"),
        ("sglang serve", "", "sglang"),
        ("lmdeploy serve api_server M", "", "lmdeploy"),
        ("vllm bench serve", "", "unknown"),
        ("sleep infinity", "", "unknown"),
        ("python3 serve.py", "", "unknown"),
        ("ray", "--model M", "unknown"),
        ("sh start.sh", "", "unknown"),
        ("bash -e start.sh", "", "unknown"),
        ("vllm", "", "unknown"),
        ("env", "", "unknown"),
    ],
)
def test_the_kind_of_a_command_line_is_recognised(command: str, args: str, kind: Program) -> None:
    assert kind_of(command, args) == kind


@pytest.mark.parametrize(
    "command",
    [
        "ray symmetric-run --min-nodes 2 -- vllm serve M",
        "/usr/local/bin/ray start --head",
        "python3 -m ray.scripts.symmetric_run -- vllm serve M",
        "bash /x/multi-node-serving.sh leader",
        "/x/run_cluster.sh",
        "mpirun -n 16 trtllm-serve",
        "torchrun serve.py",
        "trtllm-llmapi-launch trtllm-serve M",
        "vllm serve M --nnodes 2",
        "vllm serve M -n 2",
        "vllm serve M -n2",
        "vllm serve M -r1",
        "vllm serve M --node_rank=1",
        "vllm serve M -r 1",
        "vllm serve M --headless",
        "vllm serve M -dpa host",
        "vllm serve M --data-parallel-start-rank 1",
        "vllm serve M --master-addr $(LWS_LEADER_ADDRESS)",
        "start.sh $(LWS_WORKER_INDEX)",
        "python3 -m sglang.launch_server --dist-init-addr h:1",
        "python3 -m sglang.launch_server --nccl-init-addr=h:1",
    ],
)
def test_a_command_that_launches_the_nodes_is_distributed(command: str) -> None:
    assert kind_of(command) == "distributed"


@pytest.mark.parametrize(
    "script",
    [
        "ray start --head --port=6379 && vllm serve M",
        "exec ray  symmetric-run -- vllm serve M",
        "bash /x/multi-node-serving.sh leader; vllm serve M",
        "vllm serve M --nnodes $N",
        "vllm serve M -n 2",
        "vllm serve M -n2 -r1",
        "export A=$LWS_LEADER_ADDRESS; vllm serve M",
        "for i in 1 2; do mpirun x; done",
    ],
)
def test_a_script_that_launches_the_nodes_is_distributed(script: str) -> None:
    assert kind_of(["sh", "-c", script]) == "distributed"


@pytest.mark.parametrize("command", ["nice -n 5 sleep 1", "trtllm-serve -n 5", "tail -n5 -r log"])
def test_a_short_flag_of_another_program_is_no_launch(command: str) -> None:
    assert kind_of(command) != "distributed"


@pytest.mark.parametrize(
    "shell",
    [
        "sh -c",
        "/bin/bash -ec",
        "bash -euo pipefail -c",
        "bash -o pipefail -c",
        "tini -- sh -c",
        "bash --norc -c",
    ],
)
def test_a_plain_script_is_unwrapped(shell: str) -> None:
    read = read_command((*shell.split(), "exec vllm serve M"), (), read_image(STOCK))

    assert read.shell is not None
    assert (read.kind, read.shell.kept) == ("serve", False)
    assert read.argv[-3:] == ("vllm", "serve", "M")


@pytest.mark.parametrize("words", [("bash", "-lc"), ("bash", "--login", "-c")])
def test_a_login_shell_stays_because_its_profile_may_set_the_path(words: tuple[str, ...]) -> None:
    read = read_command((*words, "vllm serve M"), (), read_image(STOCK))

    assert read.shell is not None
    assert read.shell.kept


def test_items_after_a_script_are_arguments_where_it_expands_them() -> None:
    read = read_command(("sh", "-c", 'vllm serve "$@"', "--"), ("M", "-tp", "16"), read_image(STOCK))

    assert read.argv == ("vllm", "serve", "M", "-tp", "16")


@pytest.mark.parametrize("script", ['exec "$@"', 'cd /x && "${@}" > log', 'A=1 numactl "$@"'])
def test_the_engine_may_be_in_the_items_after_a_script(script: str) -> None:
    read = read_command(("sh", "-c", script, "sh"), ("vllm", "serve", "M", "-tp", "16"), read_image(STOCK))

    assert (read.kind, read.argv[read.program :]) == ("serve", ("vllm", "serve", "M", "-tp", "16"))


@pytest.mark.parametrize(
    ("script", "items"),
    [
        ('exec "$@"', "--model M"),
        ('exec "$@"', ""),
        ("exec $@", "vllm serve M"),
        ('shift; exec "$@"', "x vllm serve M"),
        ('"$@" & wait', "vllm serve M"),
        ('echo "$@"; exec "$@"', "vllm serve M"),
        ('for one in "$@"; do "$one"; done', "vllm serve M"),
    ],
)
def test_items_after_a_script_without_a_simple_command_are_too_complex(script: str, items: str) -> None:
    assert kind_of(["sh", "-c", script, "sh", *items.split()]) == "complex"


@pytest.mark.parametrize("flags", ["--nnodes 2 --node-rank 0", "--headless", "-n 2 -r 1", "--dist-x 1"])
def test_flags_of_a_launch_for_the_entrypoint_are_those_of_the_engine(flags: str) -> None:
    words = ("M", *flags.split())
    of_entrypoint = read_command((), words, read_image(STOCK))
    whole = read_command(("vllm", "serve"), words, read_image(STOCK))

    assert of_entrypoint.started == whole.started == "vllm"
    assert (of_entrypoint.kind == "distributed") == (whole.kind == "distributed")


def test_a_flag_after_two_dashes_is_no_launch() -> None:
    assert kind_of("vllm serve -- M --nnodes 2") == "serve"


@pytest.mark.parametrize(
    ("command", "engine"),
    [
        ("ray symmetric-run --min-nodes 2 -- vllm serve M -tp 16", "vllm"),
        ("mpirun -n 16 trtllm-llmapi-launch trtllm-serve M --tp_size 16", "tensorrt-llm"),
        ("mpirun -n 16 server", ""),
        ("vllm serve M --nnodes 2", "vllm"),
    ],
)
def test_the_engine_inside_of_a_launch_is_found(command: str, engine: str) -> None:
    read = read_command(tuple(command.split()), (), read_image(STOCK))

    assert (read.kind, read.started) == ("distributed", engine)


def test_ignored_items_after_a_script_are_too_complex() -> None:
    assert kind_of(["sh", "-c"], ["vllm serve M", "-tp", "16"]) == "complex"


def test_an_excessively_long_command_line_is_unknown() -> None:
    assert kind_of(["vllm", "serve", *["M"] * 10_000]) == "unknown"


@pytest.mark.parametrize("args", ["--model M", "M", "serve M"])
def test_bare_arguments_of_an_unknown_image_are_unknown(args: str) -> None:
    assert kind_of("", args, OTHER) == "unknown"


@pytest.mark.parametrize(
    ("command", "args", "image", "is_engine"),
    [
        ("", "", STOCK, True),
        ("", "--model M", STOCK, True),
        ("vllm serve M", "", OTHER, True),
        ("python3 -m sglang.launch_server", "", OTHER, True),
        ("ray symmetric-run -- vllm serve M", "", OTHER, True),
        ("", "proxy sidecar", "istio/proxyv2:1.24.0", False),
        ("sleep infinity", "", STOCK, False),
        ("", "", "nginx", False),
        ("", "--port=8000 --vllm-port=8200", "llm-d-routing-sidecar:v0.2.0", False),
    ],
)
def test_an_engine_is_known_by_its_command(command: str, args: str, image: str, *, is_engine: bool) -> None:
    assert looks_like_engine(command.split(), args.split(), image) is is_engine


@pytest.mark.parametrize(
    ("script", "is_engine"), [("while :; do vllm serve M; done", True), ("while :; do date; done", False)]
)
def test_an_engine_is_recognised_in_a_script_that_is_too_complex(script: str, *, is_engine: bool) -> None:
    assert looks_like_engine(["sh", "-c"], [script], OTHER) is is_engine
