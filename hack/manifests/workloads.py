"""Rules of the two Deployments: what differs between their manifests and their templates."""

from typing import Final

from hack.manifests.rules import KEPT, Rule, block, field, items, value, when

SELF_SIGNED: Final = '(eq $.Values.certificates.mode "self-signed")'
HOST: Final = value("webhook.hostNetwork")
CLIENT_CA: Final = value("webhook.clientCA")
METRICS_CA: Final = value("webhook.metricsClientCA")
SECURE: Final = value("sync.secureMetrics")
PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")


def pod(indent: int) -> tuple[Rule, ...]:
    """Return the rules of a pod, whose spec has fields at an indent: values of all pods, and the image."""
    of_all = "".join(
        (
            block("imagePullSecrets", "imagePullSecrets", indent),
            field("priorityClassName", "priorityClassName", indent),
            block("nodeSelector", "nodeSelector", indent),
            block("tolerations", "tolerations", indent),
        )
    )
    image = f'{" " * (indent + 2)}image: {{{{ include "fusioninfer.image" $ }}}}\n'
    return (
        Rule(r"^ *enableServiceLinks: false\n", KEPT + of_all),
        Rule(_map("securityContext", indent), block("podSecurityContext", "securityContext", indent)),
        Rule(_map("securityContext", indent + 2), block("securityContext", "securityContext", indent + 2)),
        Rule(r"^ *image: .*\n", image + field("image.pullPolicy", "imagePullPolicy", indent + 2)),
    )


def _list(name: str, indent: int) -> str:
    """Return the pattern of a list with its field."""
    space = " " * indent
    return rf"^{space}{name}:\n(?:{space}[- ] .*\n)+"


def _map(name: str, indent: int) -> str:
    """Return the pattern of an object with its field."""
    space = " " * indent
    return rf"^{space}{name}:\n(?:{space} +.*\n)+"


def _deployment(part: str) -> tuple[Rule, ...]:
    return (
        Rule(r"^  replicas: \d+$", f"  replicas: {{{{ $.Values.{part}.replicas }}}}"),
        Rule(_map("strategy", 2), block(f"{part}.strategy", "strategy", 2, otherwise=KEPT)),
        *pod(6),
        Rule(
            _list("topologySpreadConstraints", 6),
            block(f"{part}.affinity", "affinity", 6)
            + block(f"{part}.topologySpreadConstraints", "topologySpreadConstraints", 6, otherwise=KEPT),
        ),
        *(Rule(_map(name, 8), block(f"{part}.{name}", name, 8)) for name in ("resources", *PROBES)),
        Rule(_list("volumeMounts", 8), KEPT + items(f"{part}.extraVolumeMounts", 8)),
        Rule(_list("volumes", 6), KEPT + items(f"{part}.extraVolumes", 6)),
    )


TEMPLATES: Final = value("templates.enabled")
ANY_CALLER: Final = f"(and {TEMPLATES} {value('templates.anyCaller')})"
_SWITCHES: Final = "".join(
    (
        f"        - --workers={{{{ int {value('sync.workers')} }}}}\n",
        f"        - --log-level={{{{ {value('sync.logLevel')} }}}}\n",
        when(value("sync.observeOnly"), "        - --observe-only\n"),
        when(value("sync.gangsOnly"), "        - --gangs-only\n"),
        "{{- range $.Values.sync.namespaces }}\n        - --watch-namespace={{ . }}\n{{- end }}\n",
        when(TEMPLATES, "        - --templates-namespace={{ $.Release.Namespace }}\n"),
        when(SECURE, "        - --secure-metrics-port=8443\n"),
        when(SELF_SIGNED, "        - --manage-certificates=fusioninfer-webhook-tls\n"),
        items("sync.extraArgs", 8),
    )
)
SYNC: Final = (
    *_deployment("sync"),
    Rule(
        r"^        - --workers=.*\n        - --log-level=.*\n"
        r"        - --secure-metrics-port=.*\n",
        _SWITCHES,
    ),
    Rule(r"^        - name: https-metrics\n.*\n", when(SECURE, KEPT)),
    Rule(_list("env", 8), KEPT + items("sync.extraEnv", 8)),
)

