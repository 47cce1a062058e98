"""Renders the endpoint picker (EPP) of a service: its configuration, workload and RBAC.

Sources: `config/charts/epplib/templates` of kubernetes-sigs/gateway-api-inference-extension v1.5.0; for the
name of the Lease, `pkg/epp/server/controller_manager.go` of every generation here.

With more than one replica the endpoint pickers elect a leader, and only the leader is ever ready. Anything
that waits for a second ready replica waits forever.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from catalog.pickers.generations import POOLS, pulled_from
from catalog.pickers.workload import (
    CONFIG_DIR,
    CONFIG_VOLUME,
    CONTAINER,
    GRPC_PORT,
    HEALTH_PORT,
    METRICS_PORT,
    PORTS,
)
from intent import Object
from intent.annotations import PICKER
from intent.names import picker_name
from sync.kinds import CONFIG_MAP, DEPLOYMENT, POOL, SERVICE_KIND
from sync.parts.picker_pods import customized
from sync.parts.traffic import Routes, inference_pool

CONFIG_FILE: Final = "config.yaml"
DIGEST: Final = "fusioninfer.io/config-digest"
"""An endpoint picker reads its configuration once, when it starts: a new configuration needs a new pod."""
GRACE: Final = 130
"""Seconds that an endpoint picker may take to end, as in upstream's charts. It exits after 30 in any case
(`GracefulShutdownTimeout` of controller-runtime)."""
STARTUP: Final = 60
"""Failures of the startup probe, 5 seconds apart: without a pool an endpoint picker is not alive."""
RESOURCES: Final[Object] = {"requests": {"cpu": "250m", "memory": "256Mi"}}
"""Unless the operator sets others."""
USER: Final = 65532
"""`nonroot` of the images of both projects; earlier releases wrote it."""
RESTRICTED: Final[Object] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""The security context of the container, unless the operator sets another one."""
ELECTION: Final = "--ha-enable-leader-election"
"""A flag of every generation (`cmd/epp/runner`, `pkg/epp/server/options.go`)."""
ALONE: Final[Object] = {"maxSurge": 1, "maxUnavailable": 0}
"""The new pod serves before the old one ends."""
ELECTED: Final[Object] = {"maxSurge": "100%", "maxUnavailable": "100%"}
"""New pods start while the old ones end, one of which releases its Lease. Any smaller number would keep the
leader forever: a new pod is not ready before it leads."""


READING: Final = "fusioninfer-endpoint-picker"
"""The ClusterRole of every endpoint picker (`manifests/base/picker-roles.yaml`), bound in its namespace."""
ELECTING: Final = "fusioninfer-endpoint-picker-election"
"""The ClusterRole of those that elect a leader."""


def picker_objects(routes: Routes) -> Iterator[Object]:
    """Render the InferencePool and its endpoint picker, in the order of applying.

    The pool comes before the Deployment: without it an endpoint picker is not alive
    (`cmd/epp/runner/health.go`).
    """
    name, is_elected = picker_name(routes.name), elects(routes)
    yield routes.object("ServiceAccount", name)
    yield _binding(routes, READING, "read")
    if is_elected:
        yield _binding(routes, ELECTING, "election")
    yield routes.object(CONFIG_MAP.kind, CONFIG_MAP.name(routes.name), data={CONFIG_FILE: routes.config})
    yield inference_pool(routes)
    yield deployment(routes)
    if is_elected:
        yield _disruption_budget(routes)
    ports = (("grpc-ext-proc", GRPC_PORT), ("http-metrics", METRICS_PORT))
    spec = {
        "selector": _labels(routes),
        "ports": [{"name": name, "port": port, "protocol": "TCP"} for name, port in ports],
    }
    yield routes.object(SERVICE_KIND, name, spec=spec)


def deployment(routes: Routes) -> Object:
    """Render the Deployment, labelled with the generation that it runs."""
    spec = {
        "replicas": routes.replicas,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": ELECTED if elects(routes) else ALONE},
        "selector": {"matchLabels": _labels(routes)},
        "template": customized(_pod(routes), routes.router.template),
    }
    made = routes.object(DEPLOYMENT.kind, picker_name(routes.name), spec=spec)
    made["metadata"]["labels"][PICKER] = routes.picker.name
    return made


def _disruption_budget(routes: Routes) -> Object:
    """Render the PodDisruptionBudget: one pod may be evicted at a time, and none while there is no leader.

    It requires no ready pod beside the leader, since there never is one. An eviction needs one ready pod
    anyway (`checkAndDecrement`, Kubernetes `pkg/registry/core/pod/storage/eviction.go`).
    """
    spec = {"maxUnavailable": "100%", "selector": {"matchLabels": _labels(routes)}}
    return routes.object("PodDisruptionBudget", picker_name(routes.name), spec=spec)


