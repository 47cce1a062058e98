"""The Helm chart, generated from the manifests: each template is one of their files with some text replaced.

`only_in_chart` holds the templates that no manifest has.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from catalog.release import VERSION
from hack.manifests.metadata import NONE, with_metadata
from hack.manifests.objects import MANIFESTS
from hack.manifests.readme import readme
from hack.manifests.rules import KEPT, Rule, field, replaced, value, when
from hack.manifests.schema import schema
from hack.manifests.values import RUNBOOKS, VALUES, values_yaml
from hack.manifests.workloads import (
    CLIENT_CA,
    HOST,
    METRICS_CA,
    SECURE,
    SELF_SIGNED,
    SYNC,
    TEMPLATES,
    WEBHOOK,
    pod,
)

MADE: Final = "# generated from manifests/ by `make generate`\n"
FILLED: Final = '{{- include "fusioninfer.defaults" $ -}}\n'
"""Begins each template: what is null, or what an earlier chart lacks (`--reuse-values`), has its default."""
NAMESPACE: Final = "fusioninfer-system"
ONLY_IN_CHART: Final = Path(__file__).parent / "only_in_chart"
CHART: Final = MANIFESTS / "chart"
MODE: Final = '(eq $.Values.certificates.mode "cert-manager")'


@dataclass(frozen=True, slots=True)
class Source:
    """A file that becomes a template: its rules, when it is rendered, and the annotations of its objects."""

    path: str
    rules: tuple[Rule, ...] = ()
    condition: str = ""
    annotations: str = NONE


_INJECTED: Final = (
    '(ternary (dict "cert-manager.io/inject-ca-from" (printf "%s/fusioninfer-webhook" $.Release.Namespace))'
    f" (dict) {MODE})"
)
_KEPT: Final = '(dict "helm.sh/resource-policy" "keep")'
"""Endpoint pickers that run need their roles."""
_DEFINED: Final = f"(ternary {_KEPT} (dict) {value('crds.keep')})"
"""Deleting a definition deletes all its objects."""
_ACCOUNTS: Final = re.compile(
    r"(kind: ServiceAccount\n(?:metadata:\n)? *name: |serviceAccount:\n +name: |serviceAccountName: "
    r"|system:serviceaccount:\S+:)fusioninfer-(sync|webhook)\b"
)
"""Where the name of one of our ServiceAccounts is."""
_ACCOUNT: Final = re.compile(
    r"^apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: \{\{ (?:(?!---\n).*\n)+", re.MULTILINE
)
"""A ServiceAccount that has a name of the values."""


def _namespaces(indent: int, times: int) -> Rule:
    """Return the rule for the selector of namespaces of webhooks and policy."""
    return Rule(
        r"values: \[kube-system, fusioninfer-system\]\n",
        'values: {{ include "fusioninfer.excluded" $ }}\n'
        '{{- with include "fusioninfer.selected" $ | trim }}\n'
        f"{' ' * indent}{{{{- . | nindent {indent} }}}}\n{{{{- end }}}}\n",
        times,
    )


_WEBHOOKS: Final = (
    Rule(
        r"^  clientConfig:\n",
        KEPT + field("certificates.caBundle", "caBundle", 4),
        times=4,
    ),
    Rule(r"timeoutSeconds: \d+", f"timeoutSeconds: {{{{ int {value('webhook.timeoutSeconds')} }}}}", times=4),
    _namespaces(4, times=3),
)


_IN_NAMESPACE: Final = with_metadata(
    """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: fusioninfer-sync-services
  namespace: {{ . }}
  labels:
    app.kubernetes.io/name: fusioninfer
    app.kubernetes.io/component: sync
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: fusioninfer-sync
subjects:
- kind: ServiceAccount
  name: fusioninfer-sync
  namespace: fusioninfer-system
""",
    NONE,
)
"""The binding of the controller's ClusterRole in one namespace."""
_RIGHTS: Final = (
    Rule(
        r"^# Objects of routes, .*\n",
        "{{- if not .Values.sync.gangsOnly }}\n# Objects of routes, and Services.\n",
    ),
    Rule(r"^# Events about services\.\n", "{{- end }}\n# Events about services.\n"),
    Rule(
        r"^---\napiVersion: .*\nkind: ClusterRoleBinding\nmetadata:\n  name: fusioninfer-sync\n"
        r"(?:(?!---\n).*\n)+",
        when("not .Values.sync.namespaces", KEPT)
        + f"{{{{- range .Values.sync.namespaces }}}}\n---\n{_IN_NAMESPACE}{{{{- end }}}}\n",
    ),
)
_PORTS: Final = "{{- range .Values.networkPolicy.apiServerPorts }}\n    - port: {{ . }}\n{{- end }}\n"


def _peers(path: str, otherwise: str = "") -> str:
    """Return the peers of a value; `otherwise` without a value."""
    other = f"{{{{- else }}}}\n{otherwise}" if otherwise else ""
    peers = "    from:\n    {{- toYaml . | nindent 4 }}\n"
    return f"{{{{- with {value(path)} }}}}\n{peers}{other}{{{{- end }}}}\n"


