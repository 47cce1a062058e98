"""What admission writes, parsed by vLLM's own argument parser: `make soak SOAK=vllm`.

The parser is that of one release, from its wheel, and runs without PyTorch and accelerators (`inert.py`).
Each container is started with programs that note their arguments, so scripts are read by a shell.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from intent import Object
from tests.builders.lws import container, lws, template
from tests.engine_parser.answers import unlike
from tests.engine_parser.install import VLLM
from tests.engine_parser.started import write_programs
from webhook.check import check
from webhook.expand import expanded

IMAGE: Final = f"vllm/vllm-openai:v{VLLM.version}"
LAUNCHERS: Final = ("ray-symmetric", "ray-start", "vllm-native", "none")
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "words": {"command": ["vllm", "serve"], "args": ["--seed", "7"]},
    "image": {"command": None, "args": ["--seed=7"]},
    "module": {"command": ["python3", "-m", "vllm.entrypoints.openai.api_server"], "args": ["--seed", "7"]},
    "script": {"command": ["/bin/sh", "-c"], "args": ["cd / && exec vllm serve org/M --seed 7"]},
}
SIZES: Final[dict[str, Object]] = {
    "tensor=8,pipeline=2": {"tensor_parallel_size": 8, "pipeline_parallel_size": 2},
    "tensor=16": {"tensor_parallel_size": 16},
    "tensor=8,pipeline=2,expert": {"tensor_parallel_size": 8, "enable_expert_parallel": True},
    "tensor=1,data=16,dataLocal=8,expert,dataRPCPort=5555": {
        "tensor_parallel_size": 1,
        "data_parallel_size": 16,
        "data_parallel_size_local": 8,
        "data_parallel_rpc_port": 5555,
        "enable_expert_parallel": True,
    },
}
ADAPTERS: Final = "sql=hf://acme/sql,Law.v2/x=pvc://adapters/law,maxRank=64,maxAdapters=2,maxCpuAdapters=4"
LOADED: Final[Object] = {
    "enable_lora": True,
    "max_lora_rank": 64,
    "max_loras": 2,
    "max_cpu_loras": 4,
    "lora_modules": [
        {"name": "sql", "path": "acme/sql", "base_model_name": None},
        {"name": "Law.v2/x", "path": "/mnt/lora/law-v2-x", "base_model_name": None},
    ],
}
MODEL: Final = {"model": "hf://org/M:v1", "model_name": "chat"}
SERVED: Final[Object] = {"model": "org/M", "revision": "v1", "served_model_name": ["chat"], "seed": 7}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("programs")
    write_programs(folder, "vllm")
    return folder


# --- what the blocks write ----------------------------------------------------------------------------


def asked() -> Iterator[tuple[str, Object, Object]]:
    """Yield objects with all blocks, each with its name and the fields that are meant."""
    for launcher, sizes, shape in product(LAUNCHERS, SIZES, SHAPES):
        engine = container(image=IMAGE, resources=None, **SHAPES[shape])
        blocks = {"parallelism": sizes, "lora": ADAPTERS, **MODEL}
        file = lws(1 if launcher == "none" else 2, template(engine), None, launcher=launcher, **blocks)
        if not any(one.severity == "error" for one in check(expanded(file))):
            yield f"{launcher}, {sizes}, {shape}", expanded(file), SIZES[sizes] | LOADED | SERVED


def test_every_block_has_the_values_that_are_meant(programs: Path) -> None:
    cases = list(asked())
    assert unlike(VLLM, cases, programs) == []
    assert {case[0].split(",")[0] for case in cases} == set(LAUNCHERS)
    assert len(cases) > len(LAUNCHERS) * len(SHAPES)
