import {
  AMOUNT,
  between,
  each,
  fieldsOf,
  itemsBy,
  listOf,
  never,
  type OverrideNode,
  presenceOf,
  SWITCH,
  VALUE,
} from './override-verdicts.ts'

/** @param field of a container cluster */
const WORD = (field: string) => never(`${field} of the container cluster says that`)
const NODE = never('it gives the pod a device, a namespace or a privilege of the node')
const FOREIGN = never('it names objects that were not made for this pod, or files of the node')
const SCHEDULING = never(
  'the operator and the scheduler of the cluster decide where the pod runs, and who makes way for it',
)
const CONFINED = never('Pod Security and the other keys of the policy decide how a container is confined')
const TOLD = never('what the container writes would be told in statuses')
const ACCOUNT = never('the pod would have the rights of a ServiceAccount')

const environment = itemsBy('name', 'any', {
  value: VALUE,
  valueFrom: fieldsOf({
    fieldRef: fieldsOf(each('apiVersion fieldPath')),
    resourceFieldRef: fieldsOf({ ...each('containerName resource'), divisor: AMOUNT }),
    configMapKeyRef: WORD('containers[].env'),
    fileKeyRef: FOREIGN,
    secretKeyRef: WORD('containers[].env'),
  }),
})

const mounts = itemsBy('mountPath', 'any', {
  ...each('name subPath subPathExpr'),
  readOnly: SWITCH,
  mountPropagation: NODE,
  recursiveReadOnly: NODE,
})

const amounts = fieldsOf({
  'ephemeral-storage': AMOUNT,
  ...each('cpu memory', WORD('containers[].resources')),
  '*': NODE,
})

const hook = fieldsOf({
  exec: fieldsOf({ command: listOf(VALUE) }),
  sleep: fieldsOf(each('seconds')),
  ...each('httpGet tcpSocket', never('the node would call any address')),
})

const confinement = fieldsOf({
  ...each('allowPrivilegeEscalation readOnlyRootFilesystem runAsNonRoot'),
  ...each('appArmorProfile procMount seLinuxOptions seccompProfile windowsOptions', CONFINED),
  capabilities: WORD('containers[].capabilities'),
  privileged: WORD('containers[].privileged'),
  runAsGroup: WORD('containers[].runAsGroup'),
  runAsUser: WORD('containers[].runAsUser'),
})

const container: Readonly<Record<string, OverrideNode>> = {
  imagePullPolicy: VALUE,
  stdinOnce: SWITCH,
  env: environment,
  lifecycle: fieldsOf({
    postStart: hook,
    preStop: hook,
    stopSignal: never('Kubernetes wants the operating system of the pod with it'),
  }),
  resizePolicy: listOf(fieldsOf(each('resourceName restartPolicy'))),
  resources: fieldsOf({ limits: amounts, requests: amounts, claims: NODE }),
  securityContext: confinement,
  volumeMounts: mounts,
  args: WORD('containers[].args'),
  command: WORD('containers[].command'),
  envFrom: WORD('containers[].envFrom'),
  image: WORD('containers[].image'),
  livenessProbe: WORD('containers[].livenessProbe'),
  ports: WORD('containers[].portMappings'),
  readinessProbe: WORD('containers[].readinessProbe'),
  restartPolicyRules: never('the operator tells by restarts what is wrong with a container'),
  startupProbe: WORD('containers[].startupProbe'),
  stdin: WORD('containers[].stdin'),
  terminationMessagePath: TOLD,
  terminationMessagePolicy: TOLD,
  tty: WORD('containers[].tty'),
  volumeDevices: FOREIGN,
  workingDir: WORD('containers[].workingDir'),
}

/** All kinds of volumes but the one that names nothing. */
const VOLUMES_OF_OTHERS =
  'awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs persistentVolumeClaim photonPersistentDisk portworxVolume projected quobyte rbd scaleIO secret storageos vsphereVolume'

/** Verdicts on every field of a pod template of Kubernetes, `v1`. */
export const POD_OVERRIDES = fieldsOf({
  metadata: never('labels and annotations decide which networks, policies and owners count'),
  spec: fieldsOf({
    ...each('dnsPolicy enableServiceLinks setHostnameAsFQDN subdomain'),
    terminationGracePeriodSeconds: between(0, 3_600),
    runtimeClassName: NODE,
    containers: itemsBy('name', 'rendered', {
      ...container,
      restartPolicy: never('the operator tells by restarts what is wrong with a container'),
    }),
    dnsConfig: fieldsOf({
      nameservers: never('networks[].nameservers says that'),
      options: listOf(fieldsOf(each('name value'))),
      searches: listOf(VALUE),
    }),
    hostAliases: itemsBy('ip', 'any', { hostnames: listOf(VALUE) }),
    initContainers: itemsBy('name', 'rendered', {
      ...container,
      restartPolicy: never('one that goes on belongs into containers[] of the container cluster'),
    }),
    securityContext: fieldsOf({
      ...each('fsGroup fsGroupChangePolicy runAsNonRoot supplementalGroupsPolicy'),
      supplementalGroups: listOf(VALUE),
      sysctls: listOf(fieldsOf(each('name value'))),
      ...each('appArmorProfile seLinuxChangePolicy seLinuxOptions seccompProfile windowsOptions', CONFINED),
      runAsGroup: WORD('containers[].runAsGroup'),
      runAsUser: WORD('containers[].runAsUser'),
    }),
    volumes: itemsBy('name', 'any', {
      emptyDir: presenceOf({ medium: VALUE, sizeLimit: AMOUNT }),
      ...each(VOLUMES_OF_OTHERS, FOREIGN),
    }),
    activeDeadlineSeconds: never('a Deployment cannot have it'),
    ...each('affinity nodeName os overhead preemptionPolicy priority priorityClassName', SCHEDULING),
    ...each('schedulerName schedulingGates schedulingGroup topologySpreadConstraints', SCHEDULING),
    ...each('automountServiceAccountToken serviceAccount serviceAccountName', ACCOUNT),
    ephemeralContainers: never('a Deployment cannot have it'),
    ...each('hostIPC hostNetwork hostPID hostUsers resourceClaims shareProcessNamespace', NODE),
    hostname: WORD('hostname'),
    hostnameOverride: WORD('name'),
    imagePullSecrets: WORD('pullSecrets'),
    nodeSelector: WORD('nodeSelector'),
    readinessGates: never('nobody would open the gate'),
    resources: WORD('containers[].resources'),
    restartPolicy: never('a Deployment cannot have another one'),
    tolerations: WORD('tolerations'),
  }),
})
