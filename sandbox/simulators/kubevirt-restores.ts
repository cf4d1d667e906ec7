import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { POPULATED_FOR, PRE_POPULATED } from './annotations.ts'
import { Delays } from './delays.ts'
import { KubevirtController, type KubevirtParts } from './kubevirt-controller.ts'
import { claimNamesOf, type Machine, type MachineVolume } from './kubevirt-models.ts'
import { contentOf, type SnapshotContent } from './kubevirt-snapshots.ts'
import { type Claim, isTerminating, ownedBy, ownerUid, uidOf } from './models.ts'

/** On a virtual machine, its claims and their DataVolumes: the restore that they come from, as `<name>-<uid>`, or its name. */
export const LAST_RESTORE = 'restore.kubevirt.io/lastRestoreUID'
const RESTORE_NAME = 'restore.kubevirt.io/name'
/** Not a KubeVirt annotation: stands for a VirtualMachineRestore that is carried out. Of one in an object, `MachineRestores` writes it. */
const RESTORE_REQUEST = 'sandbox.open-terrain.dev/restore'
/** Between two steps, so that others can interfere. */
const STEP_MS = 200

export interface RestoreRequest {
  readonly name: string
  readonly uid: string
  /** The claims keep their names: each is deleted, and created again from the snapshot. Otherwise, there are new claims. */
  readonly isInPlace: boolean
  /** Name of the VirtualMachineSnapshot of a VirtualMachineRestore: without one of both, the restore ends where it is. */
  readonly snapshot?: string
}

/** Returns a patch of KubeVirt's machine that does what the creation of a VirtualMachineRestore does. */
export function restoreRequest(request: RestoreRequest): object {
  return { metadata: { annotations: { [RESTORE_REQUEST]: JSON.stringify(request) } } }
}

/** Reports whether a restore has written the spec of the machine. */
export function isRestoredBy({ metadata }: KubeObject, request: RestoreRequest): boolean {
  return metadata.annotations?.[LAST_RESTORE] === markOf(request)
}

/** Returns what the status of a restore says about a volume. */
export function restoredClaimOf({ uid }: RestoreRequest, volumeName: string) {
  return {
    volumeName,
    persistentVolumeClaim: `restore-${uid}-${volumeName}`,
    volumeSnapshotName: `snapshot-of-${volumeName}`,
  }
}

