import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, NAMESPACE, SECRET } from '../../../operator/kube/resource-types.ts'
import { IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { MACHINE, type Machine } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { PASSWORD } from '../oracle/secrets.ts'
import { aSpec, FARM, SimulatedOperator, TEAM, TEMPLATE } from '../simulated-operator.ts'

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])
let world: SimulatedOperator

/** Name and UID of the only object of a kind in the namespace of machines. */
const childIn = (type: ResourceType): string => {
  const { items } = world.simulated.cluster.admin.list(type, { namespace: TEAM })
  return items.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).join()
}

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
    expect(world.condition('vm', 'Stalled')).toMatchObject({ status: 'True', reason: 'ImageNotFound' })
    expect(world.vm('vm')?.status?.message).toContain('VMDiskImage farm/golden does not exist')
    await world.pass(10 * MINUTE)
    expect([world.image('golden'), world.vm('vm')?.status?.phase]).toEqual([undefined, 'Failed'])
    world.createImage('golden', { suspend: true })
    await world.untilPhase('vm', 'Provisioning')
    world.patch(IMAGE, { namespace: FARM, name: 'golden' }, { spec: { suspend: false } })
    await world.untilReady('vm')
    expect(world.image('golden')?.metadata.labels?.[LABELS.createdBy]).toBeUndefined()
  })

  it('FailIfNotExist does not have one created again that was deleted before the disk was made', async () => {
    world = await SimulatedOperator.start()
    world.createImage('golden', { suspend: true })
    world.create('vm', { vmDiskImageMode: 'FailIfNotExist' })
    await world.untilReason('vm', 'WaitingForImage')
    world.delete(IMAGE, FARM, 'golden')
    await world.untilReason('vm', 'ImageNotFound')
    await world.pass(10 * MINUTE)
    expect([world.image('golden'), world.vm('vm')?.status?.phase]).toEqual([undefined, 'Failed'])
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { vmDiskImageMode: 'CreateIfNotExist' } })
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

  describe('that its template made with a wrong URL', () => {
    const WRONG = 'https://images.example.com/none/vm.qcow2'
    const change = (name: string, template: object) =>
      world.patch(MACHINE, { namespace: TEAM, name }, { spec: { vmDiskImageTemplate: template } })
    const downloads = () => world.simulated.simulators.cdi.observed.image(TEMPLATE.url).attempts

    async function failed(...names: readonly string[]) {
      world = await SimulatedOperator.start({ retryLimit: '0' })
      const message = 'Unable to process data: expected status code 200, got 404. Status: 404 Not Found'
      world.simulated.simulators.cdi.script({ namespace: FARM, image: WRONG }, { type: 'error', message })
      for (const name of names) world.create(name, { vmDiskImageTemplate: { ...TEMPLATE, url: WRONG } })
      for (const name of names) await world.untilReason(name, 'ImageFailed')
      const { uid, generation = 0 } = world.image('golden')?.metadata ?? {}
      return { uid, generation }
    }

    it('is corrected with the template, and the machine runs without any other help', async () => {
      const { uid } = await failed('vm')
      expect(world.vm('vm')?.status?.message).toContain(
        'correct spec.vmDiskImageTemplate, and the image is corrected with it',
      )
      change('vm', TEMPLATE)
      await world.untilReady('vm')
      expect(world.image('golden')).toMatchObject({ metadata: { uid }, spec: { url: TEMPLATE.url } })
      expect([downloads(), world.condition('vm', 'ImageMismatch')]).toEqual([1, undefined])
      expect(world.events('vm').filter((reason) => reason === 'ImageCorrected')).toHaveLength(1)
    })

    it.each([
      ['is gone', () => world.delete(MACHINE, TEAM, 'other')],
      ['wants the same', () => change('other', TEMPLATE)],
    ])('stays as it is while another machine wants something else, and is corrected once that %s', async (_, agree) => {
      const { uid, generation } = await failed('vm', 'other')
      change('vm', TEMPLATE)
      await world.pass(10 * MINUTE)
      expect(world.image('golden')?.metadata).toMatchObject({ uid, generation })
      expect(world.vm('vm')?.status?.message).toContain(`VirtualMachine team/other wants url "${WRONG}"`)
      expect(world.vm('vm')?.status?.message).toContain('kubectl -n farm edit vmdi golden')
      agree()
      await world.untilReady('vm')
      await world.until('both', () => world.vm('other')?.status?.phase !== 'Failed')
      expect(world.image('golden')).toMatchObject({
        metadata: { uid, generation: generation + 1 },
        spec: { url: TEMPLATE.url },
      })
      expect(downloads()).toBe(1)
    })
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
  it('keeps the image and nothing else, until it is false, and on again changes nothing', async () => {
    world = await SimulatedOperator.start()
    const ignore = (ignoreOnDeploy: boolean) =>
      world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { ignoreOnDeploy } })
    world.create('vm', { ignoreOnDeploy: true })
    await world.untilReason('vm', 'IgnoredOnDeploy')
    const { uid } = world.image('golden')?.metadata ?? {}
    expect([world.vm('vm')?.status?.phase, world.leftIn(TEAM)]).toEqual(['Ready', ['VirtualMachine/vm']])
    // It refers to the image, but does not use it: the image is deleted, and created again.
    world.delete(IMAGE, FARM, 'golden')
    await world.until('another image', () => ![undefined, uid].includes(world.image('golden')?.metadata.uid))
    await world.until('its artifact', () => world.image('golden')?.status?.phase === 'Succeeded')
    await world.untilReason('vm', 'IgnoredOnDeploy')
    expect(world.leftIn(TEAM)).toEqual(['VirtualMachine/vm'])

    ignore(false)
    await world.untilReason('vm', 'Running')
    const children = () => [KUBEVIRT_VIRTUAL_MACHINE, DATA_VOLUME, SECRET].map((type) => childIn(type))
    const made = children()
    ignore(true)
    await world.untilReason('vm', 'NotDeployedAnyMore')
    await world.pass(MINUTE)
    expect(children()).toEqual(made)
    ignore(false)
    await world.untilReason('vm', 'Running')
    expect(children()).toEqual(made)
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
})
