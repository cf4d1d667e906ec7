import { ANNOTATIONS, LABELS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { SHARED_LABEL } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { SECRET } from '../../operator/kube/resource-types.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { WorkspaceSnapshots } from '../harness/workspace-snapshots.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'
import { SNAPSHOTS, STORAGE } from '../harness/world.ts'
import { type Flow, LOCAL_VOLUMES, QUICK, success } from './flows.ts'
import { type Play, workspaceOf } from './play.ts'
import { PASSWORD } from './played-machine.ts'

const STATUS = 'update workspaces/status'
const MACHINE_STATUS = 'update virtualmachines/status'
const IMAGE = 'demo-vmdi'
const USUAL = {
  hasWorkspace: true,
  reporting: [STATUS, MACHINE_STATUS, 'update vmdiskimages/status'],
  policy: {
    ...QUICK,
    imageNamespace: '<namespace>',
    imageUrlTemplate: `https://images.example.com/<namespace>/${IMAGE}.qcow2`,
    defaultSourceType: 'http',
    defaultDiskSize: '16Mi',
    defaultStorageClass: STORAGE,
    defaultSnapshotClass: SNAPSHOTS,
    localVolumeRoot: LOCAL_VOLUMES,
    sharedSecretNamespaces: '<namespace>',
  },
}

/** The workspace of the proposal, with its machine deployed, a Secret of the operator and a copy of another one, but without the node port, which only one of many plays could have. */
const LAB = {
  ...DEPLOYED,
  containerClusters: DEPLOYED.containerClusters.map((cluster) => ({
    ...cluster,
    containers: cluster.containers.map(({ portMappings: _node, ...container }: Container) => container),
  })),
} satisfies WorkspaceSpecInput
const SOURCE = 'shared-login'
const secretsOf = ({ namespace }: Play): NonNullable<WorkspaceSpecInput['secrets']> => [
  { name: 'logins', generate: [{ key: 'password' }] },
  { name: 'shared', from: { namespace, name: SOURCE } },
]
type Container = NonNullable<WorkspaceSpecInput['containerClusters']>[number]['containers'][number]

const statusWrites = (...reasons: string[]) => reasons.map((reason) => `${STATUS} ${reason}`)
/** Two for each network, and one for the container cluster whose default route leads through a network. */
const NETWORKS = 13
const times = (count: number, write: string) => Array<string>(count).fill(write)

const POINT = 'before-exam'
const POINT_STATUS = 'update workspacesnapshots/status'

/** The Workspace of a play. */
class PlayedWorkspace {
  readonly name: string
  readonly #play: Play
  readonly #workspaces: Workspaces

  constructor(play: Play) {
    this.name = workspaceOf(play.namespace)
    this.#play = play
    this.#workspaces = new Workspaces(play.world)
  }

  /** Creates the workspace. Each stage lasts until the status reports it. */
  async standUp(): Promise<void> {
    this.#play.holdDownloads(IMAGE)
    await this.#play.world.client.create(SECRET, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: this.#play.namespace, name: SOURCE, labels: { [SHARED_LABEL]: 'true' } },
      stringData: { password: `${PASSWORD}-1` },
    } as KubeObject)
    await this.#workspaces.create(this.name, { ...LAB, secrets: secretsOf(this.#play) })
    await this.#play.untilDownloading(1, IMAGE)
    await this.#workspaces.untilComponent(this.name, 'Image', IMAGE, ({ reason }) => reason === 'Syncing')
    this.#play.letThrough(IMAGE)
    await this.#play.untilSynced(IMAGE)
    await this.#workspaces.untilReady(this.name)
    await this.#play.until('the image names both that refer to it', () => {
      const image = this.#play.world.mirror.images.get(`${this.#play.namespace}/${IMAGE}`)
      return image?.status?.references?.count === 2
    })
  }

  /** Adds a network, removes a container cluster, and changes the image of a container. */
  async edit(): Promise<void> {
    const [first] = LAB.containerClusters
    const containers = first?.containers.map((one) => ({ ...one, image: 'registry.example.com/other:2' }))
    await this.#workspaces.patch(this.name, {
      networks: [...LAB.networks, { name: 'more', cidr: '10.77.0.0/24' }],
      containerClusters: [{ ...first, containers }] as WorkspaceSpecInput['containerClusters'] & object,
    })
    await this.#play.until('what is not asked for is gone', () => {
      const { deployments } = this.#play.world.mirror
      return deployments.get(`${this.name}/ansible`) === undefined
    })
    await this.#workspaces.untilReady(this.name)
  }

  /** Its owner gives the shared login another password, and then withdraws it for a while. */
  async changeSource(): Promise<void> {
    await this.#patchSource({ stringData: { password: `${PASSWORD}-2` } })
    await this.#play.until('the copy has the other password', () => this.#copied() === `${PASSWORD}-2`)
    await this.#patchSource({ metadata: { labels: { [SHARED_LABEL]: null } } })
    await this.#workspaces.untilComponent(this.name, 'Secret', 'shared', ({ reason }) => reason === 'SecretNotShared')
    await this.#play.until('the copy is gone', () => this.#copied() === undefined)
    await this.#play.untilQuiet()
    await this.#patchSource({ metadata: { labels: { [SHARED_LABEL]: 'true' } } })
    await this.#workspaces.untilReady(this.name)
  }

  #copied(): string | undefined {
    const copy = this.#play.world.mirror.secrets.get(`${this.name}/shared`)
    const { data } = (copy ?? {}) as { readonly data?: Readonly<Record<string, string>> }
    return data && Buffer.from(data['password'] ?? '', 'base64').toString()
  }

  async #patchSource(patch: object): Promise<void> {
    await this.#play.world.client.mergePatch(SECRET, { namespace: this.#play.namespace, name: SOURCE }, patch)
  }

  /** Names an image, which plays nothing on a machine that is there, and asks for its roles. Each is played by one pod. */
  async play(): Promise<void> {
    const { world } = this.#play
    const isTold = (reason: string) =>
      this.#workspaces.untilComponent(this.name, 'Ansible', `${this.name}-ansible`, (one) => one.reason === reason)
    await this.#workspaces.patch(this.name, { ansible: { image: 'registry.example.com/player:1' } })
    await isTold('NotPlayed')
    const annotations = { [ANNOTATIONS.playRequestedAt]: 'now' }
    await world.client.mergePatch(WORKSPACE, { name: this.name }, { metadata: { annotations } })
    await this.#play.until('all is played', () => {
      const plays = this.#workspaces.get(this.name)?.status?.plays ?? []
      return plays.length === 2 && plays.every(({ phase }) => phase === 'Succeeded')
    })
    await this.#workspaces.untilReady(this.name)
    const pods = this.#play.of(world.mirror.pods).filter(({ metadata }) => metadata.labels?.[LABELS.play] !== undefined)
    if (pods.length !== 2) throw new Error(`played by ${pods.map(({ metadata }) => metadata.name)}`)
  }

  /** Its end is announced, and comes. */
  async end(onExpiry: 'Halt' | 'Delete'): Promise<void> {
    await this.#workspaces.patch(this.name, { lifetime: '1h', onExpiry })
    await this.#workspaces.untilWarned(this.name)
    await this.#play.untilQuiet()
    await this.#workspaces.letTwoHoursPass(this.name)
    if (onExpiry === 'Delete') await this.#workspaces.untilGone(this.name)
    else
      await this.#workspaces.until(this.name, 'off', ({ status }) => {
        return status?.phase === 'Ready' && status.reason === 'Expired'
      })
  }

  /** A point in time is taken, and then the workspace is switched off. */
  async takePoint(): Promise<void> {
    const points = new WorkspaceSnapshots(this.#play.world, this.name)
    await points.create(POINT)
    await points.untilStand(POINT, 'Succeeded', 'Taken')
    await this.#workspaces.patch(this.name, { powerState: 'Halted' })
    await this.#workspaces.untilReason(this.name, 'Halted')
    await this.#play.untilQuiet()
  }

  /** Its machine and its volumes are put back to that point in time. */
  async restore(): Promise<void> {
    const { world } = this.#play
    const points = new WorkspaceSnapshots(world, this.name)
    await points.restore(POINT, 'now', null)
    await points.untilRestored(POINT, 'Succeeded', 'have their restored claims')
    await this.#play.until('no machine is being restored', () => {
      const machines = this.#play.of(world.mirror.kubevirtMachines)
      return machines.every(({ status }) => status?.restoreInProgress === undefined)
    })
  }
}

