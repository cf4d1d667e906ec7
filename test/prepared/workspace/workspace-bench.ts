import { isDeepStrictEqual } from 'node:util'
import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import {
  type DeploymentObject,
  POLICY_DEFAULTS,
  type Policy,
  type VMDiskImageStatus,
  virtualMachine,
  vmDiskImage,
  workspace,
} from '@open-terrain/constructs/operator'
import { Registry } from 'prom-client'
import { expect, onTestFinished } from 'vitest'
import { clusterCaches } from '../../../operator/cluster/caches.ts'
import { WorkspaceCaches } from '../../../operator/controllers/workspace/caches.ts'
import { WorkspaceController } from '../../../operator/controllers/workspace/controller.ts'
import { isSwitchedOff } from '../../../operator/controllers/workspace/decide/power.ts'
import { WorkspaceReferences } from '../../../operator/controllers/workspace/references.ts'
import { WorkspaceMetrics } from '../../../operator/controllers/workspace/workspace-metrics.ts'
import type { MachineFacts, WorkspaceView } from '../../../operator/controllers/workspace/world.ts'
import { type ImageView, viewImage } from '../../../operator/images/image-view.ts'
import type { References } from '../../../operator/images/references.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import { DEPLOYMENT, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../../operator/kube/resource-types.ts'
import { EventRecorder } from '../../../operator/runtime/event-recorder.ts'
import { RuntimeMetrics } from '../../../operator/runtime/metrics.ts'
import { Reflectors } from '../../../operator/runtime/reflectors.ts'
import { Store } from '../../../operator/runtime/store.ts'
import { PROPOSED_WORKSPACE } from '../api/proposed-workspace.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'
import { fakeLog } from '../runtime/fake-log.ts'
import { SECOND } from '../runtime/times.ts'
import { isOffMachine, podOf } from './workspace-world.ts'

export const WRITES = ['create', 'patch', 'status', 'delete'] as const
export const NAME = 'lab'
export const IMAGE_NAMESPACE = POLICY_DEFAULTS.imageNamespace

const TEMPLATE = { url: 'https://images.example/a.qcow2', sourceType: 'http', diskSize: '10Gi' } as const
type Vm = NonNullable<WorkspaceSpecInput['vms']>[number]
export const VM: Vm = {
  ...(PROPOSED_WORKSPACE.spec.vms[0] as Vm),
  ignoreOnDeploy: false,
  vmDiskImageTemplate: TEMPLATE,
}
/** A machine that needs nothing but its image. */
export const MACHINE_ALONE = { vms: [{ ...VM, interfaces: [] }] } satisfies WorkspaceSpecInput
/** The machine is deployed, so that the workspace has a component of every kind. */
export const DEPLOYED = { ...PROPOSED_WORKSPACE.spec, vms: [VM] } satisfies WorkspaceSpecInput

export function aWorkspace(spec: WorkspaceSpecInput, name = NAME): KubeObject & { readonly spec: WorkspaceSpecInput } {
  return { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata: { name }, spec }
}

export const MACHINE_RUNS = { phase: 'Ready', reason: 'Running', message: 'the machine runs' }
const MACHINE_IS_OFF = { phase: 'Ready', reason: 'Halted', message: 'the machine is off' }

/** The controller of workspaces on an in-memory cluster. The test plays all other clients. */
export class WorkspaceBench {
  readonly client = new ScriptedClient(IMAGE_NAMESPACE)
  readonly clock = this.client.clock
  policy: Policy = POLICY_DEFAULTS
  references: WorkspaceReferences | undefined
  #policyListeners: (() => void)[] = []
  #stop = new AbortController()
  #registry = new Registry()

  /** Runs the controller until the test is over. */
  async start(): Promise<void> {
    const { client, clock } = this
    const [log, random, runtimeMetrics] = [fakeLog(), () => 0.5, new RuntimeMetrics()]
    this.#registry = runtimeMetrics.registry
    const basics = { client, clock, random, log }
    const reflectors = new Reflectors({ ...basics, onRelist: () => undefined })
    const cluster = clusterCaches(reflectors)
    const images = new Store<ImageView>()
    reflectors.add(vmDiskImage, images, viewImage)
    const machines = new Store<MachineFacts>().index('namespace', ({ metadata }) => [metadata.namespace ?? ''])
    reflectors.add(virtualMachine, machines, (object) => ({ status: {}, ...object }) as MachineFacts)
    const caches = new WorkspaceCaches(reflectors, images, machines, cluster)
    const policy = {
      policy: () => this.policy,
      onPolicyChange: (listener: () => void) => {
        this.#policyListeners.push(listener)
        return () => undefined
      },
    }
    const references = new WorkspaceReferences(client, caches, policy)
    this.references = references
    const controller = new WorkspaceController({
      ...basics,
      ...policy,
      runtimeMetrics,
      events: new EventRecorder({ ...basics, component: 'test', instance: 'me' }),
      caches,
      metrics: new WorkspaceMetrics(runtimeMetrics.registry, clock),
      serverNow: () => clock.now(),
      claimsOn: (image) => references.claims(image),
      countReferences: async (image, signal): Promise<References> => await references.live(image, signal),
    })
    const stop = new AbortController()
    this.#stop = stop
    onTestFinished(async () => {
      stop.abort()
      await clock.advance(SECOND)
    })
    void reflectors.run(stop.signal)
    await clock.advance(SECOND)
    await reflectors.synced()
    void controller.run(stop.signal)
    await clock.advance(SECOND)
  }

