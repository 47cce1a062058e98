"""The launch of the engine over all pods of a group: its container, and what that needs in each pod.

No other mutator writes command and args.
"""

from typing import Final

from intent import Object
from intent.annotations import LAUNCHER, LORA, MODEL, NONE, PARALLELISM, STRATEGY
from intent.container import HOOKS, SIDE_CHANNEL
from intent.launch import Launch, has_tls
from intent.names import WAIT_FOR_LEADER
from intent.ranks import read_transfer
from intent.read import SHM as VOLUME
from intent.shapes import of_bytes
from intent.tree import COPY, DIGEST, Overlay
from webhook.launchers import LAUNCHERS
from webhook.launchers.launcher import POD_IP, Container
from webhook.layout import LAUNCH as LAUNCH_NAME
from webhook.layout import PROBES as PROBES_NAME
from webhook.layout import SPLIT as SPLIT_NAME
from webhook.layout import STARTUP as STARTUP_NAME
from webhook.layout import Input, misplaced, of_supervisor, startup_port
from webhook.mutate.concern import (
    COMMANDS,
    SIZE,
    Concern,
    Rule,
    for_engines,
    for_launches,
    in_engine,
    in_group,
    of_containers,
    of_probes,
    of_templates,
    union,
    unprivileged,
    values,
)
from webhook.mutate.concern import PROBES as PROBE_FIELDS

# --- the container ------------------------------------------------------------------------------------


@for_engines
def launch(launch: Launch, inputs: Input) -> Overlay:
    """Write command and args for the launcher, or only what blocks and a moved port change in them.

    Where a block or a sidecar changed the engine's command and args, those that no launcher writes are
    written too. The limit of accelerators is their request too: they cannot be overcommitted.
    """
    plan, template, engine, fields = inputs.plan, launch.template, launch.engine, dict[str, object]()
    container = LAUNCHERS[plan.launcher].write(launch, plan) if plan.rewritten else Container()
    is_changed = bool(template.moved or template.filled)
    for field, items, own in (
        ("command", container.command, engine.command),
        ("args", container.args, engine.args),
    ):
        if items is not None or is_changed:
            fields[field] = list(own if items is None else items) or None
    if container.ports and "port" not in inputs.intent.skip:
        fields["ports"] = [{"containerPort": port} for port in container.ports]
    if asked := template.requested.count:
        fields["resources"] = {"limits": {template.requested.resource: str(asked)}}
    return in_engine(engine, fields)


LAUNCH: Final = Concern(
    LAUNCH_NAME,
    launch,
    unit="launch",
    writes=of_containers(
        {
            **values("command", "args"),
            "ports": values("containerPort", "protocol", "name"),
            "resources": values("limits"),
        }
    ),
    replaces=frozenset({"command", "args"}),
    opt_out="set `fusioninfer.io/launcher: none`, or for the port alone `fusioninfer.io/skip: port`",
    rules=(
        Rule(
            "FI621",
            r"\.command|\.args",
            "starts one engine over all pods of the group, with what annotations such as parallelism ask "
            "for, and on the port behind its sidecar if there is one",
            (LAUNCHER, SIZE, STRATEGY, PARALLELISM, MODEL, LORA),
        ),
        Rule(
            "FI622",
            r"\.ports\[(?!82[0-9]{2}/)[0-9]+/TCP\]",
            "the pods of a group connect to the leader on it",
            (LAUNCHER, SIZE),
        ),
        Rule(
            "FI685",
            r"\.resources(?:\.limits(?:\[[^\]]+\])?)?",
            "each pod needs them for its share of the annotation parallelism, and requests none",
            (PARALLELISM,),
        ),
    ),
)


# --- the leader's template ----------------------------------------------------------------------------


def split(inputs: Input) -> Overlay:
    """Make the leader's template a copy of the workers'. The other mutators then write into both."""
    return in_group(
        {template.field: {COPY: "workerTemplate"} for template in inputs.layout.templates if template.made}
    )


SPLIT: Final = Concern(
    SPLIT_NAME,
    split,
    unit="launch",
    writes=of_templates(values(COPY, DIGEST)),
    opt_out="write a leaderTemplate of your own",
    rules=(
        Rule(
            "FI623",
            r"\.leaderTemplate",
            "leader and workers shared a template, and must differ",
            (*PROBE_FIELDS, "lifecycle", LAUNCHER, SIZE),
        ),
    ),
)


# --- the environment ----------------------------------------------------------------------------------

