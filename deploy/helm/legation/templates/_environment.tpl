{{- /* The flags of `legation run`, as variables. */ -}}
{{- define "legation.environment" -}}
- {name: LEGATION_XDS, value: {{ .Values.xds | quote }}}
- {name: LEGATION_ADMIN, value: {{ .Values.admin | quote }}}
- {name: LEGATION_SERVICE, value: {{ include "legation.name" . | quote }}}
- {name: LEGATION_CONNECTION_AGE, value: {{ .Values.connectionAge | quote }}}
{{- with .Values.envoyImage }}
- {name: LEGATION_ENVOY_IMAGE, value: {{ . | quote }}}
{{- end }}
{{- with include "legation.watched" . | fromJsonArray }}
- {name: LEGATION_WATCH, value: {{ join " " . | quote }}}
{{- end }}
{{- if ne .Values.logFormat "auto" }}
- {name: LEGATION_LOG_FORMAT, value: {{ .Values.logFormat }}}
{{- end }}
{{- with .Values.auditLog }}
- {name: LEGATION_AUDIT_LOG, value: {{ . | quote }}}
{{- end }}
{{- if .Values.verbose }}
- {name: LEGATION_VERBOSE, value: "true"}
{{- end }}
{{- if .Values.xdsSecret }}
- {name: LEGATION_XDS_CERT, value: /etc/legation/xds/tls.crt}
- {name: LEGATION_XDS_KEY, value: /etc/legation/xds/tls.key}
- {name: LEGATION_XDS_CLIENT_CA, value: /etc/legation/xds/ca.crt}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
