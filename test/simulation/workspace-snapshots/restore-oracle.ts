import { isDeepStrictEqual } from 'node:util'
import { ANNOTATIONS } from '@open-terrain/constructs'
import { ROOT_DISK, shortHash, type WorkspaceSnapshotRestore } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import {
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  VIRTUAL_MACHINE_INSTANCE,
  VIRTUAL_MACHINE_RESTORE,
  VIRTUAL_MACHINE_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import {
  claimNamesOf,
  type Instance,
  type Machine as KubeVirtMachine,
  type MachineRestore,
} from '../../../sandbox/simulators/kubevirt-models.ts'
import { LAST_RESTORE } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { contentOf } from '../../../sandbox/simulators/kubevirt-snapshots.ts'
import { WORKSPACE, WORKSPACE_SNAPSHOT, type Workspace, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'
import type { World } from '../world.ts'
import { type PointOracle, pointOf } from './point-oracle.ts'

type Restore = WorkspaceSnapshotRestore

/** A restore that does not exist by then is not created any more. The rest is for what is under way then. */
const BEGUN_WITHIN_MS = 11 * MINUTE

/** Phases of a restore that is told otherwise later: that of one whose claims wait says later whether they have their data. */
const CHANGES: ReadonlySet<string | undefined> = new Set(['InProgress', 'Failed', 'WaitForFirstConsumer'])

/** What KubeVirt has written into its machine at the end of a restore. */
interface Swap {
  readonly atMs: number
  readonly machine: string
  /** What the root disk has in it. */
  readonly content: string | undefined
}

/** What is known of one point in time, whether or not it is gone. */
interface Fate {
  /** Fingerprints of the values that somebody has set after its creation. */
  readonly asked: Set<string>
  /** Fingerprints of the requests that were begun. */
  readonly begun: Set<string>
  /** Names of the restores that were created. */
  readonly created: Set<string>
}

/**
 * Invariant 5, for restores of points in time. The content of each disk is followed: of what a claim was made, and how many guests have started from it. A restore is created only for
 * a machine that was written down, once, while its lab and its guest are off, from its snapshot in that point in time. A machine that is said to be restored has started over from
 * exactly what its root disk had in it then, and one that is said not to be restored has not. Each value counts once, and none that a point was created with.
 */
export class PointRestoreOracle extends WitnessOracle<World> {
  readonly #points: PointOracle
  readonly #fates = new Map<string, Fate>()
  /** By uid of a claim: what was in it when it was made. */
  readonly #origins = new Map<string, string>()
  /** By uid of a claim: how many guests have started from it. */
  readonly #starts = new Map<string, number>()
  /** By `<namespace>/<name of a VirtualMachineSnapshot>`, then by name of a claim. */
  readonly #contents = new Map<string, ReadonlyMap<string, string>>()
  /** By `<namespace>/<name of a VirtualMachineRestore>`. */
  readonly #swaps = new Map<string, Swap>()
  /** By name of a workspace: since when it is on. */
  readonly #onSinceMs = new Map<string, number>()

  constructor(world: World, points: PointOracle) {
    super(world)
    this.#points = points
  }

  onCommit(commit: Commit): void {
    const { resource, type } = commit
    switch (resource.kind) {
      case WORKSPACE_SNAPSHOT.kind:
        if (type !== 'DELETED') this.#notePoint(commit)
        return
      case WORKSPACE.kind:
        this.#noteWorkspace(commit)
        return
      case PERSISTENT_VOLUME_CLAIM.kind:
        if (type === 'ADDED') this.#noteClaim(commit.object)
        return
      case VIRTUAL_MACHINE_INSTANCE.kind:
        if (type !== 'DELETED') this.#noteGuest(commit)
        return
      case VIRTUAL_MACHINE_SNAPSHOT.kind:
        if (type !== 'DELETED') this.#noteSnapshot(commit.object)
        return
      case VIRTUAL_MACHINE_RESTORE.kind:
        if (isOperator(commit.actor)) this.#checkRestore(commit)
        return
      default:
        if (resource === KUBEVIRT_VIRTUAL_MACHINE && type === 'MODIFIED') this.#noteSwap(commit)
    }
  }

  /** Returns what of the restores of a point in time is not at rest, or is not true. */
  restless({ metadata, status }: WorkspaceSnapshot): string[] {
    const { namespace, uid } = metadata
    const left = [...this.#traces(VIRTUAL_MACHINE_RESTORE).values()].filter(({ object }) => pointOf(object) === uid)
    const { restore, restoreRequest = '' } = status ?? {}
    const value = metadata.annotations?.[ANNOTATIONS.restoreRequestedAt]
    const isSeen = value === undefined || restoreRequest.split(' ').at(-1) === shortHash([value])
    return [
      ...(restore?.phase === 'InProgress' ? [`is being restored: ${JSON.stringify(restore)}`] : []),
      ...(isSeen ? [] : [`was not looked at for the value ${value} of its annotation: ${restoreRequest}`]),
      ...left.map(({ object }) => `still has VirtualMachineRestore ${object.metadata.name}`),
      ...(restore === undefined ? [] : this.#untrue(restore, namespace ?? '', () => true)),
    ]
  }

  #noteWorkspace({ type, object }: Commit): void {
    const { name } = object.metadata
    const { spec, status } = object as Workspace
    const isOff = spec.powerState === 'Halted' || status?.expiry?.ended === true
    if (type === 'DELETED' || isOff) this.#onSinceMs.delete(name)
    else if (!this.#onSinceMs.has(name)) this.#onSinceMs.set(name, this.#nowMs)
  }

  #noteClaim(claim: KubeObject): void {
    const { uid = '', namespace, annotations } = claim.metadata
    const { dataSource } =
      (claim as { readonly spec?: { readonly dataSource?: { readonly name?: string } } }).spec ?? {}
    const isRestored = annotations?.[LAST_RESTORE] !== undefined
    const origin = isRestored ? this.#contentBehind(namespace, dataSource?.name ?? '') : undefined
    this.#origins.set(uid, origin ?? uid)
  }

  /** @param volumeSnapshot `snapshot-of-<VirtualMachineSnapshot>-<claim>` */
  #contentBehind(namespace = '', volumeSnapshot: string): string | undefined {
    for (const [key, claims] of this.#contents)
      for (const [claim, content] of claims)
        if (`${namespace}/${volumeSnapshot}` === `${namespace}/snapshot-of-${key.slice(namespace.length + 1)}-${claim}`)
          return content
    return undefined
  }

  #noteGuest({ object, before }: Commit): void {
    const [now, then] = [object, before].map((one) => (one as Instance | undefined)?.status?.phase)
    if (now !== 'Running' || then === 'Running') return
    for (const name of claimNamesOf((object as Instance).spec)) {
      const { uid = '' } = this.#claim(object.metadata.namespace, name)?.metadata ?? {}
      this.#starts.set(uid, (this.#starts.get(uid) ?? 0) + 1)
    }
  }

  #noteSnapshot(snapshot: KubeObject): void {
    const key = keyOf(snapshot.metadata)
    const content = contentOf(snapshot)
    if (content === undefined || this.#contents.get(key) !== undefined) return
    const claims = Object.keys(content.claims).map((name): [string, string] => [
      name,
      this.#contentOfClaim(snapshot.metadata.namespace, name) ?? 'unknown',
    ])
    this.#contents.set(key, new Map(claims))
  }

  /** Returns of what a claim was made, and how many guests have started from it since. */
  #contentOfClaim(namespace: string | undefined, name: string): string | undefined {
    const { uid } = this.#claim(namespace, name)?.metadata ?? {}
    if (uid === undefined) return undefined
    const starts = this.#starts.get(uid) ?? 0
    return starts === 0 ? this.#origins.get(uid) : `${this.#origins.get(uid)}+${starts}`
  }

  #noteSwap({ object, before }: Commit): void {
    const [now, then] = [object, before].map((one) => one?.metadata.annotations?.[LAST_RESTORE])
    if (now === undefined || now === then) return
    const { namespace, name } = object.metadata
    const restore = [...this.#traces<MachineRestore>(VIRTUAL_MACHINE_RESTORE).values()].find(
      (one) =>
        one.object.metadata.namespace === namespace && `${one.object.metadata.name}-${one.object.metadata.uid}` === now,
    )?.object
    if (restore === undefined) return
    const root = (object as KubeVirtMachine).spec.template.spec.volumes?.filter((volume) => volume.name === ROOT_DISK)
    const [claim = ''] = claimNamesOf({ domain: {}, volumes: root ?? [] })
    const content = this.#contentOfClaim(namespace, claim)
    this.#swaps.set(keyOf(restore.metadata), { atMs: this.#nowMs, machine: name, content })
  }

  #checkRestore(commit: Commit): void {
    const { object, type, before } = commit
    const point = this.#points.seen(pointOf(object))
    const { name } = object.metadata
    const report = (text: string) => this.#report(`VirtualMachineRestore ${keyOf(object.metadata)} ${text}`)
    if (point === undefined) {
      report('is of no point in time')
      return
    }
    const member = point.status?.restore?.members?.find(({ restore }) => restore === name)
    if (isEnd(commit)) {
      const isOver = member?.phase === 'Succeeded' || member?.phase === 'Failed'
      if (!isOver) report(`is deleted, and its machine is ${member?.phase}`)
    }
    if (type === 'ADDED' && before === undefined) this.#checkCreation(object as MachineRestore, point, report)
  }

  #checkCreation(object: MachineRestore, point: WorkspaceSnapshot, report: (text: string) => void): void {
    const { name } = object.metadata
    const { restore, members = [] } = point.status ?? {}
    const member = restore?.members?.find((one) => one.restore === name)
    if (restore === undefined || member === undefined) {
      report('is of no machine that was written down')
      return
    }
    const fate = this.#fateOf(point)
    if (fate.created.has(name) && member.phase !== 'Pending') report('is created again')
    fate.created.add(name)
    const { virtualMachineSnapshotName: of, target } = object.spec
    const snapshot = members.find((one) => one.kind === 'Machine' && one.name === member.name)?.snapshot
    if (snapshot !== of) report(`is from ${of}, and machine ${member.name} has ${snapshot} in ${point.metadata.name}`)
    if (target.name !== member.name) report(`is of ${target.name}, and was written down for ${member.name}`)
    this.#checkMoment(object, restore, report)
  }

  /** A restore is created while lab and guest are off, and soon after its request. */
  #checkMoment({ metadata, spec }: MachineRestore, { startTime }: Restore, report: (text: string) => void): void {
    const { namespace = '' } = metadata
    const { disturbances } = this.witness
    const onMs = this.#onForMs(namespace)
    if (mustKnow(disturbances, onMs)) report(`is created while ${namespace} is on, since ${onMs} ms`)
    const ageMs = this.#epochMs - Date.parse(startTime)
    if (ageMs > BEGUN_WITHIN_MS && mustKnow(disturbances, MINUTE)) report(`is created ${ageMs} ms after its request`)
    const guest = [...this.#traces(VIRTUAL_MACHINE_INSTANCE).values()].find(
      (one) => keyOf(one.object.metadata) === keyOf({ namespace, name: spec.target.name }),
    )
    if (guest !== undefined && mustKnow(disturbances, this.#nowMs - guest.createdAtMs))
      report('is created while the guest runs')
  }

  #notePoint({ object, before, type, actor }: Commit): void {
    const [now, then] = [object as WorkspaceSnapshot, before as WorkspaceSnapshot | undefined]
    const [hash, had] = [now, then].map((one) => {
      const value = one?.metadata.annotations?.[ANNOTATIONS.restoreRequestedAt]
      return value === undefined ? undefined : shortHash([value])
    })
    const fate = this.#fateOf(now)
    if (type !== 'ADDED' && hash !== undefined && hash !== had) fate.asked.add(hash)
    if (isOperator(actor)) this.#checkPoint(now, then, fate)
  }

  #checkPoint(now: WorkspaceSnapshot, then: WorkspaceSnapshot | undefined, fate: Fate): void {
    const report = (text: string) => this.#report(`WorkspaceSnapshot ${keyOf(now.metadata)} ${text}`)
    const { disturbances } = this.witness
    const [is, was] = [now.status?.restore, then?.status?.restore]
    if (is === undefined) {
      if (was !== undefined) report('has forgotten its restore')
      return
    }
    const isOther = is.request !== was?.request || is.startTime !== was?.startTime
    if (isOther) this.#checkBegin(now, is, was, fate, report)
    else if (!isDeepStrictEqual(namesIn(is), namesIn(was)))
      report(`restores ${namesIn(is)}, and ${namesIn(was)} before`)
    // That a machine is restored can be seen later than that its request has failed.
    else if (!CHANGES.has(was?.phase) && !isDeepStrictEqual(is, was))
      report('tells otherwise of a restore that has ended')
    for (const wrong of contradictionsIn(is)) report(wrong)
    for (const wrong of this.#untrue(is, now.metadata.namespace ?? '', (ageMs) => mustKnow(disturbances, ageMs)))
      report(wrong)
  }

  #checkBegin(
    point: WorkspaceSnapshot,
    is: Restore,
    was: Restore | undefined,
    fate: Fate,
    report: (text: string) => void,
  ): void {
    const { namespace = '', uid } = point.metadata
    const { disturbances } = this.witness
    const { request = '' } = is
    if (was?.phase === 'InProgress') report('begins another restore before the one under way has ended')
    if (!fate.asked.has(request)) report(`is restored for ${request}, which nobody has asked for`)
    if (is.phase === 'Refused') return
    if (fate.begun.has(request)) report(`is restored for ${request} again`)
    fate.begun.add(request)
    const onMs = this.#onForMs(namespace)
    if (mustKnow(disturbances, onMs)) report(`is to be restored while the lab is on, since ${onMs} ms`)
    for (const { object, changedAtMs } of this.#traces<WorkspaceSnapshot>(WORKSPACE_SNAPSHOT).values())
      if (
        object.metadata.namespace === namespace &&
        object.metadata.uid !== uid &&
        object.status?.restore?.phase === 'InProgress' &&
        mustKnow(disturbances, this.#nowMs - changedAtMs)
      )
        report(`is to be restored while ${object.metadata.name} is`)
    for (const name of namesIn(is).map(([machine]) => machine))
      if (point.status?.members?.some((one) => one.name === name && one.ready) !== true) report(`has no ${name}`)
  }

  /** Returns what a status says of machines that is not so. @param isKnown whether what happened so long ago must be known */
  #untrue({ members = [] }: Restore, namespace: string, isKnown: (ageMs: number) => boolean): string[] {
    return members.flatMap(({ name, restore, phase }) => {
      const swap = this.#swaps.get(keyOf({ namespace, name: restore }))
      if (phase === 'Failed' && swap !== undefined && isKnown(this.#nowMs - swap.atMs))
        return [`says that ${name} is not restored, and it is (${restore})`]
      if (phase !== 'Succeeded') return []
      if (swap === undefined) return [`says that ${name} is restored (${restore}), and it never was`]
      const [wanted] = this.#wantedFor(namespace, name, restore)
      return swap.machine === name && swap.content === wanted
        ? []
        : [
            `says that ${name} is restored (${restore}): ${swap.machine} has ${swap.content} on its root disk, and had ${wanted} then`,
          ]
    })
  }

  /** Returns what the root disk of a machine had in it at the point in time. */
  #wantedFor(namespace: string, machine: string, restore: string): (string | undefined)[] {
    const points = [...this.#traces<WorkspaceSnapshot>(WORKSPACE_SNAPSHOT).values()].map(({ object }) => object)
    return points
      .filter(
        ({ metadata, status }) =>
          metadata.namespace === namespace && status?.restore?.members?.some((one) => one.restore === restore) === true,
      )
      .map(({ status }) => {
        const { snapshot } = status?.members?.find((one) => one.kind === 'Machine' && one.name === machine) ?? {}
        const claims = this.#contents.get(keyOf({ namespace, name: snapshot ?? '' }))
        return claims && [...claims].find(([name]) => isRoot(name, machine))?.[1]
      })
  }

  /** Returns 0 for a workspace that is off. */
  #onForMs(workspace: string): number {
    return this.#nowMs - (this.#onSinceMs.get(workspace) ?? this.#nowMs)
  }

  #fateOf({ metadata: { uid = '' } }: KubeObject): Fate {
    const found = this.#fates.get(uid) ?? { asked: new Set(), begun: new Set(), created: new Set() }
    this.#fates.set(uid, found)
    return found
  }

  #claim(namespace: string | undefined, name: string): KubeObject | undefined {
    for (const { object } of this.#traces(PERSISTENT_VOLUME_CLAIM).values())
      if (object.metadata.namespace === namespace && object.metadata.name === name) return object
    return undefined
  }

  #traces<T extends KubeObject>(type: Parameters<World['chronicle']['traces']['of']>[0]) {
    return this.witness.chronicle.traces.of<T>(type)
  }

  get #nowMs(): number {
    return this.witness.chronicle.nowMs
  }

  get #epochMs(): number {
    const { epochMs, elapsedMs } = this.witness.time
    return epochMs + elapsedMs
  }

  #report(message: string): void {
    this.witness.report(5, message)
  }
}

