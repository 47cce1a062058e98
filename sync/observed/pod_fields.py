"""The fields of a pod that its projection reads; the others are skipped while a pod is parsed.

A service has many more pods than other objects, and of each pod less than a tenth is read. A pod in which one
of these fields has another type is parsed as a whole: the projection decides how to treat it.
"""

from typing import Annotated, Final, TypedDict

from msgspec import Meta, Raw

from kube.wire import partial_reader

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""The largest type of a number in the Kubernetes API."""
_OwnedFields = TypedDict("_OwnedFields", {"f:spec": Raw}, total=False)


class _FieldManager(TypedDict, total=False):
    """An entry of `managedFields`; whether it has fields of the spec is enough."""

    manager: str
    operation: str
    fieldsV1: _OwnedFields


class _Owner(TypedDict, total=False):
    kind: str
    name: str
    uid: str
    controller: bool


class _Metadata(TypedDict, total=False):
    namespace: str
    name: str
    uid: str
    resourceVersion: str
    deletionTimestamp: str
    labels: dict[str, str]
    annotations: dict[str, str]
    ownerReferences: list[_Owner]
    managedFields: list[_FieldManager]


class _Resources(TypedDict, total=False):
    limits: dict[str, str]
    requests: dict[str, str]


class _Container(TypedDict, total=False):
    resources: _Resources


class _InitContainer(TypedDict, total=False):
    name: str
    image: str


class _Spec(TypedDict, total=False):
    nodeName: str
    containers: list[_Container]
    initContainers: list[_InitContainer]


class _Condition(TypedDict, total=False):
    type: str
    status: str
    message: str


class _Waiting(TypedDict, total=False):
    reason: str
    message: str


class _Terminated(TypedDict, total=False):
    reason: str
    exitCode: Int64


class _State(TypedDict, total=False):
    waiting: _Waiting


class _LastState(TypedDict, total=False):
    terminated: _Terminated


class _ContainerStatus(TypedDict, total=False):
    name: str
    state: _State
    lastState: _LastState
    restartCount: Int64
    ready: bool


class _Status(TypedDict, total=False):
    phase: str
    reason: str
    message: str
    conditions: list[_Condition]
    initContainerStatuses: list[_ContainerStatus]
    containerStatuses: list[_ContainerStatus]


class _Pod(TypedDict, total=False):
    metadata: _Metadata
    spec: _Spec
    status: _Status


read_pod: Final = partial_reader(_Pod)
"""Parse a pod."""
