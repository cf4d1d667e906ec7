import { keyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import type { Logger } from '../../operator/runtime/log.ts'
import {
  type Commit,
  MemoryCluster,
  SERVED_TYPES,
  SimulatedProcess,
  VirtualTime,
} from '../../sandbox/memory-cluster/index.ts'
import { type Simulators, startSimulators } from '../../sandbox/simulators/index.ts'
import { DATA_SYNC, IMAGE, MACHINE, WORKSPACE, WORKSPACE_SNAPSHOT } from '../harness/kinds.ts'
import { Chronicle, isOperator, isPerson, OPERATOR_NAMESPACE } from './chronicle.ts'
import { Disturbances } from './disturbances.ts'
import type { Kind } from './kind.ts'
import { Network } from './network.ts'
import * as objects from './objects.ts'
import { CostOracle } from './oracle/cost.ts'
import { ForeignOracle } from './oracle/foreign.ts'
import { InUseOracle } from './oracle/in-use.ts'
import { LimitOracle } from './oracle/limit.ts'
import type { Invariant, Oracle, Violation, Witness } from './oracle/oracle.ts'
import { OrderOracle } from './oracle/order.ts'
import { PromptOracle } from './oracle/prompt.ts'
import { ReferenceOracle } from './oracle/references.ts'
import { RequestOracle } from './oracle/requests.ts'
import { RoomOracle } from './oracle/room.ts'
import { SecretsOracle } from './oracle/secrets.ts'
import { SlotOracle } from './oracle/slot.ts'
import { Policy } from './policy.ts'
import { randomFrom, seedFor } from './random.ts'
import { Replica } from './replica.ts'
import type { Schedule } from './schedule.ts'
import { Scripts } from './scripts.ts'
import { sourceTransfer } from './sources.ts'
import type { Trace } from './traces.ts'
import { Trouble } from './trouble.ts'
import { WriteBook } from './writes.ts'

/** Our kinds, and those of their children. What people created themselves stays. */
const LEFT: readonly ResourceType[] = [
  IMAGE,
  MACHINE,
  DATA_SYNC,
  types.KUBEVIRT_VIRTUAL_MACHINE,
  types.VIRTUAL_MACHINE_INSTANCE,
  types.DATA_VOLUME,
  types.PERSISTENT_VOLUME_CLAIM,
  types.VOLUME_SNAPSHOT,
  types.VIRTUAL_MACHINE_SNAPSHOT,
  types.VIRTUAL_MACHINE_RESTORE,
  types.DATA_SOURCE,
  types.POD,
  types.SECRET,
  WORKSPACE,
  WORKSPACE_SNAPSHOT,
  types.NAMESPACE,
  types.NETWORK_POLICY,
  types.NETWORK_ATTACHMENT_DEFINITION,
  types.RESOURCE_QUOTA,
  types.ROLE_BINDING,
  types.SERVICE,
  types.PERSISTENT_VOLUME,
  types.DEPLOYMENT,
  types.JOB,
]

/** Long enough for others to interfere. */
const JOB_MS = 15_000

/** One in how many imports gets an importer that it does not need, see `CdiOptions`. */
const NEEDLESS_IMPORTERS = 2

/** Everything in one simulated run: a cluster, what runs in it, and the oracles that check it. */
export class World {
  readonly schedule: Schedule
  readonly time = new VirtualTime()
  readonly cluster: MemoryCluster
  readonly chronicle: Chronicle
  readonly disturbances: Disturbances
  readonly network: Network
  readonly replicas: readonly Replica[]
  readonly violations: Violation[] = []
  readonly cost: CostOracle
  readonly secrets: SecretsOracle
  readonly writes: WriteBook
  readonly counts = { admissions: 0, commits: 0, operatorCommits: 0, transfers: 0 }
  readonly trouble: Trouble
  readonly scripts: Scripts
  readonly policy: Policy
  readonly kinds: readonly Kind[]
  readonly namespaces: readonly string[]
  simulators: Simulators | undefined
  readonly #oracles: readonly Oracle[]
  #simulatorStarts = 0
  #simulatorProcess: SimulatedProcess | undefined
  readonly #listeners: ((commit: Commit) => void)[] = []

  /** @param kindsOf returns the kinds of the schedule, in the order in which people delete them */
  constructor(schedule: Schedule, kindsOf: (world: World) => readonly Kind[]) {
    this.schedule = schedule
    const { seed, policy, replicas } = schedule
    const { time } = this
    const now = () => time.elapsedMs
    const random = (purpose: string) => randomFrom(seedFor(seed, purpose))
    this.namespaces = objects.NAMESPACES
    this.cluster = new MemoryCluster({ time, random: random('cluster'), types: SERVED_TYPES })
    this.chronicle = new Chronicle(now)
    this.disturbances = new Disturbances(now)
    this.network = new Network(random('network'), this.disturbances, (delayMs) => {
      time.schedule(delayMs, () => this.cluster.compact())
    })
    const log = this.#log()
    this.replicas = Array.from(
      { length: replicas },
      (_, number) => new Replica({ time, cluster: this.cluster, network: this.network, seed, number, log }),
    )
    this.trouble = new Trouble(this)
    this.scripts = new Scripts({
      simulators: () => this.simulators,
      later: (delayMs, end) => this.trouble.later(delayMs, end),
    })
    this.policy = new Policy(this, policy)
    const witness: Witness = {
      chronicle: this.chronicle,
      disturbances: this.disturbances,
      report: (invariant, message) => this.report(invariant, message),
    }
    const { STALL_TIMEOUT_MS: stallTimeoutMs } = objects
    this.cost = new CostOracle({ ...witness, stallTimeoutMs, retryLimit: () => this.policy.highestRetryLimit })
    this.secrets = new SecretsOracle(witness)
    this.writes = new WriteBook(witness)
    const kinds = () => this.kinds
    this.kinds = kindsOf(this)
    const requests = new RequestOracle(witness.report)
    this.#oracles = [
      requests,
      new LimitOracle(witness),
      new SlotOracle({ ...witness, stallTimeoutMs }),
      new RoomOracle(witness),
      new OrderOracle({ ...witness, kinds }),
      this.cost,
      new InUseOracle(witness),
      new ForeignOracle({ ...witness, kinds }),
      new ReferenceOracle({ ...witness, kinds }),
      this.secrets,
      new PromptOracle({ ...witness, later: (delayMs, work) => void time.schedule(delayMs, work) }),
      this.writes,
      ...this.kinds.flatMap(({ oracles }) => oracles),
    ]
    this.cluster.onCommit((commit) => this.#onCommit(commit))
    this.cluster.onRequest((request, code) => {
      this.writes.onRequest(request, code)
      requests.onRequest(request, code)
    })
  }

  report(invariant: Invariant, message: string): void {
    this.violations.push({ invariant, message, atMs: this.time.elapsedMs })
  }

  /** Calls `listener` at every commit, after the oracles. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener)
  }

  /** Creates what exists before anybody acts. */
  furnish(): void {
    const { admin } = this.cluster
    admin.create(types.NAMESPACE, objects.namespace(OPERATOR_NAMESPACE))
    for (const name of this.namespaces) this.furnishNamespace(name)
    for (const kind of this.kinds) kind.furnish?.()
    admin.create(types.CONFIG_MAP, objects.policy(this.policy.data))
  }

  furnishNamespace(name: string): void {
    this.cluster.admin.create(types.NAMESPACE, objects.namespace(name))
    for (const kind of this.kinds) kind.people.furnishNamespace?.(name)
  }

  /** Returns what still exists although people have deleted everything that it came from. */
  leftovers(): string[] {
    const { chronicle } = this
    const left = LEFT.flatMap((type) => [...chronicle.traces.of(type).values()])
    // CDI has a namespace of its own.
    const isMade = ({ creator, object }: Trace) => isOperator(creator) || object.kind !== types.NAMESPACE.kind
    const objects = left.filter((one) => !isPerson(one.creator) && isMade(one)).map(({ object }) => object)
    const { holders = [] } = chronicle.ledger ?? {}
    return [
      ...objects.map(({ kind, metadata }) => `${kind} ${keyOf(metadata)}`),
      ...holders.map(({ name }) => `a slot of ${name}`),
    ]
  }

  /** Starts a new process with all simulators, in place of the previous one. */
  startSimulators(): void {
    this.killSimulators()
    this.#simulatorStarts += 1
    const process = new SimulatedProcess(this.time, `simulators.${this.#simulatorStarts}`)
    this.#simulatorProcess = process
    const random = randomFrom(seedFor(this.schedule.seed, process.name))
    const { clock } = process
    const transfer = sourceTransfer(clock, (url) => this.#onTransfer(url))
    const { cloneMs } = this.schedule
    const options = { jobMs: JOB_MS, needlessImporters: NEEDLESS_IMPORTERS, ...(cloneMs !== undefined && { cloneMs }) }
    const client = this.cluster.connect({ process })
    // Only workspaces have Deployments, and volumes of their own.
    const workloads = this.schedule.workspaces !== undefined
    void startSimulators({ client, clock, random, transfer, options, workloads }).then((simulators) => {
      if (this.#simulatorProcess === process) this.simulators = simulators
    })
  }

  killSimulators(): void {
    this.#simulatorProcess?.kill()
    this.#simulatorProcess = undefined
    this.simulators = undefined
  }

  #onTransfer(url: string): void {
    this.counts.transfers += 1
    const download = this.chronicle.downloadFrom(url)
    if (download === undefined) {
      this.report(0, `a transfer of ${url} that no DataVolume asked for`)
      return
    }
    for (const oracle of this.#oracles) oracle.onTransfer?.(download)
  }

  #onCommit(commit: Commit): void {
    const { counts, chronicle } = this
    counts.commits += 1
    if (isOperator(commit.actor)) counts.operatorCommits += 1
    chronicle.take(commit)
    for (const oracle of this.#oracles) oracle.onCommit(commit)
    counts.admissions += chronicle.takeAdmissions()
    for (const listener of this.#listeners) listener(commit)
  }

  #log(): Logger {
    const check =
      (level: string) =>
      (...args: unknown[]) => {
        this.secrets.checkText(`a log entry (${level})`, JSON.stringify(args))
        if (level === 'error') this.report(0, `the operator logged an error: ${JSON.stringify(args)}`)
      }
    const log = { debug: check('debug'), info: check('info'), warn: check('warn'), error: check('error') }
    return { ...log, child: () => log } as unknown as Logger
  }
}
