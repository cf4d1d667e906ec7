import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, EVENT, NAMESPACE } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { IMAGE, type Image, type KubeEvent, MACHINE, type Machine } from '../../harness/kinds.ts'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { isOperator } from '../chronicle.ts'
import { Driver } from '../driver.ts'
import { kindsOf } from '../kinds.ts'
import * as objects from '../objects.ts'
import type { Violation } from '../oracle/oracle.ts'
import { randomFrom, seedFor } from '../random.ts'
import type { RunResult } from '../run.ts'
import type { ImagePlan, Schedule } from '../schedule.ts'
import { World } from '../world.ts'
import { HastyTenant } from './hasty-tenant.ts'
import { Tenant } from './tenant.ts'

// People do the same things twice: once alone, and once beside a tenant who forges whatever they have, and who changes objects of their own as fast
// as the operator writes them. The results must not differ, and not come much later.

const TENANT = 'tenant'
const [TEAM, FARM] = objects.NAMESPACES as [string, string]
/** As long as people act. */
const FORGES_FOR_MS = 4 * MINUTE
/** A deletion that somebody blocks advances one step every 2 minutes: the machine, its instance, its disk. */
const OVER_AFTER_MS = 18 * MINUTE

const GOOD: ImagePlan = {
  namespace: 1,
  nature: 'good',
  downloadSeconds: 0,
  snapshotClass: 0,
  secret: undefined,
  storageClass: 0,
  failures: 0,
  createdAtMs: 0,
  ttlSeconds: undefined,
  isInvalid: false,
}
const MACHINE_PLAN = { source: 0, createdAtMs: 0, interfaces: 0, hasSecret: false, ignoreOnDeploy: false } as const

/** Seven images at once and one later. One of them fails, others are refreshed or deleted. Two machines use another image. */
const SCHEDULE: Omit<Schedule, 'seed'> = {
  replicas: 1,
  policy: { concurrency: 2, retryLimit: 1, backoffSeconds: 40, keepSourceVolume: true },
  images: [GOOD, GOOD, { ...GOOD, nature: 'broken' }, GOOD, GOOD, GOOD, GOOD, { ...GOOD, createdAtMs: 141 * SECOND }],
  sources: [{ hasSnapshot: true, bindsLate: false, isMadeByPerson: true }],
  machines: [MACHINE_PLAN, MACHINE_PLAN],
  // Only the tenant has some.
  dataSyncs: [],
  workspaces: [],
  steps: [
    { afterMs: 20 * SECOND, action: { do: 'refresh', image: 3 } },
    { afterMs: 0, action: { do: 'delete', image: 4 } },
    { afterMs: MINUTE, action: { do: 'crash', replica: 0, downMs: SECOND } },
    { afterMs: MINUTE, action: { do: 'deleteMachine', machine: 1 } },
    { afterMs: 0, action: { do: 'delete', image: 6 } },
  ],
}

/** What happened to everybody but the tenant. Only `restedAt` has times, since one request more or less shifts them. */
interface History {
  readonly images: unknown
  readonly machines: unknown
  /** Names of the holders of slots, in the order in which they got them. */
  readonly slots: readonly string[]
  /** DataVolumes of images, in the order of their creation. */
  readonly downloads: readonly string[]
  /** When each image got its last phase, in virtual milliseconds. */
  readonly restedAt: ReadonlyMap<string, number>
}

/** How much later an image may rest. It is held up for 5 s at most each time when it queues: it does so twice, and the operator crashes once. */
const HELD_UP_MS = 15 * SECOND

type TenantResult = Pick<RunResult, 'violations' | 'counts' | 'events' | 'elapsedMs'>

export async function runTenants(seed: number): Promise<TenantResult> {
  const alone = await run(seed, false)
  const beside = await run(seed, true)
  const violations = [...alone.violations, ...beside.violations]
  for (const [name, at] of beside.history.restedAt) {
    const laterMs = at - (alone.history.restedAt.get(name) ?? 0)
    if (laterMs <= HELD_UP_MS) continue
    violations.push({ invariant: 3, message: `${name} rests ${laterMs} ms later beside a tenant`, atMs: at })
  }
  for (const part of ['slots', 'downloads', 'images', 'machines'] as const) {
    const [expected, seen] = [alone.history[part], beside.history[part]]
    if (isDeepStrictEqual(expected, seen)) continue
    const message = `${part} beside a tenant: ${JSON.stringify(seen)}; alone: ${JSON.stringify(expected)}`
    violations.push({ invariant: 6, message, atMs: beside.elapsedMs })
  }
  const { counts, events, elapsedMs } = beside
  return { violations, counts, events, elapsedMs }
}

