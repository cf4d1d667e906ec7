import { once } from 'node:events'

import { DATA_SYNC_PHASES, type Policy, WORKSPACE_SNAPSHOT_PHASES } from '@open-terrain/constructs/operator'

import { clusterCaches } from './cluster/caches.ts'
import { NEIGHBOURS } from './cluster/neighbour-facts.ts'
import { Neighbours } from './cluster/neighbours.ts'
import { DataSyncCaches } from './controllers/data-sync/caches.ts'
import { DataSyncController } from './controllers/data-sync/controller.ts'
import { DataSyncReferences } from './controllers/data-sync/references.ts'
import { MachineCaches } from './controllers/virtual-machine/caches.ts'
import { MachineController } from './controllers/virtual-machine/controller.ts'
import { MachineMetrics } from './controllers/virtual-machine/machine-metrics.ts'
import { MachineReferences } from './controllers/virtual-machine/references.ts'
import { ImageCaches } from './controllers/vm-disk-image/caches.ts'
import { ImageController } from './controllers/vm-disk-image/controller.ts'
import { noteOnDeletions } from './controllers/vm-disk-image/decide/expiry.ts'
import { ImageMetrics } from './controllers/vm-disk-image/image-metrics.ts'
import { parsedWorkspaceSpec, WorkspaceCaches } from './controllers/workspace/caches.ts'
import { WorkspaceController } from './controllers/workspace/controller.ts'
import { noteOnEnds } from './controllers/workspace/decide/policy-ends.ts'
import { WorkspaceReferences } from './controllers/workspace/references.ts'
import { WorkspaceMetrics } from './controllers/workspace/workspace-metrics.ts'
import { type LabCaches, WorkspaceSnapshotCaches } from './controllers/workspace-snapshot/caches.ts'
import { WorkspaceSnapshotController } from './controllers/workspace-snapshot/controller.ts'
import type { ClaimsOn, ReferenceSource } from './images/references.ts'
import type { KubeClient } from './kube/kube-client.ts'
import { PolicyStatus } from './policy-status.ts'
import { PolicyWatch } from './policy-watch.ts'
import type { Basics } from './runtime/basics.ts'
import { CacheBudget } from './runtime/cache-budget.ts'
import { type CacheDigest, digestOf, selectedKind } from './runtime/cache-digest.ts'
import { type EventNote, EventRecorder } from './runtime/event-recorder.ts'
import { LeaderElector, type LeaseTimings } from './runtime/leader.ts'
import { RuntimeMetrics } from './runtime/metrics.ts'
import { PhaseGauge } from './runtime/phase-gauge.ts'
import { Reflectors } from './runtime/reflectors.ts'
import type { Services } from './runtime/services.ts'

const LEASE_NAME = 'sync-operator'
/** How long shutdown waits for Events that are not written yet. */
const LAST_EVENTS_MS = 1_000

export interface OperatorOptions extends Basics {
  /** Used only for the Lease, so that renewals do not queue behind other requests. */
  readonly leaseClient: KubeClient
  /** Returns the time of the API server, or somewhat less; undefined until it is known. See `ServerClock`. */
  readonly serverNow: () => number | undefined
  readonly namespace: string
  /** Namespace of CDI. Default `cdi`. */
  readonly cdiNamespace?: string
  /** Namespace of KubeVirt. Default `kubevirt`. */
  readonly kubevirtNamespace?: string
  /** Key of the label of Workspaces by whose values metrics count them. Default: they do not. */
  readonly classLabel?: string | undefined
  /** Identifies this process. Must be unique. */
  readonly identity: string
  readonly lease: LeaseTimings
  readonly metrics?: RuntimeMetrics
  /** Bytes for the large parts of objects in all caches. Default: without a limit. */
  readonly largePartsMax?: number
  /** Called when the caches are complete. */
  readonly onSynced?: () => void
}

/**
 * The whole operator, for a cluster and a clock: caches, which every replica keeps up to date, and controllers, which run only while
 * this replica leads.
 */