_NETWORK: Final = (
    Rule(r"\A(?:(?!---\n).*\n)+---\n", when(f"not {HOST}", KEPT)),
    Rule(
        r"^    - port: metrics\n(?!    - port: https-metrics)",
        KEPT + when(METRICS_CA, "    - port: https-metrics\n"),
    ),
    Rule(r"^    - port: https\n", KEPT + _peers("networkPolicy.webhookFrom")),
    Rule(r"^    from:\n    - namespaceSelector: \{\}\n", _peers("networkPolicy.metricsFrom", KEPT), times=2),
    Rule(r"^  - ports:\n(?:    - port: \d+\n)+", "  - ports:\n" + _PORTS),
    Rule(
        r"^  # No egress: .*\n", when(TEMPLATES, "  egress:  # the API server\n  - ports:\n" + _PORTS, KEPT)
    ),
)
_SECURE_PORT: Final = "  - name: https-metrics\n    port: 8443\n    targetPort: https-metrics\n"
_SERVICES: Final = (
    Rule(
        r"^  - name: metrics\n(    port: .*\n    targetPort: .*\n)",
        "  - name: " + f'{{{{ ternary "probes" "metrics" (not (empty {METRICS_CA})) }}}}\n'
        "    port: 8080\n    targetPort: metrics\n" + when(METRICS_CA, _SECURE_PORT),
    ),
    Rule(r"^  - name: probes$", f'  - name: {{{{ ternary "probes" "metrics" {SECURE} }}}}'),
    Rule(rf"^{_SECURE_PORT}(?=\Z)", when(SECURE, KEPT)),
)
_MAY_SCRAPE: Final = (Rule(r"\A(?:.*\n)+?(?=---\n# To be bound)", when(SECURE, KEPT)),)
_BACKSTOP: Final = (
    Rule(r"validationActions: .*", "validationActions: {{ toJson .Values.backstop.actions }}"),
    _namespaces(6, times=1),
)
_BOUND: Final = value("policies.controller")
_CONTROLLER: Final = Rule(r'\["kube-system","fusioninfer-system"\]', '{{ include "fusioninfer.excluded" $ }}')
_AGGREGATED: Final = Rule(
    r"^(?:    rbac\.authorization\.k8s\.io/.*\n)+", when(value("userRoles.aggregate"), KEPT), times=2
)
_MONITORED: Final = ".Values.monitoring.enabled"
_ISSUER: Final = value("certificates.issuerRef")
_CERTIFICATES: Final = (
    Rule(r"^# A CA that lasts", f"{{{{- if not {_ISSUER} }}}}\n{KEPT}"),
    Rule(
        r"^---\n(?=apiVersion: .*\nkind: Certificate\nmetadata:\n  name: fusioninfer-webhook\n)",
        f"{{{{- end }}}}\n{KEPT}",
    ),
    Rule(
        r"^    name: fusioninfer-ca\n(?=\Z)",
        f"    {{{{- with {_ISSUER} }}}}\n    {{{{- toYaml . | nindent 4 }}}}\n    {{{{- else }}}}\n{KEPT}"
        "    {{- end }}\n",
    ),
)


def _labelled(path: str) -> Rule:
    """Return the rule that adds labels of a value to those of an object."""
    return Rule(r'^    \{\{- include "fusioninfer\.labels" .*\n', KEPT + _labels(path))


def _labels(path: str) -> str:
    return f"    {{{{- with {value(path)} }}}}\n    {{{{- toYaml . | nindent 4 }}}}\n    {{{{- end }}}}\n"


_SCRAPED: Final = (
    _labelled("monitoring.serviceMonitor.labels"),
    Rule(r"^  - port: .*\n", KEPT + field("monitoring.serviceMonitor.interval", "interval", 4), times=2),
    Rule(
        r"^    tlsConfig:\n(?: {6}.*\n)+",
        "    tlsConfig: {{- toYaml .Values.monitoring.serviceMonitor.tlsConfig | nindent 6 }}\n",
    ),
)
_ALERTS: Final = (
    _labelled("monitoring.prometheusRule.labels"),
    Rule(re.escape(RUNBOOKS), f"{{{{ {value('monitoring.prometheusRule.runbooks')} }}}}", times=17),
)

SOURCES: Final = (
    Source("base/inferenceservice.crd.yaml", (), value("crds.enabled"), _DEFINED),
    Source("base/inferencetemplate.crd.yaml", (), value("crds.enabled"), _DEFINED),
    Source("base/rbac.yaml", _RIGHTS),
    Source("base/user-roles.yaml", (_AGGREGATED,)),
    Source("base/picker-roles.yaml", annotations=_KEPT),
    Source("base/service.yaml", _SERVICES),
    Source("base/metrics-rbac.yaml", _MAY_SCRAPE),
    Source("base/webhooks.yaml", _WEBHOOKS, annotations=_INJECTED),
    Source("base/backstop.yaml", _BACKSTOP),
    Source("base/controller-policy.yaml", (_CONTROLLER,), _BOUND),
    Source("base/webhook-deployment.yaml", WEBHOOK),
    Source("base/sync-deployment.yaml", SYNC),
    Source("base/network-policy.yaml", _NETWORK, ".Values.networkPolicy.enabled"),
    Source("cert-manager/certificates.yaml", _CERTIFICATES, MODE),
    Source("self-signed/certificates-rbac.yaml", condition=SELF_SIGNED),
    Source("self-signed/certificates-policy.yaml", condition=f"and {SELF_SIGNED} {_BOUND}"),
    Source("ownership/ownership-policy.yaml", condition=value("policies.ownership")),
    Source("templates/templates-rbac.yaml", condition=TEMPLATES),
    Source("templates/templates-flow.yaml", condition=TEMPLATES),
    Source("monitoring/service-monitor.yaml", _SCRAPED, _MONITORED),
    Source("monitoring/alerts.yaml", _ALERTS, _MONITORED),
)

