import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { apiVersionOf, type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  STORAGE_CLASS,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { IMAGE, type Image, MACHINE } from '../../harness/kinds.ts'
import { HOUR } from '../../prepared/runtime/times.ts'
import { isEnd } from '../chronicle.ts'
import type { Actor, Kind, Reference } from '../kind.ts'
import * as objects from '../objects.ts'
import { isPeoplesPartKept } from '../oracle/foreign.ts'
import type { Oracle } from '../oracle/oracle.ts'
import { decidedWithinMs, isForTemplateOf } from '../traces.ts'
import type { World } from '../world.ts'
import { ChildrenOracle } from './children-oracle.ts'
import { guests } from './guests.ts'
import { KickLimits } from './kick-limits.ts'
import { KickOracle } from './kick-oracle.ts'
import { MachinePeople } from './machine-people.ts'
import { MachineRest } from './machine-rest.ts'
import { isOfMachines, MachineTraces } from './machine-traces.ts'
import { RestoreOracle } from './restore-oracle.ts'
import { Sources } from './sources.ts'
import { UseOracle } from './use-oracle.ts'

/** VirtualMachines, their guests, and the images that they name. */
export class Machines implements Kind {
  readonly people: MachinePeople
  readonly actors: readonly Actor[]
  readonly rest: MachineRest
  readonly oracles: readonly Oracle[]
  /** Guests that have failed often are restarted after minutes. */
  readonly restsWithinMs = HOUR
  readonly #world: World
  readonly #traces: MachineTraces
  readonly #sources: Sources
  /** Namespace of each machine that ever existed, by uid. */
  readonly #homes = new Map<string, string | undefined>()

  constructor(world: World) {
    this.#world = world
    this.#traces = new MachineTraces(world.chronicle)
    this.#sources = new Sources(world)
    this.people = new MachinePeople(world, this.#sources)
    this.actors = [this.#sources, guests(world, this.people)]
    this.rest = new MachineRest(world, this.people, this.#sources)
    const { chronicle, disturbances } = world
    const report: World['report'] = (invariant, message) => world.report(invariant, message)
    const witness = { traces: this.#traces, disturbances, report }
    const policy = new KickLimits({ chronicle, disturbances })
    const homes: Oracle = { onCommit: (commit) => this.#noteHome(commit) }
    this.oracles = [
      homes,
      policy,
      new UseOracle(witness),
      new RestoreOracle(witness),
      new KickOracle({ ...witness, policy }),
      new ChildrenOracle(witness),
    ]
  }

  furnish(): void {
    const { admin } = this.#world.cluster
    for (const [name, more] of Object.entries(objects.MACHINE_CLASSES))
      admin.create(
        STORAGE_CLASS,
        objects.make(STORAGE_CLASS, { name }, { provisioner: 'sandbox.example.com', ...more }),
      )
    this.#sources.furnish()
  }

  /** Permits writes to the status and finalizer of a machine, to its children and its guest, and to the image that it has created. */
  permits(commit: Commit): boolean {
    const { resource, object, type } = commit
    if (isOfMachines(resource)) return isPeoplesPartKept(commit)
    if (resource.kind === IMAGE.kind) return this.#permitsImage(commit)
    if (resource === VIRTUAL_MACHINE_INSTANCE) {
      const machine = this.#traces.kubevirt.get(controllerOf(object)?.uid ?? '')?.object
      return type !== 'ADDED' && machine !== undefined && this.#isOfOneMachine([machine])
    }
    // KubeVirt's machine owns the disks that KubeVirt has restored. A reset deletes the one that it replaces.
    if (resource === PERSISTENT_VOLUME_CLAIM && isEnd(commit)) {
      const machine = this.#traces.kubevirt.get(controllerOf(object)?.uid ?? '')?.object
      if (machine !== undefined && this.#isOfOneMachine([machine])) return true
    }
    const isOfKind = [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, SECRET, KUBEVIRT_VIRTUAL_MACHINE].includes(resource)
    return isOfKind && this.#isOfOneMachine([object, commit.before ?? object])
  }

  /** Returns all machines that name the image. Those that have a disk of it, or are getting one, block an explicit deletion. */
  referencesTo(image: KubeObject): readonly Reference[] {
    return this.#traces.referencesTo(image).map((machine) => {
      const { metadata, spec, status } = machine.object
      const title = `${MACHINE.kind}/${keyOf(metadata)}`
      const isForRoot = spec.vmDiskImageRef.name === image.metadata.name
      const key = keyOf(image.metadata)
      const made = [status?.clone, status?.replacement?.disk].find((one) => one?.image === key)
      // Whoever names another image since its disk was made uses that once it has a disk of it.
      const isChanged = isForRoot && made === undefined && status?.clone?.image !== undefined
      const disks = isChanged ? [] : this.#traces.disksOf(machine)
      const [disk] = isForRoot && made ? disks.filter(({ object }) => object.metadata.name === made.name) : disks
      const sinceMs = isForRoot && !isChanged ? machine.createdAtMs : machine.specAtMs
      return { title, sinceMs, usesSinceMs: disk?.createdAtMs }
    })
  }

  objects(): readonly (readonly [ResourceType, KubeObject])[] {
    return [...this.#traces.machines.values()].map(({ object }) => [MACHINE, object])
  }

  /** The garbage collector may be slower than a write that was sent before: the machine may be gone. */
  #isOfOneMachine(versions: readonly KubeObject[]): boolean {
    const owners = versions.map(controllerOf)
    return (
      new Set(owners.map((owner) => owner?.uid)).size === 1 &&
      versions.every(({ metadata: { namespace } }, at) => {
        const { apiVersion, kind, uid = '' } = owners[at] ?? {}
        const isMachine = apiVersion === apiVersionOf(MACHINE) && kind === MACHINE.kind && this.#homes.has(uid)
        return isMachine && this.#homes.get(uid) === namespace
      })
    )
  }

  #noteHome({ resource, object: { metadata } }: Commit): void {
    if (isOfMachines(resource)) this.#homes.set(metadata.uid ?? '', metadata.namespace)
  }

  /** The operator may correct an image that it created, as long as it has no artifact, and all machines that have named it for a while want the same. */
  #permitsImage(commit: Commit): boolean {
    const { object, before, type } = commit
    const isMade = isForTemplateOf(MACHINE.kind, commit, this.#world.chronicle.traces)
    if (before === undefined || type === 'ADDED') return isMade
    const { nowMs } = this.#traces
    const others = this.#traces
      .referencesTo(object)
      .filter(({ specAtMs }) => nowMs - specAtMs > decidedWithinMs(this.#world.disturbances))
    const templates = others.map((one) => JSON.stringify(one.object.spec.vmDiskImageTemplate))
    return isMade && new Set(templates).size <= 1 && (before as Image).status?.artifact === undefined
  }
}
