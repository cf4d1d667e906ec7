import { describe, expect, it } from 'vitest'
import { RuleBook } from './rules.ts'
import { SCRIPTED_PATHS } from './scripted-paths.ts'

describe('the paths of a sandbox that misbehave', () => {
  const book = new RuleBook(1)
  for (const { rule } of SCRIPTED_PATHS) book.set(rule)
  const faultOf = (path: string, host = 'any.host') => book.answer(host, path).fault

  it.each(['/404/', '/403/', '/503/'])('%s answers with that status each time, at any host', (path) => {
    for (const host of ['a', 'b', 'a']) expect(faultOf(`${path}x.qcow2`, host).status).toBe(Number(path.slice(1, 4)))
  })

  it('fail twice for each image apart', () => {
    const statuses = ['one', 'two', 'one', 'one', 'two', 'two'].map((name) => faultOf(`/fails-twice/${name}`).status)
    expect(statuses).toEqual([503, 503, 503, undefined, 503, undefined])
  })

  it('are slow, stall or break off', () => {
    expect(book.answer('a', '/slow/x')).toMatchObject({ bytesPerSecond: expect.any(Number), fault: {} })
    expect(faultOf('/stalls/x').stallAfterBytes).toBeGreaterThan(0)
    expect(faultOf('/breaks-off/x').cutAfterBytes).toBeGreaterThan(0)
  })

  it('are no others', () => {
    expect(book.answer('a', '/images/404/x')).toEqual({ sizeBytes: 1, bytesPerSecond: undefined, fault: {} })
  })
})
