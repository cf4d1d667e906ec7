import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  adoptedVolume,
  compareQuantities,
  type RestoredVolumeState,
  renderRestoredVolume,
  restoredClaimName,
  SNAPSHOT_MESSAGE_MAX,
  type VolumeClaims,
  volumeClaimsText,
  workspace as WORKSPACE,
  type WorkspaceSnapshotRestore,
  type WorkspaceSnapshotStatus,
} from '@open-terrain/constructs/operator'
import { toTime } from '../../../base/time.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { cutMessage } from '../../../runtime/conditions.ts'
import { type ObjectPlan, type Removal, referTo, removalOf, type Touch, unchanged } from '../../../runtime/plan.ts'
import type { FoundClaim, RestoreVolume, WorkspaceSnapshotWorld } from '../world.ts'
import { whyChanged, whyNotOff, whyNotOfLab } from './restore-lab.ts'

/** A volume that is in a point in time. */
interface VolumeOfPoint {
  readonly name: string
  readonly snapshot: string
  readonly time?: string | undefined
}

export function volumesIn({ members = [] }: WorkspaceSnapshotStatus): VolumeOfPoint[] {
  return members.flatMap(({ kind, name, snapshot, time }) =>
    kind === 'Volume' && snapshot !== undefined ? [{ name, snapshot, time }] : [],
  )
}

/** Returns the volumes of a restore that begins. @param request what was asked for, and when */
export function volumesToRestore({ snapshot }: WorkspaceSnapshotWorld, request: string): RestoredVolumeState[] {
  const { uid = '' } = snapshot.metadata
  return volumesIn(snapshot.status).map(({ name }) => ({
    name,
    claim: restoredClaimName(name, `${uid} ${request}`),
    phase: 'Pending',
  }))
}

/** Returns why the volumes cannot be restored now, and what to do about it; none if they can. */
export function whyVolumesNot(world: WorkspaceSnapshotWorld): string[] {
  const { restore, notServed } = world
  if (restore.lab === undefined) return ['the Workspace is not known yet: ask again']
  if (notServed.includes('Volume'))
    return ['the cluster does not serve VolumeSnapshots: install the snapshot controller and its CRDs']
  const { pods } = restore.lab
  if (pods.length > 0) return [`pods ${pods.join(', ')} have not ended: wait until they have`]
  return volumesIn(world.snapshot.status).flatMap(({ name }) => whyVolumeNot(world, name) ?? [])
}

function whyVolumeNot({ restore, snapshot }: WorkspaceSnapshotWorld, name: string): string | undefined {
  const volume = restore.volumes[name]
  const { namespace } = snapshot.metadata
  if (volume === undefined)
    return `volume ${name} is not in the workspace any more: put it into spec.volumes again, or make a claim from its VolumeSnapshot by hand`
  const users = Object.entries(restore.targets).filter(([, { kubevirt }]) => kubevirt?.volumes.includes(name) === true)
  if (users.length > 0)
    return `volume ${name} is a disk of machine ${users.map(([machine]) => machine).join(', ')}, and a machine keeps its claim: remove it from disks of the machine first, or make a claim from its VolumeSnapshot by hand`
  if (volume.others.length === 0) return undefined
  return `volume ${name} still has claim ${volume.others.join(', ')} beside ${volume.claim}, such as from before another restore, and has no more than two: if nobody needs what is on it, run kubectl -n ${namespace} delete pvc ${volume.others.join(' ')}`
}

/** What is known of the volumes of a restore, and done for them. */
export interface VolumesNow extends Required<Pick<ObjectPlan, 'applyIf' | 'touch' | 'remove'>> {
  readonly volumes: readonly RestoredVolumeState[]
  /** Whether the machines may be restored: no volume is, or all of them have their claims. */
  readonly areThere: boolean
}

/** What is stored of a restore of volumes. */
export interface VolumesStored extends WorkspaceSnapshotRestore {
  /** Why the machines of the point in time could not be restored now, and what to do about it. */
  readonly obstacle: string | undefined
}

const NO_WRITES = { applyIf: [], touch: [], remove: [] } as const

/**
 * Takes the volumes of a restore one step further:
 * ```
 * Pending ─▶ claims created from the snapshots ─▶ InProgress ─▶ all have their data ─▶ all given to the workspace ─▶ switched, in one write ─▶ Succeeded
 * ```
 * Until the switch nothing that exists is changed: the claims belong to the WorkspaceSnapshot, and are deleted if one of them fails. The switch is an annotation
 * of the Workspace, in the version in which that was seen to be off, so nobody has a volume of then beside one of now. A claim that was seen is never made again.
 * Until then everything is looked at again that can keep the machines of the point in time from being restored after it.
 */
