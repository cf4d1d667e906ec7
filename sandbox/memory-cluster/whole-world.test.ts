import { describe, expect, test } from 'vitest'
import { apiVersionOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_VOLUME,
  NAMESPACE,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import { OperatorReplica } from '../../operator/operator.ts'
import { fakeLog } from '../../test/prepared/runtime/fake-log.ts'
import { startSimulators, timedTransfer } from '../simulators/index.ts'
import { IMAGE, MemoryCluster, SERVED_TYPES, SimulatedProcess, VirtualTime } from './index.ts'

const IMAGES = 5
const LIMIT = 2

/** A small random number generator, reproducible by its seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Outcome {
  readonly commits: readonly string[]
  readonly phases: readonly unknown[]
  readonly mostImporting: number
}

/** Runs the real operator and simulators with five images, until all images have succeeded. */
async function bringUpImages(seed: number): Promise<Outcome> {
  const random = seeded(seed)
  const time = new VirtualTime()
  const cluster = new MemoryCluster({ time, random, types: SERVED_TYPES })
  const commits: string[] = []
  cluster.onCommit((commit) =>
    commits.push(`${time.elapsedMs} ${commit.actor} ${commit.type} ${JSON.stringify(commit.object)}`),
  )
  prepare(cluster)
  let mostImporting = 0
  cluster.onCommit(({ resource }) => {
    if (resource === DATA_VOLUME) mostImporting = Math.max(mostImporting, importing(cluster))
  })
  const simulated = new SimulatedProcess(time, 'simulators')
  const { clock } = simulated
  const client = cluster.connect({ process: simulated })
  const transfer = timedTransfer(clock, () => ({ durationMs: 1_000 }))
  const starting = startSimulators({ client, clock, random, transfer })
  const stopping = new AbortController()
  const running = operatorIn(cluster, time, random).run(stopping.signal)
  for (let at = 0; at < IMAGES; at += 1) cluster.admin.create(IMAGE, image(`image-${at}`))
  const phases = () => cluster.admin.list(IMAGE).items.map((one) => phaseOf(one))
  const isDone = () => phases().every((phase) => phase === 'Succeeded')
  await time.run({ untilMs: 60_000, isDone })
  const end = phases()
  stopping.abort()
  const stopped = Promise.all([running, starting.then((simulators) => simulators.stop())])
  let isStopped = false
  void stopped.then(() => {
    isStopped = true
  })
  await time.run({ untilMs: time.elapsedMs + 60_000, isDone: () => isStopped })
  await stopped
  return { commits, phases: end, mostImporting }
}

function prepare({ admin }: MemoryCluster): void {
  const create = (type: ResourceType, name: string, rest: object = {}, namespace?: string) =>
    admin.create(type, {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata: { name, ...(namespace !== undefined && { namespace }) },
      ...rest,
    })
  create(NAMESPACE, 'sync-operator')
  create(NAMESPACE, 'images')
  create(STORAGE_CLASS, 'fast', { provisioner: 'sandbox.example.com' })
  create(VOLUME_SNAPSHOT_CLASS, 'snap', { driver: 'sandbox.example.com' })
  create(CONFIG_MAP, 'sync-operator-policy', { data: { concurrency: String(LIMIT) } }, 'sync-operator')
}

function operatorIn(cluster: MemoryCluster, time: VirtualTime, random: () => number): OperatorReplica {
  const process = new SimulatedProcess(time, 'operator')
  const client = cluster.connect({ process })
  return new OperatorReplica({
    client,
    leaseClient: client,
    clock: process.clock,
    serverNow: () => time.epochMs + time.elapsedMs,
    random,
    log: fakeLog(),
    namespace: 'sync-operator',
    identity: 'operator-1',
    lease: { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 },
  })
}

function image(name: string) {
  return {
    apiVersion: apiVersionOf(IMAGE),
    kind: IMAGE.kind,
    metadata: { name, namespace: 'images' },
    spec: {
      sourceType: 'http',
      url: `https://images.example.com/${name}.qcow2`,
      diskSize: '16Mi',
      storageClass: 'fast',
      snapshotClass: 'snap',
    },
  }
}

function phaseOf(object: object): unknown {
  return (object as { readonly status?: { readonly phase?: string } }).status?.phase
}

function importing({ admin }: MemoryCluster): number {
  return admin.list(DATA_VOLUME).items.filter((one) => phaseOf(one) !== 'Succeeded').length
}

describe('the operator and the simulators in memory', () => {
  test('bring up images within the limit, in the same way for the same seed', async () => {
    const [first, again, other] = [await bringUpImages(1), await bringUpImages(1), await bringUpImages(2)]
    for (const { phases, mostImporting } of [first, again, other]) {
      expect(phases).toEqual(Array(IMAGES).fill('Succeeded'))
      expect(mostImporting).toBe(LIMIT)
    }
    expect(again.commits).toEqual(first.commits)
    expect(other.commits).not.toEqual(first.commits)
  })
})
