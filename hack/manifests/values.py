"""The values of the chart: one table, from which values.yaml, its schema and its documentation are generated.

A default that the base has too is read from there.
"""

import json
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

import yaml

from hack.manifests.objects import at, container, find, parsed
from hack.manifests.workloads import PROBES
from intent import Object

RUNBOOKS: Final = "https://github.com/fusioninfer/fusioninfer/blob/main/docs/alerts.md"
RESERVED: Final = (
    *("app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/instance"),
    *("app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"),
)
"""Labels that the chart sets itself; selectors depend on the first two."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value: its path, default, schema and meaning."""

    path: str
    default: Any
    schema: Object
    meaning: str


_TEXT: Final[Object] = {"type": "string"}
_SWITCH: Final[Object] = {"type": "boolean"}
_COUNT: Final[Object] = {"type": "integer", "minimum": 0}
_PORT: Final[Object] = {"type": "integer", "minimum": 1, "maximum": 65535}
_ANNOTATIONS: Final[Object] = {"type": "object", "additionalProperties": _TEXT}
_LABELS: Final[Object] = {
    "type": "object",
    "properties": dict.fromkeys(RESERVED, False),
    "additionalProperties": {
        "type": "string",
        "maxLength": 63,
        "pattern": "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$",
    },
}
_NAMES: Final[Object] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_NAME: Final[Object] = {"type": "string", "pattern": "^([a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$"}
_IMAGE: Final[Object] = {"type": "string", "pattern": r"^[-\w.:/@]*$"}
_DIGEST: Final[Object] = {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"}
_BASE64: Final[Object] = {"type": "string", "pattern": r"^[A-Za-z0-9+/=]*\s*$"}
_NAMESPACES: Final[Object] = {"type": "array", "items": {"minLength": 1, **_NAME}}
_LEVELS: Final[Object] = {"enum": ["debug", "info", "warning", "error"]}
_ACTIONS: Final[Object] = {
    "type": "array",
    "minItems": 1,
    "uniqueItems": True,
    "items": {"enum": ["Deny", "Warn", "Audit"]},
    # The API server rejects the two together, since they would report the same twice.
    "not": {"allOf": [{"contains": {"const": "Deny"}}, {"contains": {"const": "Warn"}}]},
}
_AMOUNT: Final[Object] = {"type": ["integer", "string"]}
_STRATEGY: Final[Object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "type": {"enum": ["RollingUpdate", "Recreate"]},
        "rollingUpdate": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"maxSurge": _AMOUNT, "maxUnavailable": _AMOUNT},
        },
    },
}
"""A DeploymentStrategy."""
_ISSUER: Final[Object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"name": {"type": "string", "minLength": 1}, "kind": _TEXT, "group": _TEXT},
    "dependencies": {"kind": ["name"], "group": ["name"]},
}
_SELECTOR: Final[Object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "matchLabels": _ANNOTATIONS,
        "matchExpressions": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["key", "operator"],
                "properties": {
                    "key": _TEXT,
                    "operator": {"enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                    "values": {"type": "array", "items": _TEXT},
                },
            },
        },
    },
}
_PEERS: Final[Object] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "minProperties": 1,
        "properties": {
            "namespaceSelector": _SELECTOR,
            "podSelector": _SELECTOR,
            "ipBlock": {
                "type": "object",
                "additionalProperties": False,
                "required": ["cidr"],
                "properties": {"cidr": _TEXT, "except": {"type": "array", "items": _TEXT}},
            },
        },
    },
}
"""NetworkPolicyPeers."""
_BINDING: Final = find("ValidatingAdmissionPolicyBinding", "backstop.fusioninfer.io")
_SYNC: Final = parsed(container("fusioninfer-sync")["args"])
_WEBHOOK: Final = parsed(container("fusioninfer-webhook")["args"])
_MUTATE: Final = at(find("MutatingWebhookConfiguration", "mutate.fusioninfer.io"), ("webhooks", 0))
_POD: Final = at(find("Deployment", "fusioninfer-sync"), ("spec", "template", "spec"))
_API_PORTS: Final = at(find("NetworkPolicy", "fusioninfer-sync"), ("spec", "egress", 0, "ports"))