  /** Simulates a change of leader: from now on another process leads. */
  async restart(): Promise<void> {
    this.#stop.abort()
    this.#policyListeners = []
    await this.clock.advance(SECOND)
    await this.start()
  }

  /** Returns `type reason: message` of the Events about a workspace, in order. */
  events(): string[] {
    const sent = this.client.calls.filter(({ verb, kind }) => verb === 'create' && kind === 'Event')
    return sent.map(({ body }) => {
      const { type, reason, message } = body as { readonly [part in 'type' | 'reason' | 'message']: string }
      return `${type} ${reason}: ${message}`
    })
  }

  setPolicy(change: Partial<Policy>): void {
    this.policy = { ...this.policy, ...change }
    for (const listener of this.#policyListeners) listener()
  }

  create(spec: WorkspaceSpecInput, name = NAME): void {
    this.client.cluster.admin.create(workspace, aWorkspace(spec, name))
  }

  change(spec: WorkspaceSpecInput, name = NAME): void {
    this.client.cluster.admin.replace(workspace, { ...(this.workspace(name) as WorkspaceView), spec } as KubeObject)
  }

  /** Simulates that the guests of all machines have run. */
  bootGuests(): void {
    for (const { metadata } of this.#all(virtualMachine))
      this.tell(virtualMachine, keyOf(metadata), { ...MACHINE_RUNS, bootedAt: '2026-01-01T00:00:00Z' })
  }

  /** Asks for what is lost to be made again. @param value as each counts once */
  askForRemake(value: string, name = NAME): void {
    const metadata = { annotations: { [ANNOTATIONS.rebuildRequestedAt]: value } }
    this.client.cluster.admin.mergePatch(workspace, { name }, { metadata })
  }

  deleteWorkspace(name = NAME): void {
    this.client.cluster.admin.delete(workspace, { name })
  }

  workspace(name = NAME): WorkspaceView | undefined {
    return this.client.peek('Workspace', name)
  }

  status(name = NAME): WorkspaceView['status'] {
    return this.workspace(name)?.status ?? {}
  }

  /** What the counter of the process that leads tells. */
  async lost(what: 'volumes' | 'secrets'): Promise<number> {
    const [, count] =
      new RegExp(`^ot_workspace_${what}_lost_total (\\d+)$`, 'm').exec(await this.#registry.metrics()) ?? []
    return Number(count)
  }

  /** Returns `Kind name: phase reason` of each component that is not Ready. */
  open(name = NAME): string[] {
    const { components = [] } = this.status(name)
    return components
      .filter(({ phase }) => phase !== 'Ready')
      .map((one) => `${one.kind} ${one.name}: ${one.phase} ${one.reason}`)
  }

  /** Returns `Kind name` of each object with an owner of this name. They include its Namespace and PersistentVolumes. */
  owned(name = NAME): string[] {
    const kinds = [
      'Namespace',
      'NetworkPolicy',
      'RoleBinding',
      'ResourceQuota',
      'NetworkAttachmentDefinition',
      'PersistentVolumeClaim',
      'PersistentVolume',
      'ConfigMap',
      'Deployment',
      'VirtualMachine',
      'Service',
      'Secret',
    ]
    return kinds.flatMap((kind) =>
      this.client
        .all(kind)
        .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.name === name) === true)
        .map(({ metadata }) => `${kind} ${metadata.name}`),
    )
  }

  tell(type: ResourceType, key: string, status: object): void {
    const { admin } = this.client.cluster
    const object = admin.list(type).items.find(({ metadata }) => keyOf(metadata) === key)
    if (object === undefined) throw new Error(`there is no ${type.kind} ${key}`)
    admin.replaceStatus(type, {
      ...object,
      status: { observedGeneration: object.metadata.generation, ...status },
    } as KubeObject)
  }

  /** Simulates all other controllers: images become ready, claims are bound, containers and machines run. */
  async work(): Promise<void> {
    for (let round = 0; round < 6; round += 1) {
      for (const image of this.#all<ImageView>(vmDiskImage))
        if (image.status?.artifact === undefined) this.reportImage(image.metadata.name, READY_IMAGE)
      this.#reportUnseen(PERSISTENT_VOLUME_CLAIM, () => ({ phase: 'Bound', capacity: { storage: '1Gi' } }))
      this.#reportUnseen(DEPLOYMENT, (one) => (isSwitchedOff(one) ? {} : RUNNING))
      this.#runPods()
      this.#reportUnseen(virtualMachine, (one) => (isOffMachine(one) ? MACHINE_IS_OFF : MACHINE_RUNS))
      await this.clock.advance(3 * SECOND)
    }
  }

  /** Replaces the pods of Deployments that have another template. */
  #runPods(): void {
    const { admin } = this.client.cluster
    const on = this.#all<DeploymentObject>(DEPLOYMENT).filter((one) => !isSwitchedOff(one))
    const wanted = new Map(on.map((one) => [keyOf(one.metadata), podOf(one)]))
    const keys = new Set<string>()
    for (const pod of this.#all<{ readonly spec?: unknown }>(POD)) {
      const [key] = [...wanted].find(([, { metadata }]) => keyOf(metadata) === keyOf(pod.metadata)) ?? ['']
      const { metadata, spec } = (wanted.get(key) ?? {}) as KubeObject & { readonly spec?: unknown }
      const isCurrent = isDeepStrictEqual([metadata?.annotations, spec], [pod.metadata.annotations, pod.spec])
      if (isCurrent) keys.add(key)
      else admin.delete(POD, pod.metadata, { gracePeriodSeconds: 0 })
    }
    for (const [key, pod] of wanted) {
      if (keys.has(key)) continue
      admin.create(POD, { ...pod, metadata: { ...pod.metadata, uid: undefined } } as KubeObject)
      this.tell(POD, keyOf(pod.metadata), (pod as KubeObject & { readonly status: object }).status)
    }
  }

  /** Sets the status of each object that its controller has not observed yet. */
  #reportUnseen(type: ResourceType, statusOf: (object: KubeObject) => object): void {
    for (const object of this.#all<{ status?: { observedGeneration?: number } }>(type)) {
      const { metadata, status: known } = object
      const isSeen = known !== undefined && 'observedGeneration' in known
      if (!isSeen || known.observedGeneration !== metadata.generation)
        this.tell(type, keyOf(metadata), statusOf(object))
    }
  }

