"""A LeaderWorkerSet read into an `Intent`: what its author wrote that matters to us, parsed once.

Shapes are those of `leaderworkerset.x-k8s.io/v1` (LWS `api/leaderworkerset/v1`). Reading never raises:
what has the wrong shape becomes a `FieldError`, and the rest is read all the same.
"""

from dataclasses import dataclass, field
from dataclasses import field as _field
from typing import Final, Literal

from intent.annotations import NOT_DIGESTED, Annotations

TemplateField = Literal["leaderTemplate", "workerTemplate"]

API_VERSION: Final = "leaderworkerset.x-k8s.io/v1"
KIND: Final = "LeaderWorkerSet"
LWT: Final = "spec.leaderWorkerTemplate"


@dataclass(frozen=True, slots=True)
class Accelerators:
    """What one pod asks for: the resource's name, how many, and whether a claim (DRA) hides the number."""

    resource: str = ""
    count: int = 0
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe that exists: its field (`readinessProbe` …), how it asks (`httpGet` …) and on which port."""

    field: str
    handler: str = ""
    port: int | str = 0


@dataclass(frozen=True, slots=True)
class Pod:
    """What a pod template says beside its engine, of which some is not good for a group. Only looked at."""

    host_network: bool = False
    shared_processes: bool = False
    """`shareProcessNamespace`, or `hostPID`."""
    grace: int = 30
    """`terminationGracePeriodSeconds`; 30 is the API's default."""
    containers: tuple[str, ...] = ()
    """Their names, in order."""
    accelerated: bool = False
    """Whether any container asks for an accelerator."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The container that runs the engine, as its author wrote it."""

    container: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    accelerators: Accelerators = Accelerators()
    variables: tuple[tuple[str, str | None], ...] = ()
    """Environment variables that command or args name as `$(X)`; None where the value is not literal."""
    env: tuple[str, ...] = ()
    ports: tuple[tuple[int, str], ...] = ()
    mounts: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    hooks: tuple[Probe, ...] = ()
    """Hooks of its lifecycle that call a port: `postStart`, `preStop`."""
    pull_policy: str = ""
    security: str = ""
    """Of its securityContext what a container beside it needs too, as JSON."""
    values: tuple[tuple[str, str], ...] = field(default=(), metadata=NOT_DIGESTED)
    """Literal values of some environment variables (`intent.container.WATCHED`)."""
    unasked: tuple[str, ...] = field(default=(), metadata=NOT_DIGESTED)
    """Which of CPU and memory it does not ask for."""
    extended: tuple[str, ...] = field(default=(), metadata=NOT_DIGESTED)
    """Extended resources that are not known as accelerators, and may be some."""
    read_only: bool = field(default=False, metadata=NOT_DIGESTED)
    """`readOnlyRootFilesystem`."""
    index: int = field(default=0, metadata=NOT_DIGESTED)


@dataclass(frozen=True, slots=True)
class Ports:
    """What a sidecar must know of the ports in a pod. Read only where there will be one."""

    taken: tuple[int, ...] = ()
    """Container ports, of all containers."""
    named: tuple[tuple[str, int], ...] = ()
    """Those of the engine that have a name, which probes may use."""
    proxy: str = ""
    """The field path of a container that has the sidecar's name already."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Where the engine's API goes to make room, and where it was: a sidecar answers there now."""

    port: int
    to: int


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template that there is, or that there will be."""

    field: TemplateField
    engine: Engine | None = None
    scheduler_name: str = ""
    group_name: str = ""
    task_spec: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels under fusioninfer.io/ that its author wrote."""
    host_ipc: bool = False
    taken: tuple[str, ...] = ()
    """Volumes that are named as our `/dev/shm` would be, and are something else."""
    ports: Ports = Ports()
    pod: Pod = _field(default=Pod(), metadata=NOT_DIGESTED)
    made: bool = _field(default=False, metadata=NOT_DIGESTED)
    """Whether it is not there yet, and is made from the workers' (`webhook.launchers.templates.foreseen`)."""
    moved: Moved | None = _field(default=None, metadata=NOT_DIGESTED)
    """Set where the engine's words are not its author's any more (`webhook.launchers.sidecar`)."""

    @property
    def path(self) -> str:
        """Its field path in the LeaderWorkerSet; of one that is made, that of the workers'."""
        return f"{LWT}.{'workerTemplate' if self.made else self.field}"

    @property
    def engine_path(self) -> str:
        """The field path of its engine container."""
        return f"{self.path}.spec.containers[{self.engine.index if self.engine else 0}]"


@dataclass(frozen=True, slots=True)
class Intent(Annotations):
    """One LeaderWorkerSet: its annotations and relevant fields. Mutators and validators see nothing else."""

    sidecar: bool = False
    """`wants_sidecar`, as a field because the digest covers it."""
    picker: str = ""
    """The endpoint picker generation of that sidecar, if its author chose one."""
    size: int = 1
    startup_policy: str = "LeaderCreated"
    """The API's default, so that a file and what is stored of it are one input."""
    exclusive_topology: str = ""
    own_scheduling: bool = False
    kueue_queue: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    templates: tuple[Template, ...] = ()
    name: str = field(default="", metadata=NOT_DIGESTED)
    replicas: int = field(default=1, metadata=NOT_DIGESTED)
    restart_policy: str = field(default="", metadata=NOT_DIGESTED)
    """Of the group: what LWS does when one of its pods restarts."""
    subgroup_size: int = field(default=0, metadata=NOT_DIGESTED)

    def __hash__(self) -> int:
        """Hash its names alone: what is looked up most often is the very same Intent, many times a review."""
        return hash((self.service, self.role_name, self.name))
