import { expect, it } from 'vitest'
import type { KubeObject } from '../kube/kube-object.ts'
import { Store } from '../runtime/store.ts'
import { triggersOf } from './triggers.ts'

interface Other extends KubeObject {
  readonly size?: number
}

const object = (name: string, resourceVersion: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Any',
  metadata: { namespace: 'team', name, resourceVersion },
  ...more,
})

/** Returns what the changes of an object enqueue, of two objects that refer to it and one that does not. */
function enqueuedBy(changes: (others: Store<Other>) => void, about?: (other: Other | undefined) => unknown): string[] {
  const objects = new Store<KubeObject & { readonly of: string }>().index('of', ({ of }) => [of])
  for (const [name, of] of Object.entries({ a: 'x', b: 'x', c: 'y' }))
    objects.put({ ...object(name, '1'), of: `team/${of}` })
  const others = new Store<Other>()
  others.put(object('x', '1', { size: 1 }))
  const enqueued: string[] = []
  const stop = triggersOf(objects, (key) => enqueued.push(key)).refersTo(others, 'of', about)
  changes(others)
  stop()
  others.remove(object('x', '9'))
  return enqueued
}

it.each<[string, (others: Store<Other>) => void, ((other: Other | undefined) => unknown) | undefined, boolean]>([
  ['its content', (others) => others.put(object('x', '2', { size: 2 })), undefined, true],
  ['its version alone', (others) => others.put(object('x', '2', { size: 1 })), undefined, false],
  ['its version alone, where each one matters', (others) => others.put(object('x', '2')), (other) => other, true],
  ['what matters of it', (others) => others.put(object('x', '2', { size: 2 })), (other) => other?.size, true],
  [
    'what does not matter of it',
    (others) => others.put(object('x', '2', { size: 1, b: 1 })),
    (other) => other?.size,
    false,
  ],
  ['whether it is there', (others) => others.remove(object('x', '2')), (other) => other === undefined, true],
  ['another object', (others) => others.put(object('z', '2')), undefined, false],
])('a change of %s concerns those that refer to it, or nobody', (_what, changes, about, concerns) => {
  expect(enqueuedBy(changes, about)).toEqual(concerns ? ['team/a', 'team/b'] : [])
})

const OF = { group: 'pelotech.ot', kind: 'Owner' }
const controlledBy = (uid: string, kind = OF.kind) => ({
  ownerReferences: [{ apiVersion: `${OF.group}/v1alpha1`, kind, name: 'any', uid, controller: true }],
})

it.each<[string, object, string[]]>([
  ['its controller', controlledBy('uid-a'), ['team/a']],
  ['its label', { labels: { owner: 'uid-a' } }, ['team/a']],
  ['its name', { name: 'child-of-a' }, ['team/a']],
  ['two objects', { ...controlledBy('uid-a'), labels: { owner: 'uid-b' } }, ['team/a', 'team/b']],
  ['an object of another kind', controlledBy('uid-a', 'Other'), []],
  ['an object elsewhere', { ...controlledBy('uid-a'), namespace: 'elsewhere' }, []],
  ['nothing', {}, []],
])('a child that leads to %s is a reason to look at what it leads to', (_what, metadata, expected) => {
  const owners = new Store<KubeObject>().index('child', ({ metadata: { name } }) => [`team/child-of-${name}`])
  for (const name of ['a', 'b']) owners.put({ ...object(name, '1') })
  const byUid = (uid: string, namespace?: string) =>
    [...owners.values()].filter(({ metadata }) => `uid-${metadata.name}` === uid && metadata.namespace === namespace)
  const enqueued: string[] = []
  const also: string[] = []
  const children = new Store<KubeObject>()
  const { owns } = triggersOf(owners, (key) => enqueued.push(key))
  owns(children, { of: OF, label: 'owner', byUid, byChild: 'child' }, ({ key }) => also.push(key))
  const child = object('child', '1')
  children.put({ ...child, metadata: { ...child.metadata, ...metadata } })
  expect([...new Set(enqueued)]).toEqual(expected)
  expect(also).toHaveLength(1)
})
