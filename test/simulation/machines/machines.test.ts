import { afterEach, describe, expect, it } from 'vitest'
import type { ListOptions } from '../../../operator/kube/kube-client.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  SECRET,
} from '../../../operator/kube/resource-types.ts'
import { IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { aSpec, FARM, MACHINE, type Machine, MachineWorld, PASSWORD, TEAM, TEMPLATE } from './machine-world.ts'

const MINUTE = 60_000
const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])
let world: MachineWorld
afterEach(() => world.stop())

async function start(...args: Parameters<typeof MachineWorld.start>): Promise<void> {
  world = await MachineWorld.start(...args)
}

describe('a machine that comes before its image', () => {
  it('has it made from the template, waits, is cloned and runs, in that order', async () => {
    await start()
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
      await start()
      if (isThere) {
        world.createImage('golden')
        await world.until('the image', () => world.image('golden')?.status?.phase === 'Succeeded')
        // Its operator has the answer by then.
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
      // When the guest is first seen to run has to be noted, at whatever moment that is.
      const repeated = lines.filter((line, at) => line === lines[at - 1])
      // One that is made by the machine may be seen before it has a place in the queue, and then has one.
      expect([repeated.length <= 1, lines.length <= (isThere ? 9 : 10)], lines.join('\n')).toEqual([true, true])
    },
  )

  it('writes nothing once it runs', async () => {
    await start()
    world.create('vm')
    await world.untilReady('vm')
    await world.pass(MINUTE)
    world.written.length = 0
    await world.pass(30 * MINUTE)
    expect(world.written).toEqual([])
  })

  it('tells the place of the image in the queue', async () => {
    await start({ concurrency: '0' })
    world.createImage('first')
    await world.pass(1_000)
    world.create('vm')
    await world.until('the place', () => world.vm('vm')?.status?.image?.queuePosition === 2)
    expect(world.vm('vm')?.status?.image?.queuePositionTime).toBe(world.image('golden')?.status?.queuePositionTime)
  })

  it('tells the place of the image in the queue as soon as it has one, also when it has seen the image before', async () => {
    await start({ concurrency: '0' })
    const hasTold = () => world.vm('vm')?.status?.message?.includes('is new') === true
    world.fateOf = ({ verb, resource }) =>
      resource === IMAGE && !READS.has(verb) && verb !== 'create' && !hasTold()
        ? { kind: 'refuse', status: 503, answerMs: 1 }
        : undefined
    world.create('vm')
    await world.until('the machine to tell of an image without a place', hasTold)
    await world.until('a place', () => world.image('golden')?.status?.queuePosition === 1)
    await world.pass(2_000)
    expect(world.vm('vm')?.status?.image?.queuePosition).toBe(1)
  })
})

describe('hundreds of machines in one namespace', () => {
  it('do not keep a machine of another namespace waiting', async () => {
    await start()
    world.createImage('golden')
    await world.until('the image', () => world.image('golden')?.status?.phase === 'Succeeded')
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
    await start()
    world.create('vm', { vmDiskImageMode: 'FailIfNotExist' })
    await world.untilPhase('vm', 'Failed')
    expect(world.vm('vm')?.status?.message).toContain('VMDiskImage farm/golden does not exist')
    expect(world.image('golden')).toBeUndefined()
    world.createImage('golden')
    await world.untilReady('vm')
  })

  it('and without a template it waits until somebody makes one', async () => {
    await start()
    const spec = { resources: { cpu: 1, memory: '1Gi' }, vmDiskImageRef: { name: 'golden', namespace: FARM } }
    world.simulated.create(MACHINE, { namespace: TEAM, name: 'vm' }, { spec })
    await world.untilReason('vm', 'ImageNotFound')
    expect(world.vm('vm')?.status?.phase).toBe('Provisioning')
    world.createImage('golden')
    await world.untilReady('vm')
  })

  it('in a namespace that does not exist it says so', async () => {
    await start()
    world.create('vm', { vmDiskImageRef: { name: 'golden', namespace: 'nowhere' } })
    await world.untilReason('vm', 'ImageMissing')
    expect(world.vm('vm')?.status?.message).toContain('namespace nowhere does not exist')
    world.simulated.create(NAMESPACE, { name: 'nowhere' })
    await world.untilReady('vm')
  })
})

describe('an image', () => {
  it('that differs from the template counts, and that is said', async () => {
    await start()
    world.createImage('golden', { diskSize: '2Gi' })
    world.create('vm')
    await world.untilReady('vm')
    expect(world.condition('vm', 'ImageMismatch')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('diskSize'),
    })
    expect(world.events('vm').filter((reason) => reason === 'ImageMismatch')).toHaveLength(1)
  })

  it('that its template made with a wrong URL follows the template as long as nobody else names it', async () => {
    await start({ retryLimit: '0' })
    const wrong = 'https://images.example.com/none/vm.qcow2'
    const template = { ...TEMPLATE, url: wrong }
    const message = 'Unable to process data: expected status code 200, got 404. Status: 404 Not Found'
    world.simulated.simulators.cdi.script({ namespace: FARM, image: wrong }, { type: 'error', message })
    world.create('vm', { vmDiskImageTemplate: template })
    await world.untilReason('vm', 'ImageFailed')
    world.create('other', { vmDiskImageTemplate: template })
    await world.untilReason('other', 'ImageFailed')
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { vmDiskImageTemplate: TEMPLATE } })
    await world.pass(10 * MINUTE)
    expect(world.image('golden')?.spec.url).toBe(wrong)
    expect(world.vm('vm')?.status?.message).toMatch(/differs in url: kubectl -n farm delete vmdi golden$/)
    expect(world.vm('vm')?.status?.message).toContain('kubectl -n farm edit vmdi golden')

    world.delete(MACHINE, TEAM, 'other')
    await world.untilReady('vm')
    expect(world.image('golden')?.spec.url).toBe(TEMPLATE.url)
    expect(world.events('vm').filter((reason) => reason === 'ImageCorrected')).toHaveLength(1)
  })

  it('that is deleted while a machine uses it goes when the machine goes', async () => {
    await start()
    world.create('vm')
    await world.untilReady('vm')
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
    await start()
    world.create('vm')
    await world.untilReady('vm')
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

  it('that is being deleted when the machine comes is waited for, and made anew', async () => {
    await start()
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
    await start({ reclaimPolicy: 'Delete', unreferencedTTL: '1h' })
    world.create('vm')
    await world.untilReady('vm')
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end of the machine', () => world.vm('vm') === undefined)
    await world.pass(59 * MINUTE)
    expect(world.image('golden')?.status?.unreferencedSince).toBeDefined()
    await world.pass(2 * MINUTE)
    expect(world.image('golden')).toBeUndefined()
  })
})

