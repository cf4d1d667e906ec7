import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import {
  EVENT,
  KUBEVIRT_VIRTUAL_MACHINE,
  NETWORK_ATTACHMENT_DEFINITION,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
} from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, short, TEAM } from './simulated-cluster.fixtures.ts'

const KEY = `${TEAM}/vm`
const NO_CLAIM = 'PVC team/root does not exist, waiting for it to appear'

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

async function running(): Promise<void> {
  world.createClaim('root')
  world.createMachine('vm', 'root')
  await world.untilStatus('vm', 'Running')
}

describe('a virtual machine with a full disk', () => {
  it('starts, and is ready with its addresses', async () => {
    const networkdata = JSON.stringify({
      version: 2,
      ethernets: { a: { match: { macaddress: '02:1a:2b:3c:4d:01' }, addresses: ['10.10.0.161/24', 'fd00::1/64'] } },
    })
    world.create(SECRET, { namespace: TEAM, name: 'init' }, { stringData: { networkdata } })
    world.createClaim('root')
    world.createMachine('vm', 'root', {
      volumes: [
        { name: 'root', dataVolume: { name: 'root' } },
        { name: 'init', cloudInitNoCloud: { secretRef: { name: 'init' }, networkDataSecretRef: { name: 'init' } } },
      ],
    })
    const running = await world.untilStatus('vm', 'Running')
    expect(short(running, 'Ready')).toMatch(/^False\/GuestNotRunning/)
    await world.until('ready', () => short(world.machine('vm'), 'Ready') === 'True')
    expect(world.machine('vm')?.status).toMatchObject({ created: true, ready: true, runStrategy: 'Always' })
    expect(world.shown.get(KEY)?.at(-2)).toBe('Starting')
    expect(world.instance('vm')?.status?.interfaces).toEqual([
      expect.objectContaining({
        name: 'net',
        mac: '02:1a:2b:3c:4d:01',
        ipAddress: '10.10.0.161',
        ipAddresses: ['10.10.0.161', 'fd00::1'],
      }),
    ])
  })

  it('has the owners, finalizers, labels and annotations of KubeVirt', async () => {
    await running()
    const [machine, instance, [pod]] = [world.machine('vm'), world.instance('vm'), world.pods()]
    expect(machine?.metadata.finalizers).toEqual(['kubevirt.io/virtualMachineControllerFinalize'])
    const controller = { controller: true, blockOwnerDeletion: true }
    expect(instance?.metadata.ownerReferences).toEqual([
      expect.objectContaining({ ...controller, kind: 'VirtualMachine', uid: machine?.metadata.uid }),
    ])
    expect(instance?.metadata.finalizers).toEqual([
      'kubevirt.io/virtualMachineControllerFinalize',
      'foregroundDeleteVirtualMachine',
    ])
    expect(pod?.metadata.ownerReferences).toEqual([
      expect.objectContaining({ ...controller, kind: 'VirtualMachineInstance', uid: instance?.metadata.uid }),
    ])
    expect(pod?.metadata.name).toMatch(/^virt-launcher-vm-[0-9a-z]{5}$/)
    expect(pod?.metadata.labels).toEqual({
      'example.com/app': 'demo',
      'kubevirt.io': 'virt-launcher',
      'kubevirt.io/created-by': instance?.metadata.uid,
      'vm.kubevirt.io/name': 'vm',
      'vmi.kubevirt.io/id': 'vm',
    })
    expect(JSON.parse(pod?.metadata.annotations?.['k8s.v1.cni.cncf.io/networks'] ?? '')).toEqual([
      {
        name: 'net',
        namespace: 'team',
        mac: '02:1A:2b:3c:4d:01',
        interface: expect.stringMatching(/^pod[0-9a-f]{11}$/),
      },
    ])
  })

  it('gets its defaults once, and writes nothing more at rest', async () => {
    await running()
    const spec = world.machine('vm')?.spec.template.spec
    expect(spec).toMatchObject({
      architecture: 'amd64',
      domain: { machine: { type: 'q35' }, memory: { guest: '2Gi' } },
    })
    expect(spec?.domain.firmware).toEqual({ uuid: expect.any(String), serial: expect.any(String) })
    expect(world.instance('vm')?.spec.domain).toMatchObject({
      cpu: { sockets: 2, maxSockets: 8, model: 'host-model' },
      memory: { guest: '2Gi', maxGuest: '8Gi' },
      devices: { interfaces: [{ model: 'virtio' }] },
    })
    await world.pass(1_000)
    const written: string[] = []
    world.cluster.onCommit(({ resource: { kind }, object }) => {
      // Of CDI's controller: it is renewed all the time.
      if (kind !== 'Lease') written.push(`${kind} ${object.metadata.name}`)
    })
    await world.pass(600_000)
    expect(written).toEqual([])
  })

  it('goes on under simulators that start anew', async () => {
    world.createClaim('root')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Starting')
    await world.startSimulators()
    await world.untilStatus('vm', 'Running')
    expect(world.pods()).toHaveLength(1)
  })
})