/** An action of people on a workspace that is Ready. */
function summary(name: string, act: (workspace: PlayedWorkspace) => Promise<void>, writes: readonly string[]): Flow {
  return {
    name,
    ...USUAL,
    prepare: async (play) => {
      await new PlayedWorkspace(play).standUp()
      await play.untilQuiet()
    },
    act: (play) => act(new PlayedWorkspace(play)),
    writes,
  }
}

export const creation: Flow = {
  name: 'the workspace of the proposal, from nothing to Ready',
  ...USUAL,
  act: async (play) => await new PlayedWorkspace(play).standUp(),
  writes: [
    'patch workspaces',
    'create namespaces',
    ...times(4, 'create networkpolicies'),
    // With random values, a copy, and with the cloud-init data of the machine.
    ...times(3, 'create secrets'),
    'create vmdiskimages',
    ...success.writes,
    ...times(NETWORKS, 'create network-attachment-definitions'),
    ...times(2, 'create persistentvolumes'),
    ...times(2, 'create persistentvolumeclaims'),
    'create configmaps',
    ...times(2, 'create deployments'),
    // The pod of each may be scheduled.
    ...times(2, 'patch pods'),
    'create virtualmachines',
    'patch virtualmachines',
    'create datavolumes',
    'create virtualmachines.kubevirt.io',
    ...statusWrites('Provisioning', 'Ready'),
  ],
}