  /** Sets all volumes to Bound, as the controllers of Kubernetes do. */
  bindVolumes(): void {
    for (const volume of this.#all(PERSISTENT_VOLUME))
      this.tell(PERSISTENT_VOLUME, volume.metadata.name, { phase: 'Bound' })
  }

  /** Removes the finalizers of claims and volumes that are being deleted, as happens when nothing uses them any more. */
  letClaimsGo(): void {
    for (const type of [PERSISTENT_VOLUME_CLAIM, PERSISTENT_VOLUME])
      for (const object of this.#all(type).filter(({ metadata }) => metadata.deletionTimestamp !== undefined))
        this.client.cluster.admin.replace(type, { ...object, metadata: { ...object.metadata, finalizers: [] } })
  }

  reportImage(name: string, status: VMDiskImageStatus): void {
    this.tell(vmDiskImage, `${IMAGE_NAMESPACE}/${name}`, status)
  }

  #all<T>(type: ResourceType): (KubeObject & T)[] {
    return this.client.cluster.admin.list(type).items as (KubeObject & T)[]
  }
}

/** Returns a bench with a workspace, two seconds after the workspace was created. */
export async function start(
  spec: WorkspaceSpecInput = DEPLOYED,
  prepare?: (bench: WorkspaceBench) => void,
): Promise<WorkspaceBench> {
  const bench = new WorkspaceBench()
  prepare?.(bench)
  await bench.start()
  bench.create(spec)
  await bench.clock.advance(2 * SECOND)
  return bench
}

/** Returns a bench whose workspace is Ready, with all its components. */
export async function startReady(
  spec: WorkspaceSpecInput = DEPLOYED,
  policyOf?: (bench: WorkspaceBench) => Policy,
): Promise<WorkspaceBench> {
  const bench = await start(spec, (one) => {
    one.policy = policyOf?.(one) ?? one.policy
  })
  await bench.work()
  expect([bench.open(), bench.status().phase]).toEqual([[], 'Ready'])
  return bench
}

export const READY_IMAGE: VMDiskImageStatus = {
  phase: 'Succeeded',
  reason: 'Synced',
  artifact: { kind: 'VolumeSnapshot', name: 'snap', revision: 'r' },
}
export const RUNNING = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 }
