import { afterEach, beforeEach, expect, it } from 'vitest'
import { settled } from '../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../test/prepared/runtime/fake-log.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { DATA_VOLUME, POD, SECRET } from '../kube/resource-types.ts'
import { Reflectors } from './reflectors.ts'
import { Store } from './store.ts'

let client = new ScriptedClient()
let clock = client.clock
let stop = new AbortController()

beforeEach(() => {
  client = new ScriptedClient()
  clock = client.clock
  stop = new AbortController()
  client.cluster.uninstall(DATA_VOLUME)
})
afterEach(async () => {
  stop.abort()
  await clock.advance(0)
})

function build(add: (reflectors: Reflectors) => void = () => undefined) {
  const reflectors = new Reflectors({ client, clock, random: () => 0.5, log: fakeLog(), onRelist: () => undefined })
  const secrets = new Store<KubeObject>()
  const dataVolumes = new Store<KubeObject>()
  reflectors.add(SECRET, secrets, (object) => object)
  reflectors.add(DATA_VOLUME, dataVolumes, (object) => object)
  add(reflectors)
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
    ['CustomResourceDefinition', client.all('CustomResourceDefinition').length],
    ['Secret', 1],
    ['DataVolume', 0],
  ])
})

it('says how long it has heard nothing of a kind, and nothing of one that nobody needs', async () => {
  const { reflectors } = build((all) => all.add(POD, new Store<KubeObject>(), (object) => object, { onDemand: true }))
  await reflectors.synced()
  await clock.advance(10_000)
  const silent = Object.fromEntries(reflectors.kept.map(({ name, silentMs }) => [name, silentMs()]))
  expect(silent).toMatchObject({ Secret: 10_000, Pod: 0 })
})

it('looks for a kind at once when its definition appears, and tells when it is there', async () => {
  const { reflectors, dataVolumes } = build()
  await reflectors.synced()
  const told: boolean[] = []
  reflectors.onInstalled(() => told.push(reflectors.isInstalled(DATA_VOLUME)))
  expect([reflectors.isInstalled(SECRET), reflectors.isInstalled(DATA_VOLUME)]).toEqual([true, false])
  client.cluster.install(DATA_VOLUME)
  client.put(named('cdi.kubevirt.io/v1beta1', 'DataVolume', 'd'))
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
  client.delayWatches(60_000)
  client.put(named('v1', 'Secret', 'late'))
  await settled()
  expect(secrets.size).toBe(0)
  await reflectors.refresh([SECRET], stop.signal)
  expect(secrets.size).toBe(1)
})

it('reads nothing of a kind that nobody needs, and all of it from then on', async () => {
  const pods = new Store<KubeObject>()
  const { reflectors } = build((all) => all.add(POD, pods, (object) => object, { onDemand: true }))
  client.put(named('v1', 'Secret', 'a'))
  await reflectors.synced()
  expect([pods.size, reflectors.areComplete([SECRET]), reflectors.areComplete([POD])]).toEqual([0, true, false])
  expect(client.callsOf('watch', 'list').filter((call) => call.includes('Pod'))).toEqual([])
  client.put({ ...named('v1', 'Pod', 'b'), metadata: { name: 'b', namespace: 'n', uid: 'b' } })
  const complete: boolean[] = []
  reflectors.onInstalled(() => complete.push(reflectors.areComplete([SECRET, POD])))
  reflectors.need([POD])
  await reflectors.synced()
  expect([pods.size, complete]).toEqual([1, [true]])
})
