import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dataSyncImageName, type ImageTriple } from './data-sync-names.ts'
import { objectName } from './shared.ts'

/** Texts that would share a name if they were only joined, and texts that cannot be part of a name. */
const part = fc.oneof(
  fc.string({ unit: fc.constantFrom('1', '2', '-', '.', 'v', 'a', 'A', ' '), minLength: 1, maxLength: 5 }),
  fc.constantFrom('035', '1.0.0', 'v2', 'attacker', '1-2', '2-3', 'web-server', '1-1.0.0', '0123abcd', 'a-0123abcd'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 63 }),
)
const triple: fc.Arbitrary<ImageTriple> = fc.record({
  workspaceId: part,
  version: fc.option(part, { nil: undefined }),
  vm: part,
})
const textOf = ({ workspaceId, version, vm }: ImageTriple) => JSON.stringify([workspaceId, version, vm])

describe('the name of an image of a DataSync', () => {
  it.each<[ImageTriple, string]>([
    [{ workspaceId: '035', vm: 'attacker' }, '035-attacker'],
    [{ workspaceId: '035', vm: 'web-server' }, '035-web-server'],
    [{ workspaceId: '035', version: '1.0.0', vm: 'web-server' }, '035-1.0.0-web-server'],
    [{ workspaceId: '035', version: 'v2', vm: 'attacker' }, '035-v2-attacker'],
  ])('of %j is plain: %s', (one, name) => {
    expect(dataSyncImageName(one)).toBe(name)
  })

  it.each<[ImageTriple, RegExp]>([
    [{ workspaceId: '1-2', vm: '3' }, /^1-2-3-[0-9a-f]{8}$/],
    [{ workspaceId: '1', vm: '2-3' }, /^1-2-3-[0-9a-f]{8}$/],
    [{ workspaceId: '035', version: 'next', vm: 'a' }, /^035-next-a-[0-9a-f]{8}$/],
    [{ workspaceId: '035', vm: 'a-0123abcd' }, /^035-a-0123abcd-[0-9a-f]{8}$/],
    [{ workspaceId: 'Lab 035', vm: 'ä..b' }, /^lab-035-b-[0-9a-f]{8}$/],
    [{ workspaceId: '世', vm: '😀' }, /^image-[0-9a-f]{8}$/],
  ])('of %j has a hash', (one, name) => {
    expect(dataSyncImageName(one)).toMatch(name)
  })

  it('stays what it was, so that no edit of the rule makes every image download again', () => {
    expect(dataSyncImageName({ workspaceId: '1', version: 'next', vm: 'Web Server' })).toBe(
      '1-next-web-server-fd1a5b4a',
    )
  })

  it('is that of an object, and short enough for its image', () => {
    fc.assert(
      fc.property(triple, (one) => {
        const name = dataSyncImageName(one)
        expect(objectName().safeParse(name).success, name).toBe(true)
        expect(name.length).toBeLessThanOrEqual(200)
      }),
    )
  })

  it('is as short for characters that become two in lower case', () => {
    const part = 'İ'.repeat(63)
    const name = dataSyncImageName({ workspaceId: part, version: part, vm: part })
    expect([objectName().safeParse(name).success, name.length <= 200]).toEqual([true, true])
  })

  it('is never that of another three', () => {
    fc.assert(
      fc.property(fc.array(triple, { minLength: 2, maxLength: 40 }), (many) => {
        const different = new Map(many.map((one) => [textOf(one), one]))
        const names = [...different.values()].map(dataSyncImageName)
        expect(new Set(names).size).toBe(different.size)
      }),
      { numRuns: 2_000 },
    )
  })

  it('is plain for all that people usually write', () => {
    const id = fc.integer({ min: 0, max: 999 }).map((number) => String(number).padStart(3, '0'))
    const version = fc.option(
      fc.tuple(fc.nat(20), fc.nat(20), fc.nat(20)).map((numbers) => numbers.join('.')),
      { nil: undefined },
    )
    const vm = fc.constantFrom('attacker', 'web-server', 'router1', 'a')
    fc.assert(
      fc.property(fc.record({ workspaceId: id, version, vm }), (one) => {
        const parts = [one.workspaceId, one.version, one.vm].filter((text) => text !== undefined)
        expect(dataSyncImageName(one)).toBe(parts.join('-'))
      }),
    )
  })
})
