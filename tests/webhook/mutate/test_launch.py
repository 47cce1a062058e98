"""The written launch: command and args. Scripts, prefixes and what stays are in laws and golden cases."""

import pytest

from intent.lws import Accelerators
from tests.webhook.launches import EXECUTOR, SETTINGS, SYMMETRIC_RUN, codes, engine, group, written
from webhook.mutate import input_of
from webhook.mutate.launch import launch

CLI = "python3 -m vllm.entrypoints.cli.main"
MODULE = "python3 -m vllm.entrypoints.openai.api_server"
OLD = "vllm/vllm-openai:v0.11.0"


@pytest.mark.parametrize(
    ("command", "args", "served"),
    [
        ("", "--model M -tp 16", "vllm serve M -tp 16"),
        ("", "-tp=16 --model=M --seed 1 $(MORE)", "vllm serve M -tp=16 --seed 1 $(MORE)"),
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
    ],
)
def test_ray_runs_the_engine_with_the_authors_arguments(command: str, args: str, served: str) -> None:
    container = written(group(engine(args, command)))

    assert container["command"] == ["ray"]
    assert container["args"] == [*SYMMETRIC_RUN, *served.split(), *EXECUTOR]


@pytest.mark.parametrize("args", ["--model N M", "M --model N"])
def test_the_old_entrypoint_reads_the_model_from_its_flag(args: str) -> None:
    container = written(group(engine(args, image=OLD), launcher="ray-symmetric"))

    assert container["args"] == [*SYMMETRIC_RUN, "vllm", "serve", "N"]


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

    served = ["3", "--num-gpus", "4", "--", "vllm", "serve", "M"]
    assert leader["args"] == [*SYMMETRIC_RUN[:4], *served, *EXECUTOR]


def test_a_template_that_stays_keeps_the_other_one_too() -> None:
    intent = group(engine("ray start --block"), leader=engine("M"))

    assert launch(input_of(intent, SETTINGS)) == {}


@pytest.mark.parametrize("stray", [["", "-tp", "16"], ["-tp", "16", ""], ["-tp", "16", "--", "x"]])
@pytest.mark.parametrize("command", ["", MODULE])
def test_an_empty_argument_or_one_after_two_dashes_is_never_the_model(command: str, stray: list[str]) -> None:
    one = group(engine(["--model", "M", *stray], command))
    ends = stray.index("--") if "--" in stray else len(stray)

    container = written(one)

    served = ["vllm", "serve", "M", *stray[:ends], *EXECUTOR, *stray[ends:]]
    assert container["args"] == [*SYMMETRIC_RUN, *served]
    assert [code for code in codes(one) if code in {"FI306", "FI515", "FI536"}] == ["FI536"]


def test_an_empty_argument_alone_names_no_model() -> None:
    assert "FI306" in codes(group(engine(["", "-tp", "16"])))
