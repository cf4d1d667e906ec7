import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_SOURCE, DATA_VOLUME, NAMESPACE, POD } from '../../operator/kube/resource-types.ts'
import type { Fault } from '../../sandbox/simulators/index.ts'
import { IMAGE } from '../harness/kinds.ts'
import { NODES, OPERATOR_NAMESPACE } from './chronicle.ts'
import * as objects from './objects.ts'
import { ASK_AGAIN_MS, find, leaveRefused, People, type Subject } from './people.ts'
import type { Action, CatalogAction, CdiAction, ImageAction, PolicyAction } from './schedule.ts'
import { Trouble } from './trouble.ts'
import type { World } from './world.ts'

const LEDGER = { namespace: OPERATOR_NAMESPACE, name: 'sync-operator-slots' }
/** Among the values that spoil a policy. */
const MORE_RETRIES = '5'
const DEFAULT_RETRIES = 2

/** Carries out what a schedule says that people, systems and networks do. */
export class Driver {
  /** How often each action was carried out. */
  readonly done = new Map<string, number>()
  readonly #world: World
  readonly #subjects: readonly Subject[]
  readonly #scripts = new Set<{ readonly start: () => void; stop: (() => void) | undefined }>()
  readonly #people: People
  readonly #trouble: Trouble

  constructor(world: World) {
    this.#world = world
    this.#subjects = world.schedule.images.map((plan, number) => ({
      plan,
      key: { namespace: objects.NAMESPACES[plan.namespace % objects.NAMESPACES.length] ?? '', name: `image-${number}` },
      isCreating: false,
    }))
    this.#people = new People(world, this.#subjects)
    this.#trouble = new Trouble(world)
  }

  /** When the last clone will be finished, in virtual milliseconds. */
  get clonedUntilMs(): number {
    return this.#people.clonedUntilMs
  }

  /** Puts everything on the timeline. Returns when the last step is taken, in virtual milliseconds. */
  plan(): number {
    const { time, schedule } = this.#world
    for (const subject of this.#subjects) time.schedule(subject.plan.createdAtMs, () => this.#people.create(subject))
    for (const [number, subject] of this.#subjects.entries()) {
      const { failures } = subject.plan
      if (failures > 0) this.#script({ do: 'cdiFault', image: number, fault: 'error', times: failures, forMs: 0 })
    }
    let atMs = 0
    for (const { afterMs, action } of schedule.steps) {
      atMs += afterMs
      time.schedule(atMs, () => this.#carryOut(action))
    }
    return Math.max(atMs, ...this.#subjects.map(({ plan }) => plan.createdAtMs))
  }

  /** Every trouble that was to last for a while is over now: faults, outages, freezes. What people wrote stays. */
  calm(): void {
    this.#trouble.calm()
    for (const script of this.#scripts) script.stop?.()
    this.#scripts.clear()
  }

  /** Everybody asks for a retry: what comes of it depends on the specs alone. */
  retryAll(): void {
    for (const { key } of this.#subjects) this.#people.annotate(key, ANNOTATIONS.retryRequestedAt)
  }

  setPolicy(data: objects.PolicyData): void {
    const { admin } = this.#world.cluster
    this.#world.policy = data
    try {
      const found = admin.get(CONFIG_MAP, objects.POLICY_KEY)
      admin.replace(CONFIG_MAP, { ...found, data } as KubeObject)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      admin.create(CONFIG_MAP, objects.policy(data))
    }
  }

  /** New simulators know no scripts. */
  rescript(): void {
    for (const script of this.#scripts) {
      script.stop?.()
      script.start()
    }
  }

  #carryOut(action: Action): void {
    this.done.set(action.do, (this.done.get(action.do) ?? 0) + 1)
    switch (action.do) {
      case 'edit':
      case 'delete':
      case 'recreate':
      case 'retryNow':
      case 'refresh':
      case 'spoil':
      case 'heal':
      case 'suspend':
      case 'deleteChild':
      case 'clone':
        this.#people.act(action)
        return
      case 'toggle':
        this.#people.toggle(action)
        return
      case 'setLimit':
      case 'setRetryLimit':
      case 'spoilPolicy':
      case 'deletePolicy':
        this.#changePolicy(action)
        return
      case 'cdiFault':
      case 'snapshotFault':
        this.#script(action)
        return
      default:
        this.#disturb(action)
        return
    }
  }

  #disturb(
    action: Exclude<
      Action,
      ImageAction | CatalogAction | PolicyAction | Extract<CdiAction, { do: 'cdiFault' | 'snapshotFault' }>
    >,
  ): void {
    const { cluster, disturbances, cost } = this.#world
    switch (action.do) {
      case 'deleteLedger':
        cost.renewAll()
        leaveRefused(() => cluster.admin.delete(CONFIG_MAP, LEDGER))
        return
      case 'garbleLedger':
        cost.renewAll()
        leaveRefused(() => {
          cluster.admin.mergePatch(CONFIG_MAP, LEDGER, { data: { holders: 'garbled' } })
        })
        return
      case 'restartSimulators':
        disturbances.mark('cdi', action.downMs)
        this.#world.killSimulators()
        this.#trouble.later(action.downMs, () => {
          this.#world.startSimulators()
          this.#world.time.schedule(ASK_AGAIN_MS, () => this.rescript())
        })
        return
      case 'deleteNamespace':
        this.#deleteNamespace(objects.NAMESPACES[action.namespace % objects.NAMESPACES.length] ?? '', action.forMs)
        return
      case 'uninstallCdi':
        this.#uninstallCdi(action.forMs)
        return
      case 'stopCdi':
        // No excuse: pods tell what CDI does not.
        this.#trouble.later(action.forMs, this.#world.simulators?.cdi.stopController() ?? (() => undefined))
        return
      case 'drain':
        this.#drain(action.image)
        return
      default:
        this.#trouble.carryOut(action)
        return
    }
  }

  // The policy

  #changePolicy(action: PolicyAction): void {
    const { policy } = this.#world
    switch (action.do) {
      case 'setLimit':
        this.setPolicy({ ...policy, concurrency: String(action.limit) })
        return
      case 'setRetryLimit':
        this.#world.highestRetryLimit = Math.max(this.#world.highestRetryLimit, action.retryLimit)
        this.setPolicy({ ...policy, retryLimit: String(action.retryLimit) })
        return
      case 'spoilPolicy':
        if (action.key === 'retryLimit') this.#permitRetries(action.value)
        this.setPolicy({ ...policy, [action.key]: action.value })
        return
      case 'deletePolicy':
        leaveRefused(() => this.#world.cluster.admin.delete(CONFIG_MAP, objects.POLICY_KEY))
        // After a restart without a policy its defaults hold.
        this.#world.highestRetryLimit = Math.max(this.#world.highestRetryLimit, DEFAULT_RETRIES)
        this.#trouble.later(action.forMs, () => this.setPolicy(this.#world.policy))
        return
    }
  }

  #permitRetries(value: string): void {
    // What is no value for most keys is one for this. Of the others the default comes, after a restart.
    const retries = value === MORE_RETRIES ? Number(MORE_RETRIES) : DEFAULT_RETRIES
    this.#world.highestRetryLimit = Math.max(this.#world.highestRetryLimit, retries)
  }

  // The systems underneath

  #script(action: Extract<CdiAction, { do: 'cdiFault' | 'snapshotFault' }>): void {
    const script: { readonly start: () => void; stop: (() => void) | undefined } = {
      stop: undefined,
      start: () => {
        script.stop = action.do === 'cdiFault' ? this.#scriptCdi(action) : this.#scriptSnapshots(action)
      },
    }
    this.#scripts.add(script)
    script.start()
    if (action.forMs === 0) return
    this.#trouble.later(action.forMs, () => {
      this.#scripts.delete(script)
      script.stop?.()
    })
  }

  #scriptCdi({ image, fault, times }: Extract<CdiAction, { do: 'cdiFault' }>): (() => void) | undefined {
    const key = image === undefined ? undefined : this.#subjects[image % this.#subjects.length]?.key
    const isMeant = ({ metadata }: KubeObject) =>
      key === undefined ||
      (metadata.namespace === key.namespace && metadata.ownerReferences?.some(({ name }) => name === key.name) === true)
    return this.#world.simulators?.cdi.script(isMeant, faultOf(fault), { times })
  }

  #scriptSnapshots({ image, fault, forMs }: Extract<CdiAction, { do: 'snapshotFault' }>): (() => void) | undefined {
    const key = this.#subjects[image % this.#subjects.length]?.key
    if (key === undefined) return undefined
    const how = {
      error: { type: 'error', message: 'the driver is busy' },
      neverReady: { type: 'neverReady' },
      slow: { type: 'slow', readyMs: forMs },
    } as const
    return this.#world.simulators?.snapshotter.script({ namespace: key.namespace }, how[fault])
  }

  #drain(image: number): void {
    const key = this.#subjects[image % this.#subjects.length]?.key
    const uid = key && find(this.#world, IMAGE, key)?.metadata.uid
    if (key === undefined || uid === undefined) return
    const door = this.#world.cluster.doorOf(NODES)
    const { namespace } = key
    for (const { metadata } of door.list(POD, { namespace, labelSelector: `${LABELS.imageUid}=${uid}` }).items)
      leaveRefused(() => door.delete(POD, metadata))
  }

  #deleteNamespace(name: string, forMs: number): void {
    const { cluster } = this.#world
    leaveRefused(() => cluster.admin.delete(NAMESPACE, { name }))
    this.#trouble.later(forMs, () => this.#bringBack(name))
  }

  #bringBack(name: string): void {
    const found = find(this.#world, NAMESPACE, { name })
    if (found === undefined) leaveRefused(() => this.#world.furnishNamespace(name))
    else if (found.metadata.deletionTimestamp !== undefined)
      this.#world.time.schedule(ASK_AGAIN_MS, () => this.#bringBack(name))
  }

  #uninstallCdi(forMs: number): void {
    const { cluster, cost, disturbances } = this.#world
    disturbances.mark('cdi', forMs + 40_000)
    leaveRefused(() => {
      cluster.uninstall(DATA_VOLUME)
      cluster.uninstall(DATA_SOURCE)
      cost.renewAll()
    })
    this.#trouble.later(forMs, () => {
      cluster.install(DATA_VOLUME)
      cluster.install(DATA_SOURCE)
    })
  }
}

function faultOf(type: Extract<CdiAction, { do: 'cdiFault' }>['fault']): Fault {
  switch (type) {
    case 'hiddenError':
      return { type: 'error', hidden: true, after: 1 }
    case 'error':
      return { type: 'error', after: 1 }
    case 'quota':
      return { type: 'quota', of: 'target' }
    case 'slowEnd':
      return { type: 'slowEnd', delayMs: 40_000, downloading: true }
    default:
      return { type }
  }
}
