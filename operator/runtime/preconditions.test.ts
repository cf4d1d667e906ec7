import { beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { type KubeObject, keyOf } from '../kube/kube-object.ts'
import { CONFIG_MAP, SECRET } from '../kube/resource-types.ts'
import { type LiveReads, type Precondition, Preconditions } from './preconditions.ts'

const { signal } = new AbortController()
const PRIMARY: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'n', name: 'owner' } }
const UNCLONED = { uncloned: { kind: 'Secret', namespace: 'n', name: 'a' }, read: 'live' } as const

let client = new ScriptedClient()
let observed: string[] = []
beforeEach(() => {
  client = new ScriptedClient()
  observed = []
})

/** Returns in how many ms to requeue; undefined if all preconditions hold. */
async function unmet(onlyIf: readonly Precondition[] | undefined, reads?: LiveReads<KubeObject>) {
  const caches = { observeWrite: (_type: object, object: KubeObject) => void observed.push(keyOf(object.metadata)) }
  return (await new Preconditions(client, caches, reads).unmet(PRIMARY, onlyIf, signal))?.afterMs
}

const put = (name: string, uid = 'one') =>
  client.put({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'n', name, uid } })
const named = (name: string, uid?: string) => ({
  type: SECRET,
  namespace: 'n',
  name,
  ...(uid !== undefined && { uid }),
})

it('nothing asked for is nothing looked for', async () => {
  expect(await unmet(undefined)).toBeUndefined()
  expect(client.callsOf()).toEqual([])
})

it.each<[string, string | undefined, boolean]>([
  ['is', 'one', true],
  ['has changed', undefined, false],
  ['has been replaced', 'another', false],
])('what has to be unchanged %s, and is in the caches', async (_what, uid, holds) => {
  const { resourceVersion = '' }: KubeObject['metadata'] = put('a').metadata
  if (uid === undefined) put('a')
  const unchanged = { ...named('a', uid ?? 'one'), resourceVersion }
  expect(await unmet([{ unchanged }])).toBe(holds ? undefined : 1_000)
  expect(observed).toEqual(['n/a'])
})

it('what has to be unchanged is not gone', async () => {
  expect(await unmet([{ unchanged: { ...named('gone'), resourceVersion: '1' } }])).toBe(1_000)
})

describe('what has to be absent', () => {
  it.each<[string, Precondition, boolean]>([
    ['is not there', { absent: [named('b')], whose: "anybody's" }, true],
    ['is there', { absent: [named('b'), named('a')], whose: "anybody's" }, false],
    ['is there as it was known', { absent: [named('a', 'one')], whose: "anybody's" }, false],
    ['has a namesake', { absent: [named('a', 'another')], whose: "anybody's" }, true],
    ['is of another kind', { absent: [{ ...named('a'), type: CONFIG_MAP }], whose: "anybody's" }, true],
    ['is there, and ours', { absent: [named('a')], whose: 'ours' }, false],
    ['is there, and of somebody else', { absent: [named('theirs')], whose: 'ours' }, true],
  ])('%s', async (_what, precondition, holds) => {
    put('a')
    put('theirs')
    const hasOurs = (found: readonly KubeObject[]) => found.some(({ metadata }) => metadata.name === 'a')
    expect(await unmet([precondition], { hasOurs })).toBe(holds ? undefined : 1_000)
  })

  it('is in the caches when it was found', async () => {
    put('a')
    await unmet([{ absent: [named('a'), named('b')], whose: "anybody's" }])
    expect(observed).toEqual(['n/a'])
  })

  it('is not known where the API server gives no answer', async () => {
    client.before = () => {
      throw apiError('Unavailable')
    }
    await expect(unmet([{ absent: [named('a')], whose: 'ours' }])).rejects.toThrow('scripted Unavailable')
  })
})

describe('what nothing may refer to', () => {
  const image = { namespace: 'n', name: 'image' }
  it.each<[string, Precondition, boolean]>([
    ['has a reference', { unreferenced: image, by: 'anyone' }, false],
    ['has no user', { unreferenced: image, by: 'users' }, true],
    ['has the one that may', { unreferenced: image, by: 'anyone', except: ['VirtualMachine/n/vm'] }, true],
    ['has another one', { unreferenced: image, by: 'anyone', except: ['VirtualMachine/n/other'] }, false],
  ])('%s', async (_what, precondition, holds) => {
    const countReferences = async () => ({ names: ['VirtualMachine/n/vm'], users: [] })
    expect(await unmet([precondition], { countReferences })).toBe(holds ? undefined : 1_000)
  })

  it('is looked at again when the caches know', async () => {
    const countReferences = async () => ({ names: ['VirtualMachine/n/vm'], users: [] })
    expect(await unmet([{ unreferenced: image, by: 'anyone', knownAfterMs: 10_000 }], { countReferences })).toBe(10_000)
  })
})

it('what nothing may clone is as its kind says', async () => {
  expect(await unmet([UNCLONED], { isCloned: async () => false })).toBeUndefined()
  expect(await unmet([UNCLONED], { isCloned: async () => true })).toBe(1_000)
})

it.each<[string, Precondition]>([
  ['clones', UNCLONED],
  ['references', { unreferenced: { namespace: 'n', name: 'a' }, by: 'users' }],
  ['owners', { absent: [named('a')], whose: 'ours' }],
])('a kind that does not know its %s has nothing carried out', async (_what, precondition) => {
  put('a')
  expect(await unmet([precondition])).toBe(1_000)
})

it.each([
  [false, undefined],
  [true, 1_000],
])("what has to be nobody else's is asked for live (shared: %s)", async (isShared, afterMs) => {
  const unshared = { kind: 'Secret', namespace: 'n', name: 'a' }
  expect(await unmet([{ unshared }], { isShared: async () => isShared })).toBe(afterMs)
  expect(await unmet([{ unshared }])).toBe(1_000)
})
