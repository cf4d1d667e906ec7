import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { Delays } from './delays.ts'
import { KubevirtController, type KubevirtParts } from './kubevirt-controller.ts'
import { claimNamesOf, type Machine, type MachineSnapshot, type MachineSnapshotStatus } from './kubevirt-models.ts'
import { type Claim, type Condition, isTerminating, uidOf } from './models.ts'

/**
 * Not a KubeVirt annotation: stands for the VirtualMachineSnapshotContent of a snapshot. Without it, KubeVirt still says that the snapshot is ready, and restores
 * nothing from it.
 */
export const SNAPSHOT_CONTENT = 'sandbox.open-terrain.dev/snapshot-content'

/** What a snapshot has: the template of the machine, and each of its claims by name. */
export interface SnapshotContent {
  readonly template: Machine['spec']['template']
  readonly claims: Readonly<
    Record<string, Pick<Claim, 'spec'> & { readonly labels?: Readonly<Record<string, string>> }>
  >
}

/** Returns undefined if the content is gone. */
export function contentOf({ metadata }: KubeObject): SnapshotContent | undefined {
  const text = metadata.annotations?.[SNAPSHOT_CONTENT]
  return text === undefined ? undefined : (JSON.parse(text) as SnapshotContent)
}

/** On a machine as long as a snapshot of it is taken. */
const SOURCE_FINALIZER = 'snapshot.kubevirt.io/snapshot-source-protection'
/** From one step to the next, so that others can interfere. */
const STEP_MS = 200
/** That of KubeVirt for a snapshot that has none. The deadlines of others are not simulated. */
const DEADLINE_MS = 5 * 60_000

/**
 * KubeVirt's controller of VirtualMachineSnapshots: one of a machine that exists is InProgress, gets the spec and the claims of the machine as its content, and is then
 * ready. It says how the guest was frozen. Meanwhile the machine is locked: its status names the snapshot, and a finalizer keeps it. One snapshot of a machine is
 * taken at a time.
 *
 * Not simulated: the finalizer of a snapshot, so that the lock of one that is deleted ends a moment later, the VolumeSnapshots of its disks, and other deadlines than the usual one, for a machine that does not exist.
 */
export class MachineSnapshots extends KubevirtController {
  readonly #delays = new Delays(this.world)
  /** Why snapshots of a machine fail, by name of the machine. */
  readonly #failures = new Map<string, string>()

  constructor(parts: KubevirtParts) {
    super('kubevirt snapshots', parts)
  }

  /** Snapshots of this machine fail from now on. Returns a function that ends it. */
  fail(machine: string, reason: string): () => void {
    this.#failures.set(machine, reason)
    return () => this.#failures.delete(machine)
  }

