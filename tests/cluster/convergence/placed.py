"""Objects of a simulation in a cluster, and back: they have another name and namespace there.

The simulation's is `llm/x`. Name and namespace stand in three annotations too: the file of the last
client-side apply, and the release of Helm. The record names the templates that were read, with their uids.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from intent import Object
from intent.annotations import EXPANSION
from tests.cluster.convergence.library import unplaced
from tests.cluster.convergence.servers import Servers
from tests.laws.convergence.clients import RELEASE_NAME, RELEASE_NAMESPACE
from tests.laws.convergence.managed import LAST_APPLIED, Managers, managers_of

NAME: Final = "x"
NAMESPACE: Final = "llm"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object is written, and by which servers' clients."""

    servers: Servers
    namespace: str
    name: str

    @property
    def folder(self) -> Path:
        """The folder of its clients' files."""
        folder = self.servers.folder / f"{self.namespace}-{self.name}"
        folder.mkdir(exist_ok=True)
        return folder


def placed(lws: Object, place: Place) -> Object:
    """Return an object of the simulation as it is written in a cluster."""
    return _renamed(lws, place.name, place.namespace)


def written(stored: Object) -> Object:
    """Return the part of a stored object that its writers determine, as the simulation has it.

    It leaves out what the API server adds: uid, versions, times, owners of fields (`owners`), status; and of
    the record what identifies templates.
    """
    metadata = stored["metadata"]
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    return _renamed({"metadata": kept, "spec": stored["spec"]}, NAME, NAMESPACE)


def owners(stored: Object) -> Managers:
    """Return the owners of the fields, without LWS's controller, which writes the status."""
    entries = [
        one for one in stored["metadata"].get("managedFields", ()) if one.get("subresource") != "status"
    ]
    return managers_of({"metadata": {"managedFields": entries}})


def _renamed(lws: Object, name: str, namespace: str) -> Object:
    metadata: dict[str, Any] = {**lws["metadata"], "name": name, "namespace": namespace}
    annotations = dict(metadata.get("annotations", {}))
    if LAST_APPLIED in annotations:
        file = _renamed(orjson.loads(annotations[LAST_APPLIED]), name, namespace)
        annotations[LAST_APPLIED] = orjson.dumps(file, option=orjson.OPT_SORT_KEYS).decode()
    if EXPANSION in annotations:
        annotations[EXPANSION] = unplaced(annotations[EXPANSION])
    for key, value in ((RELEASE_NAME, name), (RELEASE_NAMESPACE, namespace)):
        if key in annotations:
            annotations[key] = value
    if annotations:
        metadata["annotations"] = annotations
    return {**lws, "metadata": metadata}
