import { beforeEach, describe, expect, it } from 'vitest'
import { Store, type Stored, whenContentChanged } from './store.ts'

interface Item extends Stored {
  readonly color?: string
}

const item = (name: string, resourceVersion: string, more: Partial<Item> = {}, uid = `uid-${name}`): Item => ({
  metadata: { name, namespace: 'n', uid, resourceVersion },
  ...more,
})

let store = new Store<Item>()
let changes: string[] = []
beforeEach(() => {
  store = new Store<Item>().index('color', ({ color }) => (color === undefined ? [] : [color]))
  changes = []
  store.onChange(({ key, before, after }) => {
    changes.push(`${key} ${before?.metadata.resourceVersion ?? '-'}>${after?.metadata.resourceVersion ?? '-'}`)
  })
})
const version = () => store.get('n/a')?.metadata.resourceVersion

describe('the store', () => {
  it('takes events in', () => {
    store.put(item('a', '1'))
    store.put(item('a', '2'))
    store.remove(item('a', '3'))
    expect(changes).toEqual(['n/a ->1', 'n/a 1>2', 'n/a 2>-'])
    expect(store.size).toBe(0)
  })

  it('compares versions as numbers', () => {
    store.put(item('a', '99'))
    store.put(item('a', '100'))
    expect(version()).toBe('100')
  })

  it('ignores what it knows already, and what is older', () => {
    store.put(item('a', '5'))
    store.put(item('a', '5'))
    store.put(item('a', '4'))
    store.remove(item('a', '4'))
    expect(changes).toEqual(['n/a ->5'])
  })

  it('has our own writes at once, and older events that come later do not undo them', () => {
    store.put(item('a', '5'))
    store.observeWrite(item('a', '9'))
    store.put(item('a', '7'))
    expect(version()).toBe('9')
    store.put(item('a', '9'))
    expect(changes).toEqual(['n/a ->5', 'n/a 5>9'])
  })

  it('does not revive what is gone with an event that comes again', () => {
    store.put(item('a', '5'))
    store.put(item('a', '6'))
    store.remove(item('a', '7'))
    store.put(item('b', '8'))
    for (const again of ['5', '6']) store.put(item('a', again))
    store.remove(item('a', '7'))
    expect([...store.keys()]).toEqual(['n/b'])
    expect(changes).toHaveLength(4)
  })

  it('does not revive with an event that comes again what a list or a bookmark knows to be gone', () => {
    store.replaceAll([item('a', '5')], '10')
    store.replaceAll([], '20')
    store.put(item('a', '5'))
    expect(store.size).toBe(0)
    store.advance('30')
    store.put(item('b', '25'))
    expect(store.size).toBe(0)
  })

  it('does not revive with a list that the watch has overtaken what is gone since', () => {
    store.put(item('a', '5'))
    store.remove(item('a', '12'))
    store.replaceAll([item('a', '5')], '10')
    expect(store.size).toBe(0)
  })

  it('takes in what was made again, though the one before comes again', () => {
    store.put(item('a', '5'))
    store.remove(item('a', '7'))
    store.put(item('a', '9', {}, 'second'))
    store.put(item('a', '5'))
    store.remove(item('a', '7'))
    expect(store.get('n/a')?.metadata.uid).toBe('second')
  })

  it('does not revive with an event that comes again what was made by us and is gone', () => {
    store.put(item('b', '8'))
    store.observeWrite(item('a', '9'))
    store.remove(item('a', '11'))
    store.put(item('a', '9'))
    expect([...store.keys()]).toEqual(['n/b'])
  })

  it('does not revive with a late answer what the watch knows to be gone', () => {
    store.put(item('a', '5'))
    store.remove(item('a', '12'))
    store.observeWrite(item('a', '9'))
    expect(store.size).toBe(0)
  })

  it('does not revive with a late answer what a bookmark has passed', () => {
    store.advance('20')
    store.observeWrite(item('a', '9'))
    expect(store.size).toBe(0)
  })

  it('does not lose what was made again to the deletion of the one before', () => {
    store.put(item('a', '5'))
    store.observeWrite(item('a', '12', {}, 'second'))
    store.remove(item('a', '10'))
    expect(store.get('n/a')?.metadata.uid).toBe('second')
  })

  it('tells one that was deleted and made again as two changes', () => {
    store.put(item('a', '5'))
    store.put(item('a', '9', {}, 'second'))
    expect(changes).toEqual(['n/a ->5', 'n/a 5>-', 'n/a ->9'])
  })

  it('is what a list says, but for our own later writes', () => {
    store.put(item('a', '5'))
    store.put(item('b', '6'))
    store.put(item('c', '7'))
    store.observeWrite(item('d', '30'))
    store.observeWrite(item('b', '31'))
    store.replaceAll([item('b', '6'), item('c', '9'), item('e', '10')], '20')
    const now = [...store.values()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
    expect(now.toSorted()).toEqual(['b 31', 'c 9', 'd 30', 'e 10'])
  })

  it('tells a list in the order of its versions', () => {
    store.replaceAll([item('a', '100'), item('b', '9'), item('c', '20')], '200')
    expect(changes).toEqual(['n/b ->9', 'n/c ->20', 'n/a ->100'])
  })

  it('finds a recreation in a list', () => {
    store.put(item('a', '5'))
    store.replaceAll([item('a', '9', {}, 'second')], '20')
    expect(changes.slice(1)).toEqual(['n/a 5>-', 'n/a ->9'])
  })

  it('is empty when the kind is gone, and fills again from any version', () => {
    store.put(item('a', '50'))
    store.clear()
    expect(changes.at(-1)).toBe('n/a 50>-')
    store.observeWrite(item('a', '3'))
    expect(version()).toBe('3')
    store.clear()
    store.replaceAll([], '60')
    store.put(item('a', '61'))
    expect(version()).toBe('61')
  })

  it('keeps its indexes through every change', () => {
    const found = (color: string) => store.find('color', color).map(({ metadata }) => metadata.name)
    store.put(item('a', '1', { color: 'red' }))
    store.put(item('b', '2', { color: 'red' }))
    expect(found('red')).toEqual(['a', 'b'])
    expect(['red', 'blue'].map((color) => store.count('color', color))).toEqual([2, 0])
    store.put(item('a', '3', { color: 'blue' }))
    expect(['red', 'blue'].map((color) => store.count('color', color))).toEqual([1, 1])
    expect([found('red'), found('blue')]).toEqual([['b'], ['a']])
    store.put(item('b', '4'))
    expect(found('red')).toEqual([])
    store.put(item('a', '5', { color: 'red' }, 'second'))
    expect([found('red'), found('blue')]).toEqual([['a'], []])
    store.replaceAll([], '9')
    expect(found('red')).toEqual([])
  })

  it('says whether an index has anything', () => {
    const hasColors = () => !store.isEmpty('color')
    store.put(item('a', '1'))
    expect(hasColors()).toBe(false)
    store.put(item('a', '2', { color: 'red' }))
    expect(hasColors()).toBe(true)
    store.put(item('a', '3'))
    expect(hasColors()).toBe(false)
  })

  it('indexes what was there before the index', () => {
    store.put(item('a', '1', { color: 'red' }))
    store.index('first', ({ color }) => [color?.[0] ?? ''])
    expect(store.find('first', 'r')).toHaveLength(1)
    expect(() => store.find('nonsense', 'r')).toThrow('no index')
  })

  it('tells nobody who stopped listening', () => {
    const stop = store.onChange(() => changes.push('second'))
    store.put(item('a', '1'))
    stop()
    store.put(item('a', '2'))
    expect(changes).toEqual(['n/a ->1', 'second', 'n/a 1>2'])
  })

  it('tells all others of a change where one listener or index throws, and says so', () => {
    const bugs: unknown[] = []
    const bug = (): never => {
      throw new Error('bug')
    }
    const broken = new Store<Item>().index('broken', bug).index('color', ({ color }) => [color ?? ''])
    broken.onBug = (error) => bugs.push(error)
    const heard: string[] = []
    broken.onChange(bug)
    broken.onChange(({ key }) => heard.push(key))
    broken.replaceAll([item('a', '1', { color: 'red' }), item('b', '2', { color: 'red' })], '2')
    expect(heard).toEqual(['n/a', 'n/b'])
    expect(broken.find('color', 'red')).toHaveLength(2)
    expect(bugs).toHaveLength(4)
  })
})

describe('a listener to what changes of the content', () => {
  const labels = { a: '1' }
  const object = (resourceVersion: string, more: object = {}, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion, labels, ...metadata },
    ...more,
  })
  it.each<[string, ReturnType<typeof object> | undefined, ReturnType<typeof object> | undefined, boolean]>([
    ['a new version', object('1'), object('2'), false],
    ['members without a value', object('1', { phase: undefined }), object('2', {}, { generation: undefined }), false],
    ['a copy of the content', object('1', { spec: { a: [1] } }), object('2', { spec: { a: [1] } }), false],
    ['another content', object('1', { spec: { a: [1] } }), object('2', { spec: { a: [2] } }), true],
    ['a member more', object('1'), object('2', { phase: 'Running' }), true],
    ['a member less', object('1', { phase: 'Running' }), object('2'), true],
    ['another label', object('1'), object('2', {}, { labels: { a: '2' } }), true],
    ['the start of its deletion', object('1'), object('2', {}, { deletionTimestamp: 'now' }), true],
    ['a finalizer less', object('1', {}, { finalizers: ['f'] }), object('2'), true],
    ['a new object', undefined, object('1'), true],
    ['an object that is gone', object('1'), undefined, true],
  ])('%s: %#', (_what, before, after, isTold) => {
    let told = 0
    whenContentChanged(() => (told += 1))({ key: 'n/a', before, after })
    expect(told).toBe(isTold ? 1 : 0)
  })
})
