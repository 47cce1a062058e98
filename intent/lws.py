"""`Intent`: the fields of a LeaderWorkerSet that admission uses, parsed once (see `intent.read`).

Source: `leaderworkerset.x-k8s.io/v1` (LWS `api/leaderworkerset/v1`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Final, Literal

from intent import Object
from intent.annotations import REVISION, SLICE, Annotations
from intent.shapes import Later

TemplateField = Literal["leaderTemplate", "workerTemplate"]
TEMPLATES: Final[tuple[TemplateField, ...]] = ("leaderTemplate", "workerTemplate")

API_VERSION: Final = "leaderworkerset.x-k8s.io/v1"
KIND: Final = "LeaderWorkerSet"
LWT: Final = "spec.leaderWorkerTemplate"


HASH: Final = re.compile(r"[0-9a-f]{8,40}")
LATER_SLICE: Final = re.compile(r"[1-9][0-9]{0,2}")
"""The number of a slice after the first one, which is 0."""


def read_revision(labels: Object) -> str:
    """Return the revision of the DisaggregatedSet that made an object; empty if none did.

    A revision is a hash (LWS `pkg/utils/disaggregatedset`, `ComputeRevision`); after slice 0, each slice has
    its own: `<slice>.<hash>`. Other values are ignored: the PodGroup is named after it.
    """
    value, part = labels.get(REVISION), labels.get(SLICE)
    if not (isinstance(value, str) and HASH.fullmatch(value)):
        return ""
    return f"{part}.{value}" if isinstance(part, str) and LATER_SLICE.fullmatch(part) else value


@dataclass(frozen=True, slots=True)
class Accelerators:
    """Accelerators that one pod requests: resource, count, and whether a claim (DRA) hides the count."""

    resource: str = ""
    count: int = 0
    claimed: bool = False


NO_ACCELERATORS: Final = Accelerators()


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe or lifecycle hook: its field (`readinessProbe` …), handler (`httpGet` …) and port."""

    field: str
    handler: str = ""
    port: int | str = 0
    path: str = ""


NOT_ACCELERATED: Final[Later[bool]] = Later(bool)


@dataclass(frozen=True, slots=True)
class Pod:
    """What validators read of a pod template outside of the engine container."""

    host_network: bool = False
    containers: tuple[str, ...] = ()
    """The names of the containers, in order."""
    host_dns: bool = True
    """Whether names of the cluster resolve: with hostNetwork not by default."""
    fabric: bool = False
    """Whether its nodes share the accelerators' network: its node selector or affinity names an NVL72."""
    accelerated: Later[bool] = NOT_ACCELERATED
    """Whether any container requests an accelerator."""
    lacking: tuple[tuple[str, str, str], ...] = ()
    """What its containers use and it lacks (`intent.container.lacking`)."""


NO_EXTENDED: Final[Later[tuple[str, ...]]] = Later(tuple)
NO_POD: Final = Later(Pod)


@dataclass(frozen=True, slots=True)
class Engine:
    """The container that runs the engine, as written by its author."""

    container: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    accelerators: Accelerators = Accelerators()
    variables: tuple[tuple[str, str | None], ...] = ()
    """Environment variables that command or args refer to as `$(X)`; None if the value is not literal."""
    env: tuple[str, ...] = ()
    ports: tuple[tuple[int, str], ...] = ()
    http: int = 0
    """The port named `http`; 0 if there is none."""
    mounts: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    hooks: tuple[Probe, ...] = ()
    """Lifecycle hooks that connect to a port: `postStart`, `preStop`."""
    pull_policy: str = ""
    security: str = ""
    """The fields of its securityContext that an injected container copies, as JSON."""
    values: tuple[tuple[str, str], ...] = ()
    """Literal values of some environment variables (`intent.container.WATCHED`)."""
    extended: Later[tuple[str, ...]] = NO_EXTENDED
    """Extended resources that are not known to be accelerators."""
    memory_limit: int = 0
    """In bytes; 0 without one."""
    index: int = 0
    model_mounts: tuple[str, ...] = ()
    """The paths at which it mounts the volume of the model, which its author may bring (`intent.model`)."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a pod; read only if it gets a sidecar."""

    taken: tuple[int, ...] = ()
    """The container ports of all containers."""
    named: tuple[tuple[str, int], ...] = ()
    """The named ports of the engine, which probes may refer to."""
    proxy: str = ""
    """The field path of a container of the author's with the name of the sidecar."""
    behind: int = 0
    """The port at which that container calls the engine, if it is as admission writes it; else 0."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The move of the engine's API to another port: a sidecar serves on the original one."""

    port: int
    to: int


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template of the object, or one that admission will add."""

    field: TemplateField
    engine: Engine | None = None
    scheduler_name: str = ""
    group_name: str = ""
    task_spec: str = ""
    emptied: tuple[str, ...] = ()
    """Those of the three that its author wrote as an empty text: then the pods are in no gang."""
    labels: tuple[tuple[str, str], ...] = ()
    """The author's labels under fusioninfer.io/."""
    host_ipc: bool = False
    taken: tuple[str, ...] = ()
    """Volumes named like our `/dev/shm` volume that are not in memory, or that containers only mount."""
    memory: tuple[str, ...] = ()
    """Volumes named like it that are in memory, and are used as they are."""
    ports: Ports = Ports()
    proxied: int = 0
    """The `--port` of a sidecar that its author wrote under the name of ours; 0 if there is none."""
    pod: Later[Pod] = NO_POD
    made: bool = False
    """Whether admission copies it from the worker template (`webhook.layout`)."""
    downloads: tuple[str, ...] | None = None
    """The arguments of the author's own init container `storage-initializer`; None if there is none."""
    moved: Moved | None = None
    """Set if the engine's arguments were changed for a sidecar (`webhook.move`)."""
    filled: Mapping[int, str] = attribute(default_factory=dict, hash=False)
    """The annotation of each argument that a block added, by its index in the command (`webhook.blocks`)."""
    requested: Accelerators = NO_ACCELERATORS
    """The accelerators that a block requests for the engine, which requests none itself."""

    @property
    def path(self) -> str:
        """Its field path in the LeaderWorkerSet; for an added template, that of the worker template."""
        return f"{LWT}.{'workerTemplate' if self.made else self.field}"

    @property
    def engine_path(self) -> str:
        """The field path of its engine container."""
        return f"{self.path}.spec.containers[{self.engine.index if self.engine else 0}]"


@dataclass(frozen=True, slots=True)
class Intent(Annotations):
    """One LeaderWorkerSet: its annotations and relevant fields. Mutators and validators see nothing else."""

    size: int = 1
    startup_policy: str = "LeaderCreated"
    """The API's default, so that a file and the stored object are the same input."""
    exclusive_topology: str = ""
    own_scheduling: bool = False
    kueue_queue: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    templates: tuple[Template, ...] = ()
    probed: bool = False
    """Whether an engine has probes, or hooks that connect to a port."""
    name: str = ""
    replicas: int = 1
    restart_policy: str = ""
    """The restart policy of the group: LWS's action when one of its pods restarts."""
    kueue_path: str = ""
    """The field path of the Kueue queue: a label or an annotation."""
    revision: str = ""
    """That of its DisaggregatedSet at CREATE."""
