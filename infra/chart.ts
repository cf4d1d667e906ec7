import { manifestYaml, NOT_PRUNED } from '@open-terrain/constructs/infra'
import { OPERATOR_NAMESPACE, POLICY_NAME } from '@open-terrain/constructs/platform'
import { parseAllDocuments, stringify } from 'yaml'
import about from './package.json' with { type: 'json' }

/** Name of the chart, and of its folder. */
export const CHART = 'open-terrain'

/** What Helm is not to delete when it removes the release, nor when a later chart lacks it. */
const KEPT = { 'helm.sh/resource-policy': 'keep' }

interface Released {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
}

/**
 * Returns the files of a Helm chart by their path below its folder, made of the manifests of a release by file name. They are in the chart as they are,
 * and the templates add what the values say. So the chart has few values: what is not among them takes another environment, and its manifests.
 */
export function chartFiles(manifests: ReadonlyMap<string, string>, image: string): ReadonlyMap<string, string> {
  const kept = [...manifests].map(([file, content]) => [`manifests/${file}`, withKept(content)] as const)
  return new Map([
    [
      'Chart.yaml',
      stringify({
        apiVersion: 'v2',
        name: CHART,
        description: 'Open Terrain: kinds, access rights, policy and operator',
        type: 'application',
        version: about.version,
        appVersion: about.version,
        kubeVersion: '>=1.34.0-0',
      }),
    ],
    ['values.yaml', VALUES.replace('<image>', image)],
    ['values.schema.json', `${JSON.stringify(VALUES_SCHEMA, undefined, 2)}\n`],
    ['templates/install.yaml', INSTALL],
    ['templates/NOTES.txt', NOTES],
    ...kept,
  ])
}

/** Whatever outlives the installation has the annotations by which tools that apply from Git keep it. */
function withKept(content: string): string {
  const objects = parseAllDocuments(content).map((document) => document.toJS() as Released)
  const marked = objects.map((object) => {
    const { annotations = {} } = object.metadata
    if (Object.keys(NOT_PRUNED).some((key) => annotations[key] === undefined)) return object
    return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, ...KEPT } } }
  })
  return marked.map(manifestYaml).join('---\n')
}

const VALUES = `# Container image of the operator, by digest.
image: <image>
# Names of Secrets in namespace ${OPERATOR_NAMESPACE} with which the image is pulled.
imagePullSecrets: []
# One leads, the others wait.
replicas: 2
# Keys of the policy, as texts, such as concurrency: "8". Only keys that are here are set, and each upgrade sets
# them again. Leave it empty, and change ConfigMap ${POLICY_NAME} in the cluster, where no upgrade resets it.
policy: {}
# Scraping, alerts and a dashboard, for clusters with the Prometheus operator.
monitoring: false
`

/** Refuses what the templates would not look at. */
const VALUES_SCHEMA = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  additionalProperties: false,
  required: ['image', 'imagePullSecrets', 'replicas', 'policy', 'monitoring'],
  properties: {
    image: { type: 'string', pattern: '^[^/@\\s]*[.:][^/@\\s]*/\\S+$' },
    imagePullSecrets: { type: 'array', items: { type: 'string' } },
    replicas: { type: 'integer', minimum: 1, maximum: 5 },
    policy: { type: 'object', additionalProperties: { type: 'string' } },
    monitoring: { type: 'boolean' },
    global: { type: 'object' },
  },
}

/** Helm sorts what it renders by kind, CRDs before what needs them. */
const INSTALL = `{{- if eq .Release.Namespace "${OPERATOR_NAMESPACE}" }}
{{- fail "Open Terrain makes its namespace ${OPERATOR_NAMESPACE} itself: install the release in another one, such as default" }}
{{- end }}
{{- range list "1-crds.yaml" "2-namespaces.yaml" }}
{{ $.Files.Get (printf "manifests/%s" .) }}
---
{{- end }}
{{- range splitList "\\n---\\n" (.Files.Get "manifests/3-install.yaml") }}
{{- $object := fromYaml . }}
{{- if eq $object.kind "Deployment" }}
{{- $_ := set $object.spec "replicas" (int $.Values.replicas) }}
{{- $pod := $object.spec.template.spec }}
{{- $_ := set (first $pod.containers) "image" $.Values.image }}
{{- $secrets := list }}
{{- range $.Values.imagePullSecrets }}
{{- $secrets = append $secrets (dict "name" .) }}
{{- end }}
{{- if $secrets }}
{{- $_ := set $pod "imagePullSecrets" $secrets }}
{{- end }}
{{- else if and (eq $object.metadata.name "${POLICY_NAME}") $.Values.policy }}
{{- $_ := set $object "data" $.Values.policy }}
{{- end }}
{{ toYaml $object }}
---
{{- end }}
{{- if .Values.monitoring }}
{{ .Files.Get "manifests/4-monitoring.yaml" }}
{{- end }}
`

const NOTES = `Wait until the replicas are ready:
  kubectl -n ${OPERATOR_NAMESPACE} rollout status deployment open-terrain-operator

helm uninstall keeps the kinds, the namespaces and the policy, and with them all images, disks and guests.
`