def _ref(name: str) -> Object:
    """Return a reference to a definition of the schema."""
    return {"$ref": f"#/definitions/{name}"}


def _deployment(part: str, who: str, replicas: str) -> tuple[Value, ...]:
    """Return the values that both Deployments have."""
    deployment = f"fusioninfer-{part}"
    surge = "a new pod is ready before an old one ends"
    return (
        Value(f"{part}.replicas", at(find("Deployment", deployment), ("spec", "replicas")), _COUNT, replicas),
        Value(
            f"{part}.resources",
            container(deployment)["resources"],
            _ref("resources"),
            f"resources of the container of {who}",
        ),
        Value(f"{part}.affinity", {}, _ref("affinity"), f"affinity of the pods of {who}"),
        Value(
            f"{part}.topologySpreadConstraints",
            [],
            _ref("topologySpreadConstraints"),
            "empty: spread over nodes" + (" and zones" if part == "webhook" else ""),
        ),
        Value(f"{part}.serviceAccount.create", True, _SWITCH, f"whether {who} gets a ServiceAccount"),
        Value(f"{part}.serviceAccount.name", "", _NAME, f"its name; empty: `{deployment}`"),
        Value(f"{part}.serviceAccount.annotations", {}, _ANNOTATIONS, "its annotations"),
        Value(f"{part}.strategy", {}, _STRATEGY, f"of the Deployment of {who}; empty: {surge}"),
        *(
            Value(f"{part}.{name}", container(deployment)[name], _ref(name), f"of the container of {who}")
            for name in PROBES
        ),
        Value(f"{part}.extraArgs", [], {"type": "array", "items": _TEXT}, f"further flags of {who}"),
        Value(f"{part}.extraEnv", [], _ref("env"), f"environment variables of {who}"),
        Value(f"{part}.extraVolumes", [], _ref("volumes"), f"further volumes of the pods of {who}"),
        Value(f"{part}.extraVolumeMounts", [], _ref("volumeMounts"), "where its container mounts them"),
    )


