"""The routing sidecar of a decoder: it sends each prompt to a prefiller, then to the engine in the same pod.

It is a native sidecar, an init container with `restartPolicy: Always` (Kubernetes 1.29 and later): it
runs before the engine starts, and ends after it.
"""

from typing import Final

from catalog.pickers.generations import SidecarRelease, pulled_from
from intent import Object
from intent.annotations import PICKER, STRATEGY
from intent.annotations import SIDECAR as SIDECAR_OPTIONS
from intent.container import CALLS, ROUTING_PROXY
from intent.launch import Launch
from intent.lws import Moved
from intent.ranks import bootstrap_of
from intent.tree import Overlay
from webhook.launchers.launcher import POD_IP
from webhook.layout import SIDECAR as NAME
from webhook.layout import Input, of_supervisor
from webhook.move import protocol_of, sidecar_of
from webhook.mutate.concern import (
    COMMANDS,
    Concern,
    Rule,
    for_engines,
    in_engine,
    of_containers,
    of_probes,
    of_templates,
    union,
    values,
)

LIMITS: Final = {"cpu": "1", "memory": "512Mi"}
"""They default the requests too, so a Guaranteed pod stays Guaranteed. Spelled as LWS does."""
SECURITY: Final[Object] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""PodSecurity's `restricted` level; the image's user is 65532 (llm-d-routing-sidecar `Dockerfile`)."""
CERTIFICATES: Final = f"{ROUTING_PROXY}-certificates"
"""The volume with the certificate with which the sidecar serves: files `tls.crt` and `tls.key`."""
CERTIFICATE_DIR: Final = "/etc/routing-proxy"
TRUSTED: Final = f"{CERTIFICATE_DIR}:/etc/ssl/certs"
"""Go's `SSL_CERT_DIR`: certificates in the Secret, such as `ca.crt`, are trusted beside the image's."""
_WITH_PORT: Final = CALLS | {"grpc"}
"""Handlers that have a port."""


@for_engines
def sidecar(launch: Launch, inputs: Input) -> Overlay:
    """Inject the sidecar on the ports that clients call, and point the probes at the engine's new port."""
    moved, row = launch.template.moved, sidecar_of(inputs.intent, inputs.settings)
    if moved is None or row is None:
        return {}
    secret, opens = inputs.intent.sidecar_options.secret, "port" not in inputs.intent.skip
    count = len(inputs.layout.serving.ports) or 1
    declared = [
        port
        for port in range(moved.port, moved.port + count)
        if opens and port not in launch.template.ports.taken
    ]
    proxy = _proxy(moved, row, launch, declared, inputs)
    ports: Overlay = {"ports": [{"containerPort": moved.to + rank} for rank in range(count)]} if opens else {}
    container = ports | _repointed(launch, moved, inputs)
    volumes = {"volumes": [{"name": CERTIFICATES, "secret": {"secretName": secret}}]} if secret else {}
    return in_engine(launch.engine, container, {"initContainers": [proxy]} | volumes)


def _proxy(moved: Moved, row: SidecarRelease, launch: Launch, declared: list[int], inputs: Input) -> Object:
    """Return the container. Its `/health` succeeds at once, whatever the engine does."""
    options, ranks = inputs.intent.sidecar_options, len(inputs.layout.serving.ports)
    env: list[Object] = [{"name": "POD_IP", "valueFrom": POD_IP}]
    health: Object = {"path": "/health", "port": moved.port}
    serving, secured = ["--secure-proxy=false"], Object()
    if options.secret:
        serving = ["--secure-proxy=true", f"--cert-path={CERTIFICATE_DIR}"]
        health["scheme"] = "HTTPS"
        env.append({"name": "SSL_CERT_DIR", "value": TRUSTED})
        mount = {"name": CERTIFICATES, "mountPath": CERTIFICATE_DIR, "readOnly": True}
        secured["volumeMounts"] = [mount]
    if launch.command.started == "sglang":
        env.append({"name": "SGLANG_BOOTSTRAP_PORT", "value": str(bootstrap_of(launch))})
    return {
        "name": ROUTING_PROXY,
        "image": pulled_from(inputs.settings.picker_registry, row.image),
        "args": [
            *(f"--port={moved.port}", f"--vllm-port={moved.to}"),
            f"{row.connector}={protocol_of(launch, row, options)}",
            *serving,
            *(row.tls[stage] for stage in options.tls),
            *(row.unverified[stage] for stage in options.unverified),
            *((f"--data-parallel-size={ranks}",) if ranks > 1 else ()),
        ],
        "restartPolicy": "Always",
        "env": env,
        **({"ports": [{"containerPort": port} for port in declared]} if declared else {}),
        "readinessProbe": {"httpGet": health},
        "resources": {"limits": dict(LIMITS)},
        "securityContext": SECURITY,
        **secured,
    }


def _repointed(launch: Launch, moved: Moved, inputs: Input) -> Overlay:
    """Return probes and hooks of the served port, by number or name, with the engine's new port."""
    names, probes = dict(launch.template.ports.named), (*launch.engine.probes, *launch.engine.hooks)
    served = (probe for probe in probes if names.get(str(probe.port), probe.port) == moved.port)
    mine = (probe for probe in served if probe.handler in _WITH_PORT and not of_supervisor(probe, inputs))
    return of_probes({probe.field: {probe.handler: {"port": moved.to}} for probe in mine})


_ENGINE: Final = {
    "ports": values("containerPort"),
    **values("readinessProbe", "livenessProbe", "startupProbe", "lifecycle"),
}
_PROXY: Final = {
    **values("name", "image", "args", "restartPolicy", "readinessProbe", "resources", "securityContext"),
    "env": values("name", "value", "valueFrom"),
    "ports": values("containerPort"),
    "volumeMounts": values("name", "mountPath", "readOnly"),
}
_POD: Final = {"initContainers": _PROXY, "volumes": values("name", "secret")}

SIDECAR: Final = Concern(
    NAME,
    sidecar,
    unit="launch",
    writes=union(of_containers(_ENGINE), of_templates({"spec": _POD})),
    replaces=frozenset({"port"}),
    asked="sidecar",
    skip="sidecar",
    opt_out="bring your own, and set `fusioninfer.io/skip: sidecar`",
    rules=(
        Rule(
            "FI671",
            r"\.initContainers\[routing-proxy\]",
            "sends each prompt to a prefiller first, on the port that clients call",
            (STRATEGY, PICKER, SIDECAR_OPTIONS),
        ),
        Rule(
            "FI672",
            r"\.ports\[82[0-9]{2}/TCP\]",
            "the engine listens there, behind its sidecar",
            (STRATEGY,),
        ),
        Rule(
            "FI673",
            r"\.(?:httpGet|tcpSocket|grpc)\.port",
            "probes the engine where it answers: behind a sidecar on another port; the process that starts "
            "a server for each rank answers for all of them",
            (*COMMANDS, STRATEGY),
        ),
        Rule(
            "FI674",
            r"\.volumes\[routing-proxy-certificates\]",
            "the certificate with which the sidecar serves",
            (SIDECAR_OPTIONS,),
        ),
    ),
)
