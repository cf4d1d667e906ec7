import { LEDGER_NAME } from '../../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import {
  CONFIG_MAP,
  DATA_VOLUME,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
} from '../../../operator/kube/resource-types.ts'
import type { Logger } from '../../../operator/runtime/log.ts'
import {
  type Fate,
  IMAGE,
  MemoryCluster,
  type RequestInfo,
  SimulatedProcess,
  VirtualTime,
} from '../../../sandbox/memory-cluster/index.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { OPERATOR_NAMESPACE } from '../chronicle.ts'
import { Disturbances } from '../disturbances.ts'
import { Network } from '../network.ts'
import type { Violation } from '../oracle/oracle.ts'
import { randomFrom, seedFor } from '../random.ts'
import { GateCdi, unlessGone } from './gate-cdi.ts'
import { GateImages, IMAGE_NAMESPACE } from './gate-images.ts'
import { GateOracle } from './gate-oracle.ts'
import { GateProcess } from './gate-process.ts'
import type { GateAction, GateStory } from './gate-story.ts'

const LEDGER_KEY = { namespace: OPERATOR_NAMESPACE, name: LEDGER_NAME }
const SERVED = [IMAGE, DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, CONFIG_MAP, NAMESPACE]
/** A refused create is retried within 10 minutes. Everything else takes seconds. */
const SETTLED_WITHIN_MS = 30 * MINUTE
/** Longest time that a create waits in the client before it is sent. */
const TURN_MS = 7_000
/** Changes of images and of the policy arrive within this time. For one in a hundred it is `OLD_NEWS_MS`. */
const NEWS_MS = 10
const OLD_NEWS_MS = 8_000

export interface GateResult {
  readonly violations: readonly Violation[]
  readonly counts: GateOracle['counts']
  /** How often each action was carried out, and how often each network fault occurred. */
  readonly events: ReadonlyMap<string, number>
  /** Virtual. */
  readonly elapsedMs: number
}

/** Runs one story of the gate until every image that wanted a download has had it. */
export async function runGate(story: GateStory): Promise<GateResult> {
  const world = new GateWorld(story)
  return await world.run()
}

interface Replica {
  readonly number: number
  starts: number
  isLeading: boolean
  running: GateProcess | undefined
  updateAt: number
  /** In flight to the running process, in the order in which they were sent. */
  updates: ((process: GateProcess) => void)[]
}

class GateWorld {
  readonly #story: GateStory
  readonly #time = new VirtualTime()
  readonly #random: () => number
  readonly #violations: Violation[] = []
  readonly #events = new Map<string, number>()
  readonly #disturbances = new Disturbances(() => this.#time.elapsedMs)
  readonly #cluster: MemoryCluster
  readonly #network: Network
  readonly #oracle: GateOracle
  readonly #cdi: GateCdi
  readonly #images: GateImages
  readonly #replicas: readonly Replica[]
  #limit: number

