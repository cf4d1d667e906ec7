import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { PowerState } from '@open-terrain/constructs/operator'
import { WORKSPACE } from '../../operator/controllers/workspace/caches.ts'
import { WORKSPACE_SNAPSHOT } from '../../operator/controllers/workspace-snapshot/caches.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { keyOf } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import { gatherPoint, IMAGE_URL_TEMPLATE, type Performer, POINT_NAME, WORKSPACE_NAME } from './cast.ts'
import type { Observer } from './observer.ts'

export interface WorkspaceStage {
  readonly client: KubeClient
  readonly observer: Observer
  readonly cast: readonly Performer[]
  readonly signal: AbortSignal
  readonly say: (text: string) => void
  readonly pause: (signal: AbortSignal) => Promise<void>
}

/** What was left of the workspace after it was gone, as `Kind name`, except for the image that the policy retains. */
export interface WorkspaceEnd {
  readonly left: readonly string[]
}

const POINT_KEY = { namespace: WORKSPACE_NAME, name: POINT_NAME }

/** Folder of a node that contains the volumes of workspaces. */
const LOCAL_VOLUME_ROOT = '/var/lib/open-terrain'

/** The kinds of a workspace's parts, and of what those create. */
const PARTS = [
  types.NETWORK_POLICY,
  types.SERVICE,
  types.NETWORK_ATTACHMENT_DEFINITION,
  types.DEPLOYMENT,
  types.POD,
  types.PERSISTENT_VOLUME_CLAIM,
  types.PERSISTENT_VOLUME,
  types.CONFIG_MAP,
  types.SECRET,
  types.VIRTUAL_MACHINE_SNAPSHOT,
  types.VOLUME_SNAPSHOT,
  types.KUBEVIRT_VIRTUAL_MACHINE,
  types.DATA_VOLUME,
  types.NAMESPACE,
]

/** Keys of the policy: where images of workspaces come from, and where their volumes are. */
export const WORKSPACE_POLICY: Readonly<Record<string, string>> = {
  imageUrlTemplate: IMAGE_URL_TEMPLATE,
  defaultSourceType: 'http',
  // The size that the machine wants for its disk: to grow a disk, CDI would have to copy it.
  defaultDiskSize: '18Gi',
  defaultStorageClass: 'gp3',
  defaultSnapshotClass: 'ebs-snapshot',
  localVolumeRoot: LOCAL_VOLUME_ROOT,
}

/** Creates a whole lab with one object, switches it off and on, and deletes it again. */
export async function standUpWorkspace(stage: WorkspaceStage): Promise<WorkspaceEnd> {
  const { client, observer, cast, signal, say, pause } = stage
  const performer = cast.find(({ role }) => role === 'workspace')
  if (performer === undefined) return { left: ['there was no workspace'] }
  await client.create(WORKSPACE, performer.manifest)
  say(`created Workspace ${WORKSPACE_NAME} (workspace.yaml of the examples), with its machine deployed`)
  const found = () => observer.workspace(WORKSPACE_NAME)
  const switchTo = (powerState: PowerState) =>
    client.mergePatch(WORKSPACE, { name: WORKSPACE_NAME }, { spec: { powerState } })
  /** Undefined while it is on its way. */
  const isOff = () => {
    const { phase, reason } = found()?.status ?? {}
    return phase === 'Ready' ? reason === 'Halted' : undefined
  }
  await observer.until(`Workspace ${WORKSPACE_NAME} to be Ready`, signal, () => found()?.status.phase === 'Ready')
  say(`Workspace ${WORKSPACE_NAME} is Ready, with all ${found()?.status.counts?.total} components`)
  await pause(signal)
  await client.create(WORKSPACE_SNAPSHOT, await gatherPoint())
  const point = () => observer.points.get(keyOf(POINT_KEY))
  await observer.until(`WorkspaceSnapshot ${POINT_NAME} to end`, signal, () => {
    return ['Succeeded', 'Failed'].includes(point()?.status.phase ?? '')
  })
  say(`took WorkspaceSnapshot ${POINT_NAME} of it: ${point()?.status.phase}, ${point()?.status.ready} snapshots`)
  const uid = found()?.metadata.uid ?? ''
  await switchTo('Halted')
  say(`switched Workspace ${WORKSPACE_NAME} off: guests and containers stop, disks, volumes and addresses stay`)
  await observer.until(`Workspace ${WORKSPACE_NAME} to be off`, signal, () => isOff() === true)
  // Its volumes are folders of a node, of which storage makes no copies.
  const annotations = {
    [ANNOTATIONS.restoreRequestedAt]: new Date().toISOString(),
    [ANNOTATIONS.restoreScope]: 'Machines',
  }
  await client.mergePatch(WORKSPACE_SNAPSHOT, POINT_KEY, { metadata: { annotations } })
  const restore = () => point()?.status.restore?.phase ?? 'InProgress'
  await observer.until(`the restore of ${POINT_NAME} to end`, signal, () => restore() !== 'InProgress')
  say(`restored its machine to WorkspaceSnapshot ${POINT_NAME} while it was off: ${restore()}`)
  await switchTo('Running')
  say(`switched Workspace ${WORKSPACE_NAME} on again`)
  await observer.until(`Workspace ${WORKSPACE_NAME} to be on`, signal, () => isOff() === false)
  await observer.until(`the restored disk to have its data`, signal, () => restore() !== 'WaitForFirstConsumer')
  await client.delete(WORKSPACE, { name: WORKSPACE_NAME }, { uid, propagationPolicy: 'Background' })
  say(`deleted Workspace ${WORKSPACE_NAME}, of which all ${found()?.status.counts?.total} components were ready`)
  await observer.until(`Workspace ${WORKSPACE_NAME} to be gone`, signal, () => found() === undefined)
  return { left: await leftOf(client, uid) }
}

/** A live read: an observer could have missed what still exists. */
async function leftOf(client: KubeClient, uid: string): Promise<string[]> {
  const lists = PARTS.map(async (type) => {
    const { items } = await client.list(type)
    const isLeft = ({ metadata }: (typeof items)[number]) =>
      metadata.labels?.[LABELS.workspaceUid] === uid ||
      metadata.namespace === WORKSPACE_NAME ||
      (type === types.NAMESPACE && metadata.name === WORKSPACE_NAME)
    return items.filter(isLeft).map(({ metadata }) => `${type.kind} ${metadata.name}`)
  })
  return (await Promise.all(lists)).flat()
}
