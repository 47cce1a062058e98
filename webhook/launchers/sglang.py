"""SGLang's own launch over several nodes: the same command on every pod, each with its own rank.

Source: SGLang `docs/references/multi_node.md` and `sglang/srt/server_args.py` (the same from 0.4.3 to
0.5.23); the port is that of LWS's own example.
"""

from typing import Final

from intent.launch import Launch, LaunchPlan
from webhook.launchers.launcher import Container, appended

PORT: Final = 20000
"""Rendezvous of the ranks, on the leader."""

ANSWERS: Final = frozenset({"/ping", "/health", "/health_generate"})
"""What the other nodes answer (`launch_dummy_health_check_server`, `sglang/srt/utils/common.py`)."""


def sglang(launch: Launch, _plan: LaunchPlan) -> Container:
    """Add the leader's address, the number of nodes and the pod's rank to the command."""
    address = f"$(LWS_LEADER_ADDRESS):{PORT}"
    flags = ("--dist-init-addr", address, "--nnodes", str(launch.pods), "--node-rank", "$(LWS_WORKER_INDEX)")
    return appended(launch, flags)