describe('a machine that hangs', () => {
  it('is kicked within its budget, has failed then, and recovers by itself', async () => {
    await start({ vmProvisionTimeout: '2m', kickLimit: '2' })
    const end = world.simulated.simulators.kubevirt.script({ namespace: TEAM, name: 'vm' }, { type: 'neverReady' })
    world.create('vm')
    await world.untilPhase('vm', 'Failed')
    expect(world.events('vm')).toContain('Kicked')
    expect(world.vm('vm')?.status?.kicks?.count).toBe(2)
    expect(world.reason('vm')).toBe('KickBudgetSpent')
    const disk = world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid
    end()
    await world.untilReady('vm')
    expect(world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid).toBe(disk)
  })
})

describe('a machine that does not start', () => {
  const VM = { namespace: TEAM, name: 'vm' }
  const SANDBOX = 'failed to setup network for sandbox "<id>": no such bridge'
  const network = () => world.simulated.create(NETWORK_ATTACHMENT_DEFINITION, { namespace: TEAM, name: 'control-net' })
  const messages = () => {
    const told: string[] = []
    world.onOperatorCommit = ({ resource, object }) => {
      const { message = '' } = (object as { status?: { message?: string } }).status ?? {}
      if (resource.group === MACHINE.group && resource.kind === MACHINE.kind && told.at(-1) !== message)
        told.push(message)
    }
    return told
  }

  it.each([
    [
      'notCreated',
      { type: 'notCreated', message: SANDBOX, everyMs: 15_000 },
      'FailedCreatePodSandBox: failed to setup network for sandbox "…": no such bridge',
    ],
    [
      'a mount',
      { type: 'notCreated', message: 'no disk', reason: 'FailedMount', everyMs: MINUTE },
      'FailedMount: no disk',
    ],
    ['imagePull', { type: 'imagePull' }, 'Failed to pull image'],
  ] as const)(
    'says why, in one sentence that stays, and goes on when that is gone: %s',
    async (_what, fault, sentence) => {
      await start({ vmProvisionTimeout: '10m' })
      const end = world.simulated.simulators.kubevirt.script(VM, fault)
      world.create('vm')
      await world.untilReason('vm', 'PodNotStarting')
      expect(world.vm('vm')?.status?.message).toContain(sentence)
      const told = messages()
      world.written.length = 0
      await world.pass(5 * MINUTE)
      expect(world.written).toEqual([])
      expect(world.events('vm').filter((reason) => reason === 'PodNotStarting')).toHaveLength(1)
      await world.untilPhase('vm', 'Failed')
      expect(world.reason('vm')).toBe('Timeout')
      expect(world.vm('vm')?.status?.message).toContain(sentence)
      expect(world.vm('vm')?.status?.kicks).toBeUndefined()
      await world.pass(5 * MINUTE)
      expect(told).toHaveLength(1)
      end()
      await world.untilReady('vm')
    },
  )

  it('for want of a network names it, and goes on when it is there', async () => {
    await start()
    world.simulated.deleteNetwork('control-net')
    world.create('vm')
    await world.untilReason('vm', 'NetworkMissing')
    expect(world.condition('vm', 'Ready')).toMatchObject({
      status: 'False',
      reason: 'NetworkMissing',
      message: expect.stringContaining('NetworkAttachmentDefinition control-net'),
    })
    network()
    await world.untilReady('vm')
  })

  it('for want of Multus says so', async () => {
    await start()
    world.simulated.cluster.uninstall(NETWORK_ATTACHMENT_DEFINITION)
    world.create('vm')
    await world.untilReason('vm', 'NetworkMissing')
    expect(world.vm('vm')?.status?.message).toContain('install Multus')
    world.simulated.cluster.install(NETWORK_ATTACHMENT_DEFINITION)
    network()
    await world.untilReady('vm')
  })

  it('is looked at at most every half minute, with all others of its namespace, and not at all once it runs', async () => {
    await start({ concurrency: '10' })
    const looks: number[] = []
    world.fateOf = ({ verb, resource, body }) => {
      // One look may take several pages.
      const isFirstPage = (body as ListOptions | undefined)?.continueToken === undefined
      if (verb === 'list' && resource.kind === 'Event' && isFirstPage) looks.push(world.simulated.time.elapsedMs)
      return undefined
    }
    world.create('good')
    await world.untilReady('good')
    await world.pass(5 * MINUTE)
    expect(looks).toEqual([])
    const end = world.simulated.simulators.kubevirt.script(
      {},
      { type: 'notCreated', message: 'no disk', everyMs: MINUTE },
    )
    const names = Array.from({ length: 20 }, (_, number) => `vm-${number}`)
    for (const name of names) world.create(name)
    for (const name of names) await world.untilReason(name, 'PodNotStarting')
    await world.pass(5 * MINUTE)
    const waits = looks.slice(1).map((at, number) => at - (looks[number] ?? 0))
    expect(looks.length).toBeGreaterThan(9)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(30_000)
    end()
    for (const name of names) await world.untilReady(name)
    looks.length = 0
    await world.pass(5 * MINUTE)
    expect(looks).toEqual([])
  })

  it.each([
    ['before its time is over', '60m', 'PodNotStarting'],
    ['after that', '2m', 'Timeout'],
  ])('is not told of anew by another process, %s', async (_what, vmProvisionTimeout, reason) => {
    await start({ vmProvisionTimeout })
    world.simulated.simulators.kubevirt.script(VM, { type: 'notCreated', message: 'no disk', everyMs: MINUTE })
    world.create('vm')
    await world.untilReason('vm', reason)
    await world.pass(MINUTE)
    expect(world.vm('vm')?.status?.message).toContain('no disk')
    world.written.length = 0
    for (let restart = 0; restart < 3; restart += 1) {
      world.killOperator()
      await world.pass(MINUTE)
      world.startOperator()
      await world.pass(2 * MINUTE)
    }
    expect(world.written.filter((line) => line.includes(' VirtualMachine '))).toEqual([])
  })
})

