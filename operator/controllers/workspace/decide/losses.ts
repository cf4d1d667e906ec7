import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash, workspace as WORKSPACE, type WorkspaceStatus } from '@open-terrain/constructs/operator'
import { firstFew } from '../../../base/messages.ts'
import type { ClaimView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import { type Component, type ComponentSummary, componentFailed, idOf, idOfObject, LOSS_REASONS } from './component.ts'
import { claimNow } from './volume-claims.ts'

/**
 * What the status remembers of a component whose data is gone, from when it tells so until the component is there again. Nothing else shows it: a namespace
 * that was made again is like one from which somebody has deleted a machine, and a policy may say later that a volume is a folder.
 */
type LossRecord = NonNullable<WorkspaceStatus['lost']>[number]

type Told = Pick<WorkspaceWorld['workspace'], 'metadata' | 'status'>

/** Fingerprint of the present request to make again what is lost; undefined if there is none. */
function rebuildRequestOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  const value = metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
  return value === undefined ? undefined : shortHash([value])
}

/** Returns what the status remembers of the loss of a component. */
export function lossRecordOf(
  { status }: Pick<Told, 'status'>,
  { kind, name }: Pick<Component, 'kind' | 'name'>,
): LossRecord | undefined {
  return status.lost?.find(({ component }) => component === idOf(kind, name))
}

/** Returns what the status is to remember of a loss. The request of the moment in which it is told counts for what was lost before. */
export function lossRecordFor(workspace: Told, component: Pick<Component, 'kind' | 'name'>): LossRecord {
  const request = rebuildRequestOf(workspace)
  const fresh = { component: idOf(component.kind, component.name), ...(request !== undefined && { request }) }
  return lossRecordOf(workspace, component) ?? fresh
}

/**
 * Reports whether somebody asks for a component to be made again although its data is gone. Only a value counts that was set after the status had told of
 * the loss: nobody can mean a loss that they have not been told of.
 */
export function isRemakeAsked({ workspace }: Pick<WorkspaceWorld, 'workspace'>, component: Component): boolean {
  const record = lossRecordOf(workspace, component)
  const request = rebuildRequestOf(workspace)
  return record !== undefined && request !== undefined && request !== record.request
}

/** Says that the data of a component is gone, and how to have the component made again without it. */
export function goneForGood(
  { workspace }: WorkspaceWorld,
  why: 'VolumeLost' | 'DiskLost',
  what: string,
): ComponentSummary {
  const command = `kubectl annotate ${WORKSPACE.crdName} ${workspace.metadata.name} --overwrite ${ANNOTATIONS.rebuildRequestedAt}="$(date)"`
  return componentFailed(
    why,
    `${what}: it is not made again by itself; if nothing of it can be saved, have it made again by: ${command}`,
  )
}

/** Components that a message names. More are only counted. */
const SHOWN_MAX = 3

/** Says what is lost, beside what comes first of a workspace whose components cannot be judged. Empty if nothing is known to be lost. */
export function lossesBeside(world: WorkspaceWorld): string {
  const { workspace, children } = world
  const isLosing = (child: KubeObject) =>
    child.kind === VIRTUAL_MACHINE && LOSS_REASONS.has((child as MachineFacts).status.reason ?? '')
  const losing = [...children.values()].filter(isLosing).map(idOfObject)
  const { lost: recorded = [], irreplaceable = [] } = workspace.status
  const gone = irreplaceable.filter((id) => isDataGone(world, id))
  const lost = [...new Set([...recorded.map(({ component }) => component), ...gone, ...losing])]
  return lost.length === 0 ? '' : `; data is lost, or about to be: that of ${firstFew(lost, SHOWN_MAX)}`
}

const VIRTUAL_MACHINE = 'VirtualMachine'
const VOLUME = 'Volume'

/** Reports whether a component that had data is gone with it, as far as that is known without the spec. Who deletes a machine alone wants it to begin again. */
function isDataGone(world: WorkspaceWorld, component: string): boolean {
  const [kind = '', name = ''] = component.split(' ')
  const child = world.children.get(
    kind === VOLUME ? idOf(PERSISTENT_VOLUME_CLAIM.kind, claimNow(world, name)) : component,
  )
  if (kind === VIRTUAL_MACHINE) return child === undefined && isNamespaceGone(world)
  return child === undefined || isTerminating(child) || (child as Partial<ClaimView>).phase === 'Lost'
}

/** Reports whether the namespace of the workspace is gone, or goes, with everything in it. */
export function isNamespaceGone({ children, workspace }: WorkspaceWorld): boolean {
  const namespace = children.get(idOf('Namespace', workspace.metadata.name))
  return namespace === undefined || isTerminating(namespace)
}
