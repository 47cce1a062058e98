"""`fusioninfer refresh`: which objects have older templates, which restart, and what is written."""

import asyncio
import copy
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fusioninfer.cli import connection, main
from fusioninfer.cli.options import exit_unreadable
from fusioninfer.cluster.reader import Answer, NotFoundError, UnreachableError
from intent import Object
from intent.settings import Settings
from kube.client import ApiError
from kube.request import Request
from sync.kinds import INFERENCE_SERVICE, LWS, templates
from tests.builders.lws import lws
from tests.builders.templates import template
from webhook.expand import expanded

SHARED = "fusioninfer-system"
REFRESH = "fusioninfer.io/refresh"
A = LWS.path("llm", "a")
SERVICE = INFERENCE_SERVICE.path("llm", "svc")


@dataclass(slots=True)
class Cluster:
    """A cluster in memory, with admission; in place of the reader of the command."""

    objects: dict[str, Object] = field(default_factory=dict)
    refuses: str = ""
    fails: list[Exception] = field(default_factory=list)
    """The errors of the next writes that are no dry runs."""
    is_unknown: bool = False
    """Whether LeaderWorkerSets cannot be listed."""
    writes: list[str] = field(default_factory=list)

    async def reach(self) -> Object:
        return {}

    async def every(self, path: str) -> Answer:
        home, _, plural = path.rpartition("/")
        if self.is_unknown:
            return Answer(unknown="403 Forbidden")
        home = home if "/namespaces/" in path else ""
        found = (one for at, one in self.objects.items() if f"/{plural}/" in at and at.startswith(home))
        return Answer(tuple(found))

    async def send(self, request: Request) -> Object:
        if self.refuses:
            raise ApiError(422, {"reason": "Invalid", "message": self.refuses})
        if self.fails and "dryRun" not in request.query:
            raise self.fails.pop(0)
        assert isinstance(request.body, dict)
        found = copy.deepcopy(self.objects[request.path])
        uid = found["metadata"].get("uid")
        if request.body["metadata"].get("uid", uid) != uid:
            raise ApiError(422, {"reason": "Invalid", "message": "metadata.uid: field is immutable"})
        found["metadata"].setdefault("annotations", {}).update(request.body["metadata"]["annotations"])
        found = self.admitted(found)
        if "dryRun" not in request.query:
            self.objects[request.path] = found
            self.writes.append(request.path)
        return found

    def admitted(self, obj: Object) -> Object:
        there = {
            at.rpartition("/")[2]: one for at, one in self.objects.items() if "/inferencetemplates/" in at
        }
        return expanded(obj, Settings(), there) if obj["kind"] == "LeaderWorkerSet" else obj

    def put_template(self, priority: str = "models", generation: int = 1, namespace: str = "llm") -> None:
        found = template({"template": {"spec": {"priorityClassName": priority}}}, namespace=namespace)
        found["metadata"] |= {"uid": "uid", "generation": generation}
        self.objects[templates(SHARED).path(namespace, "base")] = found

    def put(self, name: str, owner: Object | None = None, refs: str = "base", service: str = "svc") -> None:
        found = lws(service=service)
        found["metadata"] |= {"name": name, "namespace": "llm", "uid": f"uid-{name}"}
        found["metadata"]["annotations"]["fusioninfer.io/base-refs"] = refs
        if owner:
            found["metadata"]["ownerReferences"] = [{"controller": True, **owner}]
        self.objects[LWS.path("llm", name)] = self.admitted(found)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Make a cluster with one template and one object that names it."""
    there = Cluster()
    there.put_template()
    there.put("a")

    def read(_cluster: connection.Cluster, reading: Any) -> Any:
        try:
            return asyncio.run(reading(there))
        except (NotFoundError, UnreachableError) as error:
            exit_unreadable(error)

    monkeypatch.setattr(connection.Cluster, "read", read)
    return there


def run(*words: str, answer: str = "y") -> Result:
    return CliRunner().invoke(main, ["refresh", "-n", "llm", *words], input=f"{answer}\n")


def priority(there: Cluster, path: str = A) -> str:
    found: str = there.objects[path]["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"][
        "priorityClassName"
    ]
    return found


def test_an_object_with_the_templates_of_now_is_left_alone(cluster: Cluster) -> None:
    done = run()

    assert (done.exit_code, done.stdout, cluster.writes) == (0, "", [])
    assert "0 LeaderWorkerSets refreshed" in done.stderr


def test_a_dry_run_says_what_would_restart_and_writes_nothing(cluster: Cluster) -> None:
    cluster.put_template("newer", 2)

    done = run("--dry-run")

    assert (done.exit_code, cluster.writes) == (0, [])
    said = "llm/a: InferenceTemplate llm/base was changed (generation 1, now 2): its groups restart"
    assert done.stdout.strip() == said


def test_a_refresh_takes_the_template_and_a_second_one_does_nothing(cluster: Cluster) -> None:
    cluster.put_template("newer", 2)

    first, second = run(), run()

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert (priority(cluster), cluster.writes) == ("newer", [A])
    assert "its groups restart" in first.stdout


def test_templates_that_change_twice_in_a_second_are_taken_twice(cluster: Cluster) -> None:
    for generation, priorities in enumerate(("newer", "newest"), start=2):
        cluster.put_template(priorities, generation)
        run("--yes")

    assert (priority(cluster), cluster.writes) == ("newest", [A, A])


@pytest.mark.parametrize(
    ("words", "answer", "code", "writes"),
    [((), "n", 1, []), ((), "", 1, []), (("--yes",), "n", 0, [A]), (("-y", "-o", "json"), "n", 0, [A])],
    ids=["no", "nothing", "--yes", "JSON"],
)
def test_it_asks_before_it_writes(
    cluster: Cluster, words: tuple[str, ...], answer: str, code: int, writes: list[str]
) -> None:
    cluster.put_template("newer", 2)

    done = run(*words, answer=answer)

    assert (done.exit_code, cluster.writes) == (code, writes)
    assert ("Refresh 1 LeaderWorkerSet? The groups of 1 restart" in done.stderr) is (not words)


@pytest.mark.parametrize("word", ["svc", "isvc/svc", "lws/a"])
def test_one_service_is_refreshed_by_its_name(cluster: Cluster, word: str) -> None:
    cluster.put("b", service="other")
    cluster.put_template("newer", 2)

    done = run(word)

    assert (done.exit_code, cluster.writes) == (0, [A])


@pytest.mark.parametrize(("word", "says"), [("nope", "nope: not found"), ("pod/a", "pod/a: not found")])
def test_a_name_without_an_object_is_exit_code_2(cluster: Cluster, word: str, says: str) -> None:
    done = run(word)

    assert (done.exit_code, cluster.writes) == (2, [])
    assert says in done.stderr


def test_an_object_that_is_being_deleted_is_left_alone(cluster: Cluster) -> None:
    cluster.put_template("newer", 2)
    cluster.objects[A]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    done = run()

    assert (done.exit_code, done.stdout, cluster.writes) == (0, "", [])
    assert "0 LeaderWorkerSets refreshed" in done.stderr


def test_a_change_that_does_not_concern_the_object_restarts_nothing(cluster: Cluster) -> None:
    cluster.put_template("models", 2)

    assert "its pods stay as they are" in run("--dry-run").stdout


def test_only_what_names_a_template_is_refreshed(cluster: Cluster) -> None:
    cluster.put_template("newer", 2)

    assert run("--template", "other").stdout == ""
    assert run("--template", "base", "--dry-run").stdout.startswith("llm/a: ")


def test_a_template_of_the_namespace_comes_before_the_one_that_was_read(cluster: Cluster) -> None:
    del cluster.objects[templates(SHARED).path("llm", "base")]
    cluster.put_template(namespace=SHARED)
    cluster.put("a")
    assert run("--dry-run").stdout == ""

    cluster.put_template()

    assert f"{SHARED}/base was changed (generation 1, now 1 of llm/base)" in run("--dry-run").stdout


def test_the_roles_of_an_inferenceservice_are_refreshed_by_it_once(cluster: Cluster) -> None:
    cluster.objects[SERVICE] = {"kind": "InferenceService", "metadata": {"name": "svc", "namespace": "llm"}}
    del cluster.objects[A]
    for name in ("svc-prefill", "svc-decode"):
        cluster.put(name, {"kind": "InferenceService", "name": "svc"})
    cluster.put_template("newer", 2)

    done = run()

    assert (done.exit_code, cluster.writes) == (0, [SERVICE])
    assert REFRESH in cluster.objects[SERVICE]["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("owner", "gone", "refuses", "says"),
    [
        (None, True, "", "InferenceTemplate base does not exist: apply it, or correct the name"),
        ({"kind": "DisaggregatedSet", "name": "set"}, False, "", "change the template of the role there"),
        (None, False, "a variable has no value", "a variable has no value"),
    ],
    ids=["deleted", "DisaggregatedSet", "refused"],
)
def test_what_cannot_be_refreshed_is_said_with_the_remedy(
    cluster: Cluster, owner: Object | None, gone: object, refuses: str, says: str
) -> None:
    cluster.put("a", owner)
    cluster.put_template("newer", 2)
    if gone:
        del cluster.objects[templates(SHARED).path("llm", "base")]
    cluster.refuses = refuses

    done = run()

    assert (done.exit_code, cluster.writes) == (1, [])
    assert says in done.stdout


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ApiError(403, {"reason": "Forbidden", "message": "no right"}), "no right"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_write_that_fails_is_sent_once(cluster: Cluster, error: Exception, says: str) -> None:
    cluster.put_template("newer", 2)
    cluster.fails = [error] * 2

    done = run()

    assert (done.exit_code, len(cluster.fails)) == (1, 1)
    assert says in done.stdout


def test_another_object_of_the_name_is_not_refreshed(cluster: Cluster) -> None:
    made = {"name": "svc", "namespace": "llm", "uid": "newer"}
    cluster.objects[SERVICE] = {"kind": "InferenceService", "metadata": made}
    cluster.put("a", {"kind": "InferenceService", "name": "svc", "uid": "older"})
    cluster.put_template("newer", 2)

    done = run()

    assert (done.exit_code, cluster.writes) == (1, [])
    assert "metadata.uid: field is immutable" in done.stdout


def test_json_has_every_object(cluster: Cluster) -> None:
    cluster.put("b", {"kind": "DisaggregatedSet", "name": "set"})
    cluster.put_template("newer", 2)

    for word, refreshed in (("--dry-run", False), ("--yes", True)):
        done = run(word, "-o", "json")
        found = json.loads(done.stdout)
        row, other = found["leaderWorkerSets"]
        assert (done.exit_code, found["dryRun"], other["refreshed"]) == (1, word == "--dry-run", False)
        assert other["problem"].startswith("DisaggregatedSet set writes it")
        assert (row["name"], row["restarts"], row["refreshed"], row["problem"]) == ("a", True, refreshed, "")


def test_a_cluster_that_cannot_be_listed_is_unreadable(cluster: Cluster) -> None:
    cluster.is_unknown = True

    done = run()

    assert (done.exit_code, "cannot list leaderworkersets: 403" in done.stderr) == (2, True)


def test_what_admission_does_not_say_is_no_refresh(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"fusioninfer.io/expansion": "{"}
    monkeypatch.setattr(
        cluster.__class__, "admitted", lambda _, obj: obj | {"metadata": {"annotations": record}}
    )

    done = run()

    assert (done.exit_code, cluster.writes) == (1, [])
    assert "llm/a: cannot be refreshed: admission says nothing of its templates" in done.stdout