export class OperatorReplica {
  readonly metrics: RuntimeMetrics
  readonly #options: OperatorOptions
  readonly #reflectors: Reflectors
  readonly #images: { readonly caches: ImageCaches; readonly metrics: ImageMetrics }
  readonly #machines: { readonly caches: MachineCaches; readonly metrics: MachineMetrics }
  readonly #dataSyncs: { readonly caches: DataSyncCaches; readonly phases: PhaseGauge }
  readonly #workspaces: { readonly caches: WorkspaceCaches; readonly metrics: WorkspaceMetrics }
  readonly #snapshots: { readonly caches: WorkspaceSnapshotCaches; readonly phases: PhaseGauge }
  readonly #policy: PolicyWatch
  readonly #services: Services
  /** Undefined while this replica does not lead. */
  #neighbours: Neighbours | undefined
  #isSynced = false

  constructor(options: OperatorOptions) {
    const { client, clock, random, log, namespace, identity, classLabel } = options
    const basics = { client, clock, random, log }
    this.#options = options
    this.metrics = options.metrics ?? new RuntimeMetrics()
    const { registry } = this.metrics
    const budget = new CacheBudget(options.largePartsMax)
    const reflectors = new Reflectors({ ...basics, budget, onRelist: ({ name }) => this.metrics.relisted(name) })
    this.#reflectors = reflectors
    const cluster = clusterCaches(reflectors)
    this.#images = { caches: new ImageCaches(cluster), metrics: new ImageMetrics(registry, clock) }
    const { images } = this.#images.caches
    this.#machines = {
      caches: new MachineCaches(reflectors, images, cluster),
      metrics: new MachineMetrics(registry, clock),
    }
    this.#dataSyncs = {
      caches: new DataSyncCaches(reflectors, images, cluster),
      phases: new PhaseGauge(registry, 'ot_data_sync_phase', 'DataSyncs by phase', Object.keys(DATA_SYNC_PHASES)),
    }
    this.#workspaces = {
      caches: new WorkspaceCaches(reflectors, images, this.#machines.caches.machines, cluster, classLabel),
      metrics: new WorkspaceMetrics(registry, clock, classLabel),
    }
    this.#snapshots = {
      caches: new WorkspaceSnapshotCaches(reflectors, labOf(this.#workspaces.caches, this.#machines.caches), cluster),
      phases: new PhaseGauge(
        registry,
        'ot_workspace_snapshot_phase',
        'WorkspaceSnapshots by phase',
        Object.keys(WORKSPACE_SNAPSHOT_PHASES),
      ),
    }
    this.metrics.observeCaches(reflectors)
    this.metrics.counted(
      'ot_neighbour_away',
      '1 while CDI or KubeVirt does not respond, whether or not something waits for it',
      'neighbour',
      () => NEIGHBOURS.filter((one) => this.#neighbours?.isAway(one)),
      NEIGHBOURS,
    )
    const valid = this.metrics.gauge('ot_config_valid', '0 while a key of the policy has a value that is not used')
    valid.set(1)
    const onValid = (isValid: boolean) => valid.set(isValid ? 1 : 0)
    this.#policy = new PolicyWatch({ ...basics, namespace, onValid })
    const events = new EventRecorder({ ...basics, component: 'open-terrain-operator', instance: identity })
    this.#services = { ...basics, events, runtimeMetrics: this.metrics }
  }

  /** Reports whether the caches are complete. Only then can this replica lead, or take over. */
  get isReady(): boolean {
    return this.#isSynced
  }

  /** Digest of each cache, by `<apiVersion>/<plural>[?<label selector>]`, to compare with fresh lists. Sorts all of it, so not for every scrape. */
  cached(): Readonly<Record<string, CacheDigest>> {
    return Object.fromEntries(this.#reflectors.kept.map((copy) => [selectedKind(copy), digestOf(copy.store.values())]))
  }

  /** Runs until `signal` aborts. Resolves when all work has ended and leadership is released. */
  async run(signal: AbortSignal): Promise<void> {
    const { leaseClient, lease } = this.#options
    const elector = new LeaderElector({
      ...this.#options,
      client: leaseClient,
      name: LEASE_NAME,
      timings: lease,
      onChange: (leads) => this.metrics.leading(LEASE_NAME, leads),
    })
    await elector.look(signal)
    // The caches outlive the term briefly: the last writes of a term are planned from them.
    const caching = new AbortController()
    const running = Promise.all([this.#reflectors, this.#policy].map((one) => one.run(caching.signal)))
    try {
      const synced = Promise.all([this.#reflectors.synced(), this.#policy.synced])
      if (!signal.aborted) await Promise.race([synced, once(signal, 'abort')])
      if (signal.aborted) return
      this.#isSynced = true
      this.#options.onSynced?.()
      await elector.run(signal, (term, hadPredecessor) => this.#lead(term, hadPredecessor))
    } finally {
      caching.abort()
      await running
      await this.#services.events.flush(LAST_EVENTS_MS)
    }
  }

  async #lead(term: AbortSignal, hadPredecessor: boolean): Promise<void> {
    const { client, namespace, cdiNamespace, kubevirtNamespace, identity, serverNow } = this.#options
    this.#policy.effectsOf = (before, after) => this.#effectsOf(before, after)
    this.#policy.onNote = (subject, note) => this.#services.events.record(subject, note)
    this.#policy.repeatNotes()
    const status = new PolicyStatus({
      ...this.#services,
      namespace,
      verdict: () => this.#policy.verdict,
      isCached: (key) => this.#images.caches.cluster.configMaps.get(key) !== undefined,
    })
    this.#policy.onVerdict = () => status.look()
    status.look()
    try {
      const policy = { policy: () => this.#policy.current, onPolicyChange: this.#policy.onChange }
      const neighbours = new Neighbours({ ...this.#services, cdiNamespace, kubevirtNamespace })
      this.#neighbours = neighbours
      const references: readonly ReferenceSource[] = [
        new MachineReferences(client, this.#machines.caches),
        new DataSyncReferences(client, this.#dataSyncs.caches),
        new WorkspaceReferences(client, this.#workspaces.caches, policy),
      ]
      const images = new ImageController({
        ...this.#services,
        ...this.#images,
        ...policy,
        namespace,
        neighbours,
        identity,
        hadPredecessor,
        limit: (ledgerLimit) => this.#policy.limit(ledgerLimit),
        references,
      })
      const claimsOn: ClaimsOn = (image) => references.flatMap((source) => source.claims?.(image) ?? [])
      const shared = { ...this.#services, ...policy, countReferences: images.countReferences, claimsOn }
      const machines = new MachineController({ ...shared, ...this.#machines, neighbours, serverNow })
      const dataSyncs = new DataSyncController({ ...this.#services, ...policy, ...this.#dataSyncs })
      const workspaces = new WorkspaceController({ ...shared, ...this.#workspaces, serverNow })
      const snapshots = new WorkspaceSnapshotController({ ...this.#services, ...policy, ...this.#snapshots, serverNow })
      await Promise.all(
        [neighbours, images, machines, dataSyncs, workspaces, snapshots, status].map((one) => one.run(term)),
      )
    } finally {
      this.#policy.effectsOf = undefined
      this.#policy.onNote = undefined
      this.#policy.onVerdict = undefined
      this.#neighbours = undefined
    }
  }

  /** Returns what a change of the policy deletes, or gives an end. */
  #effectsOf(before: Policy, after: Policy): readonly EventNote[] {
    const now = this.#services.clock.now()
    const images = [...this.#images.caches.images.values()]
    const workspaces = Array.from(this.#workspaces.caches.workspaces.values(), (workspace) => ({
      workspace,
      spec: parsedWorkspaceSpec(workspace),
    }))
    const serverNow = this.#options.serverNow() ?? now
    return [noteOnDeletions(images, before, after, now), noteOnEnds(workspaces, before, after, serverNow)].flatMap(
      (note) => note ?? [],
    )
  }
}

/** What points in time of workspaces are made of. */
function labOf({ workspaces, childCaches }: WorkspaceCaches, { machines, kubevirt }: MachineCaches): LabCaches {
  return { workspaces, machines, kubevirt, pods: childCaches.pods, arePodsKnown: () => childCaches.isComplete }
}
