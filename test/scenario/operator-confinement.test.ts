import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { OWNER_ROLES } from '@open-terrain/constructs/operator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { OPERATOR_NAMESPACE } from '../../sandbox/control-plane/cluster.ts'
import { ApiUser, type Write } from '../harness/api-user.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { operatorAccount, removeConfinement } from '../harness/operator-account.ts'

const LAB = 'lab-1'
const OURS = 'apis/pelotech.ot/v1alpha1'
const CDI = 'apis/cdi.kubevirt.io/v1beta1'
const KUBEVIRT = 'apis/kubevirt.io/v1'
const RBAC = 'apis/rbac.authorization.k8s.io/v1'
const MACHINE_SNAPSHOTS = 'apis/snapshot.kubevirt.io/v1beta1'
const VOLUME_SNAPSHOTS = 'apis/snapshot.storage.k8s.io/v1'
const MULTUS = 'apis/k8s.cni.cncf.io/v1'

const cluster = useOwnCluster()
let admin: ApiUser
let operator: ApiUser
let connection: Connection
let client: HttpKubeClient
let workspaceUid = ''
/** Name of a claim as CDI makes it to fill another one. */
let prime = ''

const at = (path: string) => `/${path}?dryRun=All`
const inTeam = (api: string, rest: string) => `${api}/namespaces/team/${rest}`
const inLab = (api: string, rest: string) => `${api}/namespaces/${LAB}/${rest}`

/** What every version of the operator has set on what it made for a Workspace. */
const ofLab = (name: string) => ({
  name,
  labels: { [LABELS.workspaceUid]: workspaceUid },
  ownerReferences: [
    { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name: LAB, uid: workspaceUid, controller: true },
  ],
})
const ofMachine = (name: string) => ({ name, labels: { [LABELS.vmUid]: 'ffffffff-0000-0000-0000-000000000000' } })

/** The same with its owner. */
const diskOfMachine = (name: string) => {
  const [uid] = Object.values(ofMachine(name).labels)
  const owner = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VirtualMachine', name: 'any', uid, controller: true }
  return { ...ofMachine(name), ownerReferences: [owner] }
}

/** Of a point in time. */
const ofPoint = (name: string) => ({
  name,
  ownerReferences: [
    {
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'WorkspaceSnapshot',
      name: 'point',
      uid: workspaceUid,
      controller: true,
    },
  ],
})
const point = (metadata: object) => ({ ...typed('pelotech.ot/v1alpha1', 'WorkspaceSnapshot'), metadata, spec: {} })
const machineSnapshot = (metadata: object) => ({
  ...typed('snapshot.kubevirt.io/v1beta1', 'VirtualMachineSnapshot'),
  metadata,
  spec: { source: { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'any' } },
})
const machineRestore = (metadata: object, patches?: readonly string[]) => ({
  ...typed('snapshot.kubevirt.io/v1beta1', 'VirtualMachineRestore'),
  metadata,
  spec: {
    target: { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'any' },
    virtualMachineSnapshotName: 'any',
    ...(patches !== undefined && { patches }),
  },
})
const volumeSnapshot = (metadata: object) => ({
  ...typed('snapshot.storage.k8s.io/v1', 'VolumeSnapshot'),
  metadata,
  spec: { source: { persistentVolumeClaimName: 'any' } },
})

