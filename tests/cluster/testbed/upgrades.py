"""Objects of one release that another finds: what their authors wrote, and how they are written again."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from intent import Object
from intent.tree import canonical
from tests.cluster.testbed.api import delete, patch, path
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.control_plane import kill_process
from tests.cluster.testbed.controllers import LEASE
from tests.cluster.testbed.ours import start_sync, start_webhook, wait_admission
from tests.cluster.testbed.rollouts import Rollout, caught_up, rollout
from tests.cluster.testbed.written import CLIENT_SIDE, SERVER_SIDE, WHOLE, Words, engines, named, read, stored

ANNOTATED: Final = read(WHOLE)
NEW_WORD: Final = "--disable-log-stats"
NEW_IMAGE: Final = "vllm/vllm-openai:v0.17.2"
LAUNCHED: Final[dict[str, str]] = {
    "ray-start": "ray-start",
    "native": "vllm-native",
    "chosen": "auto",
    "alone": "none",
}
"""Objects of other launchers, by name."""
SPLIT: Final = "split"
"""The object whose leader's template is made from the workers'."""


def file_of(name: str) -> Object:
    """Return what its author wrote."""
    if name == SPLIT:
        return named(with_one_template(ANNOTATED), name)
    if name in LAUNCHED:
        return named(ANNOTATED, name, launcher=LAUNCHED[name])
    return named(ANNOTATED, name, **({"service": "whole-1"} if name == "refused-name" else {}))


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A cluster whose objects were written under the release before: their rollouts and specs by name."""

    cluster: Cluster
    namespace: str
    rollouts: dict[str, Rollout]
    specs: dict[str, Object]
    offline: Object
    """A file that the release before expanded offline."""


def written(upgraded: Upgraded, words: Words, lws: Object) -> str:
    """Have kubectl write it; return what it says beside."""
    command = (*words, "--namespace", upgraded.namespace, "--filename=-")
    done = run_kubectl(upgraded.cluster, *command, stdin=json.dumps(lws))
    while done.returncode and "the object has been modified" in done.stderr:
        done = run_kubectl(upgraded.cluster, *command, stdin=json.dumps(lws))
    assert done.returncode == 0, done.stderr
    return done.stderr


# --- writes of somebody who changes nothing ---------------------------------------------------------

Write = Callable[[Upgraded, str], str]


def again(*words: str) -> Write:
    """Write the same file."""
    return lambda upgraded, name: written(upgraded, words, file_of(name))


def labelled(upgraded: Upgraded, name: str) -> str:
    """Add a label."""
    where = ("leaderworkersets", name, "--namespace", upgraded.namespace)
    done = run_kubectl(upgraded.cluster, "label", *where, "another=one", "--overwrite")
    assert done.returncode == 0, done.stderr
    return done.stderr


def reported(upgraded: Upgraded, name: str) -> str:
    """Write the status, as LWS's controller does."""
    where = path("leaderworkersets", upgraded.namespace, name, "status")
    patch(upgraded.cluster.api, where, {"status": {"hpaPodSelector": "seen=by-a-controller"}})
    return ""


def noted(upgraded: Upgraded, name: str) -> str:
    """Write an annotation, as controllers do."""
    where = path("leaderworkersets", upgraded.namespace, name)
    patch(upgraded.cluster.api, where, {"metadata": {"annotations": {"example.com/seen": "yes"}}})
    return ""


def offline_again(upgraded: Upgraded, _name: str) -> str:
    """Apply the file that was expanded offline by the release before."""
    return written(upgraded, CLIENT_SIDE, upgraded.offline)


SERVER_SIDE_FORCED: Final = (*SERVER_SIDE, "--force-conflicts")
FIRST_WRITES: Final[dict[str, tuple[Words, Write]]] = {
    "client": (CLIENT_SIDE, again(*CLIENT_SIDE)),
    "server": (SERVER_SIDE, again(*SERVER_SIDE)),
    "replaced": (("create",), again("replace")),
    "taken-over": (CLIENT_SIDE, again(*SERVER_SIDE_FORCED)),
    "labelled": (CLIENT_SIDE, labelled),
    "reported": (CLIENT_SIDE, reported),
    "noted": (CLIENT_SIDE, noted),
    "offline": (CLIENT_SIDE, offline_again),
    "refused-name": (CLIENT_SIDE, again(*CLIENT_SIDE)),
    SPLIT: (CLIENT_SIDE, again(*CLIENT_SIDE)),
    **dict.fromkeys(LAUNCHED, (CLIENT_SIDE, again(*CLIENT_SIDE))),
}
"""By name: how each object was written under the release before, and its first write under the next."""
ALL_IN_TURN: Final = (again(*CLIENT_SIDE), labelled, again(*SERVER_SIDE_FORCED), reported, noted, labelled)
OTHERS: Final = ("all", "refreshed", "changed")
"""Objects that were applied under the release before."""


# --- releases


def take_over(cluster: Cluster, source: Path, *, controller: bool = False) -> None:
    """Replace the webhook's process by that of another release; and the controller's, if there is one."""
    kill_process(cluster, "webhook")
    start_webhook(cluster, source=source)
    wait_admission(cluster)
    if controller:
        kill_process(cluster, "sync")
        delete(cluster.api, LEASE)
        start_sync(cluster, source=source)


# --- what is stored


def not_as_before(upgraded: Upgraded, *names: str) -> list[str]:
    """Name the objects whose spec, revisions or pods changed, once the controllers caught up."""
    cluster, namespace = upgraded.cluster, upgraded.namespace
    caught_up(cluster, namespace)
    now = {name: (spec_of(cluster, namespace, name), rollout(cluster, namespace, name)) for name in names}
    return [name for name, found in now.items() if found != (upgraded.specs[name], upgraded.rollouts[name])]


def spec_of(cluster: Cluster, namespace: str, name: str) -> Object:
    """Return a spec in one form: LWS writes quantities its own way, and kubectl as the file does."""
    found: Object = canonical(stored(cluster, namespace, name)["spec"])
    return found


def with_image(lws: Object) -> Object:
    """Return it with an image that the next release takes."""
    return json_replaced(lws, "vllm/vllm-openai:v0.17.1", NEW_IMAGE)


def with_one_template(lws: Object) -> Object:
    """Return it with the leader's template for all pods."""
    whole: Object = json.loads(json.dumps(lws))
    group = whole["spec"]["leaderWorkerTemplate"]
    group["workerTemplate"] = group.pop("leaderTemplate")
    return whole


def with_words(lws: Object, *words: str) -> Object:
    """Return it with more words for its engines."""
    whole: Object = json.loads(json.dumps(lws))
    for engine in engines(whole):
        engine["args"] += words
    return whole


def json_replaced(lws: Object, text: str, instead: str) -> Object:
    """Return it with another text everywhere."""
    found: Object = json.loads(json.dumps(lws).replace(text, instead))
    return found


def restarted(upgraded: Upgraded, name: str, first: Rollout) -> bool:
    """Return whether there is a new revision, and none of the pods there were."""
    after = rollout(upgraded.cluster, upgraded.namespace, name)
    return after.revisions > first.revisions and not after.pods.items() & first.pods.items()


def engine_args(lws: Object) -> list[list[str]]:
    """Return the args of the leader's engine and of the workers'."""
    return [engine["args"] for engine in engines(lws)]