/** One walk: each of these waits only for what it does itself. */
const change = summary(
  'a workspace that is edited, whose shared login changes and is withdrawn, and whose machine has its roles played',
  async (workspace) => {
    await workspace.edit()
    await workspace.changeSource()
    await workspace.play()
  },
  [
    ...times(2, 'create network-attachment-definitions'),
    'patch configmaps',
    'patch deployments',
    'patch pods',
    'delete deployments',
    ...statusWrites('Ready'),
    // The copy of the login.
    'patch secrets',
    'delete secrets',
    'create secrets',
    ...statusWrites('SecretNotShared', 'Ready'),
    // The plays.
    'create configmaps',
    'create networkpolicies',
    ...statusWrites('Playing'),
    ...times(2, 'create jobs'),
    ...times(2, 'patch jobs'),
    ...statusWrites('Ready'),
  ],
)

const halt = summary('a workspace that is switched off at its end', (workspace) => workspace.end('Halt'), [
  // The warning, and that it has been seen.
  ...statusWrites('Ready', 'Ready'),
  ...times(2, 'patch deployments'),
  'patch virtualmachines',
  'patch virtualmachines.kubevirt.io',
  ...statusWrites('Halting', 'Expired'),
])

const REMOVAL = [
  ...statusWrites('Deleting'),
  'delete virtualmachines',
  'delete virtualmachines.kubevirt.io',
  'delete datavolumes',
  ...times(3, 'delete secrets'),
  'patch virtualmachines',
  ...times(2, 'delete deployments'),
  'delete configmaps',
  ...times(2, 'delete persistentvolumeclaims'),
  ...times(2, 'delete persistentvolumes'),
  ...times(NETWORKS, 'delete network-attachment-definitions'),
  'delete namespaces',
  'patch workspaces',
]

const end = summary('a workspace that is deleted at its end', (workspace) => workspace.end('Delete'), [
  ...statusWrites('Ready', 'Ready'),
  'delete workspaces',
  ...REMOVAL,
])

/** Volumes are claims of a storage class, which can be snapshotted. */
const { localVolumeRoot: _folders, ...policyOfClaims } = USUAL.policy
const VOLUMES = DEPLOYED.volumes.length

const restore: Flow = {
  ...summary('a workspace that is restored to a point in time', (workspace) => workspace.restore(), [
    POINT_STATUS,
    ...times(VOLUMES, 'create persistentvolumeclaims'),
    POINT_STATUS,
    // They are given to the workspace, and it is told of them.
    ...times(VOLUMES, 'patch persistentvolumeclaims'),
    'patch workspaces',
    POINT_STATUS,
    // It has them as its own from then on, and mounts them.
    ...times(VOLUMES, 'patch persistentvolumeclaims'),
    'patch deployments',
    'create virtualmachinerestores',
    POINT_STATUS,
    'delete virtualmachinerestores',
  ]),
  policy: policyOfClaims,
  prepare: async (play) => {
    const workspace = new PlayedWorkspace(play)
    await play.world.createStorageClass('usual', { 'storageclass.kubernetes.io/is-default-class': 'true' })
    await workspace.standUp()
    await workspace.takePoint()
  },
  reporting: [...USUAL.reporting, POINT_STATUS],
}

export const WORKSPACE_FLOWS: readonly Flow[] = [creation, change, halt, end, restore]