const template = (spec: object = {}) => ({
  metadata: { labels: { app: 'a' } },
  spec: {
    ...spec,
    containers: [
      { name: 'a', image: 'registry.example/a', ...('hostPID' in spec && { securityContext: { privileged: true } }) },
    ],
  },
})
/** A container that runs first, so that every list of containers counts. */
const PRIVILEGED = {
  initContainers: [{ name: 'b', image: 'registry.example/b', securityContext: { privileged: true } }],
}
/** As a play of a machine has it. */
const job = (metadata: object, spec: object = {}, container: object = {}) => ({
  metadata,
  spec: {
    suspend: true,
    template: {
      spec: {
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        volumes: [
          { name: 'lab', configMap: { name: 'lab-ansible' } },
          { name: 'login', projected: { sources: [{ secret: { name: 'a', items: [{ key: 'a', path: 'a' }] } }] } },
        ],
        ...spec,
        containers: [
          {
            name: 'a',
            image: 'registry.example/a',
            securityContext: { allowPrivilegeEscalation: false },
            ...container,
          },
        ],
      },
    },
  },
})
const service = (metadata: object, spec: object = {}) => ({ metadata, spec: { ports: [{ port: 80 }], ...spec } })
const deployment = (metadata: object, spec: object = {}) => ({
  metadata,
  spec: { selector: { matchLabels: { app: 'a' } }, template: template(spec) },
})
const volume = (metadata: object, path: string, namespace = LAB) => ({
  metadata,
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    local: { path },
    claimRef: { namespace, name: 'data' },
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'Exists' }] }] },
    },
  },
})
const claim = (metadata: object, spec: object = {}) => ({
  metadata,
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
})
const typed = (apiVersion: string, kind: string) => ({ apiVersion, kind })
const dataVolume = (metadata: object) => ({
  ...typed('cdi.kubevirt.io/v1beta1', 'DataVolume'),
  metadata,
  spec: { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } },
})
const guest = (metadata: object, ...volumes: readonly object[]) => ({
  ...typed('kubevirt.io/v1', 'VirtualMachine'),
  metadata,
  spec: { runStrategy: 'Halted', template: { spec: { domain: { devices: {} }, volumes } } },
})
const machine = (metadata: object) => ({
  ...typed('pelotech.ot/v1alpha1', 'VirtualMachine'),
  metadata,
  spec: { vmDiskImageRef: { name: 'a' }, resources: { cpu: '1', memory: '1Gi' } },
})
const binding = (metadata: object, role: string, subject = 'alice') => ({
  metadata,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: subject }],
})
/** As the owners of a lab may make one. */
/** Of a type that no Secret of a lab has. */
const STRANGE = { type: 'example.com/other', stringData: { a: 'b' } }
const network = (metadata: object) => ({
  ...typed('k8s.cni.cncf.io/v1', 'NetworkAttachmentDefinition'),
  metadata,
  spec: { config: '{}' },
})

beforeAll(async () => {
  const { controlPlane } = cluster()
  admin = new ApiUser(controlPlane.kubeconfigPath)
  connection = Connection.fromEnvironment(null, controlPlane.kubeconfigPath)
  client = new HttpKubeClient({ connection, userAgent: 'open-terrain-scenario' })
  operator = new ApiUser(await operatorAccount(cluster(), client, OPERATOR_NAMESPACE))
  const made = await client.create(WORKSPACE, {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'Workspace',
    metadata: { name: LAB },
    spec: {},
  } as KubeObject)
  workspaceUid = made.metadata.uid ?? ''
  const must = (path: string, body: object) => admin.must('POST', `/${path}`, body)
  await must(`api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps`, {
    metadata: { name: 'sync-operator-policy' },
    data: { localVolumeRoot: '/srv/labs/' },
  })
  for (const name of ['team', 'not-of-a-lab']) await must('api/v1/namespaces', { metadata: { name } })
  const named = { name: 'theirs' }
  await must('apis/apps/v1/namespaces/kube-system/deployments', { ...deployment(named), metadata: named })
  await must('api/v1/namespaces/kube-system/configmaps', { metadata: named })
  // Its ServiceAccount comes a moment after the namespace.
  await admin.askUntil('granted', 'POST', '/api/v1/namespaces/kube-system/pods', {
    metadata: named,
    spec: template().spec,
  })
  await must(inTeam('api/v1', 'secrets'), { metadata: named })
  await must(inTeam('api/v1', 'persistentvolumeclaims'), claim(named))
  const { metadata: target } = await client.get(PERSISTENT_VOLUME_CLAIM, { namespace: 'team', ...named })
  const owner = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: named.name, uid: target.uid ?? '' }
  prime = `prime-${owner.uid}`
  for (const name of [prime, 'prime-theirs'])
    await must(inTeam('api/v1', 'persistentvolumeclaims'), claim({ name, ownerReferences: [owner] }))
  await must(inTeam('api/v1', 'resourcequotas'), { metadata: named, spec: { hard: { pods: '10' } } })
  await must(inTeam('apis/networking.k8s.io/v1', 'networkpolicies'), { metadata: named, spec: { podSelector: {} } })
  await must(inTeam(MULTUS, 'network-attachment-definitions'), network(named))
  await must(inTeam(CDI, 'datavolumes'), dataVolume(named))
  await must(inTeam('api/v1', 'services'), service(named))
  await must(inTeam(KUBEVIRT, 'virtualmachines'), guest(named))
  await must(inTeam(OURS, 'virtualmachines'), machine(named))
  await must('api/v1/persistentvolumes', volume(named, '/srv/theirs', 'team'))
  await operator.must('POST', '/api/v1/namespaces', { metadata: ofLab(LAB) })
  await must(inLab(OURS, 'workspacesnapshots'), point(named))
  await must(inLab('api/v1', 'secrets'), { ...STRANGE, metadata: ofLab('tied') })
  await must(inLab(RBAC, 'rolebindings'), binding(ofLab('tied'), 'view'))
})

