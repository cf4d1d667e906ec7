import { FINALIZERS, POLICY_DEFAULTS } from '@open-terrain/constructs/operator'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import type { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { MINUTE, SECOND, START } from '../../../test/prepared/runtime/times.ts'
import { aNamespace, CachesBench } from '../../../test/prepared/virtual-machine/machine-caches.ts'
import { aClaim, aDisk } from '../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  ARTIFACT,
  aMachine,
  anImage,
  anInstance,
  aSecret,
  aVM,
  KUBEVIRT,
  PASSWORD,
  REFERRING,
  SPEC,
  TEMPLATE,
} from '../../../test/prepared/virtual-machine/machine-objects.ts'
import { aMachineWorld } from '../../../test/prepared/virtual-machine/machine-world.ts'
import { Neighbours } from '../../cluster/neighbours.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { EventRecorder } from '../../runtime/event-recorder.ts'
import { RuntimeMetrics } from '../../runtime/metrics.ts'
import { MachineController } from './controller.ts'
import { planMachine } from './decide/plan.ts'
import { viewKubeVirt } from './kubevirt-views.ts'
import { MachineMetrics } from './machine-metrics.ts'
import type { MachineView } from './world.ts'

/** The artifact of the image. */
const ARTIFACT_SNAPSHOT = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshot',
  metadata: { namespace: 'farm', name: ARTIFACT.name },
}

const stopping: AbortController[] = []
afterEach(() => {
  for (const one of stopping.splice(0)) one.abort()
})

/** Starts with a machine whose disk is not in the caches. The API server has the objects in `live`. */
async function build(status: MachineView['status'], ...live: readonly KubeObject[]) {
  const vm = aVM({ finalizers: [FINALIZERS.virtualMachine] }, { status })
  const { client } = await start(vm, ({ client: server, caches }) => {
    // The fake API server has one object per kind and name, so KubeVirt's machine is only in the caches.
    caches.kubevirt.put(aMachine(KUBEVIRT.stopped))
    for (const object of live) server.put(object)
  })
  return client
}

/** Starts a controller, and advances half a second, in a cluster with the machine, its image and what `prepare` adds. */
async function start(vm: MachineView, prepare: (bench: CachesBench) => void, references = { names: [] as string[] }) {
  const bench = new CachesBench()
  const { client, caches } = bench
  await bench.look()
  for (const name of ['team', 'farm']) bench.put(bench.namespaces, aNamespace(name))
  bench.put(bench.images, anImage())
  bench.put(bench.snapshots, ARTIFACT_SNAPSHOT)
  caches.machines.put(client.put(vm))
  prepare(bench)
  client.calls.length = 0
  const { clock } = client
  const [log, runtimeMetrics, random] = [fakeLog(), new RuntimeMetrics(), () => 0.5]
  const neighbours = new Neighbours({ client, clock, random, log, runtimeMetrics })
  const controller = new MachineController({
    client,
    caches,
    clock,
    random,
    log,
    runtimeMetrics,
    events: new EventRecorder({ client, clock, log, random, component: 'test', instance: 'me' }),
    metrics: new MachineMetrics(runtimeMetrics.registry, clock),
    neighbours,
    countReferences: async () => ({ ...references, users: [] }),
    claimsOn: () => [],
    policy: () => POLICY_DEFAULTS,
    serverNow: () => clock.now(),
    onPolicyChange: () => () => undefined,
  })
  const stop = new AbortController()
  stopping.push(stop)
  void neighbours.run(stop.signal)
  void controller.run(stop.signal)
  await clock.advance(SECOND / 2)
  return { client, clock, bench }
}

it('KubeVirt’s machine that has no disk, by a live look too, is removed', async () => {
  const client = await build({})
  const calls = client.callsOf('get', 'delete').filter((call) => !call.startsWith('get Lease'))
  expect(calls.slice(0, 3)).toEqual([
    'get DataVolume team/vm-root',
    'get PersistentVolumeClaim team/vm-root',
    'delete VirtualMachine team/vm',
  ])
})

it('KubeVirt’s machine that has but a stranger’s claim is removed', async () => {
  const client = await build({}, aClaim({ labels: {}, ownerReferences: [] }))
  expect(client.callsOf('delete')).toEqual(['delete VirtualMachine team/vm'])
})

it('KubeVirt’s machine whose DataVolume the caches have not heard of is not, and they have from then on', async () => {
  const client = await build({}, aDisk())
  expect(client.callsOf('delete')).toEqual([])
  expect(client.peek<MachineView>('VirtualMachine', 'team/vm')?.status.clone).toMatchObject({ phase: 'Succeeded' })
})

describe.each([
  ['has never run', {}],
  ['has run', { bootedAt: '2026-01-01T00:00:00Z' }],
] as const)('a machine that %s', (_what, status) => {
  it('and whose claim the caches have not heard of is left alone, and nothing is told', async () => {
    const client = await build(status, aClaim())
    expect(client.callsOf('status', 'create', 'patch', 'delete')).toEqual([])
  })
})

