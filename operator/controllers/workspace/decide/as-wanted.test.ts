import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { viewConfigMap } from '../child-views.ts'
import { isAsWanted, marked } from './as-wanted.ts'

function object(content: object, metadata: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'x', ...metadata }, ...content } as KubeObject
}

describe('a child', () => {
  it.each<[what: string, wanted: object, actual: object, isIt: boolean]>([
    ['that is the same', { a: 1 }, { a: 1 }, true],
    ['with what the API server has added', { a: { b: 1 } }, { a: { b: 1, c: 2 } }, true],
    ['in an item of a list', { list: [{ name: 'a' }] }, { list: [{ name: 'a', protocol: 'TCP' }] }, true],
    ['with another value', { a: 1 }, { a: 2 }, false],
    ['without a member', { a: { b: 1 } }, { a: {} }, false],
    ['with one item more', { list: [1] }, { list: [1, 2] }, false],
    ['with items in another order', { list: [1, 2] }, { list: [2, 1] }, false],
    ['whose map without members is left out', { podSelector: {} }, {}, true],
    ['that selects less than wanted', { podSelector: {} }, { podSelector: { matchLabels: { a: 'b' } } }, false],
    ['with one label more to match', { matchLabels: { a: 'b' } }, { matchLabels: { a: 'b', c: 'd' } }, false],
    [
      'with amounts in other words',
      { requests: { cpu: '1000m', memory: '2048Mi' } },
      { requests: { cpu: '1', memory: '2Gi' } },
      true,
    ],
    ['with a fraction of an amount', { sizeLimit: '0.1Gi' }, { sizeLimit: '107374182400m' }, true],
    ['with small amounts that differ', { requests: { cpu: '128m' } }, { requests: { cpu: '384m' } }, false],
    [
      'with a variable that nobody asked for',
      { containers: [{ name: 'a' }] },
      { containers: [{ name: 'a', env: [{}] }] },
      false,
    ],
    [
      'with a variable that nobody asked for in a container that runs first',
      { initContainers: [{ name: 'a' }], containers: [{ name: 'b' }] },
      { initContainers: [{ name: 'a', env: [{}] }], containers: [{ name: 'b' }] },
      false,
    ],
    ['with a label of that name', { metadata: { labels: {} } }, { metadata: { labels: { env: 'prod' } } }, true],
    ['with one amount more', { hard: { pods: '5' } }, { hard: { pods: '5', cpu: '1' } }, false],
    ['of which an amount is missing', { limits: { memory: '1Gi' } }, { limits: {} }, false],
    ['with numbers in texts', { value: '1.0' }, { value: '1' }, false],
  ])('%s', (_what, wanted, actual, isIt) => {
    expect(isAsWanted(object({ spec: wanted }), object({ spec: actual }))).toBe(isIt)
  })

  it('that is a machine with an instance type has no amounts beside it, and keeps what else somebody has added', () => {
    const machine = (resources: object, more: object = { instancetype: { name: 'small' } }) => ({
      ...object({ spec: { ...more, resources } }),
      kind: 'VirtualMachine',
    })
    const isIt = (resources: object) =>
      isAsWanted(machine({ diskSize: '9Gi' }), machine({ diskSize: '9Gi', ...resources }))
    expect([{}, { cpu: '2' }, { memory: '1Gi' }].map(isIt)).toEqual([true, false, false])
    expect(isAsWanted(machine({}, {}), machine({ cpu: '2' }, { runStrategy: 'Halted' }))).toBe(true)
  })

  it('of which the cache keeps no content is told by its mark', () => {
    const wanted = marked(object({ spec: { a: 1 } }))
    const view = { ...object({}), metadata: wanted.metadata }
    expect(isAsWanted(wanted, view)).toBe(true)
    expect(isAsWanted(marked(object({ spec: { a: 2 } })), view)).toBe(false)
  })

  it('of which the cache keeps a part is left alone', () => {
    expect(isAsWanted(object({ spec: { a: 1 } }), object({ spec: {}, isCut: true }))).toBe(true)
  })

  it('needs its labels, and not those of others alone', () => {
    const wanted = object({}, { labels: { ours: 'a' } })
    expect(isAsWanted(wanted, object({}, { labels: { ours: 'a', theirs: 'b' } }))).toBe(true)
    expect(isAsWanted(wanted, object({}, { labels: { theirs: 'b' } }))).toBe(false)
  })

  it('that is a ConfigMap is compared by what its cache keeps of it', () => {
    const configMap = (data: object) => ({ ...object({ data }), kind: 'ConfigMap' })
    const wanted = configMap({ a: 'text' })
    expect(isAsWanted(wanted, viewConfigMap(configMap({ a: 'text' })))).toBe(true)
    expect(isAsWanted(wanted, viewConfigMap(configMap({ a: 'other' })))).toBe(false)
    expect(isAsWanted(wanted, viewConfigMap(configMap({ a: 'text', b: 'theirs' })))).toBe(false)
  })
})
