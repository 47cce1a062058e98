"""CPUs that take part in what vLLM has for GPUs alone: Ray, and data parallelism of a model with experts."""

from typing import Any

from vllm.platforms.cpu import CpuPlatform


class Ranks(CpuPlatform):  # type: ignore[misc] # vLLM is not installed where types are checked
    """One rank a pod or several, each with a "GPU" of Ray that is only a number."""

    ray_device_key = "GPU"
    ray_noset_device_env_vars = ("RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES",)

    @classmethod
    def get_device_communicator_cls(cls) -> str:
        """Name the communicator that lacks no collective."""
        return "fusioninfer_cpu.communicator.Communicator"

    @classmethod
    def check_and_update_config(cls, vllm_config: Any) -> None:
        """Keep the executor that was asked for: before 0.18, processes of one pod replace Ray."""
        parallel = vllm_config.parallel_config
        asked = parallel.distributed_executor_backend
        super().check_and_update_config(vllm_config)
        if asked == "ray":
            parallel.distributed_executor_backend = asked
            parallel.worker_cls = "fusioninfer_cpu.worker.Worker"

    @classmethod
    def device_count(cls) -> int:
        """Return the ranks of a pod; releases before 0.18 divide by it."""
        return 1