/** Reports whether a claim can have been the root disk of a machine: it has the name of one, or a restore has made it. */
function isRoot(claim: string, machine: string): boolean {
  return new RegExp(`^${machine}-root(-g[0-9]+)?$`).test(claim) || /^restore-.*-rootdisk$/.test(claim)
}

function namesIn(restore: Restore | undefined): [machine: string, restore: string][] {
  return (restore?.members ?? []).map(({ name, restore: of }) => [name, of])
}

/** Returns where a restore, and its machines and volumes, do not go together. */
function contradictionsIn(restore: Restore): string[] {
  const { phase, members = [], volumes = [], endTime } = restore
  const open = [...members, ...volumes].filter((one) => one.phase === 'Pending' || one.phase === 'InProgress')
  const isOver = phase !== 'InProgress'
  const wrong = [
    ...(isOver && open.length > 0 ? ['some of it is not done'] : []),
    ...(!isOver && open.length === 0 ? ['all of it is done'] : []),
    ...(isOver === (endTime === undefined) ? [`its end is ${endTime}`] : []),
    ...contradictionsAtEnd(restore),
  ]
  return wrong.map((text) => `says that its restore is ${phase}, and ${text}`)
}

function contradictionsAtEnd({ phase, members = [], volumes = [], unfilled = [], message }: Restore): string[] {
  const parts = [...members, ...volumes]
  const failed = parts.filter((one) => one.phase === 'Failed')
  const untold = failed.filter(({ name }) => !message.includes(name))
  switch (phase) {
    case 'Succeeded':
      return failed.length > 0 ? ['some of it is not restored'] : []
    case 'WaitForFirstConsumer':
      return unfilled.length === 0 ? ['nothing waits'] : []
    case 'Failed':
      return [
        ...(failed.length === 0 && !message.includes('never had their data') ? ['nothing has failed'] : []),
        ...(untold.length > 0 ? [`it says: ${message}`] : []),
      ]
    case 'Refused':
      return [
        ...(parts.length > 0 ? ['it has parts'] : []),
        ...(message.startsWith('nothing was restored: ') ? [] : [message]),
      ]
    default:
      return []
  }
}
