import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { EVENT, SECRET } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, short, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'
import { NODE } from '../resource-types.ts'

const KEY = `${TEAM}/vm`

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

describe('a launcher pod that does not start', () => {
  const start = () => {
    world.createClaim('root')
    world.createMachine('vm', 'root')
  }
  const warnings = () =>
    world.cluster.admin.list<KubeObject & { readonly reason: string; readonly message: string }>(EVENT, {
      namespace: TEAM,
      fieldSelector: 'involvedObject.kind=Pod,type=Warning',
    }).items

  it('is unschedulable, with the text of the scheduler', async () => {
    const go = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'unschedulable', message: '0/3 nodes' })
    start()
    await world.until('the text', () => short(world.machine('vm'), 'PodScheduled') === 'False/Unschedulable/0/3 nodes')
    expect(world.machine('vm')?.status?.printableStatus).toBe('ErrorUnschedulable')
    go()
    await world.untilStatus('vm', 'Running')
  })

  it('waits for a node that takes it, which is then selected for its claims', async () => {
    world.cluster.admin.mergePatch(NODE, { name: 'node-1' }, { spec: { unschedulable: true } })
    world.createClaim('root', TEAM, '1Gi', { storageClassName: 'late' })
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'ErrorUnschedulable')
    const selected = () => world.claim('root')?.metadata.annotations?.['volume.kubernetes.io/selected-node']
    await world.pass(60_000)
    expect(selected()).toBeUndefined()
    world.create(NODE, { name: 'node-2' })
    await world.untilStatus('vm', 'Running')
    expect(selected()).toBe('node-2')
  })

  it('starts when its node takes pods again', async () => {
    const cordon = (unschedulable: boolean) =>
      world.cluster.admin.mergePatch(NODE, { name: 'node-1' }, { spec: { unschedulable } })
    cordon(true)
    start()
    await world.untilStatus('vm', 'ErrorUnschedulable')
    await world.pass(60_000)
    cordon(false)
    await world.untilStatus('vm', 'Running')
  })

  it('shows that its image cannot be pulled', async () => {
    const go = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'imagePull' })
    start()
    const machine = await world.untilStatus('vm', 'ImagePullBackOff')
    expect(short(machine, 'Synchronized')).toMatch(/^False\/ImagePullBackOff/)
    expect(world.shown.get(KEY)).toContain('ErrImagePull')
    go()
    await world.untilStatus('vm', 'Running')
  })

  it('is starting for ever without a Secret, and says nothing about it', async () => {
    world.createClaim('root')
    const volumes = [
      { name: 'root', dataVolume: { name: 'root' } },
      { name: 'init', cloudInitNoCloud: { secretRef: { name: 'init' } } },
    ]
    world.createMachine('vm', 'root', { volumes })
    await world.untilStatus('vm', 'Starting')
    await world.pass(60_000)
    const machine = world.machine('vm')
    expect(machine?.status?.printableStatus).toBe('Starting')
    expect([short(machine, 'Synchronized'), short(machine, 'PodScheduled'), short(machine, 'Failure')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    world.create(SECRET, { namespace: TEAM, name: 'init' })
    await world.untilStatus('vm', 'Running')
  })

  it('is starting for ever while something scripted is in its way, with an event of each try', async () => {
    const fault = { type: 'notCreated', message: 'no sandbox <id>', everyMs: 10_000 } as const
    const go = world.simulators.kubevirt.script({ name: 'vm' }, fault)
    start()
    await world.untilStatus('vm', 'Starting')
    await world.pass(45_000)
    const tries = warnings()
    expect(tries.map(({ reason }) => reason)).toEqual(Array(5).fill('FailedCreatePodSandBox'))
    expect(new Set(tries.map(({ message }) => message)).size).toBe(5)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Starting')
    go()
    await world.untilStatus('vm', 'Running')
  })

  it('waits for its networks, as with Multus', async () => {
    world.deleteNetwork('net')
    start()
    await world.untilStatus('vm', 'Starting')
    await world.pass(5_000)
    expect(warnings().map(({ message }) => message)).toEqual([
      expect.stringContaining('cannot find a network-attachment-definition (net) in namespace (team)'),
    ])
    world.createNetwork('net')
    await world.untilStatus('vm', 'Running')
  })

  it('fits no network that wants to give it an address', async () => {
    world.deleteNetwork('net')
    const ipam = { type: 'static' }
    const config = JSON.stringify({ cniVersion: '1.0.0', name: 'lab', type: 'bridge', bridge: 'lab0', ipam })
    world.createNetwork('net', config)
    start()
    await world.untilStatus('vm', 'Starting')
    await world.until('a warning', () => warnings().length > 0)
    expect(warnings()[0]?.message).toContain(
      'error adding container to network "lab": IPAM plugin returned missing IP config',
    )
    world.deleteNetwork('net')
    world.createNetwork('net')
    await world.untilStatus('vm', 'Running')
  })

  it('says where it is attached, once it runs', async () => {
    start()
    await world.untilStatus('vm', 'Running')
    const [pod] = world.pods()
    const status = JSON.parse(pod?.metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]')
    expect(status).toMatchObject([
      { name: '', interface: 'eth0', default: true },
      { name: 'team/net', interface: expect.stringMatching(/^pod[0-9a-f]{11}$/) },
    ])
  })

  it('is refused by a quota', async () => {
    const go = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'podRefused', message: 'exceeded quota: q' })
    start()
    const text = 'False/FailedCreate/failed to create virtual machine pod: exceeded quota: q'
    await world.until('the refusal', () => short(world.machine('vm'), 'Synchronized') === text)
    await world.untilStatus('vm', 'Starting')
    go()
    await world.untilStatus('vm', 'Running')
  })

  it('loops when it fails before the guest runs, later each time, and recovers', async () => {
    world.simulators.kubevirt.script({ name: 'vm' }, { type: 'launcherFails' }, { times: 2 })
    start()
    const machine = await world.untilStatus('vm', 'CrashLoopBackOff')
    expect(short(machine, 'Ready')).toMatch(/^False/)
    await world.until('a second failure', () => world.machine('vm')?.status?.startFailure?.consecutiveFailCount === 2)
    const { retryAfterTimestamp = '' } = world.machine('vm')?.status?.startFailure ?? {}
    const waitMs = Date.parse(retryAfterTimestamp) - world.time.epochMs - world.time.elapsedMs
    expect(waitMs).toBeGreaterThan(35_000)
    expect(waitMs).toBeLessThan(61_000)
    await world.pass(waitMs - 1_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('CrashLoopBackOff')
    await world.untilStatus('vm', 'Running')
    expect(world.machine('vm')?.status?.startFailure).toBeUndefined()
  })
})