VALUES: Final = (
    Value("image.registry", "", _IMAGE, "the registry of the image; empty: as `image.repository` says"),
    Value("image.repository", "fusioninfer", _IMAGE, "the image, as pushed to your registry"),
    Value("image.tag", "", _IMAGE, "a tag; empty: the version of the chart"),
    Value("image.digest", "", _DIGEST, "a digest (`sha256:...`), in place of a tag"),
    Value(
        "image.pullPolicy",
        "",
        {"enum": ["", "Always", "IfNotPresent", "Never"]},
        "empty: the default of Kubernetes",
    ),
    Value("imagePullSecrets", [], _ref("imagePullSecrets"), "pull Secrets for the registry"),
    Value(
        "commonLabels",
        {},
        _LABELS,
        "labels of every object and of all pods, beside those that Kubernetes recommends",
    ),
    Value("commonAnnotations", {}, _ANNOTATIONS, "annotations of every object"),
    Value("podLabels", {}, _LABELS, "labels of all pods"),
    Value("podAnnotations", {}, _ANNOTATIONS, "annotations of all pods"),
    Value("priorityClassName", "", _NAME, "of all pods"),
    Value("nodeSelector", {}, _ref("nodeSelector"), "of all pods"),
    Value("tolerations", [], _ref("tolerations"), "of all pods"),
    Value(
        "podSecurityContext",
        _POD["securityContext"],
        _ref("podSecurityContext"),
        "of all pods; the uid is the image's, 65532, or one that the platform assigns "
        "(of endpoint pickers: `settings.pickerPodSecurityContext`)",
    ),
    Value(
        "securityContext",
        _POD["containers"][0]["securityContext"],
        _ref("securityContext"),
        "of all containers (of endpoint pickers: `settings.pickerSecurityContext`)",
    ),
    Value("crds.enabled", True, _SWITCH, "whether to install the CustomResourceDefinitions"),
    Value(
        "crds.keep",
        True,
        _SWITCH,
        "whether `helm uninstall` leaves them: with them go all InferenceServices and InferenceTemplates",
    ),
    *_deployment("webhook", "the webhook", "replicas of the webhook"),
    Value(
        "webhook.timeoutSeconds",
        _MUTATE["timeoutSeconds"],
        {"type": "integer", "minimum": 1, "maximum": 30},
        "how long API servers wait for the webhook; then the write is rejected",
    ),
    Value(
        "webhook.logLevel",
        _WEBHOOK["log_level"],
        _LEVELS,
        "the lowest level of its log lines",
    ),
    Value("webhook.port", _WEBHOOK["port"], _PORT, "the port of the pods that API servers call"),
    Value(
        "webhook.metricsPort", _WEBHOOK["metrics_port"], _PORT, "the port of the pods for probes and metrics"
    ),
    Value(
        "webhook.hostNetwork",
        False,
        _SWITCH,
        "whether its pods use the network of their nodes, for API servers that reach nodes only; "
        "set `webhook.port` too, since 10250 is the kubelet's there",
    ),
    Value(
        "webhook.clientCA",
        "",
        _TEXT,
        "the CA (PEM) of the certificates that API servers present; with it, nobody else is answered "
        '(`docs/install.md`, "Who may call the webhook")',
    ),
    Value(
        "webhook.metricsClientCA",
        "",
        _TEXT,
        "the CA (PEM) of the client certificates for the webhook's metrics, which have TLS then; "
        "empty: plain HTTP for every caller that reaches the port",
    ),
    Value("webhook.clientNames", [], _NAMES, "names in those certificates; required with `webhook.clientCA`"),
    Value(
        "webhook.callerCIDRs",
        [],
        _NAMES,
        "the addresses of API servers as they arrive at the pods, which are served first; those of IPv4 as "
        "`10.0.0.0/24`, not as `::ffff:10.0.0.0/120`",
    ),
    *_deployment("sync", "the controller", "replicas of the controller; one leads"),
    Value(
        "sync.secureMetrics",
        True,
        _SWITCH,
        "whether its metrics have TLS, for tokens that may get the path `/metrics` (ClusterRole "
        "`fusioninfer-metrics-reader`); else plain HTTP for every caller that reaches the port",
    ),
    Value("sync.observeOnly", False, _SWITCH, "whether it writes nothing, and reports what it would write"),
    Value(
        "sync.gangsOnly",
        False,
        _SWITCH,
        "whether it makes neither routes nor Services, and has no permissions on their kinds",
    ),
    Value(
        "sync.namespaces",
        [],
        _NAMESPACES,
        "the namespaces that it watches, and in which alone it has permissions; empty: all",
    ),
    Value(
        "sync.workers",
        _SYNC["workers"],
        {"type": "integer", "minimum": 1},
        "the number of services of one namespace that are reconciled at once, and an eighth of all",
    ),
    Value("sync.logLevel", _SYNC["log_level"], _LEVELS, "the lowest level of its log lines"),
    Value("settings", {}, _ref("settings"), "the settings file (`manifests/base/settings.yaml`)"),
    Value(
        "files",
        {},
        _ANNOTATIONS,
        "files beside the settings file, by name: what `settings.engines` refers to",
    ),
    Value(
        "excludedNamespaces",
        [],
        _NAMESPACES,
        "namespaces whose objects the webhooks and the policy ignore, beside `kube-system` and that of the "
        "release; do not add one that has expanded objects",
    ),
    Value(
        "namespaceSelector",
        {},
        _SELECTOR,
        "a label selector (`matchLabels`, `matchExpressions`): other namespaces are ignored too",
    ),
    Value(
        "userRoles.aggregate",
        True,
        _SWITCH,
        "whether the ClusterRoles view, edit and admin of Kubernetes include InferenceServices",
    ),
    Value(
        "certificates.mode",
        "self-signed",
        {"enum": ["self-signed", "cert-manager", "provided"]},
        "`self-signed`: the controller issues them; `cert-manager`: a Certificate of cert-manager; "
        "`provided`: your own Secret `fusioninfer-webhook-tls` and `caBundle`",
    ),
    Value(
        "certificates.issuerRef",
        {},
        _ISSUER,
        "an issuer of your own for the mode `cert-manager` (`name`, `kind`, `group`); "
        "empty: a CA in the namespace",
    ),
    Value("certificates.caBundle", "", _BASE64, "the CA bundle (PEM, base64) for the mode `provided`"),
    Value(
        "templates.enabled",
        False,
        _SWITCH,
        "whether the webhook reads InferenceTemplates: it gets a token that may get this one kind",
    ),
    Value(
        "templates.anyCaller",
        False,
        _SWITCH,
        "whether it reads them without `webhook.clientCA` too: every pod may then read every template",
    ),
    Value("networkPolicy.enabled", True, _SWITCH, "whether to create NetworkPolicies"),
    Value(
        "networkPolicy.webhookFrom",
        [],
        _PEERS,
        "peers (`ipBlock`, `namespaceSelector`, `podSelector`) that reach the webhook's port: those from "
        "which calls of API servers arrive; empty: all",
    ),
    Value(
        "networkPolicy.metricsFrom",
        [],
        _PEERS,
        "peers that reach the metrics, for example the namespace of Prometheus; empty: all pods",
    ),
    Value(
        "networkPolicy.apiServerPorts",
        [each["port"] for each in _API_PORTS],
        {"type": "array", "minItems": 1, "items": _PORT},
        "ports of the API server",
    ),
    Value(
        "backstop.actions",
        _BINDING["spec"]["validationActions"],
        _ACTIONS,
        "actions for objects that opt in and are not expanded",
    ),
    Value(
        "policies.controller",
        True,
        _SWITCH,
        "whether a policy limits the controller's account to objects of services, and of webhook "
        "configurations to `caBundle`",
    ),
    Value(
        "policies.ownership",
        False,
        _SWITCH,
        "whether a policy refuses that anybody else writes the controller's entry in `managedFields`; it "
        "also refuses backups that are restored with it",
    ),
    Value(
        "monitoring.enabled",
        False,
        _SWITCH,
        "whether to create a ServiceMonitor and alerts; needs the Prometheus operator "
        "(the dashboard is a file to import: `manifests/monitoring/dashboard.json`)",
    ),
    Value(
        "monitoring.serviceMonitor.labels",
        {},
        _LABELS,
        "labels of the ServiceMonitor, by which a Prometheus selects it",
    ),
    Value(
        "monitoring.serviceMonitor.tlsConfig",
        {"insecureSkipVerify": True},
        {"type": "object"},
        "how a Prometheus scrapes metrics with TLS; for those of the webhook it needs `cert` and `keySecret`",
    ),
    Value("monitoring.serviceMonitor.interval", "", _TEXT, "how often to scrape; empty: as Prometheus does"),
    Value(
        "monitoring.prometheusRule.labels",
        {},
        _LABELS,
        "labels of the alerts' PrometheusRule, by which a Prometheus selects it",
    ),
    Value(
        "monitoring.prometheusRule.runbooks",
        RUNBOOKS,
        {"type": "string", "minLength": 1},
        "the page that `runbook_url` of the alerts leads to; the name of the alert is the anchor",
    ),
)


def values_yaml(start: str) -> str:
    """Render values.yaml, with the meaning of each value in a comment."""
    lines = [start]
    before: list[str] = []
    for value in VALUES:
        *parents, name = value.path.split(".")
        shared = len([*takewhile(lambda pair: pair[0] == pair[1], zip(parents, before, strict=False))])
        lines += [f"{'  ' * depth}{parents[depth]}:\n" for depth in range(shared, len(parents))]
        indent, before = "  " * len(parents), parents
        lines.append(f"{indent}# {value.meaning}\n{indent}{name}: {json.dumps(value.default)}\n")
    return "".join(lines)


def short(default: Any) -> str:
    """Return a default on one line."""
    return yaml.safe_dump(default, default_flow_style=True, width=1000).removesuffix("...\n").strip()
