import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  claimName,
  type Policy,
  presentClaim,
  shortHash,
  vmChildNames,
  volumeClaimsIn,
} from '@open-terrain/constructs/operator'
import { hasHash, wasSeen } from '../../base/hash-list.ts'
import { compareTexts } from '../../base/messages.ts'
import { fromTime, toShortTime } from '../../base/time.ts'
import { BY_NAMESPACE } from '../../cluster/caches.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf } from '../../cluster/ownership.ts'
import type { ClaimView, SnapshotView } from '../../cluster/views.ts'
import { isTerminating, type KubeObject, keyOf, type Raw } from '../../kube/kube-object.ts'
import { VIRTUAL_MACHINE_RESTORE, VIRTUAL_MACHINE_SNAPSHOT, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import {
  type KubeVirtMachine,
  type LabMachine,
  type LabPod,
  type LabWorkspace,
  parsedWorkspaceSnapshotSpec,
  type WorkspaceSnapshotCaches,
} from './caches.ts'
import type { MachineSnapshotView } from './views.ts'
import type {
  FoundClaim,
  FoundRestore,
  FoundSnapshot,
  MemberOfLab,
  RestoreLab,
  RestoreTarget,
  RestoreVolume,
  RestoreWorld,
  WorkspaceSnapshotView,
  WorkspaceSnapshotWorld,
} from './world.ts'

/** Reports whether the caches have what a plan needs. Of one that is deleted with its namespace, that is all there is to know. */
export function isKnownEnough(snapshot: WorkspaceSnapshotView, caches: WorkspaceSnapshotCaches): boolean {
  const { namespace = '' } = snapshot.metadata
  const goesWithLab = isTerminating(snapshot) && isTerminating(caches.cluster.namespaces.get(namespace))
  return goesWithLab || caches.isCompleteFor(snapshot)
}

/** What the caches do not have. */
interface Seen {
  readonly refusal?: string | undefined
  readonly serverNow?: number | undefined
  /** Uids of those whose members are decided, and perhaps not in the cache yet. */
  readonly beginning?: ReadonlySet<string>
}

/** Observes a WorkspaceSnapshot from caches alone, without a request to the API server. */
export function observeWorkspaceSnapshot(
  snapshot: WorkspaceSnapshotView,
  caches: WorkspaceSnapshotCaches,
  { workspaceSnapshotLimit: limit }: Pick<Policy, 'workspaceSnapshotLimit'>,
  { refusal, serverNow, beginning = new Set() }: Seen = {},
): WorkspaceSnapshotWorld {
  const { namespace = '' } = snapshot.metadata
  const workspace = caches.workspaceOf(namespace)
  const { reflectors, cluster } = caches
  return {
    snapshot,
    spec: parsedWorkspaceSnapshotSpec(snapshot),
    namespaceTerminating: isTerminating(cluster.namespaces.get(namespace)),
    workspace:
      workspace === undefined || isTerminating(workspace)
        ? undefined
        : { name: workspace.metadata.name, uid: workspace.metadata.uid ?? '' },
    lab: workspace === undefined ? [] : [...machinesOf(workspace, caches), ...volumesOf(workspace, caches)],
    found: foundOf(snapshot, caches),
    notServed: [
      ...(reflectors.isInstalled(VIRTUAL_MACHINE_SNAPSHOT) ? [] : (['Machine'] as const)),
      ...(reflectors.isInstalled(VOLUME_SNAPSHOT) ? [] : (['Volume'] as const)),
    ],
    ahead: caches.snapshots.find(BY_NAMESPACE, namespace).filter((other) => isAhead(other, snapshot, beginning)).length,
    limit,
    restore: { ...restoreOfLab(snapshot, workspace, caches), serverNow },
    refusal,
  }
}

function restoreOfLab(
  snapshot: WorkspaceSnapshotView,
  workspace: LabWorkspace | undefined,
  caches: WorkspaceSnapshotCaches,
): Omit<RestoreWorld, 'serverNow'> {
  const { namespace = '', uid } = snapshot.metadata
  const { snapshots, reflectors } = caches
  const others = snapshots
    .find(BY_NAMESPACE, namespace)
    // The restore of one that is being deleted does not go on.
    .filter((one) => one.metadata.uid !== uid && !isTerminating(one) && one.status.restore?.phase === 'InProgress')
  const earlier = others.find((one) => compareTexts(beginningOf(one), beginningOf(snapshot)) < 0)
  return {
    isServed: reflectors.isInstalled(VIRTUAL_MACHINE_RESTORE),
    isLabOff: workspace !== undefined && isSwitchedOff(workspace),
    targets: workspace === undefined ? {} : targetsOf(workspace, caches),
    found: restoresOf(snapshot, caches),
    lab: workspace === undefined ? undefined : labNow(workspace, caches),
    volumes: workspace === undefined ? {} : volumesNow(workspace, caches),
    claims: workspace === undefined ? {} : claimsOf(snapshot, workspace, caches),
    other: others[0]?.metadata.name,
    earlier: earlier?.metadata.name,
  }
}

/** Restores that begin in one second are in the order of their uids. */
function beginningOf({ metadata, status }: WorkspaceSnapshotView): string {
  return `${status.restore?.startTime ?? ''} ${metadata.uid}`
}

/** Its reason does not tell: a machine that is being restored, or anything in it that has failed, comes before `Halted`. */
function isSwitchedOff({ spec, status }: LabWorkspace): boolean {
  const { powerState }: Raw = spec ?? {}
  return powerState === 'Halted' || status.expiry?.ended === true
}

function targetsOf(workspace: LabWorkspace, caches: WorkspaceSnapshotCaches): Record<string, RestoreTarget> {
  const { lab } = caches
  const { name: namespace } = workspace.metadata
  const volumes = Object.entries(volumesNow(workspace, caches))
  const machines = childrenOf(workspace, lab.machines.find(BY_NAMESPACE, namespace)).filter(
    (one) => !isTerminating(one),
  )
  const targets = machines.map((machine): [string, RestoreTarget] => {
    const { name } = machine.metadata
    const replaced = { isReplaced: isReplaced(machine), isResetAsked: isResetAsked(machine) }
    const found = lab.kubevirt.get(keyOf({ namespace, name: vmChildNames(name).machine }))
    if (found === undefined || isTerminating(found) || !isChildOf(found, machine))
      return [name, { ...replaced, kubevirt: undefined }]
    const { printableStatus, runStrategy, restoreInProgress, lastRestore, rootClaim } = found
    const isOff = printableStatus === 'Stopped' && runStrategy === 'Halted'
    const kubevirt = { object: found, isOff, restoreInProgress, lastRestore, rootClaim }
    const claims = claimsIn(found)
    const waitsForPod = disksIn(found).some((claim) => {
      const { storageClass = '' } = caches.cluster.claims.get(keyOf({ namespace, name: claim })) ?? {}
      return caches.cluster.storageClasses.get(storageClass)?.waitsForPod === true
    })
    const isBound = (claim: string) => caches.cluster.claims.get(keyOf({ namespace, name: claim }))?.phase === 'Bound'
    const ofIt = volumes.filter(([, { claim, others }]) => [claim, ...others].some((one) => claims.includes(one)))
    return [
      name,
      {
        ...replaced,
        kubevirt: {
          ...kubevirt,
          volumes: ofIt.map(([volume]) => volume),
          unbound: claims.filter((one) => !isBound(one)),
          waitsForPod,
        },
      },
    ]
  })
  return Object.fromEntries(targets)
}

function disksIn({ spec }: KubeVirtMachine): string[] {
  const { template }: Raw = spec ?? {}
  const volumes: Raw[] = template?.spec?.volumes ?? []
  return volumes.flatMap((one) => one.persistentVolumeClaim?.claimName ?? one.dataVolume?.name ?? [])
}

function claimsIn({ spec }: KubeVirtMachine): string[] {
  const { template }: Raw = spec ?? {}
  const volumes: Raw[] = template?.spec?.volumes ?? []
  return volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
}

/** A value that was there when the operator first looked for it does not count. */
function isLabResetAsked({ metadata, status }: LabWorkspace): boolean {
  const value = metadata.annotations?.[ANNOTATIONS.resetRequestedAt]
  const { uncountedReset, passedReset } = status
  if (value === undefined || uncountedReset === undefined) return false
  const hash = shortHash([value])
  return uncountedReset !== hash && !hasHash(passedReset, hash)
}

function labNow(workspace: LabWorkspace, { lab }: WorkspaceSnapshotCaches): RestoreLab {
  const { name, annotations } = workspace.metadata
  const pods = lab.pods.find(BY_NAMESPACE, name).filter(isOfCluster)
  return {
    object: workspace,
    claims: volumeClaimsIn(annotations?.[ANNOTATIONS.volumeClaims]),
    isResetAsked: isLabResetAsked(workspace),
    pods: pods.map((one) => one.metadata.name).toSorted(compareTexts),
  }
}

function isOfCluster({ metadata: { labels }, phase }: LabPod): boolean {
  return labels?.[LABELS.containerCluster] !== undefined && phase !== 'Succeeded' && phase !== 'Failed'
}

/** Returns the volumes of a workspace, by name: those that have a claim, and those that its status names. */
function volumesNow(workspace: LabWorkspace, caches: WorkspaceSnapshotCaches): Record<string, RestoreVolume> {
  const claims = claimsByVolume(workspace, caches)
  const present = presentOf(workspace, claims)
  const sizes = sizesIn(workspace)
  const told = (workspace.status.components ?? []).flatMap(({ kind, name }) =>
    kind === 'Volume' ? claimName(name) : [],
  )
  const entries = [...new Set([...claims.keys(), ...told])].map((volume): [string, RestoreVolume] => {
    const all = claims.get(volume) ?? []
    const name = present.get(volume) ?? volume
    const now = all.find(({ metadata }) => metadata.name === name)
    const others = all.filter((one) => one !== now).map(({ metadata }) => metadata.name)
    const asked = [sizes.get(volume), now?.requested].filter((size) => size !== undefined)
    return [
      volume,
      { claim: name, storageClass: now?.storageClass, sizes: asked, others: others.toSorted(compareTexts) },
    ]
  })
  return Object.fromEntries(entries)
}

/** Returns the claims of a workspace by the volume that they are, or were, of. Those of a restore that has not switched to them are among them. */
function claimsByVolume(workspace: LabWorkspace, { cluster }: WorkspaceSnapshotCaches): Map<string, ClaimView[]> {
  const { name, uid = '' } = workspace.metadata
  const claims = childrenOf(workspace, cluster.claims.find(BY_OWNER, familyKey(name, uid)))
  return Map.groupBy(claims, ({ metadata }) => metadata.labels?.[LABELS.volume] ?? metadata.name)
}

/** Returns the names of present claims. What the annotation does not say was never restored, or is as the controller of workspaces has it. */
function presentOf({ metadata }: LabWorkspace, claims: ReadonlyMap<string, readonly ClaimView[]>): Map<string, string> {
  const said = volumeClaimsIn(metadata.annotations?.[ANNOTATIONS.volumeClaims])
  return new Map(
    [...claims].map(([volume, all]) => {
      const isThere = (name: string) => all.some((one) => one.metadata.name === name)
      return [volume, presentClaim(said.get(volume), restoredBefore(all), isThere) ?? volume]
    }),
  )
}

/** Only a claim that the workspace has had as that of its volume has its mark. */
function restoredBefore(claims: readonly ClaimView[]): ClaimView[] {
  return claims.filter(
    ({ metadata: { labels, annotations } }) =>
      labels?.[LABELS.volume] !== undefined && annotations?.[ANNOTATIONS.rendered] !== undefined,
  )
}

function sizesIn({ spec }: LabWorkspace): Map<string, string> {
  const { volumes }: Raw = spec ?? {}
  const list: Raw[] = Array.isArray(volumes) ? volumes : []
  return new Map(
    list.flatMap(({ name, size }) =>
      typeof name === 'string' && typeof size === 'string' ? [[claimName(name), size] as const] : [],
    ),
  )
}

function claimsOf(
  snapshot: WorkspaceSnapshotView,
  workspace: LabWorkspace,
  { cluster }: WorkspaceSnapshotCaches,
): Record<string, FoundClaim> {
  const { namespace = '' } = snapshot.metadata
  const { volumes = [], unfilled = [] } = snapshot.status.restore ?? {}
  const names = new Set([...volumes.map(({ claim }) => claim), ...unfilled])
  const entries = [...names].flatMap((name): [string, FoundClaim][] => {
    const object = cluster.claims.get(keyOf({ namespace, name }))
    if (object === undefined) return []
    const { phase, storageClass = '' } = object
    const isWaiting = phase !== 'Bound' && cluster.storageClasses.get(storageClass)?.waitsForPod === true
    const [isOurs, isAdopted] = [isChildOf(object, snapshot), isChildOf(object, workspace)]
    return [[name, { object, isOurs, isAdopted, isTerminating: isTerminating(object), phase, waitsForPod: isWaiting }]]
  })
  return Object.fromEntries(entries)
}

/** A replacement that waits is in the conditions alone. */
function isReplaced({ status }: LabMachine): boolean {
  return status.replacement !== undefined || status.conditions?.some(({ type }) => type === 'Replacing') === true
}

function isResetAsked({ metadata, status }: LabMachine): boolean {
  const value = metadata.annotations?.[ANNOTATIONS.resetRequestedAt]
  return value !== undefined && !wasSeen(status.resetRequest, status.earlierResets, shortHash([value]))
}

function restoresOf(
  snapshot: WorkspaceSnapshotView,
  { machineRestores }: WorkspaceSnapshotCaches,
): Record<string, FoundRestore> {
  const { namespace = '' } = snapshot.metadata
  const entries = (snapshot.status.restore?.members ?? []).flatMap(({ restore: name }) => {
    const found = machineRestores.get(keyOf({ namespace, name }))
    if (found === undefined) return []
    const { isComplete, hasFailed, trouble, claim } = found
    const state = { isComplete, hasFailed, text: trouble, claim }
    return [
      [
        name,
        { object: found, isOurs: isChildOf(found, snapshot), isTerminating: isTerminating(found), ...state },
      ] as const,
    ]
  })
  return Object.fromEntries(entries)
}

/**
 * Reports whether another snapshot of the workspace is taken, or waits for longer. Those of one second are in the order of their names. One that has
 * begun keeps its place whatever comes later: its write may be on its way.
 */
function isAhead(
  other: WorkspaceSnapshotView,
  one: WorkspaceSnapshotView,
  beginning: ReadonlySet<string | undefined>,
): boolean {
  if (other.metadata.uid === one.metadata.uid) return false
  if (other.status.members !== undefined || beginning.has(other.metadata.uid)) return true
  if (beginning.has(one.metadata.uid)) return false
  if (isTerminating(other) || !parsedWorkspaceSnapshotSpec(other).ok) return false
  return compareTexts(ageOf(other), ageOf(one)) < 0
}

function ageOf({ metadata }: Pick<KubeObject, 'metadata'>): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.name}`
}

function machinesOf(workspace: KubeObject, { lab }: WorkspaceSnapshotCaches): MemberOfLab[] {
  const { name: namespace } = workspace.metadata
  const machines = childrenOf(workspace, lab.machines.find(BY_NAMESPACE, namespace))
  return sorted(
    machines.map((machine) => {
      const { name } = machine.metadata
      const deployed = lab.kubevirt.get(keyOf({ namespace, name: vmChildNames(name).machine }))
      const hasDisk = deployed !== undefined && !isTerminating(deployed) && isChildOf(deployed, machine)
      return { kind: 'Machine', name, hasDisk }
    }),
  )
}

/** A claim from before a restore, or of one that has not switched to it, is not what the volume is now. */
function volumesOf(workspace: LabWorkspace, caches: WorkspaceSnapshotCaches): MemberOfLab[] {
  const claims = claimsByVolume(workspace, caches)
  const present = presentOf(workspace, claims)
  return sorted(
    [...claims].flatMap(([name, all]): MemberOfLab[] => {
      const of = present.get(name) ?? name
      const claim = all.find(({ metadata }) => metadata.name === of)
      const hasDisk = claim?.phase === 'Bound' && !isTerminating(claim)
      return [{ kind: 'Volume', name, ...(of !== name && { claim: of }), hasDisk }]
    }),
  )
}

function sorted(members: readonly MemberOfLab[]): MemberOfLab[] {
  return members.toSorted((one, other) => compareTexts(one.name, other.name))
}

function foundOf(snapshot: WorkspaceSnapshotView, caches: WorkspaceSnapshotCaches): Record<string, FoundSnapshot> {
  const { namespace = '' } = snapshot.metadata
  const { machineSnapshots, cluster } = caches
  const entries = (snapshot.status.members ?? []).flatMap(({ kind, snapshot: name }) => {
    if (name === undefined) return []
    const key = keyOf({ namespace, name })
    if (kind === 'Machine') {
      const found = machineSnapshots.get(key)
      return found === undefined ? [] : [[name, foundMachine(found, snapshot)] as const]
    }
    const found = cluster.snapshots.get(key)
    return found === undefined ? [] : [[name, foundVolume(found, snapshot)] as const]
  })
  return Object.fromEntries(entries)
}

function foundMachine(found: MachineSnapshotView, owner: WorkspaceSnapshotView): FoundSnapshot {
  const { phase, isReady, trouble, indications, excluded, time, sourceUid } = found
  return {
    ...commonOf(found, owner),
    isReady,
    hasFailed: phase === 'Failed',
    text: isReady ? (excluded === '' ? '' : `not in it: ${excluded}`) : trouble,
    // KubeVirt writes the indications before the snapshot is taken.
    ...(isReady && { consistency: indications === '' ? 'Offline' : indications }),
    ...(excluded !== '' && { excluded }),
    time: timeOf(time),
    ...(sourceUid !== undefined && { sourceUid }),
  }
}

function foundVolume(found: SnapshotView, owner: WorkspaceSnapshotView): FoundSnapshot {
  const { readyToUse, error = '', takenAt, restoreSize } = found
  return {
    ...commonOf(found, owner),
    isReady: readyToUse,
    hasFailed: false,
    text: readyToUse ? '' : error,
    time: timeOf(takenAt),
    ...(restoreSize !== undefined && { restoreSize }),
  }
}

function commonOf(found: KubeObject, owner: WorkspaceSnapshotView) {
  const createdMs = fromTime(found.metadata.creationTimestamp)
  const workspaceUid = found.metadata.labels?.[LABELS.workspaceUid]
  return {
    isOurs: isChildOf(found, owner),
    isTerminating: isTerminating(found),
    createdMs,
    ...(workspaceUid !== undefined && { workspaceUid }),
  }
}

/** The API server refuses a status with a text that is no time. */
function timeOf(text: string | undefined): string | undefined {
  const ms = fromTime(text)
  return ms === undefined ? undefined : toShortTime(ms)
}
