{{- /* A Service's name begins with a letter and has no dots, which a release's need not. */ -}}
{{- define "legation.name" -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if regexMatch "^[0-9]" $release -}}
{{- printf "%s-%s" .Chart.Name $release | trunc 63 | trimSuffix "-" -}}
{{- else if contains .Chart.Name $release -}}
{{- $release | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" $release .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- /* Objects without a namespace carry it in their name, for there may be several releases. */ -}}
{{- define "legation.clusterName" -}}
{{- printf "%s.%s" (include "legation.name" .) .Release.Namespace -}}
{{- end }}

{{- define "legation.account" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "legation.name" .) "default") -}}
{{- end }}

{{- define "legation.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{- define "legation.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "legation.labels" -}}
{{ include "legation.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The namespaces that are watched, as a list in JSON: parameters of the class must be seen as well. */ -}}
{{- define "legation.watched" -}}
{{- if and .Values.watch .Values.gatewayClass.create .Values.gatewayClass.parameters -}}
{{- append .Values.watch .Release.Namespace | uniq | toJson -}}
{{- else -}}
{{- .Values.watch | toJson -}}
{{- end -}}
{{- end }}

{{- define "legation.subject" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "legation.account" . | quote }}
    namespace: {{ .Release.Namespace | quote }}
{{- end }}
