import { LABELS } from '@open-terrain/constructs'
import { SECRET_COPY_POLICY, SECRET_COPY_RULE } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  ADMISSION_POLICY,
  ADMISSION_POLICY_BINDING,
  POD,
  STORAGE_CLASS,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { IMAGE, type Image, MACHINE, type Machine, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { HOUR } from '../../prepared/runtime/times.ts'
import { isDeletion, isPerson } from '../chronicle.ts'
import type { Actor, Kind, Reference } from '../kind.ts'
import * as objects from '../objects.ts'
import { isPeoplesPartKept } from '../oracle/foreign.ts'
import type { Oracle } from '../oracle/oracle.ts'
import { decidedWithinMs, isForTemplateOf } from '../traces.ts'
import type { World } from '../world.ts'
import { AddressOracle } from './address-oracle.ts'
import { CopiesOracle } from './copies-oracle.ts'
import { EndOracle } from './end-oracle.ts'
import { HostsOracle } from './hosts-oracle.ts'
import { IsolationOracle } from './isolation-oracle.ts'
import { labFaults } from './lab-faults.ts'
import { imagesOf, isPartOf, isType, PART_TYPES } from './lab-parts.ts'
import { FARM, sourceOf } from './labs.ts'
import { WorkspaceOrderOracle } from './order-oracle.ts'
import { PlaysOracle } from './plays-oracle.ts'
import { PowerOracle } from './power-oracle.ts'
import { RefusalOracle } from './refusal-oracle.ts'
import { ResetOracle } from './reset-oracle.ts'
import { RolloutOracle } from './rollout-oracle.ts'
import { WorkspaceStatusOracle } from './status-oracle.ts'
import { WorkspacePeople } from './workspace-people.ts'
import { WorkspaceRest } from './workspace-rest.ts'

/** Workspaces and all their parts, except for the children of their machines. */
export class Workspaces implements Kind {
  readonly people: WorkspacePeople
  readonly actors: readonly Actor[]
  readonly rest: WorkspaceRest
  readonly oracles: readonly Oracle[]
  readonly restsWithinMs = 2 * HOUR
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.people = new WorkspacePeople(world)
    this.actors = [labFaults(world, this.people.labs)]
    const hosts = new HostsOracle()
    const resets = new ResetOracle(world)
    this.rest = new WorkspaceRest(world, this.people.labs, hosts, resets)
    const status = new WorkspaceStatusOracle(world)
    this.oracles = [
      { onCommit: (commit) => this.#noteHarm(commit, status) },
      status,
      hosts,
      new WorkspaceOrderOracle(world),
      new IsolationOracle(world),
      new CopiesOracle(world),
      new RefusalOracle(world),
      new PlaysOracle(world),
      new PowerOracle(world),
      new RolloutOracle(world),
      resets,
      new EndOracle(world),
      new AddressOracle((message) => world.report(7, message)),
    ]
  }

  furnish(): void {
    const { admin } = this.#world.cluster
    const metadata = { name: SECRET_COPY_RULE }
    admin.create(ADMISSION_POLICY, objects.make(ADMISSION_POLICY, metadata, { spec: SECRET_COPY_POLICY }))
    const spec = { policyName: SECRET_COPY_RULE, validationActions: ['Deny'] }
    admin.create(ADMISSION_POLICY_BINDING, objects.make(ADMISSION_POLICY_BINDING, metadata, { spec }))
    // Of the volumes that are not in a folder of a node.
    const metadataOfDefault = {
      name: 'standard',
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    }
    const late = this.#world.schedule.bindsLate === true && { volumeBindingMode: 'WaitForFirstConsumer' }
    admin.create(
      STORAGE_CLASS,
      objects.make(STORAGE_CLASS, metadataOfDefault, { provisioner: 'sandbox.example.com', ...late }),
    )
    this.people.furnish()
  }

  /** Permits writes to the status and finalizer of a workspace, to its parts, and to the images that it has created. */
  permits(commit: Commit): boolean {
    const { resource, object, before = object } = commit
    if (isType(resource, WORKSPACE)) return isPeoplesPartKept(commit)
    if (isType(resource, IMAGE)) return this.#permitsImage(commit)
    if (isType(resource, POD)) return this.#permitsPod(commit)
    if (!PART_TYPES.some((type) => isType(resource, type))) return false
    return [...this.#traces.values()].some((one) => [object, before].every((part) => isPartOf(part, one.object)))
  }

  /** Returns each workspace that has a machine with a disk of this image. Its machines are references themselves, and users too. */
  referencesTo(image: KubeObject): readonly Reference[] {
    const { namespace, name } = image.metadata
    if (namespace !== FARM) return []
    return [...this.#traces.values()]
      .filter(({ object }) => !isDeletion(object) && (object.spec.vms ?? []).some((vm) => imagesOf(vm).includes(name)))
      .map(({ object, specAtMs }) => {
        return { title: `${WORKSPACE.kind}/${keyOf(object.metadata)}`, sinceMs: specAtMs, usesSinceMs: undefined }
      })
  }

  objects(): readonly (readonly [ResourceType, KubeObject])[] {
    return [...this.#traces.values()].map(({ object }) => [WORKSPACE, object])
  }

  get #traces() {
    return this.#world.chronicle.traces.of<Workspace>(WORKSPACE)
  }

  /** The operator may remove its gate from a pod of a container cluster, or delete such a pod. */
  #permitsPod({ object, before }: Commit): boolean {
    const { metadata } = before ?? object
    const uid = metadata.labels?.[LABELS.workspaceUid]
    const isOfLab = [...this.#traces.values()].some(({ object: { metadata: lab } }) => {
      return lab.uid === uid && lab.name === metadata.namespace
    })
    return isOfLab && before !== undefined && metadata.labels?.[LABELS.containerCluster] !== undefined
  }

  /** The operator may correct an image that it created, as long as it has no artifact, and all workspaces that have named it for a while want the same. */
  #permitsImage(commit: Commit): boolean {
    const { object, before, type } = commit
    const isMade = isForTemplateOf(WORKSPACE.kind, commit, this.#world.chronicle.traces)
    if (before === undefined || type === 'ADDED') return isMade && object.metadata.namespace === FARM
    const { chronicle, disturbances } = this.#world
    const sinceMs = chronicle.nowMs - decidedWithinMs(disturbances)
    const wanted = [...this.#traces.values()].flatMap(({ object: { spec }, specAtMs }) => {
      const vms = specAtMs < sinceMs ? (spec.vms ?? []) : []
      const own = vms.filter(({ backingVMDiskImage }) => backingVMDiskImage === object.metadata.name)
      const template = own.find((vm) => vm.vmDiskImageTemplate !== undefined)?.vmDiskImageTemplate
      return own.length === 0 ? [] : [JSON.stringify(template ?? null)]
    })
    return isMade && new Set(wanted).size <= 1 && (before as Image).status?.artifact === undefined
  }

  #noteHarm({ actor, object, resource }: Commit, status: WorkspaceStatusOracle): void {
    const isTheirs = isType(resource, WORKSPACE) || isType(resource, MACHINE)
    const { name, namespace = name } = object.metadata
    if (isPerson(actor) || (isTheirs && isDeletion(object as Machine))) status.noteHarm(namespace)
    if (!isPerson(actor) || namespace !== objects.SHARED_NAMESPACE) return
    for (const lab of this.people.labs) if (sourceOf(lab).name === name) status.noteHarm(lab.name)
  }
}
