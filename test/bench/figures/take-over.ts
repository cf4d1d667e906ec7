import { systemClock } from '../../../operator/base/clock.ts'
import { compareResourceVersions } from '../../../operator/kube/kube-object.ts'
import type { BundledOperator } from '../bundled-operator.ts'
import { atMost, type Chapter } from '../figure.ts'
import type { Observer } from '../observer.ts'
import { Stage } from '../stage.ts'

const LIMIT = 4
const ROUNDS = { SIGKILL: 5, SIGTERM: 5 }
/** Enough that images wait at every take-over: about 4 images are synced per second, and each round takes 20 s. */
const IMAGES = 1_500
const BETWEEN_ROUNDS = 20

/** Measures the time from the end of a leader to the first DataVolume that its successor creates. */
export async function measureTakeOver(tell: (line: string) => void): Promise<Chapter> {
  await using stage = await Stage.start({ policy: { concurrency: String(LIMIT) } })
  await stage.startSimulators()
  const observer = await stage.observe()
  const names = Array.from({ length: ROUNDS.SIGKILL + ROUNDS.SIGTERM + 2 }, (_, at) => `replica-${at}`)
  let leader = await stage.startLeader(names.shift())
  await stage.createImages('image', IMAGES)
  const timesOf = async (signal: keyof typeof ROUNDS) => {
    const times: number[] = []
    for (let round = 1; round <= ROUNDS[signal]; round += 1) {
      const successor = await stage.startOperator(names.shift())
      await successor.untilCampaigning()
      times.push(await oneTakeOver(observer, leader, successor, signal))
      tell(`${signal}: ${times.at(-1)?.toFixed(2)} s`)
      leader = successor
    }
    return times
  }
  const killed = await timesOf('SIGKILL')
  const terminated = await timesOf('SIGTERM')
  return {
    title: 'Leader gone → next admission',
    method:
      `Two replicas with the default timings of the Lease (15, 10 and 2 s), limit ${LIMIT}, downloads of 1 s, a queue that is never empty. ` +
      'From the signal to the first DataVolume that is created after the other replica has taken over the ledger.',
    figures: [
      { title: 'leader killed (SIGKILL)', unit: 's', digits: 2, values: killed, target: atMost(20, 's') },
      { title: 'leader stopped (SIGTERM)', unit: 's', digits: 2, values: terminated, target: atMost(3, 's') },
    ],
  }
}

async function oneTakeOver(
  observer: Observer,
  leader: BundledOperator,
  successor: BundledOperator,
  signal: keyof typeof ROUNDS,
): Promise<number> {
  const before = observer.created.length
  await observer.until('the queue moves', () => observer.created.length >= before + BETWEEN_ROUNDS)
  const sentAt = systemClock.monotonic()
  leader.signal(signal)
  const isBySuccessor = ({ claimant }: { claimant: string }) => claimant.startsWith(`${successor.name}_`)
  const takenOver = () => observer.ledger.find(({ at, holders }) => at > sentAt && holders.some(isBySuccessor))
  const { revision } = await observer.until('the other replica takes over', takenOver)
  const isLater = (one: { createdRevision: string }) => compareResourceVersions(one.createdRevision, revision) > 0
  const admitted = () => observer.created.find(isLater)
  const { createdAt } = await observer.until('the other replica admits', admitted)
  return (createdAt - sentAt) / 1_000
}
