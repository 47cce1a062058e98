"""Collectives over gloo alone, since the ranks of a group need not share memory; with those of experts."""

from typing import Any

import torch
from torch import distributed
from vllm.distributed.device_communicators.cpu_communicator import CpuCommunicator

SHARED = ("tp", "pp")
"""How groups are named for which vLLM would use shared memory."""


class Communicator(CpuCommunicator):  # type: ignore[misc] # vLLM is not installed where types are checked
    """vLLM's own one, without its shared memory; a group of experts keeps its name, by which it is known."""

    def __init__(
        self, cpu_group: Any, device: Any = None, device_group: Any = None, unique_name: str = "", **more: Any
    ) -> None:
        other = f"over-pods-{unique_name}" if unique_name.startswith(SHARED) else unique_name
        super().__init__(cpu_group, device, device_group, other, **more)
        self.unique_name = unique_name
        self.supports_tensor_dict = False

    def all_gatherv(self, input_: Any, dim: int = 0, sizes: list[int] | None = None) -> Any:
        """Gather rows, of which each rank may have others: each tensor is padded to the longest."""
        assert dim == 0
        if isinstance(input_, list):
            return [self.all_gatherv(one, dim, sizes) for one in input_]
        rows = sizes or [len(input_)] * self.world_size
        padded = input_.new_zeros((max(rows), *input_.shape[1:]))
        padded[: len(input_)] = input_
        parts = [torch.empty_like(padded) for _ in rows]
        distributed.all_gather(parts, padded, group=self.device_group)
        return torch.cat([part[:count] for part, count in zip(parts, rows, strict=True)])

    def reduce_scatterv(self, input_: Any, dim: int = 0, sizes: list[int] | None = None) -> Any:
        """Add up, and return this rank's rows."""
        assert dim == 0
        whole = input_.contiguous()
        distributed.all_reduce(whole, group=self.device_group)
        rows = sizes or [len(whole) // self.world_size] * self.world_size
        first = sum(rows[: self.rank_in_group])
        return whole[first : first + rows[self.rank_in_group]].contiguous()