describe('an image that the template made, and that is to be corrected', () => {
  const correct = (names: string[]) =>
    start(
      aVM({ finalizers: [FINALIZERS.virtualMachine] }),
      (bench) => {
        const annotations = { 'pelotech.ot/creator': 'VirtualMachine/team/vm/vm-uid generation 1' }
        const spec = { ...TEMPLATE, url: 'https://images.example/wrong.qcow2' }
        bench.put(bench.images, bench.client.put(anImage({ phase: 'Failed' }, { generation: 1, annotations }, spec)))
      },
      { names },
    )

  it('is, where a live look finds nothing else that refers to it', async () => {
    const { client } = await correct(['VirtualMachine/team/vm'])
    expect(client.callsOf('patch')).toContain('patch VMDiskImage farm/golden')
  })

  it('is not, and nothing is told, where a live look finds something that the caches have not heard of', async () => {
    const { client, clock } = await correct(['VirtualMachine/team/vm', 'VirtualMachine/team/other'])
    await clock.advance(30 * SECOND)
    expect(client.callsOf('patch', 'status', 'create')).toEqual([])
  })
})

describe('a Secret with a password that the API server cannot read', () => {
  /** @param times how many reads fail */
  async function startUnread(times: number, prepare: (bench: CachesBench) => void = () => undefined) {
    let left = times
    const started = await start(
      aVM({ finalizers: [FINALIZERS.virtualMachine] }, { spec: { ...SPEC, users: REFERRING } }),
      (bench) => {
        const { client } = bench
        prepare(bench)
        const metadata = { namespace: 'team', name: 'login' }
        const data = { password: Buffer.from(PASSWORD).toString('base64') }
        client.put({ apiVersion: 'v1', kind: 'Secret', metadata, data } as KubeObject)
        client.before = ({ verb, kind }) => {
          if (verb !== 'get' || kind !== 'Secret' || left <= 0) return
          left -= 1
          throw apiError('Unavailable', { status: 500, message: 'the KMS does not answer' })
        }
      },
    )
    const reasons = () => told(started.client)
    const status = () => started.client.peek<MachineView>('VirtualMachine', 'team/vm')?.status
    const mend = () => {
      left = 0
    }
    return { ...started, reasons, status, mend }
  }

  it('once is no matter', async () => {
    const { client, clock, reasons } = await startUnread(1)
    await clock.advance(10 * SECOND)
    expect(client.callsOf('create')).toEqual(expect.arrayContaining(['create DataVolume team/vm-root']))
    expect(reasons()).not.toContain('MissingPasswordSecret')
  })

  it('again and again is told, looked at once a minute, and no matter any more when it can', async () => {
    const { client, clock, reasons, status } = await startUnread(6)
    await clock.advance(10 * SECOND)
    expect(reasons()).toEqual(['MissingPasswordSecret'])
    expect(status()?.message).toMatch(
      /user "demo" .* Secret team\/login, which the API server cannot read: the KMS does/,
    )
    const reads = secretReads(client)
    await clock.advance(59 * SECOND)
    expect([secretReads(client) - reads, reasons()]).toEqual([1, ['MissingPasswordSecret']])
    await clock.advance(2 * MINUTE)
    expect(reasons().filter((reason) => reason === 'MissingPasswordSecret')).toHaveLength(1)
    expect(client.callsOf('create')).toEqual(expect.arrayContaining(['create DataVolume team/vm-root']))
  })

  it('keeps no deployed machine from being looked after, and is taken back once it can', async () => {
    const { client, clock, status, mend } = await startUnread(Number.POSITIVE_INFINITY, (bench) => {
      const { caches } = bench
      const world = aMachineWorld({ spec: { users: REFERRING }, clone: aDisk(), claim: aClaim() })
      const secret = bench.put(bench.secrets, aSecret(world.cloudInit))
      bench.put(bench.dataVolumes, aDisk())
      bench.put(bench.claims, aClaim())
      // As desired, so that only the status is written.
      const [wanted] = planMachine({ ...world, secret }, START).apply
      const metadata = { ...aMachine().metadata, ...wanted?.metadata }
      caches.kubevirt.put(viewKubeVirt({ ...wanted, metadata, status: KUBEVIRT.running } as KubeObject))
      caches.instances.put(anInstance())
    })
    await clock.advance(10 * SECOND)
    expect(status()).toMatchObject({
      phase: 'Ready',
      message: expect.stringMatching(/^the machine runs; .*the KMS does/),
    })
    await clock.advance(2 * MINUTE)
    const reads = secretReads(client)
    await clock.advance(2 * MINUTE)
    expect(secretReads(client) - reads).toBe(2)
    mend()
    await clock.advance(2 * MINUTE)
    expect(status()).toMatchObject({ phase: 'Ready', message: 'the machine runs' })
  })
})

/** Reasons of Events, in their order. */
function secretReads(client: ScriptedClient): number {
  return client.callsOf('get').filter((call) => call.startsWith('get Secret ')).length
}

function told({ calls }: ScriptedClient): string[] {
  const events = calls.filter(({ verb, kind }) => verb === 'create' && kind === 'Event')
  return events.map(({ body }) => (body as { readonly reason: string }).reason)
}
