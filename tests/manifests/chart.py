"""The Helm chart, generated from the manifests: each template is one of their files with some text replaced.

A rule that matches another number of times than it expects is an error, so the two cannot drift apart.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fusioninfer import __version__
from tests.manifests.objects import MANIFESTS
from tests.manifests.values import schema, values_yaml

MADE: Final = "# generated from manifests/ by `make manifests`\n"
NAMESPACE: Final = "fusioninfer-system"
MODE: Final = '(eq .Values.certificates.mode "cert-manager")'
KEPT_TEXT: Final = "KEPT-TEXT"
"""What stands in a template for the text that a rule matched."""
SELF_SIGNED: Final = '(eq .Values.certificates.mode "self-signed")'


@dataclass(frozen=True, slots=True)
class Rule:
    """A regular expression, its replacement, and the number of matches to expect."""

    pattern: str
    template: str
    times: int = 1


@dataclass(frozen=True, slots=True)
class Source:
    """A file that becomes a template: its rules, and the condition under which it is rendered."""

    path: str
    rules: tuple[Rule, ...] = ()
    condition: str = ""


def _with(value: str, field: str, indent: int, form: str = "{{ . }}") -> str:
    """Return the template of a field that is rendered only if its value is set."""
    return f"{{{{- with .Values.{value} }}}}\n{' ' * indent}{field}: {form}\n{{{{- end }}}}\n"


def _block(value: str, field: str, indent: int) -> str:
    """Return the template of a field with an object or a list."""
    return _with(value, field, indent, f"{{{{- toYaml . | nindent {indent + 2} }}}}")


_POD: Final = "".join(
    (
        "      enableServiceLinks: false\n",
        _block("imagePullSecrets", "imagePullSecrets", 6),
        _with("priorityClassName", "priorityClassName", 6),
        _block("nodeSelector", "nodeSelector", 6),
        _block("tolerations", "tolerations", 6),
    )
)
_IMAGE: Final = (
    '        image: {{ printf "%s:%s" .Values.image.repository '
    "(.Values.image.tag | default .Chart.AppVersion) }}\n"
)
_CHECKSUM: Final = (
    "  template:\n    metadata:\n      annotations:\n"
    '        checksum/settings: {{ include (print $.Template.BasePath "/settings.yaml") . | sha256sum }}\n'
)


def _deployment(part: str) -> tuple[Rule, ...]:
    resources = f"        resources: {{{{- toYaml .Values.{part}.resources | nindent 10 }}}}\n"
    return (
        Rule(r"^  replicas: \d+$", f"  replicas: {{{{ .Values.{part}.replicas }}}}"),
        Rule(r"^  template:\n    metadata:\n", _CHECKSUM),
        Rule(r"^      enableServiceLinks: false\n", _POD),
        Rule(r"^        image: .*\n", _IMAGE + _with("image.pullPolicy", "imagePullPolicy", 8)),
        Rule(r"^        resources:\n(?:          .*\n)+", resources),
    )


def _flag(name: str, value: str, form: str) -> str:
    """Return the template of a flag of the controller; without its value, as after `--reuse-values`, none."""
    return (
        f'{{{{- if not (kindIs "invalid" .Values.{value}) }}}}\n'
        f"        - --{name}={{{{ {form.format(value)} }}}}\n{{{{- end }}}}\n"
    )


_FLAGS: Final = Rule(
    r"^        - --workers=.*\n        - --qps=.*\n        - --log-level=.*\n",
    _flag("workers", "sync.workers", "int .Values.{}")
    + _flag("qps", "sync.qps", ".Values.{}")
    + _flag("log-level", "sync.logLevel", ".Values.{}")
    + "{{- if .Values.sync.observeOnly }}\n        - --observe-only\n{{- end }}\n"
    "{{- if .Values.sync.gangsOnly }}\n        - --gangs-only\n{{- end }}\n"
    "{{- range .Values.sync.namespaces }}\n        - --watch-namespace={{ . }}\n{{- end }}\n"
    f"{{{{- if {SELF_SIGNED} }}}}\n        - --manage-certificates=fusioninfer-webhook-tls\n{{{{- end }}}}\n",
)
_INJECT: Final = (
    f"metadata:\n{{{{- if {MODE} }}}}\n  annotations:\n"
    f"    cert-manager.io/inject-ca-from: {NAMESPACE}/fusioninfer-webhook\n{{{{- end }}}}\n"
)
_WEBHOOKS: Final = (
    Rule(r"^metadata:\n", _INJECT, times=2),
    Rule(
        r"^  clientConfig:\n",
        "  clientConfig:\n" + _with("certificates.caBundle", "caBundle", 4),
        times=3,
    ),
)
_KEPT: Final = (
    "metadata:\n  annotations:\n"
    "    helm.sh/resource-policy: keep  # deleting the CRD would delete all InferenceServices\n"
)
_BOUND: Final = (
    "metadata:\n  annotations:\n    helm.sh/resource-policy: keep  # endpoint pickers that run need it\n"
)


def _bound(kind: str, metadata: str) -> str:
    """Return a binding of the controller's ClusterRole."""
    group = "rbac.authorization.k8s.io"
    return (
        f"---\napiVersion: {group}/v1\nkind: {kind}\nmetadata:\n{metadata}"
        f"roleRef:\n  apiGroup: {group}\n  kind: ClusterRole\n  name: fusioninfer-sync\n"
        "subjects:\n- kind: ServiceAccount\n  name: fusioninfer-sync\n"
        "  namespace: {{ $.Release.Namespace }}\n"
    )