export function stepVolumes(
  world: WorkspaceSnapshotWorld,
  { obstacle, ...stored }: VolumesStored,
  now: number,
): VolumesNow {
  const { volumes: before = [] } = stored
  const why = whyNotNow(world, stored) ?? obstacle
  const seen = before.map((one) => volumeNow(world, why, one))
  const failed = seen.find(({ phase }) => phase === 'Failed')
  const volumes = failed === undefined ? seen : seen.map((one) => failedWith(one, failed))
  const areThere = volumes.every(({ phase }) => phase === 'Succeeded')
  const removals = volumes.flatMap((one) => (one.phase === 'Failed' ? leftOf(world, one) : []))
  const writes = failed === undefined && !areThere ? writesFor(world, volumes, now) : NO_WRITES
  return { ...writes, volumes, areThere, remove: removals }
}

/** Returns what is left of the volumes of a restore that has ended without them. What belongs to the workspace stays. */
export function volumesLeft(world: WorkspaceSnapshotWorld, stored: WorkspaceSnapshotRestore | undefined): Removal[] {
  return (stored?.volumes ?? []).flatMap((one) => (one.phase === 'Failed' ? leftOf(world, one) : []))
}

function leftOf({ restore }: WorkspaceSnapshotWorld, { claim }: RestoredVolumeState): Removal[] {
  const found = restore.claims[claim]
  return found?.isOurs === true ? removalOf(found.object) : []
}

function failedWith(one: RestoredVolumeState, { name, message }: RestoredVolumeState): RestoredVolumeState {
  if (one.phase === 'Failed' || one.phase === 'Succeeded') return one
  return {
    name: one.name,
    claim: one.claim,
    phase: 'Failed',
    message: `left as it is, since volume ${name} has failed: ${message}`.slice(0, SNAPSHOT_MESSAGE_MAX).toWellFormed(),
  }
}

function volumeNow(
  world: WorkspaceSnapshotWorld,
  why: string | undefined,
  { name, claim, phase, message: before }: RestoredVolumeState,
): RestoredVolumeState {
  if (phase === 'Succeeded' || phase === 'Failed')
    return { name, claim, phase, ...(before !== undefined && { message: before }) }
  if (world.restore.lab?.claims.get(name)?.claim === claim) return { name, claim, phase: 'Succeeded' }
  const found = world.restore.claims[claim]
  const state =
    found === undefined ? withoutClaim(world, why, { name, claim, phase }) : stateOfClaim(world, why, name, found)
  const message = cutMessage(state.message ?? '')
    .slice(0, SNAPSHOT_MESSAGE_MAX)
    .toWellFormed()
  return { name, claim, phase: state.phase, ...(message !== '' && { message }) }
}

type State = Pick<RestoredVolumeState, 'phase' | 'message'>

const failed = (message: string): State => ({ phase: 'Failed', message })

function withoutClaim(
  world: WorkspaceSnapshotWorld,
  obstacle: string | undefined,
  { name, claim, phase }: Pick<RestoredVolumeState, 'name' | 'claim' | 'phase'>,
): State {
  if (phase === 'InProgress')
    return failed(`PersistentVolumeClaim ${claim} is gone before its end: it is not made again`)
  if (world.notServed.includes('Volume')) return { phase }
  if (world.refusal !== undefined) return failed(`${world.refusal}: the claim was refused`)
  const why = whySnapshotNot(world, name) ?? obstacle
  return why === undefined ? { phase } : failed(`not begun: ${why}`)
}

function stateOfClaim(world: WorkspaceSnapshotWorld, why: string | undefined, name: string, found: FoundClaim): State {
  const title = `PersistentVolumeClaim ${found.object.metadata.name}`
  if (!found.isOurs && !found.isAdopted)
    return failed(`${title} exists and belongs to somebody else: the operator does not touch it`)
  if (found.isTerminating) return failed(`${title} is being deleted before its end: it is not made again`)
  if (found.phase === 'Lost') return failed(`${title} has lost its storage`)
  const gone = found.phase === 'Bound' ? undefined : whySnapshotNot(world, name)
  if (gone !== undefined) return failed(gone)
  if (why !== undefined) return failed(`not switched: ${why}`)
  // What is refused of a claim that is filled is its adoption, or the switch.
  if (isFilled(found)) return { phase: 'InProgress', message: world.refusal }
  return { phase: 'InProgress', message: `${title} gets its data from the snapshot: see its Events if that lasts` }
}

function whyNotNow(world: WorkspaceSnapshotWorld, stored: WorkspaceSnapshotRestore): string | undefined {
  return whyNotOfLab(world) ?? whyNotOff(world) ?? whyChanged(world, stored) ?? whyNotFirst(world)
}

