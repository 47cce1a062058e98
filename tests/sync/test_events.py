"""Events name the object that they are about, and keep their own names from release to release."""

from intent.errors import FieldError, Subject
from intent.service import Finding
from sync.events import event, event_name
from tests.sync.samples import prefill

ERROR = FieldError("spec.roles", None, "service r1 waits for a decoder", "FI410")
SERVICE = Subject("fusioninfer.io/v1alpha1", "InferenceService", "team-a", "r1", "uid-r1")


def test_the_name_of_an_event_stays_the_same() -> None:
    finding = Finding(prefill().subject, ERROR)

    assert event_name(finding) == "p.af4265ed7dd158e7"


def test_an_event_is_about_its_subject() -> None:
    told = event(Finding(SERVICE, ERROR), "r1.0")

    assert told["involvedObject"] == {
        "apiVersion": "fusioninfer.io/v1alpha1",
        "kind": "InferenceService",
        "namespace": "team-a",
        "name": "r1",
        "uid": "uid-r1",
    }