describe('a virtual machine whose disk is not there yet', () => {
  it.each(['', 'Pending', 'CloneScheduled'])('lacks its claim while the DataVolume is "%s"', async (phase) => {
    world.createScriptedDataVolume('root')
    if (phase !== '') world.setDataVolume('root', phase)
    world.createMachine('vm', 'root')
    const machine = await world.untilStatus('vm', 'ErrorPvcNotFound')
    expect(machine.status?.created).toBe(true)
    expect(short(machine, 'Synchronized')).toBe(`False/FailedPvcNotFound/${NO_CLAIM}`)
    expect(short(machine, 'PodScheduled')).toBe(`False/Unschedulable/${NO_CLAIM}`)
    expect(short(machine, 'Ready')).toContain('False/')
  })

  it('is unschedulable with the stale text while the clone of a claim that came later goes on', async () => {
    await world.createSnapshot('golden')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'ErrorPvcNotFound')
    const go = world.simulators.cdi.script({ name: 'root' }, { type: 'cloneStalls' })
    world.createClone('root', 'golden')
    const machine = await world.untilStatus('vm', 'ErrorUnschedulable')
    expect(short(machine, 'PodScheduled')).toBe(`False/Unschedulable/${NO_CLAIM}`)
    expect(short(machine, 'Synchronized')).toBeUndefined()
    await world.pass(60_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('ErrorUnschedulable')
    expect(world.pods()).toEqual([])
    go()
    await world.untilStatus('vm', 'Running')
    expect(short(world.machine('vm'), 'PodScheduled')).toBeUndefined()
  })

  it('is provisioning when claim and DataVolume were there before it', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'root' }, { type: 'cloneStalls' })
    world.createClone('root', 'golden')
    await world.untilPhase('root', 'CloneFromSnapshotSourceInProgress')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Provisioning')
    const notReady = () => short(world.machine('vm'), 'DataVolumesReady')?.startsWith('False/NotAllDVsReady') === true
    await world.until('NotAllDVsReady', notReady)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Provisioning')
  })

  it('is provisioning while the claim is bound and the DataVolume is not done', async () => {
    world.createClaim('root')
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'CloneInProgress')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Provisioning')
    world.setDataVolume('root', 'Succeeded')
    await world.untilStatus('vm', 'Running')
  })

  it('waits for binding while its launcher pod is the first consumer of a clone', async () => {
    await world.createSnapshot('golden')
    world.simulators.cdi.script({ name: 'root' }, { type: 'slowClone', delayMs: 1_000 })
    world.createClone('root', 'golden', { storageClassName: 'late' })
    await world.untilPhase('root', 'PendingPopulation')
    await world.pass(60_000)
    expect(world.dataVolume('root')?.status?.phase).toBe('PendingPopulation')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Running')
    const shown = world.shown.get(KEY) ?? []
    expect(shown.indexOf('WaitingForVolumeBinding')).toBeLessThan(shown.indexOf('Provisioning'))
    expect(shown).toContain('WaitingForVolumeBinding')
  })

  it('waits for binding when the DataVolume is in WaitForFirstConsumer', async () => {
    world.createClaim('root', TEAM, '1Gi', { storageClassName: 'late' })
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'WaitForFirstConsumer')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'WaitingForVolumeBinding')
    await world.until('the condition', () => short(world.machine('vm'), 'Provisioning') === 'True')
    expect(world.machine('vm')?.status?.printableStatus).toBe('WaitingForVolumeBinding')
  })

  it.each(['Error', 'ImagePullFailed'])('shows DataVolumeError while the importer is in %s', async (reason) => {
    world.createClaim('root')
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'ImportInProgress', { type: 'Running', status: 'False', reason })
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'DataVolumeError')
    world.setDataVolume('root', 'ImportInProgress', { type: 'Running', status: 'True', reason: 'Pod is running' })
    await world.untilStatus('vm', 'Provisioning')
  })

  it('fails with a failed DataVolume, and starts by itself later', async () => {
    world.createClaim('root')
    world.createScriptedDataVolume('root')
    world.setDataVolume('root', 'Failed')
    world.createMachine('vm', 'root')
    await world.until('a failed start', () => world.machine('vm')?.status?.startFailure?.consecutiveFailCount === 1)
    await world.untilStatus('vm', 'DataVolumeError')
    world.setDataVolume('root', 'Succeeded')
    await world.untilStatus('vm', 'CrashLoopBackOff')
    await world.untilStatus('vm', 'Running')
    expect(world.machine('vm')?.status?.startFailure).toBeUndefined()
  })
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
    world.create(NETWORK_ATTACHMENT_DEFINITION, { namespace: TEAM, name: 'net' })
    await world.untilStatus('vm', 'Running')
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

