import { describe, expect, it, onTestFinished } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import type { ScriptedCall } from '../../test/prepared/kube/scripted-client.ts'
import { aLiveReadBench } from '../../test/prepared/runtime/look-bench.ts'
import { isSame } from '../base/equality.ts'
import { type KubeObject, keyOf } from '../kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME } from '../kube/resource-types.ts'
import { ChildRefusals, childId } from './child-refusals.ts'
import { EventRecorder } from './event-recorder.ts'
import { ObjectController } from './object-controller.ts'
import type { ObjectPlan } from './plan.ts'
import { Reflectors } from './reflectors.ts'
import { Store } from './store.ts'

interface WithData extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const LABEL = 'ours'
const OWNER = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata: { name: 'a', namespace: 'n' } }
const ID = (name: string) => `ConfigMap/n/${name}`

/** Starts a controller of one object whose ConfigMaps are cached by a label. `wanted` has names and their data. */
async function start(wanted: Record<string, string>, foreign: readonly string[] = []) {
  const { client, clock, basics } = aLiveReadBench()
  const owner = client.put<KubeObject>(OWNER)
  const { uid = '' } = owner.metadata
  for (const name of foreign)
    client.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n' }, data: { by: 'somebody' } })
  const reflectors = new Reflectors({ ...basics, random: () => 0.5, onRelist: () => undefined })
  const owners = new Store<KubeObject>()
  const configMaps = new Store<WithData>()
  reflectors.add(DATA_VOLUME, owners, (object) => object)
  reflectors.add(CONFIG_MAP, configMaps, (object) => object, { labelSelector: LABEL })
  const childRefusals = new ChildRefusals({ clock, random: () => 1 })
  const isOurs = ({ metadata }: KubeObject) => metadata.ownerReferences?.[0]?.uid === uid
  const plans: { undecided: boolean; told: [string, string][] }[] = []
  const mode = { finalizer: 'keep' as ObjectPlan['finalizer'], applyIf: [] as NonNullable<ObjectPlan['applyIf']> }
  const controller = new ObjectController(
    { ...basics, events: new EventRecorder({ ...basics, component: 'test', instance: 'me' }) },
    reflectors,
    {
      type: DATA_VOLUME,
      children: [{ type: CONFIG_MAP, propagationPolicy: 'Background' }],
      store: owners,
      quietReasons: [],
      states: { reasons: {}, conditions: {} },
      listen: (queue) => [configMaps.onChange(() => queue.add('n/a'))],
      plan: () => {
        const told = [...childRefusals.of(uid)].map(([id, { why }]) => [id, why] as [string, string])
        plans.push({ undecided: childRefusals.isUndecided(uid), told })
        const apply = Object.entries(wanted).map(([name, by]) => child(name, by, uid))
        const isRight = (one: WithData) => {
          const existing = configMaps.get(keyOf(one.metadata))
          return existing !== undefined && isOurs(existing) && isSame(existing.data, one.data)
        }
        return { status: {}, ...mode, apply: apply.filter((one) => !isRight(one)), remove: [], events: [] }
      },
      throttle: () => ({ isStatusDue: false, requeue: undefined }),
      factsBetween: () => ({}),
      childRefusals,
      isOurs,
    },
  )
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  void reflectors.run(stop.signal)
  await reflectors.synced()
  void controller.run(stop.signal)
  const requests = async (ms: number) => {
    client.calls.length = 0
    await clock.advance(ms)
    return client.callsOf('create', 'patch', 'get')
  }
  const told = () => Object.fromEntries(plans.at(-1)?.told ?? [])
  const stored = () => client.all('ConfigMap').map(({ metadata }) => metadata.name)
  return { client, uid, childRefusals, plans, mode, requests, told, stored, clock }
}

function child(name: string, by: string, uid: string): WithData {
  const ownerReferences = [{ ...OWNER, name: 'a', uid, controller: true }].map(({ metadata: _m, ...one }) => one)
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'n', labels: { [LABEL]: 'yes' }, ownerReferences },
    data: { by },
  }
}

const refusing =
  (name: string, error: () => Error, verbs = ['create', 'patch']) =>
  ({ verb, key }: ScriptedCall) => {
    if (verbs.includes(verb) && key === `n/${name}`) throw error()
  }
