"""Requests to the API server as plain values, which `kube.client` sends."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from intent import Object

FIELD_MANAGER: Final = "fusioninfer"
KEEPER: Final = "fusioninfer-let-go"
"""The field manager of fields that were released and have no other manager yet, so they keep their value."""
PAGE: Final = 100
"""Objects on one page of a list. Their JSON is dropped once it is parsed, but a process never gives back the
memory that its largest page took."""
Verb = Literal["get", "list", "watch", "create", "update", "patch", "amend", "apply", "delete"]
METHODS: Final[Mapping[Verb, str]] = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "amend": "PATCH",
    "apply": "PATCH",
    "delete": "DELETE",
}
CONTENT_TYPES: Final[Mapping[Verb, str]] = {
    "patch": "application/merge-patch+json",
    "amend": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its verb, path, query and body."""

    verb: Verb
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Object | list[Object] | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return METHODS[self.verb]

    @property
    def content_type(self) -> str:
        """The content type of the body; JSON is YAML too, so an apply patch may be JSON."""
        return CONTENT_TYPES.get(self.verb, "application/json")


def get(path: str) -> Request:
    """Read one object."""
    return Request("get", path)


def page(path: str, selector: str, fields: str, token: str, most: int) -> Request:
    """List at most so many objects, by labels and fields; `token` continues after the previous page."""
    query = {"labelSelector": selector, "fieldSelector": fields, "limit": str(most), "continue": token}
    return Request("list", path, _given(**query))


def watch(path: str, selector: str, version: str, seconds: int) -> Request:
    """Watch changes after `version`, with bookmarks, for at most `seconds`."""
    return Request(
        "watch",
        path,
        _given(
            watch="1",
            allowWatchBookmarks="true",
            labelSelector=selector,
            resourceVersion=version,
            timeoutSeconds=str(seconds),
        ),
    )


def create(path: str, obj: Object, *, dry_run: bool = False, manager: str = FIELD_MANAGER) -> Request:
    """Create an object; 409 if one of that name exists."""
    query = {"fieldManager": manager}
    return Request("create", path, query | _given(dryRun="All" if dry_run else ""), obj)


def update(path: str, obj: Object) -> Request:
    """Replace an object; 409 if its resourceVersion is not the stored one."""
    return Request("update", path, {"fieldManager": FIELD_MANAGER}, obj)


def apply(path: str, obj: Object, *, dry_run: bool = False, manager: str = FIELD_MANAGER) -> Request:
    """Apply server-side, with force: `manager` takes over the fields of the object (KEP-555)."""
    query = {"fieldManager": manager, "force": "true"}
    return Request("apply", path, query | _given(dryRun="All" if dry_run else ""), obj)


def patch(path: str, body: Object, *, dry_run: bool = False, manager: str = FIELD_MANAGER) -> Request:
    """Merge a patch (RFC 7386); null removes a field, whatever its manager."""
    query = {"fieldManager": manager}
    return Request("patch", path, query | _given(dryRun="All" if dry_run else ""), body)


def amend(path: str, operations: list[Object]) -> Request:
    """Change an object by a JSON patch (RFC 6902); 422 if one of its tests fails."""
    return Request("amend", path, {"fieldManager": FIELD_MANAGER}, operations)


def delete(path: str, uid: str, version: int) -> Request:
    """Delete an object if its uid and version are still the ones that were read; 409 otherwise.

    `version` is its resourceVersion; 0 if it is unknown.
    """
    preconditions = {"uid": uid} | _given(resourceVersion=str(version or ""))
    body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
    return Request("delete", path, {}, body)


def within(request: Request, seconds: float) -> Request:
    """Add a deadline that the API server enforces (`k8s.io/apiserver` `request_deadline.go`)."""
    return replace(request, query={**request.query, "timeout": f"{math.ceil(seconds * 1000)}ms"})


def _given(**query: str) -> dict[str, str]:
    return {key: value for key, value in query.items() if value}
