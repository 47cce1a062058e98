"""Servers of vLLM in every pod: what the engine refuses, and that what is stored can be read back."""

from typing import Final

import pytest

from intent.read import read
from intent.served import LEADERS, recorded
from intent.settings import Settings
from tests.builders.lws import changed, container, lws, put, template
from webhook.check import check
from webhook.mutate import input_of

MULTI_PORT: Final = "--data-parallel-multi-port-external-lb"
HYBRID: Final = "--data-parallel-hybrid-lb"
IMAGE: Final = "vllm/vllm-openai:v0.30.0"
EIGHT: Final = f"-dp 16 -dpl 8 {MULTI_PORT}"
SUPERVISOR: Final = f"{EIGHT} --data-parallel-supervisor-port"


@pytest.mark.parametrize("launcher", ["auto", "none"])
@pytest.mark.parametrize(
    ("pods", "size", "says", "ports"),
    [
        ((EIGHT,), 2, "", 8),
        ((f"-dp 16 {MULTI_PORT}",), 2, "", 8),
        ((EIGHT, EIGHT), 2, "", 8),
        ((f"-dp 8 {MULTI_PORT}",), 1, "", 8),
        ((f"{SUPERVISOR} 8010",), 2, "", 8),
        ((f"-dp 16 -dpl 1 {MULTI_PORT}",), 16, "2 or more", 1),
        ((f"-dp 12 -dpl 8 {MULTI_PORT}",), 2, "that divides 12", 8),
        ((f"-dp 12 -dpl 4 {MULTI_PORT}", f"-dp 12 -dpl 8 {MULTI_PORT}"), 2, "that divides 12", 4),
        ((f"-dp 12 -dpl 8 {MULTI_PORT}", f"-dp 12 -dpl 4 {MULTI_PORT}"), 2, "that divides 12", 4),
        ((f"-dp 16 -dpl 8 {MULTI_PORT}", f"-dp 16 -dpl 4 {MULTI_PORT}"), 3, "in both templates", 4),
        ((f"-dp 16 -dpl 0 {MULTI_PORT}", f"-dp 16 -dpl 8 {MULTI_PORT}"), 3, "a rank in every pod", 0),
        ((f"-dp 16 -dpl 0 {HYBRID}", f"-dp 16 -dpl 8 {HYBRID}"), 3, "a rank in every pod", 0),
        ((f"-dp 8 -dpl 8 {HYBRID}", f"-dp 8 -dpl 0 {HYBRID}"), 2, "a rank in every pod", 0),
        ((f"{SUPERVISOR} 99999",), 2, "beside them, all up to 65535", 0),
        ((f"{SUPERVISOR} 0",), 2, "", 8),
        ((f"{SUPERVISOR} $(UNKNOWN)",), 2, "", 8),
        ((f"{SUPERVISOR} 8003",), 2, "beside them", 0),
        ((f"-dp 128 -dpl 64 {MULTI_PORT}",), 2, "of at most 63 ranks", 0),
        ((f"-dp 999999998 -dpl 499999999 {MULTI_PORT}",), 2, "of at most 63 ranks", 0),
        ((f"{EIGHT} --port 65530",), 2, "all up to 65535", 0),
    ],
)
def test_servers_of_ranks_have_what_engine_and_supervisor_need(
    pods: tuple[str, ...], size: int, says: str, ports: int, launcher: str
) -> None:
    def of(args: str) -> dict[str, object]:
        return template(container(command=["vllm", "serve", "M"], args=args.split(), image=IMAGE))

    *leader, worker = map(of, pods)
    live = lws(size, worker, leader=leader[0] if leader else None, launcher=launcher)
    stored = put(live)

    found = [one for one in check(stored) if one.code == "FI329"]
    assert any(says in one.message for one in found) if says else not found
    serving = recorded(stored["metadata"]["annotations"]["fusioninfer.io/expansion"]).serving
    intent = read(live).intent
    assert intent is not None
    assert serving == input_of(intent, Settings()).layout.serving
    assert (len(serving.ports), serving == LEADERS) == (ports, not ports)
    again = put(changed(stored, "metadata.annotations.fusioninfer.io/skip", "port"), stored)
    assert again["spec"] == stored["spec"]
