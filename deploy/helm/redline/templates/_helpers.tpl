{{- define "redline.labels" -}}
app.kubernetes.io/name: redline
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "redline.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}

{{- define "redline.nats" -}}
{{- if .Values.nats.enabled -}}
nats://{{ .Release.Name }}-nats:4222
{{- else -}}
{{ required "nats.url is needed with nats.enabled=false" .Values.nats.url }}
{{- end -}}
{{- end }}

{{- /* How programs connect to NATS. */ -}}
{{- define "redline.natsArgs" -}}
- --nats={{ include "redline.nats" . }}
- --nats-nkey=/etc/redline/nats/user.nk
{{- if .Values.secrets.natsTLS }}
- --nats-ca=/etc/redline/tls/ca.crt
{{- end }}
{{- end }}

{{- define "redline.mounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: nats, mountPath: /etc/redline/nats, readOnly: true}
{{- if .Values.secrets.natsTLS }}
- {name: tls, mountPath: /etc/redline/tls, readOnly: true}
{{- end }}
{{- end }}

{{- define "redline.volumes" -}}
- name: nats
  secret:
    secretName: {{ .Values.secrets.nats }}
    defaultMode: 0440
    items: [{key: user.nk, path: user.nk}]
{{- if .Values.secrets.natsTLS }}
- name: tls
  secret:
    secretName: {{ .Values.secrets.natsTLS }}
    defaultMode: 0440
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- end }}

{{- define "redline.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "redline.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "redline.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "redline.place" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
