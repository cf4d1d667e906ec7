import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, NAMESPACE, SECRET } from '../../../operator/kube/resource-types.ts'
import { IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { MACHINE, type Machine } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { PASSWORD } from '../oracle/secrets.ts'
import { aSpec, FARM, SimulatedOperator, TEAM, TEMPLATE } from '../simulated-operator.ts'

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])
let world: SimulatedOperator

describe('a machine that comes before its image', () => {
  it('has it made from the template, waits, is cloned and runs, in that order', async () => {
    world = await SimulatedOperator.start()
    world.create('vm')
    const { status } = await world.untilReady('vm')
    expect(world.image('golden')?.metadata.labels).toMatchObject({ 'pelotech.ot/created-by': 'VirtualMachine' })
    expect(world.image('golden')?.metadata.ownerReferences).toBeUndefined()
    expect(world.image('golden')?.status).toMatchObject({
      phase: 'Succeeded',
      references: { count: 1, names: ['VirtualMachine/team/vm'] },
    })
    expect(status).toMatchObject({
      addresses: ['10.10.0.161'],
      kubevirt: { name: 'vm', printableStatus: 'Running' },
      clone: { name: 'vm-root', phase: 'Succeeded' },
    })
    const order = world.written.filter((line) => line.startsWith('ADDED'))
    const at = (line: string) => order.findIndex((one) => one.startsWith(`ADDED ${line}`))
    const steps = [
      'VMDiskImage farm/golden',
      'DataVolume farm/golden',
      'DataVolume team/vm-root',
      'VirtualMachine team/vm',
    ].map(at)
    expect(steps).toEqual(steps.toSorted((a, b) => a - b))
    expect(steps).not.toContain(-1)
  })

  it.each([false, true])(
    'is told in two Events, and in lines that differ where people look; its image is there: %s',
    async (isThere) => {
      world = await SimulatedOperator.start()
      if (isThere) {
        await world.syncImage('golden')
        // By then, the operator has the response to its last write.
        await world.pass(1_000)
      }
      const lines: string[] = []
      world.onOperatorCommit = ({ resource, object }) => {
        const { status = {}, metadata } = object as Machine
        if (resource.kind !== MACHINE.kind || resource.group !== MACHINE.group) return
        const isReady = status.conditions?.find(({ type }) => type === 'Ready')?.status
        lines.push(
          [metadata.finalizers?.length, status.phase, isReady, status.reason, status.image?.queuePosition].join(),
        )
      }
      world.create('vm')
      await world.untilReady('vm')
      await world.pass(MINUTE)
      expect(world.events('vm').toSorted()).toEqual([isThere ? 'Cloning' : 'ImageCreated', 'Running'])
      // The time when the guest is first observed to run must be recorded, whenever that is.
      const repeated = lines.filter((line, at) => line === lines[at - 1])
      // An image that the machine creates may be observed before it has a place in the queue, and again with one.
      expect([repeated.length <= 1, lines.length <= (isThere ? 9 : 10)], lines.join('\n')).toEqual([true, true])
    },
  )

  it('writes nothing once it runs', async () => {
    world = await SimulatedOperator.running()
    await world.pass(MINUTE)
    world.written.length = 0
    await world.pass(30 * MINUTE)
    expect(world.written).toEqual([])
  })

  it('tells the place of the image in the queue', async () => {
    world = await SimulatedOperator.start({ concurrency: '0' })
    world.createImage('first')
    await world.pass(1_000)
    world.create('vm')
    await world.until('the place', () => world.vm('vm')?.status?.image?.queuePosition === 2)
    expect(world.vm('vm')?.status?.image?.queuePositionTime).toBe(world.image('golden')?.status?.queuePositionTime)
  })

  it('tells the place of the image in the queue as soon as it has one, also when it has seen the image before', async () => {
    world = await SimulatedOperator.start({ concurrency: '0' })
    const isReported = () => world.vm('vm')?.status?.message?.includes('is new') === true
    world.fateOf = ({ verb, resource }) =>
      resource === IMAGE && !READS.has(verb) && verb !== 'create' && !isReported()
        ? { kind: 'refuse', status: 503, answerMs: 1 }
        : undefined
    world.create('vm')
    await world.until('the machine to tell of an image without a place', isReported)
    await world.until('a place', () => world.image('golden')?.status?.queuePosition === 1)
    await world.pass(2_000)
    expect(world.vm('vm')?.status?.image?.queuePosition).toBe(1)
  })
})

describe('hundreds of machines in one namespace', () => {
  it('do not keep a machine of another namespace waiting', async () => {
    world = await SimulatedOperator.start()
    await world.syncImage('golden')
    const told = (namespace: string) =>
      world.simulated.cluster.admin
        .list<Machine>(MACHINE, { namespace })
        .items.filter(({ status }) => status?.phase !== undefined).length
    const spec = aSpec()
    for (let at = 0; at < 300; at += 1) world.create(`vm-${at}`)
    world.simulated.create(NAMESPACE, { name: 'honest' })
    await world.until('the first of them', () => told(TEAM) > 0)
    world.simulated.create(MACHINE, { namespace: 'honest', name: 'vm' }, { spec })
    await world.until('the other one', () => told('honest') > 0)
    expect(told(TEAM)).toBeLessThan(100)
  })
})