_ACCOUNT_MOUNT: Final = """\
        - name: token
          mountPath: /var/run/secrets/kubernetes.io/serviceaccount
          readOnly: true
"""
_ACCOUNT: Final = """\
      - name: token
        projected:
          defaultMode: 0444
          sources:
          - serviceAccountToken:
              path: token
              expirationSeconds: 3600
          - configMap:
              name: kube-root-ca.crt
              items:
              - key: ca.crt
                path: ca.crt
"""
"""As in the component `manifests/templates`; a test compares them."""
_CA_MOUNT: Final = """\
        - name: client-ca
          mountPath: /etc/fusioninfer/client-ca
          readOnly: true
"""
_CA: Final = """\
      - name: client-ca
        configMap:
          name: fusioninfer-client-ca
"""
"""As in the component `manifests/client-ca`."""
_SCRAPED: Final = """\
        - --secure-metrics-port=8443
        - --metrics-client-ca=/etc/fusioninfer/metrics-client-ca/ca.crt
"""
_SCRAPED_PORT: Final = """\
        - name: https-metrics
          containerPort: 8443
"""
"""As in the component `manifests/metrics-client-ca`, as are the volume and its mount."""


def _of_metrics(text: str) -> str:
    """Return what the CA of the metrics' clients needs, like that of API servers."""
    return text.replace("client-ca", "metrics-client-ca")


def _each(flag: str, path: str) -> str:
    """Return the template of a flag that is there once for each item of a value."""
    item = f'{{{{ printf "--{flag}=%s" . | toJson }}}}'  # a common name may contain what YAML reads
    return f"{{{{- range {value(path)} }}}}\n        - {item}\n{{{{- end }}}}\n"


_CALLERS: Final = "".join(
    (
        when(METRICS_CA, _SCRAPED),
        when(CLIENT_CA, "        - --client-ca=/etc/fusioninfer/client-ca/ca.crt\n"),
        _each("client-name", "webhook.clientNames"),
        _each("caller-cidr", "webhook.callerCIDRs"),
        when(TEMPLATES, "        - --templates-namespace=fusioninfer-system\n"),
        when(ANY_CALLER, "        - --templates-any-caller\n"),
    )
)
_PORT: Final = value("webhook.port")
_METRICS: Final = value("webhook.metricsPort")
_LOG_LEVEL: Final = value("webhook.logLevel")
WEBHOOK: Final = (
    *_deployment("webhook"),
    # With the node's network, a second pod on a node would need the same ports: one pod ends first.
    Rule(
        r"^      maxSurge: 1\n      maxUnavailable: 0\n",
        when(HOST, "      maxSurge: 0\n      maxUnavailable: 1\n", KEPT),
    ),
    Rule(
        r"^      serviceAccountName: .*\n",
        KEPT + when(HOST, "      hostNetwork: true\n      dnsPolicy: ClusterFirstWithHostNet\n"),
    ),
    Rule(r"--port=\d+$", f"--port={{{{ int {_PORT} }}}}"),
    Rule(r"containerPort: 10250$", f"containerPort: {{{{ int {_PORT} }}}}"),
    Rule(r"--metrics-port=\d+$", f"--metrics-port={{{{ int {_METRICS} }}}}"),
    Rule(
        r"containerPort: 8080\n",
        f"containerPort: {{{{ int {_METRICS} }}}}\n" + when(METRICS_CA, _SCRAPED_PORT),
    ),
    Rule(
        r"--log-level=.*\n",
        f"--log-level={{{{ {_LOG_LEVEL} }}}}\n" + _CALLERS + items("webhook.extraArgs", 8),
    ),
    Rule(
        r"^        volumeMounts:\n",
        KEPT
        + when(TEMPLATES, _ACCOUNT_MOUNT)
        + when(CLIENT_CA, _CA_MOUNT)
        + when(METRICS_CA, _of_metrics(_CA_MOUNT)),
    ),
    Rule(
        r"^      volumes:\n",
        KEPT + when(TEMPLATES, _ACCOUNT) + when(CLIENT_CA, _CA) + when(METRICS_CA, _of_metrics(_CA)),
    ),
    Rule(r"^        ports:\n", block("webhook.extraEnv", "env", 8) + KEPT),
)