afterAll(async () => await connection.close())

type Attempt = readonly [what: string, write: Write, path: string, body?: () => object]

const marked = () => ({ metadata: { labels: { [LABELS.workspaceUid]: workspaceUid, [LABELS.vmUid]: 'x' } } })

const REFUSED: readonly Attempt[] = [
  [
    'lower the Pod Security level of kube-system',
    'PATCH',
    'api/v1/namespaces/kube-system',
    () => ({ metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } }),
  ],
  [
    'make a namespace of others look like one of a Workspace',
    'PATCH',
    'api/v1/namespaces/team',
    () => ({ metadata: ofLab('team') }),
  ],
  ['delete a namespace of others', 'DELETE', 'api/v1/namespaces/team'],
  ['create any namespace', 'POST', 'api/v1/namespaces', () => ({ metadata: { name: 'any' } })],
  [
    'create a namespace whose name is not that of its Workspace',
    'POST',
    'api/v1/namespaces',
    () => ({ metadata: ofLab('any') }),
  ],
  [
    'take the mark from a namespace',
    'PATCH',
    `api/v1/namespaces/${LAB}`,
    () => ({ metadata: { labels: { [LABELS.workspaceUid]: null }, ownerReferences: null } }),
  ],
  [
    'run a privileged pod in kube-system',
    'POST',
    'apis/apps/v1/namespaces/kube-system/deployments',
    () => deployment(ofLab('any'), { hostPID: true }),
  ],
  ...(
    [
      ['a Job with a token', { automountServiceAccountToken: true }],
      ['a Job as a ServiceAccount', { serviceAccountName: 'other' }],
      ['a Job on the network of the node', { hostNetwork: true }],
      ['a Job with a folder of the node', { volumes: [{ name: 'a', hostPath: { path: '/' } }] }],
      [
        'a Job with a token as a file',
        { volumes: [{ name: 'a', projected: { sources: [{ serviceAccountToken: { path: 'a' } }] } }] },
      ],
      [
        'a Job that runs something privileged first',
        { initContainers: [{ name: 'b', image: 'registry.example/b', securityContext: { privileged: true } }] },
      ],
    ] as const
  ).map(
    ([what, spec]): Attempt => [`run ${what}`, 'POST', inLab('apis/batch/v1', 'jobs'), () => job(ofLab('any'), spec)],
  ),
  [
    'run a privileged Job',
    'POST',
    inLab('apis/batch/v1', 'jobs'),
    () => job(ofLab('any'), {}, { securityContext: { privileged: true } }),
  ],
  ['run a Job elsewhere', 'POST', inTeam('apis/batch/v1', 'jobs'), () => job(ofLab('any'))],
  ['change a Deployment of others', 'PATCH', 'apis/apps/v1/namespaces/kube-system/deployments/theirs', marked],
  [
    'give its own rights to somebody',
    'POST',
    inLab(RBAC, 'rolebindings'),
    () => binding(ofLab('any'), 'open-terrain-operator'),
  ],
  [
    'give rights to a ServiceAccount',
    'POST',
    inLab(RBAC, 'rolebindings'),
    () => binding(ofLab('any'), OWNER_ROLES.withShells, 'system:serviceaccount:default:default'),
  ],
  [
    'give rights in the namespaces of others',
    'POST',
    inTeam(RBAC, 'rolebindings'),
    () => binding(ofLab('any'), OWNER_ROLES.withShells),
  ],
  ['open the network of others', 'DELETE', inTeam('apis/networking.k8s.io/v1', 'networkpolicies/theirs')],
  ['make a Service in the namespaces of others', 'POST', inTeam('api/v1', 'services'), () => service(ofLab('any'))],
  ['take a Service from others', 'DELETE', inTeam('api/v1', 'services/theirs')],
  [
    'take the traffic of an address',
    'POST',
    inLab('api/v1', 'services'),
    () => service(ofLab('any'), { externalIPs: ['192.0.2.1'] }),
  ],
  [
    'make a Service that leads elsewhere',
    'POST',
    inLab('api/v1', 'services'),
    () => service(ofLab('any'), { type: 'ExternalName', externalName: 'elsewhere.example' }),
  ],
  ['lift a quota', 'DELETE', inTeam('api/v1', 'resourcequotas/theirs')],
  [
    'create a network for others',
    'POST',
    inTeam(MULTUS, 'network-attachment-definitions'),
    () => network(ofLab('any')),
  ],
  ['change a network of others', 'PATCH', inTeam(MULTUS, 'network-attachment-definitions/theirs'), marked],
  ['change a ConfigMap of kube-system', 'PATCH', 'api/v1/namespaces/kube-system/configmaps/theirs', marked],
  ['create a ConfigMap for others', 'POST', inTeam('api/v1', 'configmaps'), () => ({ metadata: ofLab('any') })],
  [
    'change its own policy',
    'PATCH',
    `api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps/sync-operator-policy`,
    () => ({ data: { localVolumeRoot: '/' } }),
  ],
  [
    'create a volume for others',
    'POST',
    'api/v1/persistentvolumes',
    () => volume({ name: 'any' }, '/srv/labs/lab-1/a'),
  ],
  ['delete a volume of others', 'DELETE', 'api/v1/persistentvolumes/theirs'],
  ['reach a folder of the node', 'POST', 'api/v1/persistentvolumes', () => volume(ofLab('any'), '/etc')],
  [
    'reach a folder of the node that has the name of a Workspace',
    'POST',
    'api/v1/persistentvolumes',
    () => volume(ofLab('any'), '/etc/lab-1/a'),
  ],
  [
    'reach the folder of another Workspace',
    'POST',
    'api/v1/persistentvolumes',
    () => volume(ofLab('any'), '/srv/labs/lab-2/a'),
  ],
  [
    'give a volume to others',
    'POST',
    'api/v1/persistentvolumes',
    () => volume(ofLab('any'), '/srv/labs/team/a', 'team'),
  ],
  ['create a claim for others', 'POST', inTeam('api/v1', 'persistentvolumeclaims'), () => claim(ofLab('any'))],
  [
    'create a disk of a machine on a volume of its choice',
    'POST',
    inTeam('api/v1', 'persistentvolumeclaims'),
    () => claim(diskOfMachine('any'), { volumeName: 'any' }),
  ],
  [
    'create a claim that only looks like a disk',
    'POST',
    inTeam('api/v1', 'persistentvolumeclaims'),
    () => claim(ofMachine('any')),
  ],
  ['delete a claim of others', 'DELETE', inTeam('api/v1', 'persistentvolumeclaims/theirs')],
  ['delete a claim that CDI does not fill', 'DELETE', inTeam('api/v1', 'persistentvolumeclaims/prime-theirs')],
  ['change a pod of others', 'PATCH', 'api/v1/namespaces/kube-system/pods/theirs', marked],
  ['end a pod of others', 'DELETE', 'api/v1/namespaces/kube-system/pods/theirs'],
  ['change a Secret of others', 'PATCH', inTeam('api/v1', 'secrets/theirs'), marked],
  ['delete a Secret of others', 'DELETE', inTeam('api/v1', 'secrets/theirs')],
  ['make a Secret of a Workspace elsewhere', 'POST', inTeam('api/v1', 'secrets'), () => ({ metadata: ofLab('any') })],
  [
    'make a Secret of another Workspace',
    'POST',
    inLab('api/v1', 'secrets'),
    () => {
      const metadata = ofLab('any')
      return {
        metadata: { ...metadata, ownerReferences: metadata.ownerReferences.map((one) => ({ ...one, name: 'lab-2' })) },
      }
    },
  ],
  ['make a Secret in a lab for nobody', 'POST', inLab('api/v1', 'secrets'), () => ({ metadata: { name: 'any' } })],
  [
    'have a token made for it',
    'POST',
    inLab('api/v1', 'secrets'),
    () => {
      const { annotations, ...metadata } = ofLab('any') as ReturnType<typeof ofLab> & { readonly annotations?: object }
      const account = { ...annotations, 'kubernetes.io/service-account.name': 'default' }
      return { type: 'kubernetes.io/service-account-token', metadata: { ...metadata, annotations: account } }
    },
  ],
  ['change a Secret of another type', 'PATCH', inLab('api/v1', 'secrets/tied'), marked],
  ['change a role that gives more', 'PATCH', inLab(RBAC, 'rolebindings/tied'), marked],
  [
    'get the token of a ServiceAccount of a lab',
    'POST',
    inLab('api/v1', 'secrets'),
    () => ({
      metadata: { ...ofLab('any'), annotations: { 'kubernetes.io/service-account.name': 'default' } },
      type: 'kubernetes.io/service-account-token',
    }),
  ],
  [
    'get the token of a ServiceAccount',
    'POST',
    'api/v1/namespaces/kube-system/secrets',
    () => ({
      metadata: { ...ofMachine('any'), annotations: { 'kubernetes.io/service-account.name': 'default' } },
      type: 'kubernetes.io/service-account-token',
    }),
  ],
  [
    'take a snapshot of a machine of others',
    'POST',
    inTeam(MACHINE_SNAPSHOTS, 'virtualmachinesnapshots'),
    () => machineSnapshot(ofPoint('any')),
  ],
  [
    'take a snapshot of a machine of a lab for nobody',
    'POST',
    inLab(MACHINE_SNAPSHOTS, 'virtualmachinesnapshots'),
    () => machineSnapshot(ofLab('any')),
  ],
  [
    'restore a machine of others',
    'POST',
    inTeam(MACHINE_SNAPSHOTS, 'virtualmachinerestores'),
    () => machineRestore(ofPoint('any')),
  ],
  [
    'restore a machine of a lab for nobody',
    'POST',
    inLab(MACHINE_SNAPSHOTS, 'virtualmachinerestores'),
    () => machineRestore(ofLab('any')),
  ],
  [
    'patch a machine of a lab by a restore',
    'POST',
    inLab(MACHINE_SNAPSHOTS, 'virtualmachinerestores'),
    () => machineRestore(ofPoint('any'), ['{}']),
  ],
  [
    'take a snapshot of a volume of others',
    'POST',
    inTeam(VOLUME_SNAPSHOTS, 'volumesnapshots'),
    () => volumeSnapshot(ofPoint('any')),
  ],
  ['create a DataVolume for nobody', 'POST', inTeam(CDI, 'datavolumes'), () => dataVolume({ name: 'any' })],
  ['delete a DataVolume of others', 'DELETE', inTeam(CDI, 'datavolumes/theirs')],
  [
    'mount the token of a ServiceAccount in a guest',
    'POST',
    inTeam(KUBEVIRT, 'virtualmachines'),
    () => guest(ofMachine('any'), { name: 'a', serviceAccount: { serviceAccountName: 'default' } }),
  ],
  ['change a guest of others', 'PATCH', inTeam(KUBEVIRT, 'virtualmachines/theirs'), marked],
  ['delete a guest of others', 'DELETE', inTeam(KUBEVIRT, 'virtualmachines/theirs')],
  ['create a machine for others', 'POST', inTeam(OURS, 'virtualmachines'), () => machine({ name: 'any' })],
  [
    'change the machine of others',
    'PATCH',
    inTeam(OURS, 'virtualmachines/theirs'),
    () => ({ spec: { resources: { cpu: '2' } } }),
  ],
  ['delete the machine of others', 'DELETE', inTeam(OURS, 'virtualmachines/theirs')],
  [
    'ask for a restore',
    'PATCH',
    inLab(OURS, 'workspacesnapshots/theirs'),
    () => ({ metadata: { annotations: { [ANNOTATIONS.restoreRequestedAt]: 'now' } } }),
  ],
  ['label a point in time', 'PATCH', inLab(OURS, 'workspacesnapshots/theirs'), marked],
]