describe('without an image', () => {
  it('FailIfNotExist is Failed until it appears', async () => {
    world = await SimulatedOperator.start()
    world.create('vm', { vmDiskImageMode: 'FailIfNotExist' })
    await world.untilPhase('vm', 'Failed')
    expect(world.vm('vm')?.status?.message).toContain('VMDiskImage farm/golden does not exist')
    expect(world.image('golden')).toBeUndefined()
    world.createImage('golden')
    await world.untilReady('vm')
  })

  it('and without a template it waits until somebody makes one', async () => {
    world = await SimulatedOperator.start()
    const spec = { resources: { cpu: 1, memory: '1Gi' }, vmDiskImageRef: { name: 'golden', namespace: FARM } }
    world.simulated.create(MACHINE, { namespace: TEAM, name: 'vm' }, { spec })
    await world.untilReason('vm', 'ImageNotFound')
    expect(world.vm('vm')?.status?.phase).toBe('Provisioning')
    world.createImage('golden')
    await world.untilReady('vm')
  })

  it('in a namespace that does not exist it says so', async () => {
    world = await SimulatedOperator.start()
    world.create('vm', { vmDiskImageRef: { name: 'golden', namespace: 'nowhere' } })
    await world.untilReason('vm', 'ImageMissing')
    expect(world.vm('vm')?.status?.message).toContain('namespace nowhere does not exist')
    world.simulated.create(NAMESPACE, { name: 'nowhere' })
    await world.untilReady('vm')
  })
})

describe('an image', () => {
  it('that differs from the template counts, and that is said', async () => {
    world = await SimulatedOperator.start()
    world.createImage('golden', { diskSize: '2Gi' })
    world.create('vm')
    await world.untilReady('vm')
    expect(world.toldBy('vm', 'ImageMismatch')).toMatch(/^True .*diskSize/)
    expect(world.events('vm').filter((reason) => reason === 'ImageMismatch')).toHaveLength(1)
  })

  it('that its template made with a wrong URL follows the template as long as nobody else wants something else', async () => {
    world = await SimulatedOperator.start({ retryLimit: '0' })
    const wrong = 'https://images.example.com/none/vm.qcow2'
    const template = { ...TEMPLATE, url: wrong }
    const notFound = 'Unable to process data: expected status code 200, got 404. Status: 404 Not Found'
    world.simulated.simulators.cdi.script({ namespace: FARM, image: wrong }, { type: 'error', message: notFound })
    world.create('vm', { vmDiskImageTemplate: template })
    await world.untilReason('vm', 'ImageFailed')
    world.create('other', { vmDiskImageTemplate: template })
    await world.untilReason('other', 'ImageFailed')
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { vmDiskImageTemplate: TEMPLATE } })
    await world.pass(10 * MINUTE)
    expect(world.image('golden')?.spec.url).toBe(wrong)
    expect(world.vm('vm')?.status?.message).toContain(`VirtualMachine team/other wants url "${wrong}"`)
    expect(world.vm('vm')?.status?.message).toContain('kubectl -n farm edit vmdi golden')

    world.delete(MACHINE, TEAM, 'other')
    await world.untilReady('vm')
    expect(world.image('golden')?.spec.url).toBe(TEMPLATE.url)
    expect(world.events('vm').filter((reason) => reason === 'ImageCorrected')).toHaveLength(1)
  })

  it('that is deleted while a machine uses it goes when the machine goes', async () => {
    world = await SimulatedOperator.running()
    world.delete(IMAGE, FARM, 'golden')
    await world.until(
      'the block',
      () => world.image('golden')?.status?.conditions?.some(({ type }) => type === 'DeletionBlocked') === true,
    )
    const blocked = world.image('golden')?.status?.conditions?.find(({ type }) => type === 'DeletionBlocked')
    expect(blocked?.message).toContain('VirtualMachine/team/vm')
    await world.pass(10 * MINUTE)
    expect(world.vm('vm')?.status?.phase).toBe('Ready')
    expect(world.image('golden')).toBeDefined()
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end of the machine', () => world.vm('vm') === undefined)
    const goneAt = world.simulated.time.elapsedMs
    await world.until('the end of the image', () => world.image('golden') === undefined)
    expect(world.simulated.time.elapsedMs - goneAt).toBeLessThan(1_000)
  })

  it('that a machine names since its disk was made goes when it is deleted, and so does the one of the disk', async () => {
    world = await SimulatedOperator.running()
    world.createImage('other')
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { vmDiskImageRef: { name: 'other' } } })
    const references = () => ['golden', 'other'].map((name) => world.image(name)?.status?.references?.count)
    await world.until('the reference', () => references().join() === '0,1')
    for (const name of ['other', 'golden']) {
      world.delete(IMAGE, FARM, name)
      await world.until(`the end of ${name}`, () => world.image(name) === undefined)
    }
    await world.pass(MINUTE)
    expect([world.vm('vm')?.status?.phase, references()]).toEqual(['Ready', [undefined, undefined]])
    expect(world.condition('vm', 'ImageReady')).toMatchObject({ reason: 'ImageMissing' })
  })

  it('that is being deleted when the machine comes is waited for, and made again', async () => {
    world = await SimulatedOperator.start()
    world.create('first')
    await world.untilReady('first')
    const { uid } = world.image('golden')?.metadata ?? {}
    world.delete(IMAGE, FARM, 'golden')
    await world.pass(1_000)
    world.create('second')
    await world.untilReason('second', 'ImageTerminating')
    world.delete(MACHINE, TEAM, 'first')
    await world.untilReady('second')
    expect(world.image('golden')?.metadata.uid).not.toBe(uid)
  })

  it('that the machine made goes after its time without references', async () => {
    world = await SimulatedOperator.running({ reclaimPolicy: 'Delete', unreferencedTTL: '1h' })
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end of the machine', () => world.vm('vm') === undefined)
    await world.pass(59 * MINUTE)
    expect(world.image('golden')?.status?.unreferencedSince).toBeDefined()
    await world.pass(2 * MINUTE)
    expect(world.image('golden')).toBeUndefined()
  })
})