  constructor(story: GateStory) {
    this.#story = story
    this.#limit = story.limit
    const time = this.#time
    const random = (purpose: string) => randomFrom(seedFor(story.seed, purpose))
    this.#random = random('world')
    const cluster = new MemoryCluster({ time, random: random('cluster'), types: SERVED })
    this.#cluster = cluster
    for (const name of [OPERATOR_NAMESPACE, IMAGE_NAMESPACE])
      cluster.admin.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name } })
    this.#network = new Network(random('network'), this.#disturbances, (delayMs) => {
      time.schedule(delayMs, () => cluster.compact())
    })
    this.#oracle = new GateOracle({
      now: () => time.elapsedMs,
      disturbances: this.#disturbances,
      report: (invariant, message) => this.#violations.push({ invariant, message, atMs: time.elapsedMs }),
    })
    const common = { story, time, cluster }
    this.#cdi = new GateCdi({ ...common, random: random('cdi'), images: () => this.#images })
    this.#images = new GateImages({
      ...common,
      random: random('images'),
      onChange: (update) => this.#inform((process) => process.learn(update)),
      onUnwanted: (uid) => this.#cdi.remove(uid),
    })
    this.#replicas = Array.from({ length: story.replicas }, (_, number) => ({
      number,
      starts: 0,
      isLeading: number === 0,
      running: undefined,
      updateAt: 0,
      updates: [],
    }))
    cluster.onCommit((commit) => {
      this.#oracle.onCommit(commit)
      this.#cdi.onCommit(commit)
    })
  }

  async run(): Promise<GateResult> {
    const time = this.#time
    for (const replica of this.#replicas) this.#start(replica)
    this.#images.begin()
    for (const { atMs, action } of this.#story.steps) time.schedule(atMs, () => this.#act(action))
    const isBroken = () => this.#violations.length > 0
    await time.run({ untilMs: this.#story.steps.at(-1)?.atMs ?? 0, isDone: isBroken })
    this.#calm()
    const isDone = () => isBroken() || this.#isSettled
    if (!(await time.run({ untilMs: time.elapsedMs + SETTLED_WITHIN_MS, isDone }))) this.#reportUnsettled()
    for (const { running } of this.#replicas) running?.process.kill()
    for (const [fault, times] of this.#network.struck) this.#events.set(fault, times)
    const { counts } = this.#oracle
    return { violations: this.#violations, counts, events: this.#events, elapsedMs: time.elapsedMs }
  }

  get #isSettled(): boolean {
    return this.#images.isAtRest && this.#cdi.isIdle && this.#oracle.ledger?.holders.length === 0
  }

  #reportUnsettled(): void {
    const { ledger } = this.#oracle
    const message = `not everybody got a download:\n${this.#images.describe()}\nledger: ${JSON.stringify(ledger)}`
    this.#violations.push({ invariant: 3, message, atMs: this.#time.elapsedMs })
  }

  // Processes

  #start(replica: Replica): void {
    const { cluster, random } = { cluster: this.#cluster, random: this.#random }
    replica.starts += 1
    const process = new SimulatedProcess(this.#time, `operator-${replica.number}.${replica.starts}`)
    const client = cluster.connect({
      process,
      fateOf: (request) => this.#fateOf(replica, request),
      passageOf: this.#network.passageOf.bind(this.#network),
    })
    const gate = new GateProcess({ process, client, random, log: SILENT })
    replica.running = gate
    replica.updateAt = 0
    replica.updates = []
    for (const update of this.#images.all()) gate.learn(update)
    const limit = this.#limit
    if (random() < 0.8) gate.learnLimit(limit)
    else this.#deliver(replica, (one) => one.learnLimit(limit), OLD_NEWS_MS)
    if (replica.isLeading) gate.lead()
  }

  #fateOf({ running }: Replica, request: RequestInfo): Fate {
    if (running?.process.name === request.actor) this.#oracle.onSend(running, request)
    const fate = this.#network.fateOf(request)
    const isWaiting =
      request.verb === 'create' && !this.#images.isWindingUp && this.#random() < this.#story.shares.turns
    return isWaiting ? { ...fate, turnMs: TURN_MS * this.#random() } : fate
  }

  /** Delivers a watch event of an image or of the policy to all processes, each with its own delay. */
  #inform(inform: (process: GateProcess) => void): void {
    for (const replica of this.#replicas) {
      const isOld = !this.#images.isWindingUp && this.#random() < 0.01
      this.#deliver(replica, inform, (isOld ? OLD_NEWS_MS : NEWS_MS) * this.#random())
    }
  }

  #deliver(replica: Replica, inform: (process: GateProcess) => void, delayMs: number): void {
    const { running, updates } = replica
    if (running === undefined) return
    replica.updateAt = Math.max(replica.updateAt, this.#time.elapsedMs + delayMs)
    updates.push(inform)
    // Two timers of one moment may swap, since their times are rounded sums: each delivers the oldest event.
    const deliver = () => updates.shift()?.(running)
    this.#time.schedule(replica.updateAt - this.#time.elapsedMs, () => running.process.deliver(deliver))
  }

  // What happens

  #act(action: GateAction): void {
    this.#events.set(action.do, (this.#events.get(action.do) ?? 0) + 1)
    switch (action.do) {
      case 'limit':
        this.#setLimit(action.limit)
        break
      case 'lead':
        this.#hand(action.replica, action.overlapMs)
        break
      case 'crash':
        this.#crash(this.#replicas[action.replica], action.forMs)
        break
      case 'freeze':
        this.#freeze(this.#replicas[action.replica], action.forMs)
        break
      case 'dropLedger':
        unlessGone(() => this.#cluster.admin.delete(CONFIG_MAP, LEDGER_KEY))
        break
      case 'garbleLedger':
        unlessGone(() => this.#cluster.admin.mergePatch(CONFIG_MAP, LEDGER_KEY, { data: { holders: '[{' } }))
        break
      case 'compact':
        this.#cluster.compact()
        break
      case 'breakWatches':
        this.#cluster.breakWatches()
        break
      default:
        this.#network.open(action)
        this.#time.schedule(action.forMs, () => this.#network.close(action))
    }
  }

  #setLimit(limit: number): void {
    this.#limit = limit
    this.#inform((process) => process.learnLimit(limit))
  }

  #hand(number: number, overlapMs: number): void {
    this.#time.schedule(Math.max(0, -overlapMs), () => this.#images.isWindingUp || this.#setLead(number, true))
    this.#time.schedule(Math.max(0, overlapMs), () => {
      if (this.#images.isWindingUp) return
      for (const other of this.#replicas) if (other.number !== number) this.#setLead(other.number, false)
    })
  }

  #setLead(number: number, isLeading: boolean): void {
    const replica = this.#replicas[number]
    if (replica === undefined) return
    replica.isLeading = isLeading
    const { running } = replica
    running?.process.deliver(() => (isLeading ? running.lead() : running.resign()))
  }

  #crash(replica: Replica | undefined, downMs: number): void {
    if (replica?.running === undefined) return
    replica.running.process.kill()
    replica.running = undefined
    this.#time.schedule(downMs, () => {
      if (replica.running === undefined) this.#start(replica)
    })
  }

  #freeze(replica: Replica | undefined, forMs: number): void {
    const process = replica?.running?.process
    if (process === undefined) return
    process.freeze()
    this.#disturbances.mark('freeze', forMs)
    this.#time.schedule(forMs, () => process.thaw())
  }

  /** From here on, there are no more faults, and one replica leads. */
  #calm(): void {
    this.#network.closeAll()
    this.#images.windUp()
    for (const replica of this.#replicas) {
      if (replica.running === undefined) this.#start(replica)
      replica.running?.process.thaw()
      this.#setLead(replica.number, replica.number === 0)
    }
    this.#setLimit(Math.max(1, this.#limit))
  }
}

const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => SILENT,
} as unknown as Logger