describe('what somebody changes', () => {
  it.each([
    ['its machine', KUBEVIRT_VIRTUAL_MACHINE, 'vm'],
    ['its Secret', SECRET, 'vm-cloudinit'],
  ] as const)('%s comes back when it is deleted', async (_name, type, name) => {
    await start()
    world.create('vm')
    await world.untilReady('vm')
    const { uid } = world.find(type, TEAM, name)?.metadata ?? {}
    const uuid = uuidOf(world)
    world.delete(type, TEAM, name)
    await world.until('another', () => ![undefined, uid].includes(world.find(type, TEAM, name)?.metadata.uid))
    await world.until('ready again', () => world.vm('vm')?.status?.phase === 'Ready')
    // Another one, and cloud-init would take it for another machine.
    expect(uuidOf(world)).toBe(uuid)
  })

  it('its disk lasts as long as the guest runs, when it is deleted, and is made anew then', async () => {
    await start()
    world.create('vm')
    await world.untilReady('vm')
    const { uid } = world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata ?? {}
    world.delete(DATA_VOLUME, TEAM, 'vm-root')
    await world.pass(10 * MINUTE)
    expect(world.vm('vm')?.status?.phase).toBe('Ready')
    expect(world.simulated.claim('vm-root')?.metadata.deletionTimestamp).toBeDefined()
    world.simulated.deleteInstance('vm')
    await world.until(
      'another',
      () => ![undefined, uid].includes(world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid),
    )
    await world.until('ready again', () => world.vm('vm')?.status?.phase === 'Ready')
  })

  it.each(['Background', 'Foreground', 'Orphan'] as const)(
    'its disk, deleted with %s while the guest runs, does not end the guest',
    async (propagationPolicy) => {
      await start()
      world.create('vm')
      await world.untilReady('vm')
      const { uid } = world.find(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.metadata ?? {}
      const instance = world.simulated.instance('vm')?.metadata.uid
      const disk = { namespace: TEAM, name: 'vm-root' }
      world.simulated.cluster.admin.delete(DATA_VOLUME, disk, { propagationPolicy })
      await world.pass(2 * 60 * MINUTE)
      expect(world.find(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.metadata.uid).toBe(uid)
      expect(world.simulated.instance('vm')?.metadata.uid).toBe(instance)
      expect(world.vm('vm')?.status?.phase).toBe('Ready')
      const warning = expect.stringContaining('its disk is being deleted')
      if (propagationPolicy !== 'Orphan') expect(world.vm('vm')?.status?.message).toEqual(warning)
    },
  )

  it('in its machine is repaired', async () => {
    await start()
    world.create('vm')
    await world.untilReady('vm')
    world.patch(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { runStrategy: 'Halted' } })
    await world.until(
      'the repair',
      () =>
        (world.find<KubeObject & { spec: { runStrategy: string } }>(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.spec
          .runStrategy ?? '') === 'Always',
    )
  })

  it('about users after the first start asks for a rebuild', async () => {
    await start()
    world.create('vm')
    await world.untilReady('vm')
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { users: [{ name: 'other' }] } })
    await world.until('the condition', () => world.condition('vm', 'RebuildRequired')?.status === 'True')
  })
})