/** Two that were asked for at once do not know of each other yet: the first goes on. */
function whyNotFirst({ restore: { earlier } }: WorkspaceSnapshotWorld): string | undefined {
  return earlier && `WorkspaceSnapshot ${earlier} is being restored too, and was begun first: wait until that has ended`
}

function whySnapshotNot({ found, snapshot, notServed }: WorkspaceSnapshotWorld, volume: string): string | undefined {
  const of = snapshotOf(snapshot.status, volume) ?? ''
  const one = found[of]
  if (notServed.includes('Volume') || (one?.isReady === true && one.isOurs && !one.isTerminating)) return undefined
  return `VolumeSnapshot ${of} of volume ${volume} is gone, or not ready any more`
}

function snapshotOf(status: WorkspaceSnapshotStatus, volume: string): string | undefined {
  return volumesIn(status).find(({ name }) => name === volume)?.snapshot
}

/** Storage that waits for a pod fills a claim only then. */
function isFilled({ phase, waitsForPod }: FoundClaim): boolean {
  return phase === 'Bound' || waitsForPod
}

/** @param volumes of which none has failed */
function writesFor(
  world: WorkspaceSnapshotWorld,
  volumes: readonly RestoredVolumeState[],
  now: number,
): Pick<VolumesNow, 'applyIf' | 'touch'> {
  const { workspace, restore } = world
  const { lab } = restore
  if (workspace === undefined || lab === undefined) return NO_WRITES
  const onlyIf = [unchanged(WORKSPACE, lab.object)]
  const waiting = volumes.filter(({ phase }) => phase === 'Pending')
  if (waiting.length > 0)
    return { touch: [], applyIf: waiting.flatMap((one) => claimOf(world, one)).map((wanted) => ({ wanted, onlyIf })) }
  const found = volumes.flatMap(({ claim }) => restore.claims[claim] ?? [])
  if (found.length < volumes.length || !found.every(isFilled)) return NO_WRITES
  const strange = volumes.filter(({ claim }) => restore.claims[claim]?.isAdopted !== true)
  if (strange.length > 0) {
    const wanted = strange.map(({ name, claim }): KubeObject => adoptedVolume(workspace, { volume: name, name: claim }))
    return { touch: [], applyIf: wanted.map((one) => ({ wanted: one, onlyIf })) }
  }
  return { applyIf: [], touch: [switchTo(world, lab.object, lab.claims, volumes, now)] }
}

function claimOf({ snapshot, workspace, restore, found }: WorkspaceSnapshotWorld, one: RestoredVolumeState) {
  const volume = restore.volumes[one.name]
  const of = snapshotOf(snapshot.status, one.name)
  if (workspace === undefined || volume === undefined || of === undefined) return []
  const { name, uid = '' } = snapshot.metadata
  const wanted: KubeObject = renderRestoredVolume({
    workspace,
    of: { name, uid },
    volume: one.name,
    snapshot: of,
    name: one.claim,
    size: sizeOf(volume, found[of]?.restoreSize),
    storageClass: volume.storageClass,
  })
  return [wanted]
}

/** Of a volume whose size nobody knows, its smallest. */
const LEAST = '1Gi'

/** A claim from a snapshot is at least as large as that. The volume does not become smaller than it is, or is to be. */
function sizeOf({ sizes }: RestoreVolume, restoreSize: string | undefined): string {
  const all = [...sizes, ...(restoreSize === undefined ? [] : [restoreSize])]
  return all.reduce((most, one) => ((compareQuantities(one, most) ?? 0) > 0 ? one : most), all[0] ?? LEAST)
}

/** In the version that was looked at: one that somebody switches on meanwhile keeps its volumes. */
function switchTo(
  { restore: { volumes: present, serverNow } }: WorkspaceSnapshotWorld,
  lab: KubeObject,
  before: VolumeClaims,
  volumes: readonly RestoredVolumeState[],
  now: number,
): Touch {
  const at = toTime(serverNow ?? now)
  const switched = volumes.map(({ name, claim }) => {
    const replaced = present[name]?.claim ?? name
    return [name, { claim, replaced, at }] as const
  })
  const { resourceVersion } = lab.metadata
  return {
    ...referTo(lab),
    ...(resourceVersion !== undefined && { resourceVersion }),
    annotations: { [ANNOTATIONS.volumeClaims]: volumeClaimsText(new Map([...before, ...switched])) },
  }
}

/** Says what people do not have on their volumes any more, and what stays. */
export function volumesLossText(volumes: readonly VolumeOfPoint[]): string[] {
  if (volumes.length === 0) return []
  const names = volumes.map(({ name }) => name).join(', ')
  const [time] = volumes.flatMap((one) => one.time ?? []).toSorted()
  return [
    `volumes ${names} get what was on them at ${time ?? 'the point in time'}`,
    'what was written to them since then is on their claims from before alone, which are kept until somebody deletes them',
  ]
}
