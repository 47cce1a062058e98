"""A worker of CPUs that names its device, as Ray's executor asks of each: vLLM 0.17 gives it none."""

from vllm.v1.worker.cpu_worker import CPUWorker


class Worker(CPUWorker):  # type: ignore[misc] # vLLM is not installed where types are checked
    """One rank."""

    def init_device(self) -> None:
        """Have a device."""
        super().init_device()
        self.device = self.model_runner.device