const LET_THROUGH: readonly Attempt[] = [
  [
    'the level of a lab',
    'PATCH',
    `api/v1/namespaces/${LAB}`,
    () => ({ metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } } }),
  ],
  ['the end of a lab', 'DELETE', `api/v1/namespaces/${LAB}`],
  ['a container cluster of a lab', 'POST', inLab('apis/apps/v1', 'deployments'), () => deployment(ofLab('any'))],
  ['a play of a lab', 'POST', inLab('apis/batch/v1', 'jobs'), () => job(ofLab('any'))],
  ['a network of a lab', 'POST', inLab(MULTUS, 'network-attachment-definitions'), () => network(ofLab('any'))],
  ['the rights of an owner', 'POST', inLab(RBAC, 'rolebindings'), () => binding(ofLab('any'), OWNER_ROLES.withShells)],
  ['a Service of a lab', 'POST', inLab('api/v1', 'services'), () => service(ofLab('any'))],
  ['a Secret of a lab', 'POST', inLab('api/v1', 'secrets'), () => ({ metadata: ofLab('any') })],
  [
    'a login of a lab',
    'POST',
    inLab('api/v1', 'secrets'),
    () => ({ type: 'kubernetes.io/basic-auth', stringData: { username: 'a', password: 'b' }, metadata: ofLab('any') }),
  ],
  ['the end of a Secret of another type', 'DELETE', inLab('api/v1', 'secrets/tied')],
  ['the end of a role that gives more', 'DELETE', inLab(RBAC, 'rolebindings/tied')],
  ['an inventory', 'POST', inLab('api/v1', 'configmaps'), () => ({ metadata: ofLab('any') })],
  [
    'a snapshot of a machine of a lab',
    'POST',
    inLab(MACHINE_SNAPSHOTS, 'virtualmachinesnapshots'),
    () => machineSnapshot(ofPoint('any')),
  ],
  [
    'a restore of a machine of a lab',
    'POST',
    inLab(MACHINE_SNAPSHOTS, 'virtualmachinerestores'),
    () => machineRestore(ofPoint('any')),
  ],
  [
    'a snapshot of a volume of a lab',
    'POST',
    inLab(VOLUME_SNAPSHOTS, 'volumesnapshots'),
    () => volumeSnapshot(ofPoint('any')),
  ],
  ['a claim of a lab', 'POST', inLab('api/v1', 'persistentvolumeclaims'), () => claim(ofLab('any'))],
  ['a local volume of a lab', 'POST', 'api/v1/persistentvolumes', () => volume(ofLab('any'), '/srv/labs/lab-1/a')],
  ['a machine of a lab', 'POST', inLab(OURS, 'virtualmachines'), () => machine(ofLab('any'))],
  [
    'a finalizer on a machine of others',
    'PATCH',
    inTeam(OURS, 'virtualmachines/theirs'),
    () => ({ metadata: { finalizers: ['pelotech.ot/virtual-machine'] } }),
  ],
  [
    'a finalizer on a point in time',
    'PATCH',
    inLab(OURS, 'workspacesnapshots/theirs'),
    () => ({ metadata: { finalizers: ['pelotech.ot/workspace-snapshot'] } }),
  ],
  ['the data of a machine', 'POST', inTeam('api/v1', 'secrets'), () => ({ metadata: ofMachine('any') })],
  [
    'a guest',
    'POST',
    inTeam(KUBEVIRT, 'virtualmachines'),
    () => guest(ofMachine('any'), { name: 'a', dataVolume: { name: 'a' } }),
  ],
  ['an empty disk', 'POST', inTeam('api/v1', 'persistentvolumeclaims'), () => claim(diskOfMachine('any'))],
  ['a disk', 'POST', inTeam(CDI, 'datavolumes'), () => dataVolume(ofMachine('any'))],
]

