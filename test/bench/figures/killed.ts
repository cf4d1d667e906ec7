import { setTimeout as sleep } from 'node:timers/promises'
import { randomFrom } from '../../simulation/random.ts'
import { Replicas } from '../../soak/replicas.ts'
import { atMost, type Chapter, exactly, type Figure } from '../figure.ts'
import type { Observer } from '../observer.ts'
import { inversions, mostInParallel } from '../queue-arithmetic.ts'
import { Stage } from '../stage.ts'

const IMAGES = 40
const LIMIT = 4
const SECONDS = 3
const SEED = 40
/** How long a replica leads before it is killed or frozen. */
const LED_MS = { least: 500, most: 4_000 }
/** Shorter and longer than the Lease duration: some replicas resume as leaders, others after another replica has taken over. */
const FROZEN_MS = { least: 2_000, most: 9_000 }

interface KilledRun {
  readonly inParallel: number
  readonly claims: number
  readonly inversions: number
  readonly created: number
  readonly blows: Blows
  /** Operators that ended without being killed. */
  readonly lost: number
}

interface Blows {
  kills: number
  freezes: number
}

/** Measures a queue whose operator is repeatedly killed and frozen while it works, with one replica and with two. */
export async function measureKilled(tell: (line: string) => void): Promise<Chapter> {
  const alone = await oneRun(1)
  tell(`one replica: ${JSON.stringify(alone)}`)
  const pair = await oneRun(2)
  tell(`two replicas: ${JSON.stringify(pair)}`)
  return {
    title: `${IMAGES} images of ${SECONDS} s, limit ${LIMIT}, the leader killed and frozen at random`,
    method:
      `${LED_MS.least / 1_000} to ${LED_MS.most / 1_000} s after somebody leads, who leads gets SIGKILL (another process takes his place at once), or SIGSTOP for ` +
      `${FROZEN_MS.least / 1_000} to ${FROZEN_MS.most / 1_000} s and then SIGCONT; again and again until every image has Succeeded. The Lease lives for 5 s. Once with ` +
      'one replica, once with two.',
    figures: [...figuresOf('one replica', alone, '4 and **5**'), ...figuresOf('two replicas', pair, '**5** and **5**')],
  }
}

function figuresOf(who: string, run: KilledRun, older: string): Figure[] {
  const figure = (title: string, value: number, more: Partial<Figure> = {}): Figure => ({
    title: `${who}: ${title}`,
    unit: '',
    values: [value],
    ...more,
  })
  return [
    figure('most in parallel', run.inParallel, { target: atMost(LIMIT), older }),
    figure('most slots held', run.claims, { target: atMost(LIMIT) }),
    figure('inversions', run.inversions, { target: exactly(0) }),
    figure(`DataVolumes for ${IMAGES} images`, run.created, { target: exactly(IMAGES) }),
    figure('processes that ended by themselves', run.lost, { target: exactly(0) }),
    figure('times killed', run.blows.kills),
    figure('times frozen', run.blows.freezes),
  ]
}

async function oneRun(count: number): Promise<KilledRun> {
  await using stage = await Stage.start({ policy: { concurrency: String(LIMIT) } })
  await stage.startSimulators({ durationMs: SECONDS * 1_000 })
  const observer = await stage.observe()
  const replicas = await Replicas.start(stage, count)
  const done = new AbortController()
  const allSucceeded = () => observer.countIn('Succeeded') === IMAGES
  const [blows] = await Promise.all([
    strike(replicas, done.signal),
    stage.createImages('image', IMAGES),
    observer.until('every image has Succeeded', allSucceeded).finally(() => done.abort()),
  ])
  return { ...countsOf(observer), blows, lost: replicas.lost.length }
}

function countsOf({ downloads, turns, ledger, created }: Observer): Omit<KilledRun, 'blows' | 'lost'> {
  return {
    inParallel: mostInParallel(downloads),
    claims: Math.max(...ledger.map(({ holders }) => holders.length)),
    inversions: inversions(downloads, turns),
    created: created.length,
  }
}

/** Kills or freezes the leader at random, until `signal` aborts. */
async function strike(replicas: Replicas, signal: AbortSignal): Promise<Blows> {
  const random = randomFrom(SEED)
  const between = ({ least, most }: { least: number; most: number }) => least + (most - least) * random()
  const blows: Blows = { kills: 0, freezes: 0 }
  while (!signal.aborted) {
    await sleep(between(LED_MS), undefined, { signal }).catch(() => undefined)
    if (signal.aborted) break
    if (random() < 0.5) blows.kills += Number(await replicas.endLeader('SIGKILL'))
    else blows.freezes += Number(await replicas.freezeLeader(between(FROZEN_MS)))
  }
  return blows
}
