"""Rounds of chaos: a service is changed, and a process is killed at some moment of the change."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from intent import Object
from tests.cluster.chaos.kubelet import Kubelet
from tests.cluster.chaos.people import SHAPES, Service, files
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.written import CLIENT_SIDE, SERVER_SIDE, Words

# --- changes of users and their pipelines -------------------------------------------------------------
# The next one, chosen at random, as kubectl commands. All are values: the same seed gives the same changes.

MADE: Final = ("podgroups/{}", "httproutes/{}-httproute", "deployments/{}-epp")
"""Some of the objects of a service."""
MOST: Final = 3
"""Replicas that anybody asks for."""


@dataclass(frozen=True, slots=True)
class Command:
    """Arguments of kubectl, repeated until the command succeeds."""

    words: Words
    objects: tuple[Object, ...] = ()

    @property
    def stdin(self) -> str:
        """The objects as kubectl reads them."""
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": self.objects}) if self.objects else ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change: its name, the service after it, and its commands."""

    verb: str
    after: Service
    commands: tuple[Command, ...]


def _applied(service: Service) -> tuple[Command, ...]:
    """Apply the files; others wrote some of the fields, so server-side apply has to insist."""
    force = ("--force-conflicts",) if service.words == SERVER_SIDE else ()
    return (Command((*service.words, *force, "--filename=-"), files(service)),)


def _deleted(service: Service, *more: str) -> tuple[Command, ...]:
    return (Command(("delete", "--ignore-not-found", *more, "--filename=-"), files(service)),)


def make(service: Service, random: Random) -> Change:
    """Apply a service that is not there."""
    words = random.choice((CLIENT_SIDE, SERVER_SIDE))
    after = replace(service, there=True, words=words, replicas=random.randint(1, MOST), restarted=True)
    return Change(f"make ({' '.join(words)})", after, _applied(after))


def apply_again(service: Service, _random: Random) -> Change:
    """Apply the same files again, as pipelines do."""
    return Change("apply again", service, _applied(service))


def apply_scaled(service: Service, random: Random) -> Change:
    """Apply the files with another number of replicas."""
    after = _scaled(service, random)
    return Change(f"apply with {after.replicas} replicas", after, _applied(after))


def scale(service: Service, random: Random) -> Change:
    """Scale by a command, not by the files."""
    after = _scaled(service, random)
    return Change(f"scale to {after.replicas}", after, (Command(SHAPES[service.shape].scale(after)),))


def edit(service: Service, _random: Random) -> Change:
    """Apply the files with another command."""
    after = replace(service, edits=service.edits + 1, restarted=True)
    return Change("apply with another command", after, _applied(after))


def move(service: Service, _random: Random) -> Change:
    """Return the route another hostname, by a patch."""
    after = replace(service, host=service.host + 1)
    return Change("move to another hostname", after, (Command(SHAPES[service.shape].move(after)),))


def remove(service: Service, random: Random) -> Change:
    """Delete the files, and wait or not."""
    wait = f"--wait={str(random.random() < 0.5).lower()}"
    return Change(f"delete {wait}", replace(service, there=False), _deleted(service, wait))


def make_anew(service: Service, _random: Random) -> Change:
    """Delete the files and apply them again at once."""
    after = replace(service, restarted=True)
    return Change("delete and apply", after, (*_deleted(service), *_applied(after)))


def rename(service: Service, random: Random) -> Change:
    """Apply the files with another name for a role; what somebody patched outlives server-side apply."""
    if not SHAPES[service.shape].renames or service.words == SERVER_SIDE:
        return edit(service, random)
    after = replace(service, title=service.title + 1, restarted=True)
    return Change("apply with another name of a role", after, _applied(after))


def meddle(service: Service, random: Random) -> Change:
    """Delete something that was made for the service."""
    chosen = random.choice(MADE).format(service.name)
    command = Command(("delete", "--ignore-not-found", "--wait=false", chosen))
    return Change(f"delete {chosen}", service, (command,))


CHANGES: Final = (
    *(make_anew, remove, meddle, move, move, edit, rename, scale, scale, apply_scaled, apply_again),
)
"""What may happen to a service that is there; the more often it stands here, the more often."""


def next_change(services: tuple[Service, ...], random: Random) -> Change:
    """Choose what happens next."""
    service = random.choice(services)
    chosen = random.choice(CHANGES) if service.there else make
    return chosen(service, random)


def _scaled(service: Service, random: Random) -> Service:
    replicas = random.choice([count for count in range(1, MOST + 1) if count != service.replicas])
    return replace(service, replicas=replicas, fewest=min(service.fewest, replicas))


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
