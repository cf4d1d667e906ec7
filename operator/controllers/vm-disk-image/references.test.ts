import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { FakeClock } from '../../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { anImage } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import { clusterCaches } from '../../cluster/caches.ts'
import { sumReferences } from '../../images/references.ts'
import { apiVersionOf, type KubeObject } from '../../kube/kube-object.ts'
import { DATA_VOLUME } from '../../kube/resource-types.ts'
import { Reflectors } from '../../runtime/reflectors.ts'
import { ImageCaches } from './caches.ts'
import { Clones } from './clones.ts'

const { signal } = new AbortController()
const put = (client: ScriptedClient, name: string, more: object): KubeObject =>
  client.put({
    apiVersion: apiVersionOf(DATA_VOLUME),
    kind: DATA_VOLUME.kind,
    metadata: { name, namespace: 'other' },
    ...more,
  } as KubeObject)
const snapshot = { kind: 'VolumeSnapshot', namespace: 'team', name: 's' }
const volume = { kind: 'DataVolume', namespace: 'team', name: 's' }
const from = (source: object, phase = 'CloneInProgress') => ({ spec: { source }, status: { phase } })

/** Nothing is in the caches. */
const clonesBy = (client: ScriptedClient) => {
  const more = { clock: new FakeClock(), random: () => 0.5, log: fakeLog(), onRelist: () => undefined }
  return new Clones(client, new ImageCaches(clusterCaches(new Reflectors({ client, ...more }))))
}
const isCloned = (client: ScriptedClient, child: typeof snapshot, clones = clonesBy(client)) =>
  clones.read({ uncloned: child, read: 'live' }, anImage(), signal)

describe('a child is being cloned', () => {
  it.each<[string, object, typeof snapshot, boolean]>([
    ['by an unfinished clone of a snapshot', from({ snapshot: { name: 's', namespace: 'team' } }), snapshot, true],
    ['by an unfinished clone of a volume', from({ pvc: { name: 's', namespace: 'team' } }), volume, true],
    ['not by a finished one', from({ snapshot: { name: 's', namespace: 'team' } }, 'Succeeded'), snapshot, false],
    ['not by one of another name', from({ snapshot: { name: 't', namespace: 'team' } }), snapshot, false],
    ['not by one in another namespace', from({ snapshot: { name: 's' } }), snapshot, false],
    ['not by one of another kind', from({ pvc: { name: 's', namespace: 'team' } }), snapshot, false],
    ['not by a download', from({ http: { url: 'https://a.example' } }), snapshot, false],
  ])('%s', async (_name, object, child, expected) => {
    const client = new ScriptedClient()
    put(client, 'clone', object)
    expect(await isCloned(client, child)).toBe(expected)
  })

  it('by a helper claim of one that is gone already', async () => {
    const client = new ScriptedClient()
    const labels = { 'cdi.kubevirt.io/OwnedByUID': 'x' }
    client.put({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'tmp', namespace: 'team', labels },
      spec: { dataSourceRef: { name: 's' } },
    } as KubeObject)
    expect(await isCloned(client, snapshot)).toBe(true)
  })

  it('is asked of all pages', async () => {
    const client = new ScriptedClient()
    for (let at = 0; at < 700; at += 1) put(client, `d${at}`, from({}))
    put(client, 'clone', from({ snapshot: { name: 's', namespace: 'team' } }))
    expect(await isCloned(client, snapshot)).toBe(true)
    expect(client.callsOf('list')).toHaveLength(3)
  })

  it('is asked of the same two lists for all who ask together, and of others by who asks later', async () => {
    const client = new ScriptedClient()
    const clones = clonesBy(client)
    const ask = () => isCloned(client, snapshot, clones)
    const first = Promise.all(Array.from({ length: 16 }, ask))
    expect(await first).not.toContain(true)
    expect(client.callsOf('list')).toHaveLength(2)
    put(client, 'clone', from({ snapshot: { name: 's', namespace: 'team' } }))
    expect(await ask()).toBe(true)
  })

  it('is no guess: an API server that does not answer is an error', async () => {
    const client = new ScriptedClient()
    client.before = () => {
      throw apiError('Unavailable')
    }
    await expect(isCloned(client, snapshot)).rejects.toMatchObject({ reason: 'Unavailable' })
  })
})

it('sums references', () => {
  const names = Array.from({ length: 8 }, (_none, at) => `n${at}`)
  const part = { count: 8, names, users: names }
  expect(sumReferences([])).toEqual({ count: 0, names: [], users: [] })
  const sum = sumReferences([part, part])
  expect([sum.count, sum.names.length, sum.users.length]).toEqual([16, 16, 16])
})