describe('an instance that is refused', () => {
  it('leaves the machine stopped, with the reason', async () => {
    const go = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'instanceRefused', message: 'no such label' })
    world.createClaim('root')
    world.createMachine('vm', 'root')
    const text = 'True/FailedCreate/Failure while starting VMI: no such label'
    await world.until('the refusal', () => short(world.machine('vm'), 'Failure') === text)
    await world.pass(60_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Stopped')
    go()
    await world.untilStatus('vm', 'Running')
    expect(short(world.machine('vm'), 'Failure')).toBeUndefined()
  })

  it('is so without any memory', async () => {
    world.createClaim('root')
    world.createMachine('vm', 'root', { domain: { cpu: { sockets: 1 } } })
    await world.until('the refusal', () => short(world.machine('vm'), 'Failure')?.includes('no memory') === true)
  })
})

describe('an instance that is deleted before its guest ever ran', () => {
  it('counts as a failed start', async () => {
    world.simulators.kubevirt.script({ name: 'vm' }, { type: 'slowStart', delayMs: 5_000 })
    world.createClaim('root')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Starting')
    world.deleteInstance('vm')
    const machine = await world.untilStatus('vm', 'CrashLoopBackOff')
    expect(machine.status?.startFailure?.consecutiveFailCount).toBe(1)
    await world.untilStatus('vm', 'Running')
  })
})