_HOOK: Final = (
    '(dict "helm.sh/hook" "test" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded")'
)
OWN: Final = (
    Source("settings.yaml"),
    Source("client-ca.yaml", condition=CLIENT_CA),
    Source("metrics-client-ca.yaml", condition=METRICS_CA),
    Source("test.yaml", pod(2), annotations=_HOOK),
)
"""The templates of objects that no manifest has."""
AS_THEY_ARE: Final = ("NOTES.txt", "_helpers.tpl", "checks.yaml")

HOME: Final = "https://github.com/fusioninfer/fusioninfer"
DESCRIPTION: Final = f"""\
apiVersion: v2
name: fusioninfer
description: Turns an annotated LeaderWorkerSet into a gang-scheduled, multi-node LLM service, at admission
type: application
version: {VERSION}
appVersion: {VERSION}
kubeVersion: ">=1.30.0-0"
home: {HOME}
sources:
- {HOME}
keywords: [llm, inference, leaderworkerset, volcano, vllm, sglang]
maintainers:
- name: The FusionInfer maintainers
  url: {HOME}
annotations:
  artifacthub.io/license: Apache-2.0
  artifacthub.io/prerelease: "true"
"""
DEFAULTS: Final = """\
{{/* Sets every value that is null or absent to its default. */}}
{{- define "fusioninfer.defaults" }}
{{- range $path, $default := fromJson `%s` }}
{{- $names := splitList "." $path }}
{{- $object := $.Values }}
{{- range initial $names }}
{{- if not (kindIs "map" (index $object .)) }}{{ $_ := set $object . dict }}{{ end }}
{{- $object = index $object . }}
{{- end }}
{{- $name := last $names }}
{{- if kindIs "invalid" (index $object $name) }}{{ $_ := set $object $name $default }}{{ end }}
{{- end }}
{{- end }}
"""


def escaped(text: str) -> str:
    """Return the text of a manifest as a template that renders it."""
    return re.sub(r"\{\{", '{{ "{{" }}', text)


def template(source: Source, text: str) -> str:
    """Return the template of a file."""
    text = with_metadata(text, source.annotations)
    for rule in source.rules:
        text = replaced(source.path, rule, text)
    text = _ACCOUNT.sub(_created, _ACCOUNTS.sub(_named, text))
    if source.condition:
        text = f"{{{{- if {source.condition} }}}}\n{text}{{{{- end }}}}\n"
    return FILLED + _placed(text)


def _named(found: re.Match[str]) -> str:
    """Replace the name of a ServiceAccount with that of the values."""
    name = value(f"{found[2]}.serviceAccount.name")
    return f'{found[1]}{{{{ {name} | default "fusioninfer-{found[2]}" }}}}'


def _created(found: re.Match[str]) -> str:
    """Return a ServiceAccount that is rendered only if the values ask for it."""
    (component,) = re.findall(r'"fusioninfer\.labels" \(list \$ "(\w+)"\)', found[0])
    return when(value(f"{component}.serviceAccount.create"), found[0])


def _placed(text: str) -> str:
    """Replace the namespace with that of the release."""
    return text.replace(NAMESPACE, "{{ $.Release.Namespace }}")


def files() -> Mapping[str, str]:
    """Return every file of the chart."""
    own = {name: _read(ONLY_IN_CHART / name) for name in AS_THEY_ARE}
    own |= {one.path: template(one, _read(ONLY_IN_CHART / one.path)) for one in OWN}
    made = {
        one.path.rpartition("/")[2]: template(one, escaped(_read(MANIFESTS / one.path))) for one in SOURCES
    }
    return {
        "Chart.yaml": MADE + DESCRIPTION,
        "README.md": readme(),
        "values.yaml": values_yaml(MADE),
        "values.schema.json": json.dumps(schema(), indent=2) + "\n",
        "templates/_defaults.tpl": DEFAULTS % json.dumps({each.path: each.default for each in VALUES}),
        **{f"templates/{name}": text for name, text in (own | made).items()},
    }


def texts() -> Mapping[str, str]:
    """Return every file of the chart; what else there is must not be."""
    others = {str(file.relative_to(CHART)): "" for file in CHART.rglob("*") if file.is_file()}
    return {f"manifests/chart/{name}": text for name, text in (others | dict(files())).items()}


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")