/** Reports whether the machine is to be restored, or is being restored. */
export function isToBeRestored({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[RESTORE_REQUEST] !== undefined
}

/**
 * KubeVirt's controller of VirtualMachineRestores: waits until the guest is off, makes claims from the snapshot and waits until they are bound, puts the spec of the
 * virtual machine back to that of the snapshot, but for its run strategy and with the new claims, and reports the restore in its status meanwhile. Every step
 * follows from the state of the cluster. A request without an object has a snapshot of the present spec.
 *
 * Not simulated: restores to another machine, and the policies for a guest that runs: it is waited for.
 */
export class Restores extends KubevirtController {
  readonly #delays = new Delays(this.world)
  /** Claims as the snapshot has them, by restore and name: a restore in place deletes them first. */
  readonly #deleted = new Map<string, Claim>()

  constructor(parts: KubevirtParts) {
    super('kubevirt restores', parts)
  }

  protected async reconcile(key: string): Promise<void> {
    if (this.outages.isAway) return
    const machine = this.world.machines.get(key)
    const request = machine && requestOf(machine)
    if (machine === undefined || request === undefined || isTerminating(machine)) return this.#delays.forget(key)
    const step = this.#nextStep(key, machine, request)
    if (step === undefined) return
    if (!this.#delays.passed(this.worker, key, `${request.uid} ${step.name}`, STEP_MS)) return
    await step.take()
  }

  #nextStep(key: string, machine: Machine, request: RestoreRequest) {
    const { world } = this
    const { status, metadata } = machine
    const isDone = metadata.annotations?.[LAST_RESTORE] === markOf(request)
    const isWithdrawn = request.snapshot !== undefined && this.#objectOf(machine, request) === undefined
    const isOver = isDone && status?.restoreInProgress === undefined
    if (!isWithdrawn && !isOver) {
      if (world.instances.get(key) !== undefined) return undefined
      const content = this.#contentFor(machine, request)
      // KubeVirt tries again and again, also when nothing is left to do but to say so.
      if (content === undefined) return undefined
      if (!isDone) {
        if (status?.restoreInProgress === undefined)
          return { name: 'begin', take: () => this.#note(machine, request.name) }
        return this.#stepTo(machine, content, request)
      }
    }
    if (status?.restoreInProgress === request.name) return { name: 'end', take: () => this.#note(machine, undefined) }
    return { name: 'done', take: () => this.#forgetRequest(machine) }
  }

  #stepTo(machine: Machine, content: SnapshotContent, request: RestoreRequest) {
    for (const volume of content.template.spec.volumes ?? []) {
      const step = this.#claimStep(machine, volume, content, request)
      if (step !== undefined) return step
    }
    return { name: 'spec', take: () => this.#writeSpec(machine, content, request) }
  }

  /** Returns undefined if a snapshot is not there, is not ready, or has lost its content. */
  #contentFor({ metadata, spec }: Machine, { snapshot }: RestoreRequest): SnapshotContent | undefined {
    if (snapshot === undefined) return { template: spec.template, claims: {} }
    const found = this.world.machineSnapshots.get(`${metadata.namespace}/${snapshot}`)
    return found?.status?.readyToUse === true ? contentOf(found) : undefined
  }

  #objectOf({ metadata }: Machine, { name, uid }: RestoreRequest) {
    const found = this.world.machineRestores.get(`${metadata.namespace}/${name}`)
    return found !== undefined && uidOf(found) === uid && !isTerminating(found) ? found : undefined
  }

  /** Returns the next step for one volume; undefined if its restored claim exists, and is bound or waits for a guest. */
  #claimStep(machine: Machine, volume: MachineVolume, content: SnapshotContent, request: RestoreRequest) {
    const source = claimOf(volume)
    if (source === undefined) return undefined
    const { namespace } = machine.metadata
    const target = targetOf(source, volume, request)
    const found = this.world.claims.get(`${namespace}/${target}`)
    if (found === undefined)
      return {
        name: `create ${target}`,
        take: () => this.#createClaim(machine, { source, name: target, content, request }),
      }
    const isOfThis = found.metadata.annotations?.[LAST_RESTORE] === markOf(request)
    const wait = { name: `wait ${target}`, take: async () => undefined }
    if (!request.isInPlace || isOfThis)
      return request.snapshot !== undefined && this.#isAwaited(found) ? wait : undefined
    if (isTerminating(found)) return wait
    return { name: `delete ${target}`, take: () => this.#deleteClaim(found, request) }
  }

  #isAwaited({ spec, status }: Claim): boolean {
    const { volumeBindingMode = 'Immediate' } = this.world.storageClasses.get(spec.storageClassName ?? '') ?? {}
    return status?.phase !== 'Bound' && volumeBindingMode === 'Immediate'
  }

  /** CDI is told to create no claim, before the claim of its DataVolume is deleted. */
  async #deleteClaim(claim: Claim, request: RestoreRequest): Promise<void> {
    const { name } = request
    const { namespace } = claim.metadata
    this.#deleted.set(`${markOf(request)} ${keyOf(claim.metadata)}`, claim)
    const owner = this.world.dataVolumes.get(`${namespace}/${claim.metadata.name}`)
    if (owner !== undefined && ownerUid(claim.metadata, 'DataVolume') === uidOf(owner)) {
      const marks = { metadata: { annotations: { [RESTORE_NAME]: name, [PRE_POPULATED]: 'true' } } }
      await this.world.patch(DATA_VOLUME, this.world.dataVolumes, owner, marks)
    }
    await this.world.remove(PERSISTENT_VOLUME_CLAIM, claim)
  }

  async #createClaim(
    machine: Machine,
    {
      source,
      name,
      content,
      request,
    }: {
      readonly source: string
      readonly name: string
      readonly content: SnapshotContent
      readonly request: RestoreRequest
    },
  ): Promise<void> {
    const { namespace = '' } = machine.metadata
    const { claims, dataVolumes } = this.world
    const dataVolume = dataVolumes.get(`${namespace}/${source}`)
    const isAdopted = request.isInPlace && dataVolume?.metadata.annotations?.[PRE_POPULATED] !== undefined
    const claim = claims.get(`${namespace}/${source}`) ?? this.#deleted.get(`${markOf(request)} ${namespace}/${source}`)
    const kept = content.claims[source]
    const labels = kept?.labels ?? (claim ?? dataVolume)?.metadata.labels
    const annotations = {
      [RESTORE_NAME]: request.name,
      [LAST_RESTORE]: markOf(request),
      ...(isAdopted && { [POPULATED_FOR]: source }),
    }
    const { storageClassName } = kept?.spec ?? claim?.spec ?? dataVolume?.spec.storage ?? {}
    const of = request.snapshot === undefined ? source : `${request.snapshot}-${source}`
    const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: `snapshot-of-${of}` }
    await this.world.create(PERSISTENT_VOLUME_CLAIM, claims, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: {
        namespace,
        name,
        labels: { ...labels, 'restore.kubevirt.io/source-vm-name': machine.metadata.name },
        annotations,
        ...(!isAdopted && { ownerReferences: ownedBy(machine) }),
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        ...(storageClassName !== undefined && { storageClassName }),
        resources: { requests: { storage: '11Gi' } },
        dataSource,
      },
    })
  }

  /** Replaces the spec, except for the run strategy, by that of the snapshot. A volume of a DataVolume becomes one of a claim. */
  async #writeSpec(machine: Machine, { template }: SnapshotContent, request: RestoreRequest): Promise<void> {
    const volumes = (template.spec.volumes ?? []).flatMap((volume): MachineVolume[] => {
      if (volume.memoryDump !== undefined) return []
      const source = claimOf(volume)
      if (source === undefined) return [volume]
      return [{ name: volume.name, persistentVolumeClaim: { claimName: targetOf(source, volume, request) } }]
    })
    const { metadata, spec } = machine
    const annotations = { ...metadata.annotations, [LAST_RESTORE]: markOf(request) }
    await this.world.replace(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, {
      ...machine,
      metadata: { ...metadata, annotations },
      spec: { ...spec, template: { ...template, spec: { ...template.spec, volumes } } },
    })
  }

  async #note(machine: Machine, restoreInProgress: string | undefined): Promise<void> {
    const { restoreInProgress: _before, ...status } = machine.status ?? {}
    const next = { ...status, ...(restoreInProgress !== undefined && { restoreInProgress }) }
    await this.world.writeStatus(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, machine, next)
  }

  async #forgetRequest(machine: Machine): Promise<void> {
    const { resourceVersion } = machine.metadata
    const patch = { metadata: { resourceVersion, annotations: { [RESTORE_REQUEST]: null } } }
    await this.world.patch(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, machine, patch)
  }
}

function requestOf({ metadata }: Machine): RestoreRequest | undefined {
  const text = metadata.annotations?.[RESTORE_REQUEST]
  return text === undefined ? undefined : (JSON.parse(text) as RestoreRequest)
}

function markOf({ name, uid }: RestoreRequest): string {
  return `${name}-${uid}`
}

/** Returns the claim of a volume that a snapshot includes. */
function claimOf(volume: MachineVolume): string | undefined {
  return claimNamesOf({ domain: {}, volumes: [volume] })[0]
}

function targetOf(source: string, { name }: MachineVolume, { uid, isInPlace }: RestoreRequest): string {
  return isInPlace ? source : `restore-${uid}-${name}`
}