_RIGHTS: Final = (
    Rule(
        r"^# Objects of routes, .*\n",
        "{{- if not .Values.sync.gangsOnly }}\n# Objects of routes, and Services.\n",
    ),
    Rule(r"^# Events about services\.\n", "{{- end }}\n# Events about services.\n"),
    Rule(
        r"^---\napiVersion: .*\nkind: ClusterRoleBinding\nmetadata:\n  name: fusioninfer-sync\n"
        r"roleRef:\n(?:  .*\n)+subjects:\n(?:[- ] .*\n)+",
        "{{- if not .Values.sync.namespaces }}\n"
        + _bound("ClusterRoleBinding", "  name: fusioninfer-sync\n")
        + "{{- end }}\n{{- range .Values.sync.namespaces }}\n"
        + _bound("RoleBinding", "  name: fusioninfer-sync-services\n  namespace: {{ . }}\n")
        + "{{- end }}\n",
    ),
)
_PORTS: Final = "{{- range .Values.networkPolicy.apiServerPorts }}\n    - port: {{ . }}\n{{- end }}\n"
_NETWORK: Final = (Rule(r"^  - ports:\n(?:    - port: \d+\n)+", "  - ports:\n" + _PORTS),)
_ACTIONS: Final = Rule(r"validationActions: .*", "validationActions: {{ toJson .Values.backstop.actions }}")
_AGGREGATED: Final = Rule(
    r"^  labels:\n(?:    rbac\.authorization\.k8s\.io/.*\n)+",
    f"{{{{- if .Values.userRoles.aggregate }}}}\n{KEPT_TEXT}{{{{- end }}}}\n",
    times=2,
)
_MONITORED: Final = ".Values.monitoring.enabled"

SOURCES: Final = (
    Source("base/inferenceservice.crd.yaml", (Rule(r"^metadata:\n", _KEPT),)),
    Source("base/rbac.yaml", _RIGHTS),
    Source("base/user-roles.yaml", (_AGGREGATED,)),
    Source("base/picker-roles.yaml", (Rule(r"^metadata:\n", _BOUND, times=2),)),
    Source("base/service.yaml"),
    Source("base/webhooks.yaml", _WEBHOOKS),
    Source("base/backstop.yaml", (_ACTIONS,)),
    Source("base/webhook-deployment.yaml", _deployment("webhook")),
    Source("base/sync-deployment.yaml", (*_deployment("sync"), _FLAGS)),
    Source("base/network-policy.yaml", _NETWORK, ".Values.networkPolicy.enabled"),
    Source("cert-manager/certificates.yaml", condition=MODE),
    Source("self-signed/certificates-rbac.yaml", condition=SELF_SIGNED),
    Source("monitoring/service-monitor.yaml", condition=_MONITORED),
    Source("monitoring/alerts.yaml", condition=_MONITORED),
    Source("monitoring/dashboard.yaml", condition=_MONITORED),
)

SETTINGS: Final = f"""\
apiVersion: v1
kind: ConfigMap
metadata:
  name: fusioninfer-settings
  namespace: {NAMESPACE}
data:
  settings.yaml: {{{{ toYaml .Values.settings | quote }}}}
{{{{- range $name, $text := .Values.files }}}}
  {{{{ $name | quote }}}}: {{{{ $text | quote }}}}
{{{{- end }}}}
"""

NOTES: Final = """\
FusionInfer {{ .Chart.AppVersion }} is installed in namespace {{ .Release.Namespace }}.

  kubectl --namespace {{ .Release.Namespace }} rollout status deployment/fusioninfer-webhook
  kubectl --namespace {{ .Release.Namespace }} rollout status deployment/fusioninfer-sync

The webhook expands an annotated LeaderWorkerSet if this prints a record:

  kubectl apply --dry-run=server -o yaml -f FILE | grep fusioninfer.io/expansion
"""

CHART: Final = f"""\
apiVersion: v2
name: fusioninfer
description: Turns an annotated LeaderWorkerSet into a gang-scheduled, multi-node LLM service, at admission
type: application
version: {__version__}
appVersion: {__version__}
kubeVersion: ">=1.30.0-0"
"""


def template(source: Source, text: str) -> str:
    """Return the template of a file."""
    text = re.sub(r"\{\{", '{{ "{{" }}', text)
    for rule in source.rules:
        text = _replaced(source.path, rule, text)
    if source.condition:
        text = f"{{{{- if {source.condition} }}}}\n{text}{{{{- end }}}}\n"
    return _placed(text)


def _replaced(path: str, rule: Rule, text: str) -> str:
    made, times = re.subn(
        rule.pattern, lambda found: rule.template.replace(KEPT_TEXT, found[0]), text, flags=re.MULTILINE
    )
    if times != rule.times:
        raise ValueError(f"{path}: {rule.pattern!r} matches {times} times, not {rule.times}")
    return made


def _placed(text: str) -> str:
    """Replace the namespace with that of the release."""
    return text.replace(NAMESPACE, "{{ .Release.Namespace }}")


def files() -> Mapping[str, str]:
    """Return every file of the chart."""
    templates = {
        f"templates/{source.path.rpartition('/')[2]}": template(source, (MANIFESTS / source.path).read_text())
        for source in SOURCES
    }
    return {
        "Chart.yaml": MADE + CHART,
        "values.yaml": values_yaml(MADE),
        "values.schema.json": json.dumps(schema(), indent=2) + "\n",
        "templates/NOTES.txt": NOTES,
        "templates/settings.yaml": _placed(SETTINGS),
        **templates,
    }