describe("the operator's ServiceAccount", () => {
  it.for(REFUSED)('cannot %s', async ([, write, path, body]) => {
    const { status, message } = await operator.ask(write, at(path), body?.())
    expect(message).toMatch(
      /ValidatingAdmissionPolicy 'open-terrain-operator(-volumes|-privileged|-service-types|-internet)?' .*denied request: the operator /,
    )
    expect(status).toBe(403)
    // Others can, if they have the right.
    expect(await admin.ask(write, at(path), body?.())).toMatchObject({ message: '' })
  })

  it.for(LET_THROUGH)('writes %s', async ([, write, path, body]) => {
    expect(await operator.ask(write, at(path), body?.())).toMatchObject({ message: '' })
  })

  it('ends what CDI fills, which has the label of nobody', async () => {
    const path = at(inTeam('api/v1', `persistentvolumeclaims/${prime}`))
    expect(await operator.ask('DELETE', path)).toMatchObject({ message: '' })
  })

  it('runs privileged containers only if the policy allows it', async () => {
    const path = at(inLab('apis/apps/v1', 'deployments'))
    const body = deployment(ofLab('any'), PRIVILEGED)
    expect(await operator.ask('POST', path, body)).toMatchObject({
      status: 403,
      message: expect.stringContaining(
        'the operator runs privileged containers only where key allowPrivileged of ConfigMap sync-operator-policy is "true"',
      ),
    })
    await admin.must('PATCH', `/api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps/sync-operator-policy`, {
      data: { allowPrivileged: 'true' },
    })
    await operator.askUntil('granted', 'POST', path, body)
  })

  it.each([
    ['an address', [{ to: [{ ipBlock: { cidr: '9.9.9.9/32' } }] }]],
    ['everything', [{}]],
    ['everything at a port', [{ to: [], ports: [{ port: 443 }] }]],
  ])('lets pods send to %s only if the policy allows it', async (_where, egress) => {
    const path = at(inLab('apis/networking.k8s.io/v1', 'networkpolicies'))
    const body = { metadata: ofLab('any'), spec: { podSelector: {}, policyTypes: ['Egress'], egress } }
    const within = { podSelector: {}, policyTypes: ['Egress'], egress: [{ to: [{ podSelector: {} }] }] }
    expect(await operator.ask('POST', path, { ...body, spec: within })).toMatchObject({ message: '' })
    expect(await operator.ask('POST', path, body)).toMatchObject({
      status: 403,
      message: expect.stringContaining(
        'the operator lets pods send to addresses only where key allowInternetAccess of ConfigMap sync-operator-policy is "true"',
      ),
    })
    const policy = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps/sync-operator-policy`
    await admin.must('PATCH', policy, { data: { allowInternetAccess: 'true' } })
    await operator.askUntil('granted', 'POST', path, body)
    await admin.must('PATCH', policy, { data: { allowInternetAccess: 'false' } })
    await operator.askUntil(/lets pods send to addresses only/, 'POST', path, body)
  })

  it('makes Services only of types that the policy allows', async () => {
    const path = at(inLab('api/v1', 'services'))
    const body = service(ofLab('any'), { type: 'NodePort' })
    expect(await operator.ask('POST', path, body)).toMatchObject({
      status: 403,
      message: expect.stringContaining(
        'the operator makes no Service of type NodePort: key allowedServiceTypes of ConfigMap sync-operator-policy does not name it',
      ),
    })
    await admin.must('PATCH', `/api/v1/namespaces/${OPERATOR_NAMESPACE}/configmaps/sync-operator-policy`, {
      data: { allowedServiceTypes: 'LoadBalancer,\n NodePort' },
    })
    await operator.askUntil('granted', 'POST', path, body)
  })

  it('renews its Lease with a priority of its own, and does nothing else with it', async () => {
    const type = {
      group: 'flowcontrol.apiserver.k8s.io',
      version: 'v1',
      kind: 'FlowSchema',
      plural: 'flowschemas',
      namespaced: false,
    }
    const { metadata } = await client.get(type, { name: 'open-terrain-operator-lease' })
    const leases = `apis/coordination.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/leases`
    const ofRequest = async (path: string) => (await operator.ask('GET', `/${path}`)).flowSchema
    // The API server learns of the rule a moment after it is written.
    await expect.poll(() => ofRequest(`${leases}/sync-operator`)).toBe(metadata.uid)
    expect(await ofRequest(inTeam(OURS, 'virtualmachines'))).not.toBe(metadata.uid)
  })

  // The API server stops watching ConfigMaps when no rule needs them any more, and does not begin again: https://github.com/kubernetes/kubernetes/issues/130887
  it('is confined, and nobody else, after the rules were removed and installed again', async () => {
    const anyNamespace = { metadata: { name: 'any' } }
    await removeConfinement(client, OPERATOR_NAMESPACE)
    await operator.askUntil('granted', 'POST', at('api/v1/namespaces'), anyNamespace)
    await admin.must('POST', '/api/v1/namespaces', { metadata: { name: 'installed-again' } })
    await admin.must('POST', '/api/v1/namespaces/installed-again/configmaps', {
      metadata: { name: 'sync-operator-policy' },
      data: { localVolumeRoot: '/srv/labs' },
    })
    await using next = new ApiUser(await operatorAccount(cluster(), client, 'installed-again'))
    expect(await next.ask('POST', at('api/v1/persistentvolumes'), volume(ofLab('any'), '/etc'))).toMatchObject({
      message: expect.stringContaining('the operator writes only volumes of Workspaces'),
    })
    expect(await admin.ask('POST', at('api/v1/persistentvolumes'), volume({ name: 'any' }, '/any'))).toMatchObject({
      message: '',
    })
  })
})