_ADDRESS: Final[Object] = {"name": SIDE_CHANNEL, "valueFrom": POD_IP}
"""Where NIXL is reached. The default is localhost, which no other pod can reach (vLLM `vllm/envs.py`)."""


@for_engines
def env(launch: Launch, inputs: Input) -> Overlay:
    """Set the variables. They come first in the list, so that the author's variables may refer to them."""
    plan = inputs.plan
    needed = [*(LAUNCHERS[plan.launcher].env(launch) if plan.rewritten else ())]
    is_alone = inputs.intent.size == 1 and plan.launcher != NONE
    is_read = (plan.rewritten or is_alone) and launch.command.engine == "vllm"
    transfer = read_transfer(launch) if is_read else None
    if transfer and any(name.startswith("Nixl") for name in transfer.connectors):
        needed.append(_ADDRESS)
    return in_engine(launch.engine, {"env": needed} if needed else {})


ENV: Final = Concern(
    "env",
    env,
    unit="launch",
    writes=of_containers({"env": values("name", "value", "valueFrom")}),
    skip="env",
    opt_out="set the variable yourself, or `fusioninfer.io/skip: env`",
    rules=(
        Rule(
            "FI631",
            r"\.env\[VLLM_NIXL_SIDE_CHANNEL_HOST\]",
            "NIXL advertises this address to other pods; its default is localhost, which they cannot reach",
            COMMANDS,
        ),
        Rule(
            "FI632",
            r"\.env\[VLLM_HOST_IP\]",
            "the address that vLLM advertises to the other pods; they must be able to reach it",
            (SIZE,),
        ),
        Rule(
            "FI633",
            r"\.env\[RAY_\w+\]",
            "the pods wait for each other; Ray's own 30 seconds are too short to pull an image",
            (SIZE,),
        ),
        Rule(
            "FI634",
            r"\.env\[TPU_MULTIHOST_BACKEND\]",
            "without it vLLM on TPUs starts no worker on other pods",
            (SIZE,),
        ),
    ),
)


# --- the leader's name --------------------------------------------------------------------------------

COMMAND: Final = ("sh", "-c", 'until getent hosts "$LWS_LEADER_ADDRESS"; do sleep 2; done')
"""It never exits with an error: LWS counts restarts of init containers too (LWS `pod_controller.go`)."""
LIMITS: Final = {"cpu": "100m", "memory": "256Mi"}
"""They default the requests, which quotas require, so a Guaranteed pod stays so. Spelled as LWS does."""


@for_launches
def dns(launch: Launch, inputs: Input) -> Overlay:
    """Add an init container that waits until the leader's name resolves: some engines look it up once.

    It has the engine's image, which the node pulls anyway, and its user.
    """
    engine = launch.engine
    if not LAUNCHERS[inputs.plan.launcher].resolves:
        return {}
    container: Overlay = {"name": WAIT_FOR_LEADER, "image": engine.image, "command": list(COMMAND)}
    if engine.pull_policy:
        container["imagePullPolicy"] = engine.pull_policy
    container["resources"] = {"limits": dict(LIMITS)}
    container["securityContext"] = unprivileged(engine)
    return {"spec": {"initContainers": [container]}}


_PATHS: Final = values("name", "image", "command", "imagePullPolicy", "resources", "securityContext")

DNS: Final = Concern(
    "dns",
    dns,
    unit="launch",
    writes=of_templates({"spec": {"initContainers": _PATHS}}),
    skip="dns",
    opt_out="set `fusioninfer.io/skip: dns`",
    rules=(
        Rule(
            "FI661",
            r"\.initContainers\[wait-for-leader\]",
            "the engine exits, and the group restarts, if the leader's name is not in DNS yet",
            (SIZE,),
        ),
    ),
)


# --- shared memory ------------------------------------------------------------------------------------

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a path in the container


@for_launches
def shm(launch: Launch, _inputs: Input) -> Overlay:
    """Mount memory at /dev/shm, unless something is mounted there or the pod shares the node's IPC.

    A memory volume that has the name already is used as it is.
    """
    name = _volume(launch)
    if not name:
        return {}
    volume = {"name": name, "emptyDir": {"medium": "Memory"}}
    mount = {"name": name, "mountPath": SHARED_MEMORY}
    return in_engine(launch.engine, {"volumeMounts": [mount]}, {"volumes": [volume]})


def _volume(launch: Launch) -> str:
    """Return the name of the volume that a launch gets at /dev/shm; empty if it has memory there."""
    if launch.template.host_ipc or any(path.rstrip("/") == SHARED_MEMORY for path in launch.engine.mounts):
        return ""
    taken = frozenset(launch.template.taken)
    names = (VOLUME, *(f"{VOLUME}-{number}" for number in range(1, len(taken) + 1)))
    return next(name for name in names if name not in taken)


