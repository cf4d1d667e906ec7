import {
  claimName,
  compareQuantities,
  renderWorkspaceVolume,
  unusedVolumeWarnings,
  volumeWarnings,
  type WorkspaceSpec,
  type WorkspaceVolume,
} from '@open-terrain/constructs/operator'
import type { ClaimView } from '../../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../../kube/kube-object.ts'
import { PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../../../kube/resource-types.ts'
import { removalOf } from '../../../../runtime/plan.ts'
import type { PersistentVolumeView } from '../../child-views.ts'
import type { WorkspaceWorld } from '../../world.ts'
import {
  type Blueprint,
  type Component,
  type ComponentSummary,
  componentFailed,
  componentReady,
  componentWaiting,
  hadData,
  idOf,
  idOfObject,
  toldOf,
  withWarnings,
} from '../component.ts'
import type { ComponentKind, Judgement } from '../component-kind.ts'
import { goneForGood, isRemakeAsked, lossRecordOf } from '../losses.ts'
import { isLabHalted } from '../power.ts'
import { claimFromBefore, isOfVolume, oldVolumeOf } from '../volume-claims.ts'

const KIND = 'Volume'

/** The volumes. Each is a claim and, if the policy keeps volumes on nodes, the local volume that the claim is for. */
export const VOLUME_KIND: ComponentKind = {
  kind: KIND,
  types: [
    { type: PERSISTENT_VOLUME_CLAIM, propagationPolicy: 'Background' },
    { type: PERSISTENT_VOLUME, propagationPolicy: 'Background' },
  ],
  children: ({ workspace, spec, policy, volumeClaims, restoredSizes }) =>
    (spec.volumes ?? []).map(
      (volume): Component => ({
        kind: KIND,
        name: volume.name,
        objects: renderWorkspaceVolume({
          workspace,
          volume: { ...volume, size: sizeOf(volume, restoredSizes) },
          localVolumeRoot: policy.localVolumeRoot,
          volumeClaims,
        }),
        needs: [],
        ...withWarnings([
          ...volumeWarnings({ volume, localVolumeRoot: policy.localVolumeRoot }),
          ...unusedVolumeWarnings(spec, volume),
        ]),
      }),
    ),
  unchangeable,
  refusedForGood,
  loss,
  isLost,
  hasData,
  // An existing claim keeps the volume that it is bound to. One from before a restore, or of one that goes on, is not asked for by anything.
  isNeeded: (world, object) =>
    (object.kind === PERSISTENT_VOLUME.kind && claimOf(world, object) !== undefined) ||
    (object.kind === PERSISTENT_VOLUME_CLAIM.kind && isOfVolume(world, object)),
  summary: (world, component) => {
    const judged = judgeVolume(world, component)
    const claim = actualClaimIn(world, component)
    return { ...judged, remarks: claim === undefined ? [] : oldVolumeOf(world, component.name, claim) }
  },
}

/** A restored claim is as large as its snapshot asks for, which nobody chose: one that is larger than the spec is as it is to be. */
function sizeOf({ name, size }: WorkspaceVolume, restored: Blueprint['restoredSizes']): string {
  const has = restored?.get(claimName(name))
  return has !== undefined && compareQuantities(has, size) === 1 ? has : size
}

export function volumeIdOf(name: string): string {
  return idOf(KIND, name)
}

function judgeVolume(world: WorkspaceWorld, component: Component): Judgement {
  const { name, objects } = component
  const of = (kind: string) => {
    const wanted = objects.find((one) => one.kind === kind)
    return wanted && world.children.get(idOf(kind, wanted.metadata.name))
  }
  const claim = of(PERSISTENT_VOLUME_CLAIM.kind) as ClaimView
  const local = of(PERSISTENT_VOLUME.kind) as PersistentVolumeView | undefined
  // It was bound to an earlier claim, and only replacing it under the same name frees it. The files in its folder stay.
  if (local !== undefined && isLeft(local, claim))
    return {
      summary: componentWaiting(
        'VolumePending',
        `PersistentVolume ${local.metadata.name} is made again for its new claim`,
      ),
      remove: removalOf(local),
    }
  if (claim.phase === 'Bound')
    return { summary: componentReady(`${boundText(name)}${claim.capacity ?? claim.requested ?? 'room'}`) }
  if (claim.phase === 'Lost') return lostClaim(world, component, claim)
  if (isLabHalted(world)) {
    const message = `claim ${claim.metadata.name} is there; its storage may wait until a member that uses it is switched on`
    return { summary: componentReady(message) }
  }
  if (!isMounted(world, name) && !isDisk(world, name))
    return {
      summary: componentReady(
        `claim ${claim.metadata.name} is there; no container mounts it, and its storage may wait for the first one`,
      ),
    }
  const storage =
    local === undefined
      ? 'storage from the default StorageClass, which the cluster needs'
      : 'its folder on a node with the label pelotech.ot/local-volumes'
  return {
    summary: componentWaiting(
      'VolumePending',
      `PersistentVolumeClaim ${claim.metadata.name} is ${claim.phase || 'new'}: it waits for ${storage}, or for ${isDisk(world, name) ? 'the machine whose disk it is' : 'the container that mounts it'}`,
    ),
  }
}

function lostClaim(world: WorkspaceWorld, component: Component, claim: ClaimView): Judgement {
  if (!isRemakeAsked(world, component)) return { summary: storageLost(world, claim) }
  return {
    summary: componentWaiting(
      'VolumePending',
      `PersistentVolumeClaim ${claim.metadata.name}, which has lost its storage, is made again, as somebody asked for it`,
    ),
    remove: removalOf(claim),
  }
}

function storageLost(world: WorkspaceWorld, claim: ClaimView): ComponentSummary {
  const going = isTerminating(claim) ? ' and is being deleted' : ''
  return goneForGood(
    world,
    'VolumeLost',
    `the storage of PersistentVolumeClaim ${claim.metadata.name} is gone (the claim is Lost${going}), with what was on it`,
  )
}

const boundText = (name: string) => `volume ${name} has `

function wantedClaimIn({ objects }: Component): KubeObject | undefined {
  return objects.find(({ kind }) => kind === PERSISTENT_VOLUME_CLAIM.kind)
}

function actualClaimIn({ children }: WorkspaceWorld, component: Component): ClaimView | undefined {
  const wanted = wantedClaimIn(component)
  return wanted && (children.get(idOfObject(wanted)) as ClaimView | undefined)
}

/** Returns the id of the folder of a node that the data of the claim is in, if it is to be there. It stays when the claim goes. */
function folderOf({ objects }: Component, claim: ClaimView): string | undefined {
  const folder = objects.find(
    ({ kind, metadata }) => kind === PERSISTENT_VOLUME.kind && metadata.name === claim.volumeName,
  )
  return folder && idOfObject(folder)
}

/** Reports whether the claim that the volume is to have now is one that it was restored to: made again, it would be empty in place of what was in the snapshot. */
function isRestored(component: Component): boolean {
  const name = wantedClaimIn(component)?.metadata.name
  return name !== undefined && name !== claimName(component.name)
}

/** A claim that was never bound has none, unless it was restored: it then gets it from the snapshot. Of one that is Lost, what is remembered holds: until somebody asks for another one. */
function hasData(world: WorkspaceWorld, component: Component): boolean | undefined {
  const claim = actualClaimIn(world, component)
  if (claim === undefined || claim.phase === 'Lost') return undefined
  return isRestored(component) || (claim.phase === 'Bound' && folderOf(component, claim) === undefined)
}

/** A folder that is to be there again brings the storage of its claim back. */
function isLost(world: WorkspaceWorld, component: Component): boolean {
  const { children, workspace } = world
  const claim = actualClaimIn(world, component)
  if (claim !== undefined) {
    const folder = folderOf(component, claim)
    return claim.phase === 'Lost' && (folder === undefined || children.has(folder))
  }
  if (isRestored(component)) return !hasNamesake(world, component)
  if (lossRecordOf(workspace, component) !== undefined || hadData(workspace, component)) return true
  // Earlier versions remembered it by nothing but the component.
  const isFolder = component.objects.some(({ kind }) => kind === PERSISTENT_VOLUME.kind)
  return !isFolder && toldOf(workspace, component)?.message?.startsWith(boundText(component.name)) === true
}

/** What has the name and is not of the workspace was perhaps not seen to be given to it yet, and is in the way in any case. */
function hasNamesake({ namesakes }: WorkspaceWorld, component: Component): boolean {
  const wanted = wantedClaimIn(component)
  return wanted !== undefined && namesakes.has(idOfObject(wanted))
}

/** Says that what was on a volume is gone, or about to be. */
function loss(world: WorkspaceWorld, component: Component): ComponentSummary | undefined {
  const claim = actualClaimIn(world, component)
  const name = wantedClaimIn(component)?.metadata.name
  const old = name === undefined ? undefined : claimFromBefore(world, component.name, name)
  const left = old === undefined ? '' : ` (PersistentVolumeClaim ${old}, from before the restore, is still there)`
  if (isLost(world, component))
    return claim === undefined
      ? goneForGood(world, 'VolumeLost', `PersistentVolumeClaim ${name} is gone, with what was on it${left}`)
      : storageLost(world, claim)
  if (claim === undefined || !isTerminating(claim) || hasData(world, component) !== true) return undefined
  return componentFailed(
    'VolumeLost',
    `PersistentVolumeClaim ${name} is being deleted, with what is on it${left}: pods that mount it have it until they end, so copy what is needed from them; when it is gone, it is not made again before somebody asks for it`,
  )
}

function isLeft({ phase, claimUid }: PersistentVolumeView, claim: ClaimView): boolean {
  return (phase === 'Released' || phase === 'Failed') && claimUid !== undefined && claimUid !== claim.metadata.uid
}

function isMounted({ spec }: WorkspaceWorld, name: string): boolean {
  const { containerClusters = [] }: WorkspaceSpec = spec.ok ? spec.spec : {}
  return containerClusters.some(
    ({ ignoreOnDeploy, containers }) =>
      ignoreOnDeploy !== true &&
      containers.some(({ volumeMounts = [] }) => volumeMounts.some((mount) => mount.name === name)),
  )
}

/** Reports whether a machine that is to run has it as a disk. */
function isDisk({ spec }: WorkspaceWorld, name: string): boolean {
  const { vms = [] }: WorkspaceSpec = spec.ok ? spec.spec : {}
  return vms.some(
    ({ ignoreOnDeploy, disks = [] }) => ignoreOnDeploy !== true && disks.some(({ volume }) => volume === name),
  )
}

interface WantedClaim {
  readonly spec?: {
    readonly resources?: { readonly requests?: { readonly storage?: string } }
  }
}

/** A claim keeps its volume as long as it exists, and never becomes smaller. */
function unchangeable(world: WorkspaceWorld, component: Component): string | undefined {
  const { objects } = component
  const wanted = objects.find(({ kind }) => kind === PERSISTENT_VOLUME_CLAIM.kind)
  const claim = wanted && (world.children.get(idOfObject(wanted)) as ClaimView | undefined)
  if (claim === undefined || isTerminating(claim)) return undefined
  const text = refusedChange(world, objects, wanted as WantedClaim, claim)
  // A restored one would be made again empty.
  if (text === undefined || claim.phase !== 'Pending' || isRestored(component)) return text
  return `${text}; delete the claim, which has no storage yet, and it is made again`
}

function refusedChange(
  world: WorkspaceWorld,
  objects: Component['objects'],
  wanted: WantedClaim,
  claim: ClaimView,
): string | undefined {
  const size = wanted.spec?.resources?.requests?.storage
  const { requested } = claim
  if (size !== undefined && requested !== undefined && (compareQuantities(size, requested) ?? 0) < 0)
    return `a volume cannot become smaller: it stays at ${requested}, although the spec asks for ${size}`
  const local = [...world.children.values()].find(
    (one) => one.kind === PERSISTENT_VOLUME.kind && claimOf(world, one) === claim,
  )
  const toBe = objects.find(({ kind }) => kind === PERSISTENT_VOLUME.kind)
  if (local !== undefined && size !== undefined && requested !== undefined && compareQuantities(size, requested) === 1)
    return `a volume in a folder of a node does not grow: it stays at ${requested}, although the spec asks for ${size}`
  const isInPlace =
    local === undefined
      ? toBe === undefined || claim.volumeName === toBe.metadata.name
      : toBe !== undefined && pathOf(local) === pathOf(toBe)
  if (isInPlace) return undefined
  return 'it stays where it is, as localPath and the policy key localVolumeRoot count for new claims'
}

/** What the API server answers where the StorageClass of a volume does not let it grow, or nobody provisioned it. */
const CANNOT_GROW = /only dynamically provisioned pvc can be resized|must support resize/

function refusedForGood(wanted: KubeObject, claim: KubeObject, refusal: string): string | undefined {
  if (!CANNOT_GROW.test(refusal)) return undefined
  const size = (wanted as WantedClaim).spec?.resources?.requests?.storage
  const { requested } = claim as ClaimView
  return `its volume cannot grow: it stays at ${requested}, although the spec asks for ${size} (${refusal}); undo the change, give the volume another name, or set allowVolumeExpansion of its StorageClass: it then grows by itself`
}

function pathOf(volume: KubeObject): string | undefined {
  return (volume as KubeObject & { readonly spec?: { readonly local?: { readonly path?: string } } }).spec?.local?.path
}

function claimOf({ children, workspace }: WorkspaceWorld, volume: KubeObject): KubeObject | undefined {
  const { claim = '' } = volume as PersistentVolumeView
  const [namespace, name = ''] = claim.split('/')
  return namespace === workspace.metadata.name ? children.get(idOf(PERSISTENT_VOLUME_CLAIM.kind, name)) : undefined
}
