"""Rounds of chaos: a service is changed, and a process is killed at some moment of the change."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.cluster.chaos.changes import Change, Command, next_change
from tests.cluster.chaos.kubelet import Kubelet
from tests.cluster.chaos.people import Service
from tests.cluster.testbed.cluster import Cluster, run_kubectl

VICTIMS: Final = (
    *("kube-apiserver", "etcd", "webhook", "lws", "vc-scheduler", "kube-controller-manager"),
    *("sync", "sync-other"),
)
WITHIN: Final = 1.5
"""Seconds of a round in which the moment lies."""
AGAIN: Final = 0.25
"""Seconds after which people try again what was refused."""
PATIENCE: Final = 240.0


@dataclass(frozen=True, slots=True)
class Round:
    """One round: what somebody does, who is killed, how long after, and how long it is left alone then."""

    number: int
    change: Change
    victim: str
    moment: float
    rest: float

    def __str__(self) -> str:
        """Render the round as one line."""
        killed = f"{self.victim} killed after {self.moment:.2f} s, {self.rest:.2f} s of rest"
        return f"round {self.number}: {self.change.after.name}: {self.change.verb}; {killed}"


def next_round(number: int, random: Random, services: tuple[Service, ...]) -> Round:
    """Choose a round."""
    change = next_change(services, random)
    return Round(number, change, random.choice(VICTIMS), random.uniform(0, WITHIN), random.uniform(0, WITHIN))


def play(kubelet: Kubelet, namespace: str, one: Round) -> None:
    """Play a round: it ends when what was asked for was taken."""
    with _in_background(kubelet.cluster, namespace, one.change.commands) as asked:
        kubelet.tend_until(lambda: False, one.moment)
        kubelet.kill(one.victim)
        kubelet.tend_until(asked.done, PATIENCE)
        asked.result(timeout=0)
    kubelet.tend_until(lambda: False, one.rest)


@contextmanager
def _in_background(cluster: Cluster, namespace: str, commands: tuple[Command, ...]) -> Iterator[Future[None]]:
    with ThreadPoolExecutor(max_workers=1) as thread:
        yield thread.submit(insist, cluster, namespace, commands)


def insist(cluster: Cluster, namespace: str, commands: tuple[Command, ...]) -> None:
    """Have kubectl do what is asked, again and again, until it is done."""
    deadline = time.monotonic() + PATIENCE
    for command in commands:
        words = (*command.words, f"--namespace={namespace}")
        while (done := run_kubectl(cluster, *words, stdin=command.stdin)).returncode:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{' '.join(words)}: {done.stderr}")
            time.sleep(AGAIN)
