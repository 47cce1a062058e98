"""The table of launchers. A launcher starts one engine over all pods of a group.

The order is the order of preference of `launcher: auto` (`webhook.launchers.plan`).

A row has the function that writes the engine container, and what that requires of image and pods
(`webhook.launchers.launcher`). To add a launcher, add the function and a row here.
"""

from operator import attrgetter
from typing import Final

from webhook.launchers.launcher import Launcher
from webhook.launchers.ray import PORT as RAY_PORT
from webhook.launchers.ray import has_ray, ray_env, ray_start, ray_symmetric, symmetric_env
from webhook.launchers.sglang import ANSWERS, sglang
from webhook.launchers.sglang import PORT as SGLANG_PORT
from webhook.launchers.vllm_native import VLLM_NATIVE, has_native, native_env, takes, vllm_native

LAUNCHERS: Final[dict[str, Launcher]] = {
    "ray-symmetric": Launcher(
        ray_symmetric,
        summary="`ray symmetric-run` on every pod, the engine on the leader",
        on_request=("lmdeploy",),
        executors=("ray",),
        needs="Ray 2.54 or later",
        runs=attrgetter("facts.symmetric_run"),
        port=RAY_PORT,
        env=symmetric_env,
    ),
    VLLM_NATIVE: Launcher(
        vllm_native,
        summary="vLLM's own `--nnodes`, or its flags of data parallelism alone",
        executors=("mp", "uni", "external_launcher"),
        needs="vLLM 0.11.1 or later",
        runs=has_native,
        takes=takes,
        spreads=True,
        port=29501,
        splits=True,
        env=native_env,
    ),
    "ray-start": Launcher(
        ray_start,
        summary="`ray start` on every pod, then the engine on the leader",
        on_request=("lmdeploy",),
        executors=("ray",),
        needs="Ray",
        runs=has_ray,
        port=RAY_PORT,
        splits=True,
        resolves=False,
        env=ray_env,
    ),
    "sglang": Launcher(
        sglang,
        summary="SGLang's own `--nnodes` on every pod",
        engines=("sglang",),
        needs="SGLang 0.4.3 or later",
        spreads=True,
        port=SGLANG_PORT,
        answers=ANSWERS,
    ),
}