describe('ignoreOnDeploy', () => {
  it('keeps the image and nothing else, until it is false', async () => {
    world = await SimulatedOperator.start()
    world.create('vm', { ignoreOnDeploy: true })
    await world.untilReady('vm')
    expect(world.reason('vm')).toBe('IgnoredOnDeploy')
    expect(world.leftIn(TEAM)).toEqual(['VirtualMachine/vm'])
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { ignoreOnDeploy: false } })
    await world.untilReason('vm', 'Running')
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { ignoreOnDeploy: true } })
    await world.untilReason('vm', 'NotDeployedAnyMore')
    await world.pass(MINUTE)
    expect(world.find(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')).toBeDefined()
  })
})

describe('a password', () => {
  it('from a Secret is waited for, and is in no status, event, log, metric or other object', async () => {
    world = await SimulatedOperator.start()
    world.create('vm', {
      users: [{ name: 'demo', passwordSecretRef: { name: 'login', key: 'password' }, lock_passwd: false }],
    })
    await world.untilReason('vm', 'MissingPasswordSecret')
    const data = { password: Buffer.from(`${PASSWORD}\n`).toString('base64') }
    const seen: string[] = []
    world.simulated.cluster.onCommit(({ resource, object }) => {
      if (resource !== SECRET) seen.push(JSON.stringify(object))
    })
    world.simulated.create(SECRET, { namespace: TEAM, name: 'login' }, { data })
    await world.untilReady('vm')
    const secret = world.find<KubeObject & { data?: Record<string, string>; stringData?: Record<string, string> }>(
      SECRET,
      TEAM,
      'vm-cloudinit',
    )
    const userdata =
      secret?.stringData?.['userdata'] ?? Buffer.from(secret?.data?.['userdata'] ?? '', 'base64').toString()
    expect(userdata).toContain(PASSWORD)
    expect(seen.filter((text) => text.includes(PASSWORD))).toEqual([])
    expect(seen.length).toBeGreaterThan(10)
    expect(world.logged.filter((text) => text.includes(PASSWORD))).toEqual([])
    const metrics = await world.replicas[0]?.operator?.metrics.render()
    expect(metrics).toContain('ot_vm_phase')
    expect(metrics).not.toContain(PASSWORD)
  })
})

describe('deletion', () => {
  it('takes machine, disk and Secret, in that order, and leaves the image', async () => {
    world = await SimulatedOperator.running()
    const gone: string[] = []
    world.simulated.cluster.onCommit(({ type, resource, object }) => {
      const isOurs =
        object.metadata.namespace === TEAM &&
        ['VirtualMachine', 'VirtualMachineInstance', 'DataVolume', 'Secret'].includes(resource.kind)
      if (type === 'DELETED' && isOurs) gone.push(`${resource.kind}.${resource.group}`)
    })
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end', () => world.vm('vm') === undefined)
    expect(gone).toEqual([
      'VirtualMachineInstance.kubevirt.io',
      'VirtualMachine.kubevirt.io',
      'DataVolume.cdi.kubevirt.io',
      'Secret.',
      'VirtualMachine.pelotech.ot',
    ])
    expect(world.leftIn(TEAM)).toEqual([])
    expect(world.image('golden')?.status?.phase).toBe('Succeeded')
  })

  it.each([[TEAM], [FARM]])('of namespace %s does not hang', async (namespace) => {
    world = await SimulatedOperator.running()
    world.simulated.cluster.admin.delete(NAMESPACE, { name: namespace })
    await world.until('the end', () => world.find(NAMESPACE, undefined as never, namespace) === undefined)
  })
})