def _binding(routes: Routes, role: str, purpose: str) -> Object:
    """Render a RoleBinding; another name than in earlier releases, as the role of a binding cannot change."""
    account = picker_name(routes.name)
    namespace = {"namespace": routes.namespace} if routes.namespace else {}
    return routes.object(
        "RoleBinding",
        f"{account}-{purpose}",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        subjects=[{"kind": "ServiceAccount", "name": account, **namespace}],
    )


def elects(routes: Routes) -> bool:
    """Return whether the endpoint pickers elect a leader: there is more than one."""
    return routes.replicas > 1


def _labels(routes: Routes) -> dict[str, str]:
    """Return the labels of the pods; the service's own label would make them endpoints of the pool."""
    return {
        "app.kubernetes.io/name": "endpoint-picker",
        "app.kubernetes.io/instance": picker_name(routes.name),
    }


def _digest(routes: Routes) -> str:
    """Return a digest of what is read only at the start: the configuration, in some rows further ports."""
    ports = "" if routes.picker.active_ports else "".join(f" {one}" for one in routes.endpoints.ports[1:])
    return sha256(f"{routes.config}{ports}".encode()).hexdigest()[:16]


def _pod(routes: Routes) -> Object:
    """Render the pod template."""
    spec = {
        "serviceAccountName": picker_name(routes.name),
        "terminationGracePeriodSeconds": GRACE,
        "securityContext": {
            "runAsNonRoot": True,
            **({"runAsUser": USER} if routes.has_user else {}),
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(routes)],
        "volumes": [{"name": CONFIG_VOLUME, "configMap": {"name": CONFIG_MAP.name(routes.name)}}],
        **({"topologySpreadConstraints": [_spread(routes)]} if elects(routes) else {}),
    }
    of_operator = {
        "imagePullSecrets": [{"name": name} for name in routes.settings.picker_image_pull_secrets],
        "tolerations": list(routes.settings.picker_tolerations),
        "nodeSelector": routes.settings.picker_node_selector,
        "priorityClassName": routes.settings.picker_priority_class_name,
        "securityContext": routes.settings.picker_pod_security_context,
    }
    spec |= {name: value for name, value in of_operator.items() if value}
    return {"metadata": {"labels": _labels(routes), "annotations": {DIGEST: _digest(routes)}}, "spec": spec}


def _spread(routes: Routes) -> Object:
    """Render the spread of one rollout's pods over nodes, as far as possible."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": _labels(routes)},
        "matchLabelKeys": ["pod-template-hash"],
    }


def _container(routes: Routes) -> Object:
    fields = (("NAMESPACE", "metadata.namespace"), ("POD_NAME", "metadata.name"))
    return {
        "name": CONTAINER,
        "image": pulled_from(routes.settings.picker_registry, routes.picker.image),
        "args": args(routes),
        "env": [
            *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields),
            *({"name": name, "value": value} for name, value in routes.picker.env),
        ],
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in PORTS.items()],
        "startupProbe": _probe("liveness", 5, STARTUP),
        "livenessProbe": _probe("liveness", 10, 3),
        "readinessProbe": _probe("readiness", 2, 3),
        "resources": routes.settings.picker_resources or RESOURCES,
        "securityContext": routes.settings.picker_security_context or RESTRICTED,
        "volumeMounts": [{"name": CONFIG_VOLUME, "mountPath": CONFIG_DIR, "readOnly": True}],
    }


def args(routes: Routes) -> list[str]:
    """Return the flags: those of every generation, then those of this one.

    All have the form `--name=value`: a boolean flag takes no separate value. Metrics are served without
    authentication, which would need cluster-wide rights; tracing is off, as it would dial localhost.
    """
    return [
        f"--pool-name={POOL.name(routes.name)}",
        f"--pool-group={POOLS}",
        f"--config-file={CONFIG_DIR}/{CONFIG_FILE}",
        f"--grpc-port={GRPC_PORT}",
        f"--grpc-health-port={HEALTH_PORT}",
        f"--metrics-port={METRICS_PORT}",
        f"--secure-serving={'true' if routes.settings.secure_serving else 'false'}",
        "--metrics-endpoint-auth=false",
        "--tracing=false",
        "--zap-encoder=json",
        *((f"{ELECTION}=true",) if elects(routes) else ()),
        *routes.picker.flags,
    ]


def _probe(name: str, period: int, failures: int) -> Object:
    """Render a probe of a health service that every generation has, with and without leader election."""
    grpc = {"port": HEALTH_PORT, "service": name}
    return {"grpc": grpc, "periodSeconds": period, "failureThreshold": failures}
