{{/* The labels of an object and of pods alike. */}}
{{- define "fusioninfer.commonLabels" }}
{{- $root := index . 0 }}
{{- $ours := dict
  "app.kubernetes.io/name" "fusioninfer"
  "app.kubernetes.io/component" (index . 1)
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/version" ($root.Chart.AppVersion | replace "+" "_")
  "app.kubernetes.io/managed-by" $root.Release.Service }}
{{- $theirs := merge (dict) $root.Values.commonLabels }}
{{- toYaml (merge $ours $theirs (dict "app.kubernetes.io/part-of" "fusioninfer")) }}
{{- end }}

{{/* The labels of an object, by the root and its component. */}}
{{- define "fusioninfer.labels" }}
{{- $root := index . 0 }}
{{- $chart := printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- toYaml (merge (dict "helm.sh/chart" $chart) (include "fusioninfer.commonLabels" . | fromYaml)) }}
{{- end }}

{{/* The labels of pods: without the chart's version. */}}
{{- define "fusioninfer.podLabels" }}
{{- $root := index . 0 }}
{{- toYaml (merge (include "fusioninfer.commonLabels" . | fromYaml) $root.Values.podLabels) }}
{{- end }}

{{/* The image. */}}
{{- define "fusioninfer.image" }}
{{- $name := list .Values.image.registry .Values.image.repository | compact | join "/" }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $name .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $name (.Values.image.tag | default $.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* The annotations of an object, if it has any: its own, which are the second item, and the common ones. */}}
{{- define "fusioninfer.annotations" }}
{{- $root := index . 0 }}
{{- with merge (dict) (index . 1) $root.Values.commonAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* The annotations of pods: a change of the settings restarts them. */}}
{{- define "fusioninfer.podAnnotations" }}
{{- $settings := list .Values.settings .Values.files | toJson | sha256sum }}
{{- toYaml (merge (dict "checksum/settings" $settings) .Values.podAnnotations) }}
{{- end }}

{{/* The namespaces that webhooks and policy leave out. */}}
{{- define "fusioninfer.excluded" }}
{{- concat (list "kube-system" .Release.Namespace) .Values.excludedNamespaces | uniq | toJson }}
{{- end }}

{{/* Further conditions on the namespaces that webhooks and policy select. */}}
{{- define "fusioninfer.selected" }}
{{- with .Values.namespaceSelector.matchExpressions }}
{{ toYaml . }}
{{- end }}
{{- with .Values.namespaceSelector.matchLabels }}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
