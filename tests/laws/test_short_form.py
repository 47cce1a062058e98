"""An edit of a container that only a template gives is like one of the author's own container.

Two objects name the same template: one has no container (the short form), the other one with a name alone.
What is written into both gives the same pods.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

import pytest

from intent import Object
from intent.annotations import REFRESH
from intent.tree import LIST_KEYS, merge
from tests.builders import templates as inferencetemplate
from tests.builders.lws import container, lws
from tests.laws.convergence.laws import compared, difference
from tests.laws.convergence.schema import Refused
from tests.laws.convergence.server import Denied, Engine, Server, Unstable
from webhook.overlay.overlay import templates_of

LEADER, WORKER = "leaderTemplate", "workerTemplate"
PARTS: Final = ((LEADER, WORKER), (LEADER, WORKER), (WORKER,), (LEADER,))
SEQUENCES: Final = 30
EDITS: Final[tuple[tuple[Object, Object], ...]] = (
    ({"workingDir": "/a"}, {"workingDir": None}),
    ({"imagePullPolicy": "Always"}, {"imagePullPolicy": "Never"}),
    ({"securityContext": {"runAsUser": 1}}, {"securityContext": {"runAsUser": 2}}),
    ({"image": "mirror/vllm-openai:v0.20.1"}, {"image": "mirror/vllm-openai:v0.20.1"}),
    ({"readinessProbe": {"tcpSocket": {"port": 1}}}, {"readinessProbe": {"tcpSocket": {"port": 2}}}),
    ({"env": [{"name": "X", "value": "a"}]}, {"env": [{"name": "X", "value": "b"}]}),
    ({"env": [{"name": "LOG", "value": "a"}]}, {"env": [{"name": "LOG", "value": "b"}]}),
    ({"ports": [{"containerPort": 9, "name": "m", "protocol": "TCP"}]}, {"ports": []}),
    ({"volumeMounts": [{"mountPath": "/d", "name": "dshm"}]}, {"volumeMounts": []}),
    ({"resources": {"limits": {"cpu": "2"}}}, {"resources": {"limits": {"nvidia.com/gpu": "3"}}}),
    ({"resources": {"requests": {"cpu": "2"}}}, {"resources": {"requests": {"cpu": "3"}}}),
    ({"args": None}, {"args": None}),
)
"""What is written into an engine container, in two forms; `args`: a flag is inserted."""


def _library(version: int, *more: Object) -> dict[str, Object]:
    limits = {"nvidia.com/gpu": "8", "memory": "64Gi"}
    engine = container(image=f"vllm/vllm-openai:v0.20.{version}", resources={"limits": limits})
    engine |= {"env": [{"name": "LOG", "value": f"v{version}"}]}
    made = inferencetemplate.template({"template": {"spec": {"containers": [engine]}}}, *more, name="t")
    return {"t": merge(made, {"metadata": {"uid": "t", "generation": version}})}


def _edited(stored: Object, parts: tuple[str, ...], edit: Object) -> Object:
    def one(template: Object) -> Object:
        (args,) = (each["args"] for each in template["spec"]["containers"] if each["name"] == "vllm")
        flagged = {"args": [*args[:-1], "--trust-remote-code", args[-1]]} if "args" in edit else edit
        return {"spec": {"containers": [{"name": "vllm", **flagged}]}}

    there = templates_of(stored)
    group = {part: one(there[part]) for part in parts if part in there}
    return merge(stored, {"spec": {"leaderWorkerTemplate": group}})


def _stored(server: Server, live: Object, old: Object | None) -> Object | type[Exception]:
    try:
        return server.admit(live, old)
    except (Denied, Refused, Unstable) as error:
        return type(error)


def _differences(number: int) -> Iterator[str]:
    """Yield in which step of a sequence the two objects get other pods, and how these differ."""
    random = Random(f"short form/{number}")  # noqa: S311 - examples
    leaders = random.choice(((), ({"part": "leader", "template": {"spec": {"priorityClassName": "p"}}},)))
    server = Server(Engine(), random.choice(("", "after")), _library(1, *leaders))
    workers: tuple[Object, Object] = ({"metadata": {}}, {"spec": {"containers": [{"name": "vllm"}]}})
    files = (lws(2, one, base_refs="t") for one in workers)
    objects = [_stored(server, sent, None) for sent in files]
    for step in range(6):
        edit, parts = random.choice((*EDITS, None)), random.choice(PARTS)
        one, other = objects
        if isinstance(one, type) or isinstance(other, type):
            if one != other:
                yield f"{step}: {one} and {other}"
            return
        if found := [*difference(*(compared(each, LIST_KEYS)["spec"] for each in (one, other)))]:
            yield f"{step}: {found[:3]}"
            return
        if edit is None:
            server = Server(Engine(), server.other, _library(step + 2, *leaders))
            sent = [merge(each, {"metadata": {"annotations": {REFRESH: str(step)}}}) for each in (one, other)]
        else:
            value = random.choice(edit)
            sent = [_edited(each, parts, value) for each in (one, other)]
        objects = [_stored(server, *pair) for pair in zip(sent, (one, other), strict=True)]


@pytest.mark.parametrize("number", range(SEQUENCES))
def test_an_edit_of_a_template_s_container_is_like_one_of_the_author_s(number: int) -> None:
    assert [*_differences(number)] == []
