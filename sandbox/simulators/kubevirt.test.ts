import { beforeEach, describe, expect, it } from 'vitest'
import { KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM, SECRET } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, short, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'

const KEY = `${TEAM}/vm`

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

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
    await world.runMachine()
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
    await world.runMachine()
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
      // The Lease of CDI's controller is renewed all the time.
      if (kind !== 'Lease') written.push(`${kind} ${object.metadata.name}`)
    })
    await world.pass(600_000)
    expect(written).toEqual([])
  })

  it('goes on under simulators that are restarted', async () => {
    world.createClaim('root')
    world.createMachine('vm', 'root')
    await world.untilStatus('vm', 'Starting')
    await world.startSimulators()
    await world.untilStatus('vm', 'Running')
    expect(world.pods()).toHaveLength(1)
  })
})

describe('a running virtual machine', () => {
  it('stops and starts again when its instance is deleted', async () => {
    await world.runMachine()
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
    await world.runMachine()
    await world.untilStatus('vm', 'Stopped')
    const stoppedMs = world.time.elapsedMs
    await world.untilStatus('vm', 'Running')
    expect(world.time.elapsedMs - stoppedMs).toBeLessThan(5_000)
    expect(world.shown.get(KEY)).not.toContain('CrashLoopBackOff')
  })

  it('may be not ready', async () => {
    const go = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'neverReady' })
    await world.runMachine()
    await world.until(
      'its reason',
      () => short(world.machine('vm'), 'Ready')?.includes('/ContainersNotReady/') === true,
    )
    go()
    await world.until('ready', () => short(world.machine('vm'), 'Ready') === 'True')
  })

  it('stays stopped when it is halted', async () => {
    await world.runMachine()
    const halt = { spec: { runStrategy: 'Halted' } }
    world.cluster.admin.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' }, halt)
    await world.untilStatus('vm', 'Stopped')
    await world.pass(60_000)
    expect(world.instance('vm')).toBeUndefined()
    expect(short(world.machine('vm'), 'Ready')).toBe('False/VMINotExists/VMI does not exist')
  })

  it('goes after its instance and pod, and leaves the disk', async () => {
    await world.runMachine()
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
    await world.runMachine()
    world.cluster.admin.delete(PERSISTENT_VOLUME_CLAIM, { namespace: TEAM, name: 'root' })
    await world.pass(60_000)
    expect(world.claim('root')?.metadata.deletionTimestamp).toBeDefined()
    world.cluster.admin.delete(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' })
    await world.until('the end of the claim', () => world.claim('root') === undefined)
  })
})