const invalid = () => apiError('Rejected', { message: 'no such field' })
const forbidden = () => apiError('Rejected', { status: 403, serverReason: 'Forbidden', message: 'exceeded quota' })
const broken = () => apiError('Unavailable', { status: 500, message: 'failed calling webhook' })

describe('a child that is refused', () => {
  it('keeps no other from being written, and the next plan knows of it', async () => {
    const { client, requests, told, stored, childRefusals, uid } = await start({ one: '1', two: '2', three: '3' })
    client.before = refusing('two', invalid)
    await requests(10)
    expect(stored()).toEqual(['one', 'three'])
    expect(told()).toEqual({ [ID('two')]: 'Refused' })
    expect(childRefusals.of(uid).get(ID('two'))?.message).toBe('no such field')
  })

  it('says what to do where an older neighbour lacks a field, instead of leaving it out', async () => {
    const { client, childRefusals, requests, uid } = await start({ one: '1' })
    client.before = refusing('one', () =>
      apiError('Rejected', { status: 400, message: 'strict decoding error: unknown field "spec.new"' }),
    )
    await requests(10)
    expect(client.calls.find(({ verb }) => verb === 'create')?.options).toMatchObject({ isStrict: true })
    expect(childRefusals.of(uid).get(ID('one'))?.message).toBe(
      'upgrade what installed this kind, it lacks a field that is needed: strict decoding error: unknown field "spec.new"',
    )
  })

  it('is tried again later each time, for a minute at most, and makes no other request', async () => {
    const { client, requests } = await start({ one: '1', two: '2' })
    client.before = refusing('two', invalid)
    await requests(10)
    const counts: number[] = []
    for (let second = 0; second < 180; second += 1) {
      const made = await requests(1_000)
      expect(made.every((request) => request === 'create ConfigMap n/two')).toBe(true)
      if (made.length > 0) counts.push(second)
    }
    expect(counts).toEqual([0, 2, 6, 14, 30, 62, 122])
  })

  it('is written as soon as it is taken, and is refused no more', async () => {
    const { client, requests, told, stored, plans } = await start({ two: '2' })
    client.before = refusing('two', invalid)
    await requests(10)
    client.before = undefined
    await requests(1_000)
    expect([stored(), told()]).toEqual([['two'], {}])
    const before = plans.length
    expect(await requests(600_000)).toEqual([])
    expect(plans).toHaveLength(before)
  })

  it('is tried at once where something else is wanted of it', async () => {
    const wanted = { two: '2' }
    const { client, requests, stored, clock } = await start(wanted)
    client.before = refusing('two', invalid)
    await requests(40_000)
    client.before = undefined
    wanted.two = '3'
    client.put({ ...OWNER, metadata: { ...OWNER.metadata, labels: { a: 'b' } } })
    await clock.advance(10)
    expect(stored()).toEqual(['two'])
  })

  it('is forgotten when nobody wants it any more', async () => {
    const wanted: Record<string, string> = { one: '1', two: '2' }
    const { client, requests, told } = await start(wanted)
    client.before = refusing('two', invalid)
    await requests(10)
    delete wanted['two']
    await requests(2_000)
    expect(told()).toEqual({})
    expect(await requests(600_000)).toEqual([])
  })

  it('stays so while it has to wait', async () => {
    const { client, requests, told, mode, uid } = await start({})
    const name = 'two'
    const wanted = child(name, '2', uid)
    mode.applyIf = [{ wanted, onlyIf: [] }]
    client.before = refusing(name, invalid)
    await requests(10)
    mode.applyIf = [{ wanted, onlyIf: [{ unreferenced: { name, namespace: 'n' }, by: 'anyone' }] }]
    expect([await requests(10_000), told()]).toEqual([[], { [ID(name)]: 'Refused' }])
  })

  it('does not bring its owner back, whose finalizer is released: others may hold it for long', async () => {
    const wanted: Record<string, string> = { two: '2' }
    const { client, requests, plans, mode } = await start(wanted)
    client.before = refusing('two', invalid)
    await requests(10)
    delete wanted['two']
    mode.finalizer = 'release'
    client.put({ ...OWNER, metadata: { ...OWNER.metadata, labels: { a: 'b' } } })
    await requests(2_000)
    const before = plans.length
    await requests(600_000)
    expect(plans).toHaveLength(before)
  })

  it('because something was not ready yet is told when that happens twice', async () => {
    const { client, requests, told, plans } = await start({ two: '2' })
    client.before = refusing('two', forbidden)
    await requests(500)
    expect([told(), plans.every(({ undecided }) => undecided)]).toEqual([{}, true])
    await requests(1_000)
    expect([told(), plans.at(-1)?.undecided]).toEqual([{ [ID('two')]: 'Refused' }, false])
  })

  it('by a webhook that does not work is told when that goes on, and keeps no other from being written', async () => {
    const { client, requests, told, stored } = await start({ two: '2', three: '3' })
    client.before = refusing('two', broken)
    await requests(10)
    expect([stored(), told()]).toEqual([['three'], {}])
    await requests(10_000)
    expect(told()).toEqual({ [ID('two')]: 'Refused' })
  })

  it('is told once, whatever the API server says each time', async () => {
    const { client, requests, plans } = await start({ two: '2' })
    let times = 0
    client.before = refusing('two', () => {
      times += 1
      return apiError('Rejected', { message: `attempt ${times}` })
    })
    await requests(10)
    const before = plans.length
    await requests(60_000)
    expect(plans.length - before).toBe(times - 1)
  })
})