  protected async reconcile(key: string): Promise<void> {
    if (this.outages.isAway) return
    const snapshot = this.world.machineSnapshots.get(key)
    if (snapshot === undefined || isTerminating(snapshot)) {
      this.#delays.forget(key)
      return await this.#unlock(key)
    }
    const { phase = 'Unset' } = snapshot.status ?? {}
    if (phase === 'Succeeded' || phase === 'Failed') return await this.#unlock(key)
    if (phase === 'InProgress' && !(await this.#isLocked(snapshot))) return
    const next = this.#next(snapshot)
    if (next === undefined) return this.worker.queue.addAfter(key, DEADLINE_MS)
    if (!this.#delays.passed(this.worker, key, `${uidOf(snapshot)} ${phase}`, STEP_MS)) return
    const filled = next.phase === 'Succeeded' ? await this.#fill(snapshot) : snapshot
    await this.world.writeStatus(VIRTUAL_MACHINE_SNAPSHOT, this.world.machineSnapshots, filled, next)
  }

  #next({ status, spec, metadata }: MachineSnapshot): MachineSnapshotStatus | undefined {
    const { name } = spec.source
    const key = `${metadata.namespace}/${name}`
    const failure = this.#failures.get(name)
    if (failure !== undefined)
      return { phase: 'Failed', readyToUse: false, conditions: [this.#says('Failure', true, failure)] }
    const machine = this.world.machines.get(key)
    if (machine === undefined) {
      if (status !== undefined) return this.#overdue(metadata)
      return {
        phase: 'InProgress',
        readyToUse: false,
        conditions: [this.#says('Progressing', false, 'Source does not exist')],
      }
    }
    if (status === undefined) return { phase: 'InProgress', readyToUse: false }
    return {
      phase: 'Succeeded',
      readyToUse: true,
      creationTime: this.world.timestamp(),
      indications: this.#indications(key),
      sourceUID: uidOf(machine),
      snapshotVolumes: volumesIn(machine),
      conditions: [this.#says('Ready', true, 'Operation complete')],
    }
  }

  /** Locks the machine. A machine that is not there, or a snapshot that fails, needs no lock. */
  async #isLocked({ metadata, spec }: MachineSnapshot): Promise<boolean> {
    const { namespace, name } = metadata
    const { machines } = this.world
    const machine = machines.get(`${namespace}/${spec.source.name}`)
    if (machine === undefined || this.#failures.has(spec.source.name)) return true
    const { snapshotInProgress } = machine.status ?? {}
    if (snapshotInProgress === undefined) {
      const status = { ...machine.status, snapshotInProgress: name }
      await this.world.writeStatus(KUBEVIRT_VIRTUAL_MACHINE, machines, machine, status)
    } else if (snapshotInProgress === name) {
      const { finalizers = [], resourceVersion } = machine.metadata
      if (finalizers.includes(SOURCE_FINALIZER) || isTerminating(machine)) return true
      const patch = { metadata: { resourceVersion, finalizers: [...finalizers, SOURCE_FINALIZER] } }
      await this.world.patch(KUBEVIRT_VIRTUAL_MACHINE, machines, machine, patch)
    }
    this.worker.queue.addAfter(`${namespace}/${name}`, STEP_MS)
    return false
  }

  /** Takes the finalizer off before the status says that the machine is free. */
  async #unlock(key: string): Promise<void> {
    const { machines } = this.world
    const locked = [...machines.values()].find(({ metadata: { namespace }, status }) => {
      return status?.snapshotInProgress !== undefined && `${namespace}/${status.snapshotInProgress}` === key
    })
    if (locked === undefined) return
    if (await this.world.releaseFinalizer(KUBEVIRT_VIRTUAL_MACHINE, machines, locked, SOURCE_FINALIZER))
      return this.worker.queue.addAfter(key, STEP_MS)
    const { snapshotInProgress: _over, ...status } = locked.status ?? {}
    await this.world.writeStatus(KUBEVIRT_VIRTUAL_MACHINE, machines, locked, status)
  }

  async #fill(snapshot: MachineSnapshot): Promise<MachineSnapshot> {
    const { namespace } = snapshot.metadata
    const machine = this.world.machines.get(`${namespace}/${snapshot.spec.source.name}`)
    if (machine === undefined || contentOf(snapshot) !== undefined) return snapshot
    const { template } = machine.spec
    const claims = claimNamesOf(template.spec).flatMap((name) => {
      const claim = this.world.claims.get(`${namespace}/${name}`)
      if (claim === undefined) return []
      const { storageClassName, accessModes, resources } = claim.spec
      return [[name, { spec: { storageClassName, accessModes, resources }, labels: claim.metadata.labels }]]
    })
    const content = JSON.stringify({ template, claims: Object.fromEntries(claims) })
    const patch = { metadata: { annotations: { [SNAPSHOT_CONTENT]: content } } }
    return await this.world.patch(VIRTUAL_MACHINE_SNAPSHOT, this.world.machineSnapshots, snapshot, patch)
  }

  #overdue({ creationTimestamp = '' }: KubeObject['metadata']): MachineSnapshotStatus | undefined {
    if (this.world.clock.now() - Date.parse(creationTimestamp) < DEADLINE_MS) return undefined
    return {
      phase: 'Failed',
      readyToUse: false,
      conditions: [this.#says('Failure', true, 'snapshot deadline exceeded')],
    }
  }

  #indications(key: string): string[] {
    const instance = this.world.instances.get(key)
    if (instance === undefined) return []
    const hasAgent = instance.status?.conditions?.some(
      ({ type, status }) => type === 'AgentConnected' && status === 'True',
    )
    return [hasAgent === true ? 'GuestAgent' : 'NoGuestAgent', 'Online']
  }

  /** KubeVirt has the text in the reason. */
  #says(type: string, holds: boolean, reason: string): Condition {
    return { type, status: holds ? 'True' : 'False', reason }
  }
}

/** KubeVirt takes what has a claim, and names the rest, such as the drive of cloud-init. */
function volumesIn({ spec: { template } }: Machine): MachineSnapshotStatus['snapshotVolumes'] {
  const { domain, volumes = [] } = template.spec
  const namesOf = (hasClaim: boolean) =>
    volumes.filter((one) => claimNamesOf({ domain, volumes: [one] }).length > 0 === hasClaim).map(({ name }) => name)
  return { includedVolumes: namesOf(true), excludedVolumes: namesOf(false) }
}
