{{/* Sets every value that is null or absent to its default. */}}
{{- define "fusioninfer.defaults" }}
{{- range $path, $default := fromJson `{"image.repository": "fusioninfer", "image.tag": "", "image.pullPolicy": "", "imagePullSecrets": [], "commonLabels": {}, "commonAnnotations": {}, "podLabels": {}, "podAnnotations": {}, "priorityClassName": "", "nodeSelector": {}, "tolerations": [], "webhook.replicas": 2, "webhook.resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "768Mi"}}, "webhook.affinity": {}, "webhook.topologySpreadConstraints": [], "webhook.serviceAccount.annotations": {}, "webhook.extraArgs": [], "webhook.extraEnv": [], "webhook.extraVolumes": [], "webhook.extraVolumeMounts": [], "webhook.timeoutSeconds": 5, "webhook.logLevel": "info", "webhook.port": 10250, "webhook.metricsPort": 8080, "webhook.hostNetwork": false, "webhook.clientCA": "", "webhook.clientNames": [], "webhook.callerCIDRs": [], "sync.replicas": 2, "sync.resources": {"requests": {"cpu": "100m", "memory": "192Mi"}, "limits": {"memory": "1Gi"}}, "sync.affinity": {}, "sync.topologySpreadConstraints": [], "sync.serviceAccount.annotations": {}, "sync.extraArgs": [], "sync.extraEnv": [], "sync.extraVolumes": [], "sync.extraVolumeMounts": [], "sync.observeOnly": false, "sync.gangsOnly": false, "sync.namespaces": [], "sync.workers": 8, "sync.qps": 0, "sync.logLevel": "info", "settings": {}, "files": {}, "excludedNamespaces": [], "namespaceSelector": {}, "userRoles.aggregate": true, "certificates.mode": "self-signed", "certificates.issuerRef": {}, "certificates.caBundle": "", "templates.enabled": false, "templates.anyCaller": false, "networkPolicy.enabled": true, "networkPolicy.webhookFrom": [], "networkPolicy.metricsFrom": [], "networkPolicy.apiServerPorts": [443, 6443], "backstop.actions": ["Warn", "Audit"], "policies.controller": true, "policies.ownership": false, "monitoring.enabled": false, "monitoring.serviceMonitor.labels": {}, "monitoring.serviceMonitor.interval": "", "monitoring.prometheusRule.labels": {}, "monitoring.prometheusRule.runbooks": "https://github.com/fusioninfer/fusioninfer/blob/main/docs/alerts.md", "monitoring.dashboard.labels": {}}` }}
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
