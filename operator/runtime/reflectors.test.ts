import { afterEach, beforeEach, expect, it } from 'vitest'
import { apiError, FakeClient } from '../kube/fake-client.fixtures.ts'
import { FakeClock, settled } from '../kube/fake-clock.fixtures.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { DATA_VOLUME, SECRET } from '../kube/resource-types.ts'
import { fakeLog } from './fake-log.fixtures.ts'
import { Reflectors } from './reflectors.ts'
import { Store } from './store.ts'

let client = new FakeClient()
let clock = new FakeClock()
let stop = new AbortController()
let isServed = false

beforeEach(() => {
  client = new FakeClient()
  clock = new FakeClock()
  stop = new AbortController()
  isServed = false
  client.before = ({ kind }) => {
    if (kind === 'DataVolume' && !isServed) throw apiError('NotFound')
  }
})
afterEach(async () => {
  stop.abort()
  await clock.advance(0)
})

function build() {
  const reflectors = new Reflectors({ client, clock, random: () => 0.5, log: fakeLog(), onRelist: () => undefined })
  const secrets = new Store<KubeObject>()
  const dataVolumes = new Store<KubeObject>()
  reflectors.add(SECRET, secrets, (object) => object)
  reflectors.add(DATA_VOLUME, dataVolumes, (object) => object)
  void reflectors.run(stop.signal)
  return { reflectors, secrets, dataVolumes }
}

const named = (apiVersion: string, kind: string, name: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, uid: name },
})

it('finds an object by its kind, and takes in what was written', async () => {
  const { reflectors, secrets } = build()
  await reflectors.synced()
  reflectors.observeWrite(SECRET, { ...named('v1', 'Secret', 'a'), metadata: { name: 'a', resourceVersion: '900' } })
  expect(reflectors.get(SECRET, 'a')).toMatchObject({ kind: 'Secret' })
  expect([reflectors.get(DATA_VOLUME, 'a'), secrets.size]).toEqual([undefined, 1])
  expect(reflectors.kept.map(({ type, store }) => [type.kind, store.size])).toEqual([
    ['CustomResourceDefinition', 0],
    ['Secret', 1],
    ['DataVolume', 0],
  ])
})

it('looks for a kind at once when its definition appears, and tells when it is there', async () => {
  const { reflectors, dataVolumes } = build()
  await reflectors.synced()
  const told: boolean[] = []
  reflectors.onInstalled(() => told.push(reflectors.isInstalled(DATA_VOLUME)))
  expect([reflectors.isInstalled(SECRET), reflectors.isInstalled(DATA_VOLUME)]).toEqual([true, false])
  isServed = true
  client.put(named('cdi.kubevirt.io/v1beta1', 'DataVolume', 'd'))
  const definitions = client.watches.find(({ kind }) => kind === 'CustomResourceDefinition')
  const object = named('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'datavolumes.cdi.kubevirt.io')
  definitions?.send({ type: 'ADDED', object: { ...object, metadata: { ...object.metadata, resourceVersion: '900' } } })
  await settled()
  expect([reflectors.isInstalled(DATA_VOLUME), dataVolumes.size, told.at(-1)]).toEqual([true, 1, true])
})

it('knows nothing of a kind that nobody added', () => {
  const reflectors = new Reflectors({ client, clock, random: () => 0.5, log: fakeLog(), onRelist: () => undefined })
  reflectors.observeWrite(SECRET, named('v1', 'Secret', 'a'))
  expect([reflectors.isInstalled(SECRET), reflectors.get(SECRET, 'a')]).toEqual([false, undefined])
})

it('lists kinds once more when it is asked to', async () => {
  const { reflectors, secrets } = build()
  await reflectors.synced()
  client.put(named('v1', 'Secret', 'late'))
  expect(secrets.size).toBe(0)
  await reflectors.refresh([SECRET], stop.signal)
  expect(secrets.size).toBe(1)
})
