"""InferenceServices on the real API server: its own rules, and our webhook behind them."""

import json
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from fusioninfer.lint import documents
from intent import Object
from intent.annotations import EXPANSION
from intent.inferenceservice.members import leader_worker_sets
from intent.inferenceservice.read import read
from tests.builders.documents import read_files
from tests.builders.examples import services
from tests.builders.isvc import decoder, isvc, prefiller, router, worker
from tests.builders.lws import changed
from tests.cluster.testbed.api import ApiError, create, get, path, refusal
from tests.cluster.testbed.cluster import Cluster, run_kubectl
from tests.cluster.testbed.wait import until

GOLDEN: Final = Path(__file__).parents[1] / "golden"
STORIES: Final = sorted(GOLDEN.glob("isvc-*/expected.yaml"))


@pytest.fixture
def served(admission: Cluster) -> Cluster:
    """The cluster, once it serves InferenceServices."""
    listed = partial(get, admission.api, path("inferenceservices"))
    until(lambda: not refusal(listed), "InferenceServices are served")
    return admission


def test_the_services_of_the_examples_are_admitted_without_warnings(served: Cluster, namespace: str) -> None:
    """A service in two files waits for its second file: that is said of the first (FI410)."""
    for files in services().values():
        named = (word for file in files for word in ("-f", str(file)))
        done = run_kubectl(served, "apply", "--dry-run=server", "--namespace", namespace, *named)
        waits = "(FI410)" if len(files) > 1 else "no code"

        assert (done.returncode, [one for one in done.stderr.splitlines() if waits not in one]) == (0, [])


def service_of(story: Path) -> documents.Document:
    """Return the InferenceService of a story; other objects may be beside it."""
    read_all = read_files([str(story.parent / "input.yaml")])
    (document,) = (one for one in read_all if one.object["kind"] == "InferenceService")
    return document


def test_stories_are_stored_as_their_authors_wrote_them_and_their_members_are_expanded(
    served: Cluster, namespace: str
) -> None:
    for story in STORIES:
        written = service_of(story).object
        stored = create(served.api, path("inferenceservices", namespace), written, dryRun="All")
        assert stored["spec"] == written["spec"], story

        service, _ = read(written)
        assert service is not None
        for lws in leader_worker_sets(service):
            member = create(served.api, path("leaderworkersets", namespace), lws, dryRun="All")
            assert EXPANSION in member["metadata"]["annotations"], story


@pytest.mark.parametrize(
    "broken",
    [
        isvc(worker(), worker(name="second")),
        isvc(prefiller()),
        isvc(prefiller(), decoder(), worker()),
        isvc(worker(), router(), router(name="second")),
        isvc(router(strategy="pd-disaggregation"), worker()),
        isvc(router(replicas=1), worker()),
        isvc(worker(strategy="queue-size")),
        isvc(worker(endpointPickerConfig="a: b")),
        isvc(worker(template=None)),
    ],
)
def test_roles_that_make_no_service_are_refused(served: Cluster, broken: Object) -> None:
    ((error),) = [one for one in read(broken)[1] if one.severity == "error"]

    with pytest.raises(ApiError) as refused:
        create(served.api, path("inferenceservices", "default"), broken)

    assert f"{error.message} ({error.code})" in refused.value.body["message"]


def test_the_webhook_reports_errors_of_the_members(served: Cluster, namespace: str) -> None:
    broken = changed(isvc(name="broken"), "spec.roles.0.template.spec.schedulerName", "mine")

    with pytest.raises(ApiError) as refused:
        create(served.api, path("inferenceservices", namespace), broken)

    details = refused.value.body["details"]
    assert (details["kind"], details["name"]) == ("InferenceService", "broken")
    assert [cause["field"] for cause in details["causes"]] == ["spec.roles[0].template.spec.schedulerName"]


def test_an_earlier_name_is_accepted_with_a_warning(served: Cluster, namespace: str) -> None:
    earlier = isvc(worker(multinode=None, podReplicas=2))

    command = ("create", "--namespace", namespace, "--filename=-")
    told = run_kubectl(served, *command, stdin=json.dumps(earlier)).stderr

    assert (
        "Warning: FI750: is an earlier name; use multinode.nodeCount: 2 [spec.roles[0].podReplicas]" in told
    )


def test_a_null_is_an_absent_field(served: Cluster, namespace: str) -> None:
    null = changed(isvc(), "spec.roles.0.strategy", "x")
    null["spec"]["roles"][0]["strategy"] = None

    stored = create(served.api, path("inferenceservices", namespace), null)

    assert "strategy" not in stored["spec"]["roles"][0]
    assert read(null) == read(isvc())
