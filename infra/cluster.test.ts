import { describe, expect, it } from 'vitest'
import { apiServerOf } from './cluster.ts'

const ONE = `
current-context: one
contexts: [{ name: one, context: { cluster: first } }]
clusters: [{ name: first, cluster: { server: https://one.example:6443 } }]
`
const OTHER = `
current-context: other
contexts: [{ name: other, context: { cluster: second } }, { name: one, context: { cluster: second } }]
clusters: [{ name: second, cluster: { server: https://other.example } }]
`

describe('apiServerOf', () => {
  it.each<[readonly string[], string | undefined, string | undefined]>([
    [[ONE], undefined, 'https://one.example:6443'],
    [[OTHER, ONE], undefined, 'https://other.example'],
    [[ONE, OTHER], 'other', 'https://other.example'],
    [[ONE, OTHER], 'one', 'https://one.example:6443'],
    [[ONE], 'nothing', undefined],
    [[''], undefined, undefined],
    [[], undefined, undefined],
  ])('of %j in the context %s is %s', (texts, context, server) => {
    expect(apiServerOf(texts, context)).toBe(server)
  })
})