describe('an API server that does not take what is needed', () => {
  it.each([
    ['its disk', DATA_VOLUME],
    ['its Secret', SECRET],
    ['its machine', KUBEVIRT_VIRTUAL_MACHINE],
  ] as const)('%s is asked for again after growing waits, and told once', async (_name, type) => {
    await start()
    let refused = 0
    world.fateOf = ({ verb, resource, body }) => {
      if (verb !== 'create' || resource !== type || (body as KubeObject).metadata.namespace !== TEAM) return undefined
      refused += 1
      return { kind: 'refuse', status: 500, answerMs: 1 }
    }
    world.create('vm')
    await world.until('a refusal', () => refused > 0)
    world.written.length = 0
    await world.pass(5 * MINUTE)
    expect(refused).toBeGreaterThan(3)
    expect(refused).toBeLessThan(30)
    expect(world.written.filter((line) => line === 'MODIFIED VirtualMachine team/vm').length).toBeLessThan(5)
    world.fateOf = () => undefined
    await world.untilReady('vm')
  })
})

describe('a kind that is not installed', () => {
  it.each([
    ['KubeVirtMissing', KUBEVIRT_VIRTUAL_MACHINE],
    ['CDIMissing', DATA_VOLUME],
  ])('is said, and waited for: %s', async (reason, type) => {
    await start()
    world.createImage('golden')
    await world.until('the image', () => world.image('golden')?.status?.phase === 'Succeeded')
    world.simulated.cluster.uninstall(type)
    await world.pass(MINUTE)
    world.create('vm')
    await world.untilReason('vm', reason)
    // Longer than a machine has to become ready: nothing of that is its fault.
    await world.pass(40 * MINUTE)
    expect(world.vm('vm')?.status?.phase).toBe('Provisioning')
    world.simulated.cluster.install(type)
    await world.untilReady('vm')
  })
})