SHM: Final = Concern(
    "shm",
    shm,
    unit="shm",
    writes=union(
        of_containers({"volumeMounts": values("name", "mountPath")}),
        of_templates({"spec": {"volumes": values("name", "emptyDir")}}),
    ),
    skip="shm",
    opt_out="mount a volume at /dev/shm yourself, or set `fusioninfer.io/skip: shm`",
    rules=(
        Rule(
            "FI641",
            r"\.volumes\[dshm(?:-[0-9]+)?\]|\.volumeMounts\[/dev/shm\]",
            "NCCL, vLLM and Ray's object store share memory there; by default a container has 64 MiB",
            (SIZE,),
        ),
    ),
)


@for_launches
def shm_limit(launch: Launch, inputs: Input) -> Overlay:
    """Bound the volume at /dev/shm by the engine's memory limit, to which its pages count anyway.

    Without a size the node decides, and some policies refuse the pods.
    """
    name, limit = _volume(launch), launch.engine.memory_limit
    if not name or not limit or name in launch.template.memory or "shm" not in inputs.concerns:
        return {}
    bounded = {"name": name, "emptyDir": {"sizeLimit": of_bytes(limit)}}
    return in_engine(launch.engine, {}, {"volumes": [bounded]})


SHM_LIMIT: Final = Concern(
    "shm_limit",
    shm_limit,
    unit="shm",
    writes=of_templates({"spec": {"volumes": values("name", "emptyDir")}}),
    skip="shm-limit",
    opt_out="mount a volume at /dev/shm yourself, or set `fusioninfer.io/skip: shm-limit`",
    rules=(
        Rule(
            "FI643",
            r"\.volumes\[dshm(?:-[0-9]+)?\]\.emptyDir\.sizeLimit",
            "the engine's memory limit: its pages count to that, and some policies require a size",
            ("resources.limits.memory",),
        ),
    ),
)


# --- probes: workers serve no API, and loading a model takes longer than probes allow -----------------


@for_launches
def probes(launch: Launch, inputs: Input) -> Overlay:
    """Remove the leader's probes and hooks from the workers; call the supervisor of several servers."""
    engine, port = launch.engine, inputs.layout.serving.supervisor
    called = (probe for probe in (*engine.probes, *engine.hooks) if of_supervisor(probe, inputs))
    written: Overlay = {probe.field: {probe.handler: {"port": port}} for probe in called}
    written |= {probe.field: None for probe in misplaced(launch, inputs)}
    return in_engine(engine, of_probes(written)) if written else {}


PROBES: Final = Concern(
    PROBES_NAME,
    probes,
    unit="launch",
    writes=of_containers(values(*PROBE_FIELDS, "lifecycle")),
    replaces=frozenset({*PROBE_FIELDS, *HOOKS, "port"}),
    asked="probed",
    skip="probes",
    opt_out="write both templates, or set `fusioninfer.io/skip: probes`",
    rules=(
        Rule(
            "FI651",
            r"\.workerTemplate\..*(?:\.livenessProbe|\.readinessProbe|\.startupProbe|\.postStart|\.preStop)",
            "workers serve no API, so it would fail there and restart the group",
            (SIZE,),
        ),
    ),
)


LOADING: Final[Object] = {"periodSeconds": 10, "failureThreshold": 360}
"""One hour. No other probe runs until the startup probe succeeds."""


@for_launches
def startup(launch: Launch, inputs: Input) -> Overlay:
    """Add a startup probe to the leader, if it has other probes, which would fail while it loads a model."""
    port = startup_port(launch, inputs)
    if port is None:
        return {}
    scheme = {"scheme": "HTTPS"} if has_tls(launch) else {}
    probe = {"httpGet": {"path": "/health", "port": port, **scheme}, **LOADING}
    return in_engine(launch.engine, {"startupProbe": probe})


STARTUP: Final = Concern(
    STARTUP_NAME,
    startup,
    unit="launch",
    writes=of_containers(values("startupProbe")),
    asked="probed",
    skip="startup-probe",
    opt_out="write a startupProbe, or set `fusioninfer.io/skip: startup-probe`",
    rules=(
        Rule(
            "FI652",
            r"\.startupProbe",
            "gives the engine an hour to load its model before other probes run",
            PROBE_FIELDS,
        ),
    ),
)
