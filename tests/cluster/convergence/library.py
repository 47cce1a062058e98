"""The InferenceTemplates of a sequence in its namespaces, and whether the webhook may read them there.

A step puts other templates into the namespace of B, or takes the webhook's right to read them there away. In
the namespace that expands are always those whose content the object got: the law compares with a CREATE.
"""

import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import orjson

from intent import Object
from intent.template import Templates
from tests.cluster.testbed.api import ApiError, create, delete, get, items, patch, path
from tests.cluster.testbed.cluster import Cluster
from tests.cluster.testbed.ours import SHARED
from tests.cluster.testbed.wait import until

RIGHT: Final = "fusioninfer-webhook-templates"
"""The ClusterRole of the webhook, and its binding."""
RBAC: Final = "rbac.authorization.k8s.io"
EVERYWHERE: Final = f"/apis/{RBAC}/v1/clusterrolebindings/{RIGHT}"
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
WEBHOOK: Final = {"kind": "ServiceAccount", "name": "fusioninfer-webhook", "namespace": SHARED}


@dataclass(slots=True)
class Library:
    """Templates by namespace. The webhook may read those of some namespaces."""

    cluster: Cluster
    readable: set[str] = field(default_factory=set)

    def put(self, namespace: str, templates: Templates | None) -> None:
        """Have these templates in a namespace, and no others; None takes the right to read them away."""
        self.grant(namespace, granted=templates is not None)
        if templates is None:
            return
        there = {one["metadata"]["name"]: one["spec"] for one in self._stored(namespace)}
        for name in there.keys() - templates.keys():
            delete(self.cluster.api, path("inferencetemplates", namespace, name))
        for name, one in templates.items():
            assert isinstance(one, dict)
            if name not in there:
                body = {**one, "metadata": {"name": name}}
                create(self.cluster.api, path("inferencetemplates", namespace), body)
            elif there[name] != one["spec"]:
                patch(self.cluster.api, path("inferencetemplates", namespace, name), {"spec": one["spec"]})

    def grant(self, namespace: str, *, granted: bool) -> None:
        """Let the webhook read the templates of a namespace, or not."""
        if granted == (namespace in self.readable):
            return
        where = path("rolebindings", namespace)
        if granted:
            create(self.cluster.api, where, _binding())
            self.readable.add(namespace)
        else:
            delete(self.cluster.api, f"{where}/{RIGHT}")
            self.readable.remove(namespace)
        self.wait(namespace, granted=granted)

    def wait(self, namespace: str, *, granted: bool) -> None:
        """Wait until the API server knows whether the webhook may read templates."""
        until(lambda: may_read(self.cluster, namespace) == granted, "the right of the webhook is known")

    def _stored(self, namespace: str) -> list[Object]:
        return items(self.cluster.api, path("inferencetemplates", namespace))


@contextmanager
def library_of(cluster: Cluster) -> Iterator[Library]:
    """Bind the webhook's right in namespaces, one by one, instead of everywhere, for a while."""
    everywhere = get(cluster.api, EVERYWHERE)
    delete(cluster.api, EVERYWHERE)
    library = Library(cluster)
    until(lambda: is_served(cluster), "templates are served")
    try:
        library.wait(SHARED, granted=False)
        library.grant(SHARED, granted=True)
        yield library
    finally:
        for namespace in tuple(library.readable):
            library.grant(namespace, granted=False)
        bare = {**everywhere, "metadata": {"name": RIGHT, "labels": everywhere["metadata"]["labels"]}}
        create(cluster.api, EVERYWHERE.rpartition("/")[0], bare)
        library.wait(SHARED, granted=True)


def is_served(cluster: Cluster) -> bool:
    """Return whether templates can be listed. The answer to the first request for a kind may be 429."""
    try:
        items(cluster.api, path("inferencetemplates", SHARED))
    except ApiError as error:
        if error.status == http.client.TOO_MANY_REQUESTS:
            return False
        raise
    return True


def may_read(cluster: Cluster, namespace: str) -> bool:
    """Return whether the webhook may get the templates of a namespace."""
    asked = {
        "namespace": namespace,
        "verb": "get",
        "group": "fusioninfer.io",
        "resource": "inferencetemplates",
    }
    user = f"system:serviceaccount:{SHARED}:{WEBHOOK['name']}"
    review = create(cluster.api, REVIEWS, {"spec": {"user": user, "resourceAttributes": asked}})
    allowed: bool = review["status"]["allowed"]
    return allowed


def unplaced(record: str) -> str:
    """Return a record without what another cluster has otherwise: what identifies templates.

    >>> unplaced('{"base":{"from":[["vllm","a","4f1c",3]]},"v":2}')
    '{"base":{"from":[["vllm","","",0]]},"v":2}'
    >>> unplaced('{"v":2}')
    '{"v":2}'
    """
    read = orjson.loads(record)
    base = read.get("base") if isinstance(read, dict) else None
    if not isinstance(base, Mapping):
        return record
    base = {**base, "from": [[name, "", "", 0] for name, *_ in base.get("from", ())]}
    return orjson.dumps(read | {"base": base}, option=orjson.OPT_SORT_KEYS).decode()


def _binding() -> Object:
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": RIGHT}
    return {"metadata": {"name": RIGHT}, "roleRef": role, "subjects": [WEBHOOK]}
