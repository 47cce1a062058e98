"""What a group of real engines answers: on which pods and ports, and with which of its ranks."""

import json
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from socket import SHUT_RDWR, inet_aton
from threading import Timer
from typing import Final

from tests.builders import netns
from tests.cluster.testbed.processes import LOG_LIMIT, Process, alive, tail
from tests.cluster.testbed.wait import until
from tests.ray.group import pods
from tests.ray.running import STARTS, Group, restarted, said

Place = tuple[int, int]
"""The rank of a pod and a port."""
PROMPT: Final = "The leader waits for"
API: Final = '"object":"list"'
"""What an API answers of its models; Ray's metrics answer on each path."""
WORDS: Final = 3
"""Tokens of a completion."""
LISTENS, CONNECTED = "0A", "01"
"""States in `/proc/net/tcp`."""
RANK: Final = re.compile(rb"VLLM::Worker|ray::RayWorker|sglang::scheduler")
ENGINE: Final = re.compile(rb"VLLM::EngineCore")
"""The titles of processes that compute; an engine does so itself unless it has workers."""
MADE: Final = re.compile("(vllm|sglang):generation_tokens_total{")


def become_ready(group: Group, expected: set[Place], seconds: float) -> None:
    """Wait until each place says that it is healthy, or a pod ends; nodes of Ray may time out twice."""
    missing = set(expected)

    def is_over() -> bool:
        missing.difference_update(_answering(group, missing, "/health"))
        return not missing or any(not alive(pod) for pod in group.pods)

    for _ in range(STARTS):
        with suppress(TimeoutError):
            until(is_over, "they are healthy", seconds=seconds, every=1)
        if not missing or not restarted(group):
            break
    assert not missing, f"{sorted(missing)} are not healthy{said(group)}"


def texts(group: Group, places: set[Place], times: int) -> set[str]:
    """Return the texts with which these places complete the prompt."""
    body = {"prompt": PROMPT, "max_tokens": WORDS, "temperature": 0, "ignore_eos": True}
    found = _ask_all(group, sorted(places) * times, "/v1/completions", body, seconds=300)
    assert {status for status, _ in found} == {200}, f"{found}{said(group)}"
    return {json.loads(text)["choices"][0]["text"] for _, text in found}


def servers(group: Group) -> set[Place]:
    """Return all places that answer as an API does, among those that listen."""
    listening = {(rank, port) for rank, pod in enumerate(group.pods) for port in _ports(pod)}
    return _answering(group, listening, "/v1/models", API, seconds=10)


def ask(group: Group, place: Place, path: str, body: object = None, *, seconds: float = 3) -> tuple[int, str]:
    """Send a request from the switch, as a client or the kubelet does; the status is 0 without an answer.

    The time is that of the whole answer: a socket of vLLM's coordinator sends counts for ever.
    """
    rank, port = place
    address = pods(group.lws)[rank].address

    def send() -> tuple[int, str]:
        connection = HTTPConnection(address, port, timeout=seconds)
        end = Timer(seconds, _shut, (connection,))
        end.start()
        try:
            content = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"}
            connection.request("GET" if body is None else "POST", path, content, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, HTTPException) as error:
            return 0, repr(error)
        finally:
            end.cancel()
            connection.close()

    return netns.made_in(group.switch.pid, send)


def _shut(connection: HTTPConnection) -> None:
    """End what waits for bytes of a connection."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(SHUT_RDWR)


def computing(group: Group) -> list[int]:
    """Return how many ranks each pod holds."""
    titles = [[title for _, title in processes(pod.pid)] for pod in group.pods]
    return [sum(map(bool, map(RANK.match, own))) or sum(map(bool, map(ENGINE.match, own))) for own in titles]


def alone(group: Group) -> list[int]:
    """Return the pods that no connection joins to another one."""
    known = [f"{int.from_bytes(inet_aton(pod.address), sys.byteorder):08X}" for pod in pods(group.lws)]
    peers = [{address[-8:] for _, _, address in _sockets(pod, CONNECTED)} for pod in group.pods]
    return [rank for rank, own in enumerate(known) if peers[rank].isdisjoint({*known} - {own})]


def memory(group: Group) -> list[int]:
    """Return the memory of each pod, in MB: of a page that processes share, each has its part."""
    return [sum(_megabytes(process) for process, _ in processes(pod.pid)) for pod in group.pods]


def generated(group: Group, place: Place) -> list[float]:
    """Return the tokens that each engine behind a server made."""
    found = ask(group, place, "/metrics", seconds=30)[1]
    return [float(line.split()[-1]) for line in found.splitlines() if MADE.match(line)]


def logs(group: Group) -> str:
    """Return all that the pods said."""
    return "\n".join(tail(pod, LOG_LIMIT) for pod in group.pods)


def _answering(
    group: Group, places: Collection[Place], path: str, words: str = "", *, seconds: float = 3
) -> set[Place]:
    found = _ask_all(group, [*places], path, seconds=seconds)
    return {
        place for place, (status, text) in zip(places, found, strict=True) if status == 200 and words in text
    }


def _ask_all(
    group: Group, places: Sequence[Place], path: str, body: object = None, *, seconds: float
) -> list[tuple[int, str]]:
    """Send a request to each place, all at once."""
    with ThreadPoolExecutor(len(places) or 1) as threads:
        return [*threads.map(lambda place: ask(group, place, path, body, seconds=seconds), places)]


def _ports(pod: Process) -> Iterator[int]:
    """Yield the ports on which processes of a pod listen, but those of its loopback."""
    return (port for address, port, _ in _sockets(pod, LISTENS) if not address.endswith("7F"))


def _sockets(pod: Process, state: str) -> Iterator[tuple[str, int, str]]:
    """Yield the address and the port of sockets of a pod in this state, and their peer's address."""
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pod.pid}/net/{family}").read_text().splitlines()[1:]:
            _, local, peer, found, *_ = line.split()
            address, port = local.split(":")
            if found == state:
                yield address, int(port, 16), peer.split(":")[0]


def processes(pid: int) -> Iterator[tuple[int, bytes]]:
    """Yield a process and those below it, each with its title."""
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
        threads = [*Path(f"/proc/{pid}/task").iterdir()]
        children = [child for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return
    yield pid, title
    for child in children:
        yield from processes(int(child))


def _megabytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("Pss:")), 0)
