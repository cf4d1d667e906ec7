import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, NAMESPACE } from '../../../operator/kube/resource-types.ts'
import { type Commit, IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { isOperator, ledgerIn } from '../chronicle.ts'
import { FARM, MACHINE, MachineWorld, TEAM } from '../machines/machine-world.ts'
import type { Violation } from '../oracle/oracle.ts'
import { randomFrom, seedFor } from '../random.ts'
import type { RunResult } from '../run.ts'
import { Tenant } from './tenant.ts'

// The same people do the same twice: once alone, and once beside a tenant who forges whatever they have. Nobody may see a difference.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const TENANT = 'tenant'
const POLICY = { concurrency: '2', retryLimit: '1', retryBackoffDuration: '40s', keepSourceVolume: 'true' }
const IMAGES = ['a', 'b', 'broken', 'refreshed', 'deleted', 'clonable', 'vanishing', 'last'] as const
const MACHINES = ['one', 'two'] as const

/** What others of the tenant went through. Times aside, for a request more or less in between shifts them. */
interface History {
  readonly images: unknown
  readonly machines: unknown
  /** Names of the holders of slots, in the order in which they got them. */
  readonly slots: readonly string[]
  /** DataVolumes of images, in the order in which they came. */
  readonly downloads: readonly string[]
}

interface Run {
  readonly history: History
  readonly violations: Violation[]
  readonly events: ReadonlyMap<string, number>
  readonly elapsedMs: number
  readonly counts: RunResult['counts']
}

export async function runTenants(
  seed: number,
): Promise<Pick<RunResult, 'violations' | 'counts' | 'events' | 'elapsedMs'>> {
  const alone = await run(seed, false)
  const beside = await run(seed, true)
  const violations = [...alone.violations, ...beside.violations]
  for (const part of ['slots', 'downloads', 'images', 'machines'] as const) {
    const [expected, seen] = [alone.history[part], beside.history[part]]
    if (isDeepStrictEqual(expected, seen)) continue
    const message = `${part} beside a tenant: ${JSON.stringify(seen)}; alone: ${JSON.stringify(expected)}`
    violations.push({ invariant: 6, message, atMs: beside.elapsedMs })
  }
  const { events, counts, elapsedMs } = beside
  return { violations, events, counts, elapsedMs }
}

async function run(seed: number, isForged: boolean): Promise<Run> {
  const world = await MachineWorld.start(POLICY, {}, { seed })
  const { time, cluster, simulators } = world.simulated
  const violations: Violation[] = []
  const slots: string[] = []
  const downloads: string[] = []
  const counts = { admissions: 0, transfers: 0, commits: 0, operatorCommits: 0 }
  let holders: readonly string[] = []
  /** Uids of the tenant's own images. */
  const own = new Set<string>()
  cluster.onCommit((commit) => {
    counts.commits += 1
    if (!isOperator(commit.actor)) return
    counts.operatorCommits += 1
    const { object, resource, type } = commit
    const ledger = resource.kind === 'ConfigMap' && type !== 'DELETED' ? ledgerIn(object) : undefined
    if (ledger !== undefined) {
      const now = ledger.holders.map(({ name, revision, attempt }) => `${name}/${revision}/${attempt}`)
      slots.push(...now.filter((one) => !holders.includes(one)))
      holders = now
    }
    const isDownload = resource === DATA_VOLUME && type === 'ADDED' && object.metadata.namespace === FARM
    if (isDownload) downloads.push(object.metadata.name)
    const wrong = touched(commit, own)
    if (wrong !== undefined) violations.push({ invariant: 6, message: wrong, atMs: time.elapsedMs })
  })
  world.simulated.create(NAMESPACE, { name: TENANT })
  // Uids of images of their own that exist, and never download, serve as well.
  for (const name of ['own', 'a']) {
    const image = world.simulated.create<KubeObject>(
      IMAGE,
      { namespace: TENANT, name },
      { spec: { ...SPEC, url: urlOf(name), suspend: true } },
    )
    own.add(image.metadata.uid ?? '')
  }
  const tenant = new Tenant(cluster, TENANT, randomFrom(seedFor(seed, 'tenant')))
  if (isForged) forgeOn(world, tenant, randomFrom(seedFor(seed, 'when')))
  simulators.cdi.script({ image: urlOf('broken') }, { type: 'error' })
  await live(world)
  const history = { images: imagesOf(world), machines: machinesOf(world), slots, downloads }
  world.stop()
  return { history, violations, counts, events: tenant.done, elapsedMs: time.elapsedMs }
}

const SPEC = { sourceType: 'http', diskSize: '1Gi', storageClass: 'fast', snapshotClass: 'snap' } as const

function urlOf(name: string): string {
  return `https://images.example.com/${name}.qcow2`
}

/** As long as people do something. */
const FORGES_FOR_MS = 4 * MINUTE

function forgeOn(world: MachineWorld, tenant: Tenant, random: () => number): void {
  const { time } = world.simulated
  const next = () => {
    tenant.act()
    // In bursts: while a download runs much is forged.
    const waitMs = random() < 0.9 ? random() * 200 : random() * 10 * SECOND
    if (time.elapsedMs < FORGES_FOR_MS) time.schedule(waitMs, next)
  }
  next()
}

async function live(world: MachineWorld): Promise<void> {
  for (const name of IMAGES) world.createImage(name, { ...SPEC, url: urlOf(name) })
  const vmDiskImageRef = { namespace: FARM, name: 'clonable' }
  for (const name of MACHINES) world.create(name, { vmDiskImageRef, interfaces: [] })
  await world.pass(20 * SECOND)
  const again = { metadata: { annotations: { 'pelotech.ot/sync-requested-at': 'again' } } }
  world.patch(IMAGE, { namespace: FARM, name: 'refreshed' }, again)
  world.delete(IMAGE, FARM, 'deleted')
  await world.pass(MINUTE)
  world.killOperator()
  await world.pass(SECOND)
  world.startOperator()
  await world.pass(MINUTE)
  world.createImage('late', { ...SPEC, url: urlOf('late') })
  world.delete(MACHINE, TEAM, 'two')
  world.delete(IMAGE, FARM, 'vanishing')
  // What somebody holds goes a step each 2 minutes: the machine, its instance, its disk.
  await world.pass(15 * MINUTE)
}

function imagesOf(world: MachineWorld): unknown {
  return [...IMAGES, 'late'].map((name) => {
    const { phase, attempts, artifact, conditions, references } = world.image(name)?.status ?? {}
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

function machinesOf(world: MachineWorld): unknown {
  return MACHINES.map((name) => {
    const { phase, kicks, conditions } = world.vm(name)?.status ?? {}
    const said = conditions?.map(({ type, status, reason }) => [type, status, reason])
    return { name, phase, kicks, said, events: world.events(name).sort() }
  })
}

/** Nothing of a tenant's is written; of what names an image of theirs that exists, what downloads without a slot is deleted. */
function touched({ type, resource, object, actor }: Commit, own: ReadonlySet<string>): string | undefined {
  const { namespace, name } = object.metadata
  const isTheirs = namespace === TENANT && resource.kind !== IMAGE.kind && resource.kind !== 'Event'
  if (!isTheirs || isChildOf(object, own)) return undefined
  return `${actor} wrote ${type} ${resource.kind} ${name}, which is the tenant's`
}

function isChildOf({ metadata }: KubeObject, uids: ReadonlySet<string>): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uids.has(uid)) ?? false
}