async function run(seed: number, isBeside: boolean): Promise<TenantResult & { readonly history: History }> {
  const world = new World({ ...SCHEDULE, seed }, kindsOf)
  const { time, cluster, counts, chronicle } = world
  const driver = new Driver(world)
  const tenant = new Tenant(cluster, TENANT, randomFrom(seedFor(seed, 'tenant')))
  const hasty = new HastyTenant(world, TENANT, randomFrom(seedFor(seed, 'haste')))
  const touched: Violation[] = []
  const slots: string[] = []
  const downloads: string[] = []
  let holders: readonly string[] = []
  const phases = new Map<string, { readonly phase: string | undefined; readonly sinceMs: number }>()
  /** Uids of the tenant's objects of our kinds. */
  const own = new Set<string>()
  world.onCommit(({ actor, object, resource }) => {
    if (!isOperator(actor) || resource.kind !== IMAGE.kind || object.metadata.namespace !== FARM) return
    const { name } = object.metadata
    const phase = (object as Image).status?.phase
    if (phase !== phases.get(name)?.phase) phases.set(name, { phase, sinceMs: time.elapsedMs })
  })
  world.onCommit((commit) => {
    // What CDI makes for an image of the tenant is no forgery: the operator may end an importer that CDI forgets.
    const isOfCdi = commit.type === 'ADDED' && commit.resource.kind === 'Pod' && commit.actor.startsWith('simulators')
    if (hasty.isOwn(commit.object) || isOfCdi) own.add(commit.object.metadata.uid ?? '')
    if (!isOperator(commit.actor)) return
    const { object, resource, type } = commit
    const now = (chronicle.ledger?.holders ?? [])
      .filter(({ namespace }) => namespace === FARM)
      .map(({ name, revision, attempt }) => [name, revision, attempt].join('/'))
    slots.push(...now.filter((one) => !holders.includes(one)))
    holders = now
    const isDownload = resource === DATA_VOLUME && type === 'ADDED' && object.metadata.namespace === FARM
    if (isDownload) downloads.push(object.metadata.name)
    const wrong = wrongIn(commit, own)
    if (wrong !== undefined) touched.push({ invariant: 6, message: wrong, atMs: time.elapsedMs })
  })
  world.furnish()
  world.startSimulators()
  for (const replica of world.replicas) replica.start()
  await time.run({ untilMs: MINUTE, isDone: () => world.simulators !== undefined })
  cluster.admin.create(NAMESPACE, objects.namespace(TENANT))
  // Their images come before those of others.
  if (isBeside) hasty.begin(GOOD)
  driver.plan()
  // The tenant can also forge with the uids of its own images, which exist and never download.
  for (const name of ['own', 'image-0']) {
    const spec = { ...objects.specOf(GOOD, `${TENANT}-${name}`, 0), suspend: true }
    own.add(cluster.admin.create(IMAGE, objects.image(TENANT, name, spec)).metadata.uid ?? '')
  }
  if (isBeside) forgeOn(world, tenant, randomFrom(seedFor(seed, 'when')))
  await time.run({ untilMs: OVER_AFTER_MS })
  const restedAt = new Map([...phases].map(([name, { sinceMs }]) => [name, sinceMs]))
  const history = { images: imagesOf(world), machines: machinesOf(world), slots, downloads, restedAt }
  for (const replica of world.replicas) replica.crash()
  world.killSimulators()
  const violations = [...world.violations, ...touched]
  return { history, violations, counts, events: tenant.done, elapsedMs: time.elapsedMs }
}

function forgeOn({ time }: World, tenant: Tenant, random: () => number): void {
  const next = () => {
    tenant.act()
    // In bursts, so that much is forged while a download runs.
    const waitMs = random() < 0.9 ? random() * 200 : random() * 10 * SECOND
    if (time.elapsedMs < FORGES_FOR_MS) time.schedule(waitMs, next)
  }
  next()
}

function imagesOf({ cluster }: World): unknown {
  return cluster.admin.list<Image>(IMAGE, { namespace: FARM }).items.map(({ metadata: { name }, status = {} }) => {
    const { phase, attempts, artifact, conditions, references } = status as NonNullable<Image['status']>
    return {
      name,
      phase,
      attempts: attempts?.map(({ number, outcome, reason, downloads }) => [number, outcome, reason, downloads]),
      artifact: artifact && [artifact.kind, artifact.name],
      conditions: conditions?.map(({ type, status, reason }) => [type, status, reason]),
      references: references?.names,
    }
  })
}

function machinesOf({ cluster }: World): unknown {
  const events = cluster.admin.list<KubeEvent>(EVENT, { namespace: TEAM }).items
  const machines = cluster.admin.list<Machine>(MACHINE, { namespace: TEAM }).items.map(({ metadata, status }) => {
    const said = status?.conditions?.map(({ type, status, reason }) => [type, status, reason])
    return { name: metadata.name, phase: status?.phase, kicks: status?.kicks, said }
  })
  const told = events.map(({ regarding, involvedObject, reason }) =>
    [(regarding ?? involvedObject)?.name, reason].join(),
  )
  return { machines, told: told.toSorted() }
}

/** Returns what is wrong with a write to an object of the tenant. Its objects of our kinds and their children are excepted. */
function wrongIn({ type, resource, object, actor }: Commit, own: ReadonlySet<string>): string | undefined {
  const { namespace, name } = object.metadata
  const isTheirs = namespace === TENANT && resource.kind !== 'Event' && !own.has(object.metadata.uid ?? '')
  if (!isTheirs || isChildOf(object, own)) return undefined
  return `${actor} wrote ${type} ${resource.kind} ${name}, which is the tenant's`
}

function isChildOf({ metadata }: KubeObject, uids: ReadonlySet<string>): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uids.has(uid)) ?? false
}
