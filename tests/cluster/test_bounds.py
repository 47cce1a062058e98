"""The API server with our webhook accepts and refuses the same values as the check of files, at the bounds of
each field; and it accepts the LeaderWorkerSets that the controller makes of an accepted service.

What it refuses of an Ingress or an autoscaler beyond their schemas, a dry run finds (`test_rules.py`).
"""

from random import Random
from typing import Final

import pytest

from fusioninfer.lint.documents import Document
from fusioninfer.lint.offline import Composition, compose
from intent import Object, yaml
from intent.inferenceservice.crd import schema
from intent.lws import KIND
from tests.builders.bounds import Place, fields, values, with_field
from tests.builders.isvc import decoder, isvc, prefiller, router
from tests.cluster.testbed.api import ApiError, create, path
from tests.cluster.testbed.cluster import Cluster
from tests.tiers import count
from webhook.expand import DEFAULTS

SAMPLE: Final = count("BOUNDS")
"""Values of one seed."""
ROLES: Final = schema()["properties"]["spec"]["properties"]["roles"]
SERVICES: Final = {
    0: isvc(decoder(), prefiller(), router()),
    1: isvc(router(httproute={"parentRefs": [{"name": "g"}]}), decoder(), prefiller()),
}
"""By seed: a role of each kind is the first one."""
UNREAD: Final = frozenset({"baseRefs"})
"""Fields with names of other objects, which a file must have beside it."""


def refusal(cluster: Cluster, resource: str, namespace: str, obj: Object) -> str:
    try:
        create(cluster.api, path(resource, namespace), obj, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return "" if error.body.get("reason") == "AlreadyExists" else str(error)
    return ""


def checked(service: Object) -> Composition:
    """Check a service as a file that kubectl can read."""
    (read,) = yaml.load(yaml.dump(service))
    return compose([Document("f", 1, read)], DEFAULTS)


def sampled(seed: int) -> list[tuple[Place, object]]:
    found = [
        (place, value)
        for place, one in fields(ROLES["items"])
        if place[0] not in UNREAD
        for value in values(one)
    ]
    return Random(seed).sample(found, min(SAMPLE, len(found)))  # noqa: S311 - a seeded test


@pytest.mark.parametrize("seed", SERVICES)
def test_both_accept_the_same_values(admission: Cluster, namespace: str, seed: int) -> None:
    different = []
    for place, value in sampled(seed):
        base = SERVICES[seed]
        roles = with_field(base["spec"]["roles"], ROLES, (0, *place), value)
        service = {**base, "spec": {**base["spec"], "roles": roles}}
        found = checked(service)
        refused = refusal(admission, "inferenceservices", namespace, service)
        made = [] if found.count("error") else [one for one in found.objects if one["kind"] == KIND]
        below = [refusal(admission, "leaderworkersets", namespace, placed(one, namespace)) for one in made]
        if bool(found.count("error")) != bool(refused) or any(below):
            different.append(f"{place} {str(value)[:40]}: {refused[:300]} {[one[:300] for one in below]}")

    assert different == []


def placed(obj: Object, namespace: str) -> Object:
    """Return an object as its controller writes it, without the owner, which does not exist."""
    metadata = {key: one for key, one in obj["metadata"].items() if key != "ownerReferences"}
    return {**obj, "metadata": {**metadata, "namespace": namespace}}
