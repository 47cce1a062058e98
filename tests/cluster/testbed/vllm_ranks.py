"""Stands in for vLLM with data parallelism, in the pod HOSTNAME: `vllm serve MODEL FLAGS`.

Each server answers with its pod and its ranks, which follow from the flags as `vllm/config/parallel.py` and
`vllm/entrypoints/cli/serve.py` have it. What serves nobody has no ranks, but listens all the same: so a
request that reaches it is seen.
"""

import argparse
import os
import sys
import threading
from pathlib import Path
from typing import Final

from tests.cluster.testbed.engine import Engine

SUPERVISOR: Final = 9256
SIZES: Final = (
    ("--data-parallel-size", "-dp"),
    ("--data-parallel-size-local", "-dpl"),
    ("--data-parallel-start-rank", "-dpr"),
    ("--data-parallel-rank", "-dpn"),
    ("--nnodes", "-n"),
    ("--node-rank", "-r"),
    ("--port",),
)
MODES: Final = ("hybrid-lb", "external-lb", "multi-port-external-lb")


def servers(words: list[str]) -> dict[int, range]:
    """Return which ranks answer on which ports of a pod."""
    known = argparse.ArgumentParser(allow_abbrev=False)
    for names in SIZES:
        known.add_argument(*names, type=int)
    for mode in MODES:
        known.add_argument(f"--data-parallel-{mode}", action="store_true")
    known.add_argument("--headless", action="store_true")
    asked, _ = known.parse_known_args(words)
    port, node = asked.port or 8000, asked.node_rank or 0
    local = asked.data_parallel_size_local or asked.data_parallel_size // (asked.nnodes or 1)
    first = node * local if asked.data_parallel_start_rank is None else asked.data_parallel_start_rank
    if asked.headless:
        return {port: range(0)}
    if asked.data_parallel_multi_port_external_lb:
        each = {port + at: range(first + at, first + at + 1) for at in range(local)}
        return {**each, SUPERVISOR: range(0)}
    if asked.data_parallel_external_lb:
        own = node if asked.data_parallel_rank is None else asked.data_parallel_rank
        return {port: range(own, own + 1)}
    return {
        port: range(first, first + local)
        if asked.data_parallel_hybrid_lb
        else range(asked.data_parallel_size)
    }


def main(words: list[str]) -> None:
    """Serve for ever."""
    for port, ranks in servers(words).items():
        engine = Engine(f"{os.environ['HOSTNAME']} {','.join(map(str, ranks))}", port, Path(os.devnull))
        threading.Thread(target=engine.serve_forever).start()


if __name__ == "__main__":
    main(sys.argv[1:])
