"""The written launch: command and args. Scripts, prefixes and what stays are in laws and golden cases."""

import pytest

from intent.lws import Accelerators
from tests.webhook.launches import EXECUTOR, SYMMETRIC_RUN, engine, group, written

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


def test_each_template_has_its_own_number_of_gpus() -> None:
    intent = group(engine("M"), leader=engine("M", accelerators=Accelerators("nvidia.com/gpu", 4)), size=3)

    leader = written(intent, "leaderTemplate")

    served = ["3", "--num-gpus", "4", "--", "vllm", "serve", "M"]
    assert leader["args"] == [*SYMMETRIC_RUN[:4], *served, *EXECUTOR]