describe('an error that all would meet', () => {
  it('ends the reconcile: the others are not asked for', async () => {
    const { client, requests, stored } = await start({ one: '1', two: '2' })
    client.before = refusing('one', () => apiError('Unavailable'))
    await requests(10)
    expect(stored()).toEqual([])
    client.before = undefined
    await requests(1_000)
    expect(stored()).toEqual(['one', 'two'])
  })
})

describe('a name that is taken', () => {
  it('by somebody else is told, and the other object stays as it is', async () => {
    const { client, requests, told, stored } = await start({ one: '1', two: '2' }, ['one'])
    await requests(10)
    expect([stored(), told()]).toEqual([['one', 'two'], { [ID('one')]: 'NameTaken' }])
    await requests(60_000)
    expect(client.peek<WithData>('ConfigMap', 'n/one')?.data).toEqual({ by: 'somebody' })
    client.put({ ...OWNER, metadata: { ...OWNER.metadata, labels: { a: 'b' } } })
    expect(await requests(100)).toEqual([])
    client.drop('ConfigMap', 'n/one')
    await requests(60_000)
    expect([client.peek<WithData>('ConfigMap', 'n/one')?.data, told()]).toEqual([{ by: '1' }, {}])
  })

  it('by what the cache shows not to be ours is not written to', async () => {
    const { client, requests, told } = await start({ one: '1' })
    await requests(10)
    client.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one', namespace: 'n', labels: { [LABEL]: 'no' } },
      data: {},
    } as KubeObject)
    expect(await requests(10)).toEqual([])
    expect(told()).toEqual({ [ID('one')]: 'NameTaken' })
  })

  it('by ours that has lost its label is found, and has it again', async () => {
    const { client, requests, told } = await start({ one: '1' })
    await requests(10)
    await client.mergePatch(CONFIG_MAP, { namespace: 'n', name: 'one' }, { metadata: { labels: { [LABEL]: null } } })
    expect(await requests(500)).toEqual(['create ConfigMap n/one', 'get ConfigMap n/one', 'patch ConfigMap n/one'])
    expect(client.peek('ConfigMap', 'n/one')?.metadata.labels).toEqual({ [LABEL]: 'yes' })
    expect(told()).toEqual({})
  })
})

it('a child whose creation was carried out and not answered is found, and not written again', async () => {
  const { client, requests, told } = await start({ one: '1' })
  let isLost = false
  client.after = ({ verb }) => {
    if (verb !== 'create' || isLost) return
    isLost = true
    throw apiError('NoAnswer')
  }
  client.delayWatches(60_000)
  expect(await requests(1_000)).toEqual(['create ConfigMap n/one', 'create ConfigMap n/one', 'get ConfigMap n/one'])
  expect(told()).toEqual({})
})

it('a child has its group in its id: two kinds may have one name', () => {
  const metadata = { name: 'vm', namespace: 'n' }
  const ids = ['kubevirt.io/v1', 'pelotech.ot/v1alpha1', 'v1'].map((apiVersion) =>
    childId({ apiVersion, kind: 'VirtualMachine', metadata }),
  )
  expect(ids).toEqual(['VirtualMachine.kubevirt.io/n/vm', 'VirtualMachine.pelotech.ot/n/vm', 'VirtualMachine/n/vm'])
})
