import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  ABOUT_LOSSES,
  POLICY_DEFAULTS,
  parseDuration,
  ROOT_DISK,
  rootDiskGeneration,
  type VirtualMachineStatus,
} from '@open-terrain/constructs/operator'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import {
  claimNamesOf,
  type Instance,
  type Machine as KubeVirtMachine,
} from '../../../sandbox/simulators/kubevirt-models.ts'
import { type DataVolume, MACHINE, type Machine, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'
import { isType } from './lab-parts.ts'

type Replacement = NonNullable<VirtualMachineStatus['replacement']>
type Asked = Replacement['asked']

const ANNOTATION_OF = {
  Reset: ANNOTATIONS.resetRequestedAt,
  Rebuild: ANNOTATIONS.rebuildRequestedAt,
} as const satisfies Readonly<Record<Asked, string>>

/** What a rollout adds to a request. */
const MARK = /(?:^| )rollout-[0-9a-f]{8}$/u
/** Name of a root disk that a restore of KubeVirt has made. */
const RESTORED = /^restore-.*-rootdisk$/u
/** Phases of a disk that has all its data, or waits only for a guest that starts from it. */
const COMPLETE: ReadonlySet<string> = new Set(['Succeeded', 'WaitForFirstConsumer', 'PendingPopulation'])
/** A decision may be based on a state this old. */
const MOMENT_MS = 5_000

/** One value of an annotation of a machine, which was set after the machine was created. */
interface Request {
  readonly value: string
  readonly atMs: number
  /** Uid of the claim that is to be replaced; undefined if there is none that a guest has run from, or the machine is left as it is. */
  readonly claimUid: string | undefined
  isAnswered: boolean
}

interface Fate {
  readonly requests: Readonly<Record<Asked, Request[]>>
  /** Uids of the claims that people have given up for a new one. */
  readonly givenUp: Set<string>
  /** Names of the disks that KubeVirt's machine was given in the place of another one. */
  readonly given: Set<string>
  /** When KubeVirt's machine got another root disk last. */
  givenAtMs: number
  /** Values of each annotation that the operator has given to the machine, without marks. */
  readonly passed: Set<string>
}

/**
 * Invariant 5, for root disks of labs: one that a guest has run from is replaced, or deleted, only after a request, and once for each. It is replaced while no guest
 * is there, and deleted only after the status has said when. At any time a machine has at most two, and one of them is in KubeVirt's machine. Its addresses stay.
 */
export class ResetOracle extends WitnessOracle<World> {
  /** Uids of the claims that a guest has run from. */
  readonly #booted = new Set<string>()
  /** By uid of a machine. */
  readonly #fates = new Map<string, Fate>()
  /** `<uid> <value>` of the requests that were set while their workspace told of a loss. */
  readonly #aboutLosses = new Set<string>()

  onCommit(commit: Commit): void {
    const { resource, type } = commit
    // Tenants forge objects without one.
    if ((commit.object as { readonly spec?: unknown }).spec === undefined) return
    if (isType(resource, MACHINE)) this.#noteMachine(commit)
    else if (isType(resource, WORKSPACE)) this.#noteWorkspace(commit)
    else if (resource === VIRTUAL_MACHINE_INSTANCE && type !== 'DELETED') this.#noteGuest(commit.object as Instance)
    else if (resource === KUBEVIRT_VIRTUAL_MACHINE && type !== 'DELETED') this.#checkMachine(commit)
    else if (resource === DATA_VOLUME || resource === PERSISTENT_VOLUME_CLAIM) {
      if (type === 'ADDED') this.#checkNumber(commit.object)
      if (isOperator(commit.actor) && isEnd(commit)) this.#checkDeletion(commit)
    }
  }

  /** Returns what people have asked for, and has neither been carried out nor is waited for. */
  restless(machine: Machine): string[] {
    const { status = {}, metadata } = machine
    const blocked = status.conditions?.some(({ reason }) => reason === 'ReplacementBlocked') === true
    const open = this.#fateOf(machine).requests.Reset.at(-1)
    // What was lost meanwhile is made anew, too.
    const isThere = open?.claimUid !== undefined && open.claimUid === this.#rootOf(machine)?.metadata.uid
    const isOpen = isThere && !open.isAnswered && !blocked
    return [
      ...(isOpen ? [`${metadata.name} was asked for a reset (${open.value}), and has none`] : []),
      ...(status.replacement === undefined || blocked ? [] : [`the disk of ${metadata.name} is being replaced`]),
      ...(status.oldDisk === undefined ? [] : [`${metadata.name} still has its old disk ${status.oldDisk.claim}`]),
    ]
  }

  #noteMachine({ type, object, before, actor, revision }: Commit): void {
    if (type !== 'MODIFIED' || before === undefined) return
    const [now, then] = [object as Machine, before as Machine]
    const fate = this.#fateOf(now)
    if (!isOperator(actor)) this.#noteWord(now, then)
    for (const asked of ['Reset', 'Rebuild'] as const) {
      const [value, was] = [now, then].map((one) => one.metadata.annotations?.[ANNOTATION_OF[asked]])
      if (value === undefined || value === was) continue
      if (isOperator(actor)) this.#checkPassed({ fate, asked, value, was }, now, revision)
      const isDue = now.spec.ignoreOnDeploy !== true && then.status?.bootedAt !== undefined
      const claimUid = isDue ? this.#rootOf(now)?.metadata.uid : undefined
      fate.requests[asked].push({ value, atMs: this.#nowMs, claimUid, isAnswered: false })
    }
    const { replacement } = now.status ?? {}
    if (replacement !== undefined && then.status?.replacement === undefined)
      this.#checkBegin(now, then, replacement, revision)
  }

  /** The word is of the claim that the machine starts from, at the moment when it is said. */
  #noteWord(now: Machine, then: Machine): void {
    const [word, was] = [now, then].map(({ metadata }) => metadata.annotations?.[ANNOTATIONS.deleteDiskFirst])
    const uid = this.#rootOf(now)?.metadata.uid
    if (word !== undefined && word !== was && uid !== undefined) this.#fateOf(now).givenUp.add(uid)
  }

  /** The operator gives each value of a workspace to a machine once. */
  #checkPassed(
    { fate, asked, value, was = '' }: { fate: Fate; asked: Asked; value: string; was: string | undefined },
    machine: Machine,
    revision: number,
  ): void {
    const [base, before] = [value, was].map((one) => one.replace(MARK, '').replace(ABOUT_LOSSES, ''))
    if (base === before || base === '') return
    const id = `${asked} ${base}`
    if (fate.passed.has(id))
      this.#report(revision, `${keyOf(machine.metadata)} is given request ${id} again, in the place of ${was}`)
    fate.passed.add(id)
  }

  #checkBegin(machine: Machine, then: Machine, { asked, disk }: Replacement, revision: number): void {
    const report = (text: string) =>
      this.#report(revision, `the root disk of ${keyOf(machine.metadata)} is to be replaced by ${disk.name} ${text}`)
    const fate = this.#fateOf(machine)
    const { Reset, Rebuild } = fate.requests
    const open = fate.requests[asked].filter(({ isAnswered }) => !isAnswered)
    if (open.length === 0) report(`because of a ${asked} that nobody asked for`)
    // One that was set just now may not have been seen.
    const [newest] = open.slice(-1)
    for (const one of [...Reset, ...Rebuild])
      if (one === newest || this.#nowMs - one.atMs > MOMENT_MS) one.isAnswered = true
    if (asked !== 'Rebuild' || newest === undefined) return
    const owner = controllerOf(machine)?.uid
    const isAboutLosses = newest.value.endsWith(ABOUT_LOSSES) || this.#aboutLosses.has(`${owner} ${newest.value}`)
    if (isAboutLosses && open.length === 1) report(`for request "${newest.value}", which is about what was lost`)
    if (then.status?.conditions?.some(({ type, status }) => type === 'DiskLost' && status === 'True') === true)
      report('although it is lost')
  }

  #noteWorkspace({ object, before }: Commit): void {
    const [value, was] = [object, before].map((one) => one?.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt])
    const { lost = [] } = (before as Workspace | undefined)?.status ?? {}
    if (value !== undefined && value !== was && lost.length > 0)
      this.#aboutLosses.add(`${object.metadata.uid} ${value}`)
  }

  #noteGuest(guest: Instance): void {
    const { namespace = '', name, uid } = guest.metadata
    const names = claimNamesOf(guest.spec)
    if (!isRunning(guest)) return
    for (const { object } of this.#claims.values())
      if (object.metadata.namespace === namespace && names.includes(object.metadata.name))
        this.#booted.add(object.metadata.uid ?? '')
    for (const { object } of this.#instances.values()) {
      const isOther =
        object.metadata.uid !== uid &&
        object.metadata.namespace === namespace &&
        isRunning(object) &&
        (object as Partial<Instance>).spec !== undefined
      const shared = isOther ? claimNamesOf(object.spec).filter((one) => names.includes(one)) : []
      if (shared.length > 0)
        this.witness.report(5, `guests ${name} and ${object.metadata.name} of ${namespace} write to ${shared.join()}`)
    }
  }

  #checkMachine({ object, before, actor, revision }: Commit): void {
    const machine = this.#machineOf(object)
    if (machine === undefined || !isOperator(actor)) return
    const [now, then] = [object, before].map((one) => one && rootsOf(one as KubeVirtMachine))
    const title = `KubeVirt's machine ${keyOf(object.metadata)}`
    if (now?.length !== 1) this.#report(revision, `${title} has the root disks ${now?.join()}`)
    const [name = '', old = ''] = [...(now ?? []), ...(then ?? [])]
    if (before === undefined || name === old) return
    this.#checkSwap({ machine, name, old }, object, (text) => this.#report(revision, `${title} gets ${name}${text}`))
    const [macs, were] = [object, before].map(macsOf)
    const isSameSpec = machine.status?.observedGeneration === machine.metadata.generation
    if (isSameSpec && macs !== were) this.#report(revision, `${title} has addresses ${macs}, and had ${were}`)
  }

  #checkSwap(
    { machine, name, old }: { readonly machine: Machine; readonly name: string; readonly old: string },
    object: KubeObject,
    report: (text: string) => void,
  ): void {
    const { replacement } = machine.status ?? {}
    const fate = this.#fateOf(machine)
    if (replacement?.disk.name !== name && this.#isUsed(object, old))
      report(` in the place of ${old}, and its status tells of no replacement`)
    if (fate.given.has(name)) report(' again')
    fate.given.add(name)
    fate.givenAtMs = this.#nowMs
    const { namespace } = object.metadata
    const isIt = (one: KubeObject) => keyOf(one.metadata) === keyOf({ name, ...(namespace && { namespace }) })
    const disk = [...this.#disks.values()].find((one) => isIt(one.object))?.object
    if (!COMPLETE.has(disk?.status?.phase ?? '')) report(`, which is ${disk?.status?.phase}`)
    const guests = [...this.#instances.values()].filter((one) => keyOf(one.object.metadata) === keyOf(object.metadata))
    if (guests.length > 0) report(', and its guest is there')
  }

  #checkNumber(disk: KubeObject): void {
    const uid = disk.metadata.labels?.[LABELS.vmUid]
    const machine = this.#machines.get(uid ?? '')?.object
    if (machine === undefined) return
    const { name, namespace } = machine.metadata
    const all = [...this.#disks.values(), ...this.#claims.values()].filter(
      ({ object: { metadata: one } }) => one.namespace === namespace && one.labels?.[LABELS.vmUid] === uid,
    )
    const names = new Set(all.map(({ object }) => object.metadata.name))
    const roots = [...names].filter((one) => rootDiskGeneration(name, one) !== undefined)
    if (roots.length > 2) this.witness.report(5, `${keyOf(machine.metadata)} has the root disks ${roots.join(', ')}`)
  }

  #checkDeletion({ object, before, revision }: Commit): void {
    const { name, namespace = '', labels } = (before ?? object).metadata
    const machine = this.#machines.get(labels?.[LABELS.vmUid] ?? '')?.object
    const isLeaving = this.witness.chronicle.traces.leavingNamespaces.has(namespace)
    if (machine === undefined || isLeaving || isDeletion(machine)) return
    if (!isRootDisk(machine, name) || !this.#isUsed(object, name)) return
    const given = this.#usedClaim(namespace, name)?.metadata.uid ?? ''
    const isGivenUp = this.#fateOf(machine).givenUp.has(given)
    if (isGivenUp) this.#checkGivenUp(machine, `${namespace}/${name}`, revision)
    else this.#checkReplaced(machine, { namespace, name }, revision)
  }

  #checkReplaced(
    machine: Machine,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    revision: number,
  ): void {
    const { oldDisk } = machine.status ?? {}
    const title = `root disk ${namespace}/${name}, which a guest has run from, is deleted`
    const { epochMs, elapsedMs } = this.witness.time
    if (oldDisk?.claim !== name) this.#report(revision, `${title}, and it was not replaced`)
    else if (oldDisk.expiresAt === undefined || Date.parse(oldDisk.expiresAt) > epochMs + elapsedMs + MOMENT_MS)
      this.#report(revision, `${title}, and the status says ${oldDisk.expiresAt}`)
    const keptMs = this.#nowMs - this.#fateOf(machine).givenAtMs
    const graceMs = parseDuration(this.witness.policy.data['resetGrace'] ?? '') ?? POLICY_DEFAULTS.resetGraceMs
    if (keptMs < graceMs - MOMENT_MS) this.#report(revision, `${title} ${keptMs} ms after it was replaced`)
    const kubevirt = [...this.#kubevirt.values()].find((one) => this.#machineOf(one.object) === machine)
    if (kubevirt !== undefined && rootsOf(kubevirt.object).includes(name))
      this.#report(revision, `${title}, and KubeVirt's machine starts from it`)
  }

  /** Reports whether a guest has run from the claim of that name, which is there. */
  #isUsed({ metadata: { namespace } }: KubeObject, name: string): boolean {
    return this.#usedClaim(namespace, name) !== undefined
  }

  /** It was said that it goes first. It goes while the guest is off. */
  #checkGivenUp(machine: Machine, name: string, revision: number): void {
    const guests = [...this.#instances.values()].filter(
      ({ object }) => keyOf(object.metadata) === keyOf(machine.metadata) && isRunning(object),
    )
    const title = `root disk ${name}, which was given up, is deleted`
    if (guests.length > 0) this.#report(revision, `${title} while its guest runs`)
    if (machine.status?.replacement === undefined) this.#report(revision, `${title}, and no new one is recorded`)
  }

  #usedClaim(namespace: string | undefined, name: string): KubeObject | undefined {
    return [...this.#claims.values()].find(
      ({ object }) =>
        object.metadata.namespace === namespace &&
        object.metadata.name === name &&
        !isDeletion(object) &&
        this.#booted.has(object.metadata.uid ?? ''),
    )?.object
  }

  /** The claim that the machine starts from, if its guest has run from it. */
  #rootOf({ metadata, status }: Machine): KubeObject | undefined {
    const name = status?.restoredClaim ?? status?.clone?.name
    return name === undefined ? undefined : this.#usedClaim(metadata.namespace, name)
  }

  #machineOf(child: KubeObject): Machine | undefined {
    const owner = controllerOf(child)
    return owner?.kind === MACHINE.kind ? this.#machines.get(owner.uid)?.object : undefined
  }

  #fateOf({ metadata: { uid = '' } }: KubeObject): Fate {
    const found = this.#fates.get(uid) ?? {
      requests: { Reset: [], Rebuild: [] },
      givenUp: new Set<string>(),
      given: new Set<string>(),
      givenAtMs: Number.NEGATIVE_INFINITY,
      passed: new Set<string>(),
    }
    this.#fates.set(uid, found)
    return found
  }

  get #nowMs(): number {
    return this.witness.chronicle.nowMs
  }

  get #machines() {
    return this.witness.chronicle.traces.of<Machine>(MACHINE)
  }

  get #kubevirt() {
    return this.witness.chronicle.traces.of<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE)
  }

  get #instances() {
    return this.witness.chronicle.traces.of<Instance>(VIRTUAL_MACHINE_INSTANCE)
  }

  get #disks() {
    return this.witness.chronicle.traces.of<DataVolume>(DATA_VOLUME)
  }

  get #claims() {
    return this.witness.chronicle.traces.of(PERSISTENT_VOLUME_CLAIM)
  }

  #report(revision: number, message: string): void {
    this.witness.report(5, `revision ${revision}: ${message}`)
  }
}

function isRootDisk({ metadata }: Machine, claim: string): boolean {
  return rootDiskGeneration(metadata.name, claim) !== undefined || RESTORED.test(claim)
}

function isRunning({ status }: Instance): boolean {
  return status?.phase === 'Running'
}

/** Returns the claims that KubeVirt's machine has as root disk. */
function rootsOf({ spec, metadata }: KubeVirtMachine): string[] {
  return (spec.template.spec.volumes ?? []).flatMap((volume) => {
    const [claim] = claimNamesOf({ ...spec.template.spec, volumes: [volume] })
    if (claim === undefined) return []
    return volume.name === ROOT_DISK || rootDiskGeneration(metadata.name, claim) !== undefined ? [claim] : []
  })
}

function macsOf(object: KubeObject): string {
  const { interfaces = [] } = (object as KubeVirtMachine).spec.template.spec.domain.devices ?? {}
  return interfaces.map(({ macAddress }) => macAddress).join()
}
