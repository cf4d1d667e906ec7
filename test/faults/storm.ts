import type { Fault, Rule } from '../harness/fault-proxy.ts'
import type { ProxiedRequest } from '../harness/fault-proxy-request.ts'
import { type Image, isSynced } from '../harness/kinds.ts'
import { checkOrder } from '../harness/ledger-check.ts'
import type { World } from '../harness/world.ts'
import { randomFrom } from '../simulation/random.ts'
import { assertOneDownload, type FaultStage } from './fault-stage.ts'

export const STORM_SHARE = 0.3
/** Long enough that errors alone do not cost the leader its Lease. Other tests cover that. */
export const PATIENT_LEASE = { LEASE_DURATION: '10s', LEASE_RENEW_DEADLINE: '8s', LEASE_RETRY_PERIOD: '300ms' }
/** Number of images that wait or sync at any time of the storm. */
const CROWD = 24
/** A fixed seed gives the same shares of faults. Their moments depend on the machine. */
const SEED = 4

const WATCH_FAULTS: readonly Fault[] = [
  { type: 'answer', status: 429, retryAfterSeconds: 1 },
  { type: 'answer', status: 500 },
  { type: 'reset' },
  { type: 'interrupt', how: 'cut' },
]
const FAULTS: readonly Fault[] = [
  { type: 'answer', status: 409, body: { kind: 'Status', code: 409, reason: 'Conflict', message: 'made up' } },
  { type: 'answer', status: 429, retryAfterSeconds: 1 },
  { type: 'answer', status: 500 },
  { type: 'answer', status: 503 },
  { type: 'answer', status: 504 },
  { type: 'reset' },
  { type: 'lose' },
  { type: 'delay', ms: 500 },
]

export interface StormTally {
  readonly images: number
  /** Requests during the storm. */
  readonly requests: number
  /** Number of faults by description. */
  readonly faults: ReadonlyMap<string, number>
  /** Images that entered the queue without a fault. The order of all these was checked. */
  readonly undelayed: number
}

/**
 * Keeps the operator busy for `durationMs` while random faults hit three of ten requests. Throws if a sync failed, an image was
 * downloaded twice, an invariant was violated, or the operator logged an error.
 */
export async function weatherStorm(stage: FaultStage, durationMs: number): Promise<StormTally> {
  const { world, proxy, operator } = stage
  const struck: (readonly [ProxiedRequest, Fault])[] = []
  const before = proxy.seen.length
  proxy.rule = storm(struck)
  const names = await keepBusy(world, durationMs)
  proxy.rule = undefined
  const requests = proxy.seen.length - before
  // A failed attempt ends the wait, because its retry may be minutes away.
  const isOver = (image: Image) =>
    isSynced(image) || image.status?.attempts?.some(({ outcome }) => outcome === 'Failed') === true
  for (const name of names) assertOneDownload(world, await world.untilImage(name, 'synced, or failed', isOver))
  const errors = operator.lines.filter((line) => line.includes('"level":"error"'))
  if (errors.length > 0) throw new Error(`the operator told of errors:\n${errors.slice(0, 5).join('\n')}`)
  await world.finish({ isOrderChecked: false })
  const delayed = delayedImages(struck.map(([request]) => request))
  checkOrderOfOthers(world, delayed)
  return {
    images: names.length,
    requests,
    faults: tally(struck.map(([, fault]) => describeFault(fault))),
    undelayed: names.filter((name) => !delayed.has(name)).length,
  }
}

/** Checks the order of the images that entered the queue without a fault. The requests for their DataVolumes may have met one. */
function checkOrderOfOthers(world: World, delayed: ReadonlySet<string>): void {
  const counted = world.history.events.filter(
    ({ kind, object }) => kind !== 'VMDiskImage' || !delayed.has(object.metadata.name),
  )
  checkOrder(counted, world.operatorNamespace, { areBatchesChecked: false })
}

function delayedImages(struck: readonly ProxiedRequest[]): Set<string> {
  const onTheWay = struck.filter(({ resource }) => resource.startsWith('vmdiskimages'))
  return new Set(onTheWay.flatMap(({ name }) => name ?? []))
}

/** Creates images until the operator has led for `durationMs` in the storm, a new one whenever there is room. Returns all names. */
async function keepBusy(world: World, durationMs: number): Promise<string[]> {
  const names: string[] = []
  const open = new Set<string>()
  let end = Number.POSITIVE_INFINITY
  // On a busy machine the operator may take longer to start than the storm lasts.
  const leading = world.untilRenewed(1).then(() => {
    end = performance.now() + durationMs
  })
  const hasRoom = () => {
    for (const name of open) if (world.getImage(name)?.status?.phase === 'Succeeded') open.delete(name)
    return open.size < CROWD || performance.now() >= end
  }
  while (performance.now() < end) {
    const name = `image-${names.length}`
    await world.createImage(name)
    names.push(name)
    open.add(name)
    await world.until('room for one more', hasRoom)
  }
  await leading
  return names
}

function storm(struck: (readonly [ProxiedRequest, Fault])[]): Rule {
  const random = randomFrom(SEED)
  return (request) => {
    if (random() >= STORM_SHARE) return undefined
    const faults = request.verb === 'watch' ? WATCH_FAULTS : FAULTS
    const fault = faults[Math.floor(random() * faults.length)] as Fault
    struck.push([request, fault])
    return fault
  }
}

function describeFault(fault: Fault): string {
  switch (fault.type) {
    case 'answer':
      return `answered with ${fault.status}`
    case 'reset':
      return 'connection broken before the API server saw it'
    case 'lose':
      return 'carried out, its answer lost'
    case 'delay':
      return 'sent on late'
    default:
      return 'watch broken at its first event'
  }
}

function tally(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}