describe('ignoreOnDeploy', () => {
  it('keeps the image and nothing else, until it is false', async () => {
    await start()
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

describe('a foreign object', () => {
  it.each([
    ['VirtualMachine', KUBEVIRT_VIRTUAL_MACHINE, 'vm', { runStrategy: 'Halted' }],
    [
      'DataVolume',
      DATA_VOLUME,
      'vm-root',
      { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } },
    ],
    ['Secret', SECRET, 'vm-cloudinit', undefined],
  ] as const)('%s with the name that it needs is left alone', async (kind, type, name, spec) => {
    await start()
    const foreign = world.simulated.create(type, { namespace: TEAM, name }, spec === undefined ? {} : { spec })
    world.create('vm')
    await world.untilPhase('vm', 'Failed')
    expect(world.vm('vm')?.status?.message).toContain(`${kind} ${name}`)
    expect(world.find(type, TEAM, name)?.metadata.uid).toBe(foreign.metadata.uid)
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end', () => world.vm('vm') === undefined)
    expect(world.find(type, TEAM, name)?.metadata.uid).toBe(foreign.metadata.uid)
  })
})

describe('a password', () => {
  it('from a Secret is waited for, and is in no status, event, log, metric or other object', async () => {
    await start()
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
    await start()
    world.create('vm')
    await world.untilReady('vm')
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
    await start()
    world.create('vm')
    await world.untilReady('vm')
    world.simulated.cluster.admin.delete(NAMESPACE, { name: namespace })
    await world.until('the end', () => world.find(NAMESPACE, undefined as never, namespace) === undefined)
  })
})

function uuidOf(world: MachineWorld): string | undefined {
  interface Guest extends KubeObject {
    readonly spec: {
      readonly template: { readonly spec: { readonly domain: { readonly firmware?: { uuid: string } } } }
    }
  }
  return world.find<Guest>(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.spec.template.spec.domain.firmware?.uuid
}
