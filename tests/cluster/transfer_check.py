"""A prompt is prefilled by one real vLLM and decoded by another: `make soak SOAK=engines`.

Its key-value blocks cross by NIXL; the sidecar, the endpoint picker and Envoy are real too. A pod's processes
have their own memory at /dev/shm, so that blocks go through the network.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final

import pytest

from tests.builders.isvc import decoder, isvc, prefiller, router
from tests.builders.lws import container, template
from tests.cluster.testbed import flows
from tests.cluster.testbed.answers import add_gateway
from tests.cluster.testbed.containers import name_of, run_container
from tests.cluster.testbed.controllers import apply
from tests.cluster.testbed.engines import run_pods
from tests.cluster.testbed.flows import ROUTE, Service, namespace_on, serve
from tests.cluster.testbed.images import Program
from tests.cluster.testbed.network import Network, ask
from tests.cluster.testbed.nodes import add_gpu_nodes, remove_nodes
from tests.cluster.testbed.probes import is_ready
from tests.cluster.testbed.processes import kill, tail
from tests.cluster.testbed.wait import until
from tests.engines.answers import processes
from tests.engines.cells import SECONDS, VARIABLES
from tests.engines.install import NEWEST, install
from tests.engines.model import CONFIG, DENSE, KEYS, write
from tests.ray.pod import NAMESPACES
from tests.soak import SUMMARY
from tests.tiers import count

NAME: Final = "demo"
OWN: Final = 'for each in /dev/shm /tmp; do mount -t tmpfs tmpfs $each; done; exec "$@"'
INSIDE: Final = ("unshare", *NAMESPACES, "--", "sh", "-ec", OWN, "sh")
"""A container of an engine has memory and processes of its own."""
PREFILLER, DECODER = f"{NAME}-prefill-0", f"{NAME}-decode-0"
PROMPT: Final = "The leader waits for every worker of the group, and then it serves. " * 12
"""Some blocks of 128 tokens; a token is a byte."""
BLOCK: Final = 128
"""Tokens of a block, on CPUs."""
TOKEN: Final = 2 * 2 * CONFIG["num_hidden_layers"] * KEYS
"""Bytes of a token: its keys and its values, in 16 bits."""
HELD: Final = 3.0
"""Seconds in which a prompt reaches the prefiller."""
BYTES: Final = "vllm:nixl_bytes_transferred_sum"
MADE: Final = "vllm:generation_tokens_total"
TRIES: Final = 5
"""vLLM gives two engines five seconds for their handshake (`nixl/base_worker.py`), on any machine."""


def role(model: Path, kind: str) -> dict[str, object]:
    transfer = json.dumps({"kv_connector": "NixlConnector", "kv_role": kind})
    words = [str(model), "--served-model-name", "stand-in", "--enforce-eager"]
    probe = {"httpGet": {"path": "/health", "port": 8000}}
    one = container(image=NEWEST.image, args=[*words, "--kv-transfer-config", transfer], readinessProbe=probe)
    return {"multinode": None, "template": template(one)}


def engine() -> Program:
    """Return what the image of the engines runs."""
    programs = install(NEWEST, sys.stderr)
    variables = {**VARIABLES, "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin", "VLLM_PLUGINS": ""}
    return Program((*INSIDE, *NEWEST.command), variables)


@pytest.fixture(scope="module")
def split(served_network: Network) -> Iterator[Service]:
    model = write(DENSE, install(NEWEST, sys.stderr).parent / "models")
    roles = (prefiller(**role(model, "kv_producer")), decoder(**role(model, "kv_consumer")))
    add_gpu_nodes(served_network.cluster, 2)
    with namespace_on(served_network) as namespace:
        add_gateway(served_network.cluster, namespace)
        routed = router(strategy="pd-disaggregation", httproute=ROUTE)
        chosen = {"fusioninfer.io/picker": "llm-d-0.7"}  # the testbed has not the default one
        apply(served_network.cluster, namespace, isvc(routed, *roles, name=NAME, annotations=chosen))
        yield serve(served_network, namespace, NAME, 2, partial(run_pods, real=engine(), seconds=SECONDS))
    remove_nodes(served_network.cluster)


def metrics(service: Service, pod: str) -> dict[str, float]:
    """Return the sums and counters of an engine, by name; those of all labels are added up."""
    engine, found = service.engines[pod], dict[str, float]()
    for line in ask(service.there, f"{engine.address}:{engine.port}", "/metrics").body.splitlines():
        if not line.startswith("#"):
            name = line.partition("{")[0].split()[0]
            found[name] = found.get(name, 0) + float(line.split()[-1])
    return found


def logs(service: Service) -> str:
    """Return what the containers of the pods said last."""
    said = service.there.processes
    return "".join(f"\n--- {name}\n{tail(said[name], 6000)}" for name in said if f"/{NAME}-" in name)


def completed(service: Service, prompt: str) -> tuple[int, float]:
    """Ask for a completion; return the status, 0 without an answer, and after how many seconds."""
    began, status = time.monotonic(), 0
    with suppress(OSError):
        status = flows.request(service, prompt, max_tokens=8, temperature=0, ignore_eos=True).status
    return status, time.monotonic() - began


def test_one_request_crosses_both_engines_and_the_decoder_receives_the_blocks(split: Service) -> None:
    tries, prompt = list[tuple[int, float]](), ""
    while len(tries) < TRIES and {status for status, _ in tries} <= {500}:
        prompt = f"{len(tries)}. {PROMPT}"  # of one that failed the picker takes the blocks for the decoder's
        tries.append(completed(split, prompt))
    assert tries[-1][0] == 200, logs(split)

    until(lambda: metrics(split, DECODER)[BYTES], "the decoder counts what it read")
    there, here = metrics(split, PREFILLER), metrics(split, DECODER)
    sys.stdout.write(f"\n{SUMMARY}prefill and decode: {here[BYTES]:.0f} bytes, {tries}\n")
    assert (there[MADE], here[MADE]) == (len(tries), 8)
    assert here[BYTES] == ceil(len(prompt) / BLOCK) * BLOCK * TOKEN


def test_a_client_is_answered_whose_prefiller_is_killed_with_its_prompt(split: Service) -> None:
    found = [killed(split, nth) for nth in range(count("KILLED_PREFILLERS"))]
    said = ", ".join(f"{status} after {seconds:.1f} s" for status, seconds in found)
    sys.stdout.write(f"\n{SUMMARY}prefiller killed with a prompt: {said}\n")

    assert {status for status, _ in found} == {200}, logs(split)


def killed(service: Service, nth: int) -> tuple[int, float]:
    """Kill the prefiller while it holds a prompt; return what the client gets. It starts again."""
    pod = service.engines[PREFILLER].pod
    running = service.there.processes[f"{name_of(pod)}/vllm"]
    (core,) = (pid for pid, title in processes(running.pid) if title.startswith(b"VLLM::EngineCore"))
    os.kill(core, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(completed, service, f"{nth}. {PROMPT}")
        time.sleep(HELD)
        kill(running)
        answer = asked.result()
    run_container(service.there, pod, pod["spec"]["containers"][0], own=engine())
    until(lambda: is_ready(service.there, pod), "the prefiller is back", seconds=SECONDS, every=1)
    return answer
