import { describe, expect, it } from 'vitest'
import { childName, labelText, labelValue, shortHash } from './names.ts'

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/
const SUFFIX = '0123abcd'

describe('shortHash', () => {
  it.each([
    [[], 'e3b0c442'],
    [['a'], '4162fddd'],
    [['https://a.example/b', undefined, ''], 'e2737530'],
  ])('stays what it was: %j', (parts, hash) => {
    expect(shortHash(parts)).toBe(hash)
  })

  it('tells lists apart that read alike when joined', () => {
    const lists = [
      [],
      [''],
      [undefined],
      ['', ''],
      ['ab', 'c'],
      ['a', 'bc'],
      ['abc'],
      ['-'],
      ['1:a'],
      ['a', undefined],
      [undefined, 'a'],
      ['a'],
      ['0:,0:'],
    ]
    expect(new Set(lists.map((list) => shortHash(list))).size).toBe(lists.length)
  })
})

describe('childName', () => {
  it('keeps a short name as it is', () => {
    expect(childName('sync-workspace-123', SUFFIX)).toBe('sync-workspace-123-0123abcd')
  })

  it.each(['a', 'a'.repeat(53), 'a'.repeat(54), 'a'.repeat(55), 'a'.repeat(63), 'a'.repeat(64), 'a'.repeat(253)])(
    'is a DNS label of at most 63 characters for a name like %s',
    (name) => {
      const child = childName(name, SUFFIX)
      expect(child).toMatch(DNS_LABEL)
      expect(child.length).toBeLessThanOrEqual(63)
      expect(child.endsWith(`-${SUFFIX}`)).toBe(true)
    },
  )

  it.each([
    'a.b',
    '1.2.3',
    `${'a.'.repeat(100)}b`,
    `${'a'.repeat(44)}-----${'b'.repeat(20)}`,
    `${'a'.repeat(44)}.....b`.replaceAll('..', '.x'),
  ])('makes %s safe', (name) => {
    expect(childName(name, SUFFIX)).toMatch(DNS_LABEL)
    expect(childName(name, SUFFIX).length).toBeLessThanOrEqual(63)
  })

  it('tells names apart that differ only where they are cut or changed', () => {
    const long = 'a'.repeat(100)
    const many = Array.from({ length: 2000 }, (_, index) => `${long}${index}`)
    const names = [...many, 'a.b', 'a-b', 'a.b.c', 'a-b.c', 'a.b-c', 'a-b-c', long, `${long}.a`]
    expect(new Set(names.map((name) => childName(name, SUFFIX))).size).toBe(new Set(names).size)
  })
})

describe('labelText', () => {
  it.each(['harrison-vm', 'a', 'A.b_c-9', 'a'.repeat(63)])('keeps %s', (text) => {
    expect(labelText(text)).toBe(text)
  })

  it.each(['demo vm', '-a', 'a.', 'Zoë', '😀', ' ', 'a/b', 'a'.repeat(253)])(
    'makes a label value of %j, and tells it apart',
    (text) => {
      expect(labelText(text)).toMatch(LABEL_VALUE)
      expect(labelText(text).length).toBeLessThanOrEqual(63)
      expect(labelText(text)).not.toBe(labelText(`${text}!`))
    },
  )
})

describe('labelValue', () => {
  it.each(['a', 'a.b', 'a'.repeat(63)])('keeps %s', (text) => {
    expect(labelValue(text)).toBe(text)
  })

  it.each(['a'.repeat(64), 'a'.repeat(253), `${'a'.repeat(52)}....${'b'.repeat(60)}`])('cuts %s', (text) => {
    expect(labelValue(text)).toMatch(LABEL_VALUE)
    expect(labelValue(text).length).toBeLessThanOrEqual(63)
  })
})
