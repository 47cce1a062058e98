"""The objects that an uninstallation deletes: all of ours but two kinds, and the controller first."""

from hack.manifests.objects import objects
from hack.manifests.uninstall import KEPT, deleted


def named() -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"]["name"]) for each in deleted()]


def test_it_deletes_every_object_without_a_namespace_but_those_that_users_need() -> None:
    folders = ("base", "cert-manager", "self-signed", "ownership", "templates", "monitoring")
    found = {
        (each["kind"], each["metadata"]["name"])
        for each in objects(*folders)
        if "namespace" not in each["metadata"]
    }

    assert {one for one in named() if one[0] != "Deployment"} == found - KEPT


def test_the_controller_stops_first_and_what_refuses_writes_goes_before_what_answers() -> None:
    kinds = [kind for kind, _ in named()]
    configurations = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    places = [kinds.index(kind) for kind in ("ValidatingAdmissionPolicy", *configurations, "Namespace")]

    assert named()[0] == ("Deployment", "fusioninfer-sync")
    assert places == sorted(places)