describe('a running virtual machine', () => {
  it('stops and starts again when its instance is deleted', async () => {
    await running()
    const before = world.instance('vm')?.metadata.uid
    world.deleteInstance('vm')
    await world.untilStatus('vm', 'Stopping')
    await world.untilStatus('vm', 'Running')
    expect(world.shown.get(KEY)?.slice(-4)).toEqual(['Stopping', 'Stopped', 'Starting', 'Running'])
    expect(world.instance('vm')?.metadata.uid).not.toBe(before)
    expect(world.machine('vm')?.status?.startFailure).toBeUndefined()
  })

  it.each(['guestShutdown', 'guestCrash'] as const)('starts again at once after a %s', async (type) => {
    world.simulators.kubevirt.script({ name: 'vm' }, { type, afterMs: 500 }, { times: 1 })
    await running()
    await world.untilStatus('vm', 'Stopped')
    const stoppedMs = world.time.elapsedMs
    await world.untilStatus('vm', 'Running')
    expect(world.time.elapsedMs - stoppedMs).toBeLessThan(5_000)
    expect(world.shown.get(KEY)).not.toContain('CrashLoopBackOff')
  })

  it('may be not ready', async () => {
    const go = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'neverReady' })
    await running()
    await world.until(
      'its reason',
      () => short(world.machine('vm'), 'Ready')?.includes('/ContainersNotReady/') === true,
    )
    go()
    await world.until('ready', () => short(world.machine('vm'), 'Ready') === 'True')
  })

  it('stays stopped when it is halted', async () => {
    await running()
    const halt = { spec: { runStrategy: 'Halted' } }
    world.cluster.admin.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' }, halt)
    await world.untilStatus('vm', 'Stopped')
    await world.pass(60_000)
    expect(world.instance('vm')).toBeUndefined()
    expect(short(world.machine('vm'), 'Ready')).toBe('False/VMINotExists/VMI does not exist')
  })

  it('goes after its instance and pod, and leaves the disk', async () => {
    await running()
    const gone: string[] = []
    world.cluster.onCommit(({ type, object }) => {
      if (type === 'DELETED' && object.kind !== 'Event') gone.push(object.kind)
    })
    const options = { propagationPolicy: 'Foreground' } as const
    world.cluster.admin.delete(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' }, options)
    await world.untilStatus('vm', 'Terminating')
    await world.until('the end', () => world.machine('vm') === undefined)
    expect(gone).toEqual(['Pod', 'VirtualMachineInstance', 'VirtualMachine'])
    expect(world.claim('root')).toBeDefined()
  })

  it('holds its claim until it is gone', async () => {
    await running()
    world.cluster.admin.delete(PERSISTENT_VOLUME_CLAIM, { namespace: TEAM, name: 'root' })
    await world.pass(60_000)
    expect(world.claim('root')?.metadata.deletionTimestamp).toBeDefined()
    world.cluster.admin.delete(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' })
    await world.until('the end of the claim', () => world.claim('root') === undefined)
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
