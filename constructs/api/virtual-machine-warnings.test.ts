import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PROPOSED_VIRTUAL_MACHINE } from './virtual-machine.fixtures.ts'
import { parseVirtualMachineSpec, type VirtualMachineSpec } from './virtual-machine.ts'
import { safeLogin, warningsOf } from './virtual-machine-warnings.ts'

const LOGIN = /^[a-z_][a-z0-9_-]{0,31}$/

function specWith(fields: object): VirtualMachineSpec {
  const parsed = parseVirtualMachineSpec({ ...PROPOSED_VIRTUAL_MACHINE.spec, ...fields })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.spec
}

describe('warningsOf', () => {
  it('tells both surprises of the proposal', () => {
    expect(warningsOf(specWith({}))).toEqual([
      {
        reason: 'LoginRenamed',
        message: 'user "demo user" logs in as demo-user, since Linux does not take the name as a login',
      },
      {
        reason: 'DiskSmallerThanImage',
        message: 'the disk gets 24Gi, the size of its image: resources.diskSize asks for less (18Gi)',
      },
    ])
  })

  it.each([
    ['default', 'user-default, since cloud-init calls the user of the image so'],
    ['Default', 'user-default, since Linux does not take the name as a login'],
  ])('tells that %s, the name of another user to cloud-init, is no login', (name, text) => {
    const [warning] = warningsOf(specWith({ users: [{ name }] }))
    expect(warning).toEqual({ reason: 'LoginRenamed', message: `user "${name}" logs in as ${text}` })
  })

  it.each([
    ['no users', { users: undefined }],
    ['logins as Linux takes them', { users: [{ name: 'demo' }, { name: '_a-b' }] }],
  ])('is silent about %s', (_name, fields) => {
    expect(warningsOf(specWith(fields)).map(({ reason }) => reason)).toEqual(['DiskSmallerThanImage'])
  })

  it.each([
    ['the same size in another spelling', '24576Mi'],
    ['a larger disk', '25Gi'],
    ['no size', undefined],
  ])('is silent about %s', (_name, diskSize) => {
    const spec = specWith({ users: [], resources: { cpu: 1, memory: '1Gi', diskSize } })
    expect(warningsOf(spec)).toEqual([])
  })

  it('is silent about a template without a size, and about no template', () => {
    for (const vmDiskImageTemplate of [{ url: 'https://a.example/b' }, undefined]) {
      expect(warningsOf(specWith({ users: [], vmDiskImageTemplate }))).toEqual([])
    }
  })
})

describe('safeLogin', () => {
  it.each([
    ['demo', 'demo'],
    ['_x-1', '_x-1'],
    ['demo user', 'demo-user'],
    ['Demo_User', 'demo_user'],
    ['demo.user', 'demo-user'],
    ['1demo', 'user-1demo'],
    ['Jörg Ärger', 'jorg-arger'],
    ['-rf /', 'rf'],
    ['a'.repeat(32), 'a'.repeat(32)],
    ['a'.repeat(33), 'a'.repeat(32)],
    ['世界', 'user'],
    ['😀', 'user'],
    [' ', 'user'],
    ['default', 'user-default'],
    ['Default', 'user-default'],
    ['(default)', 'user-default'],
    ['default-', 'default-'],
    ['defaults', 'defaults'],
  ])('of %j is %s', (name, login) => {
    expect(safeLogin(name, [name])).toBe(login)
  })

  it('leaves a login to the one whose name it is, and tells the others apart', () => {
    const names = ['demo user', 'demo-user', 'Demo.User']
    const logins = names.map((name) => safeLogin(name, names))
    expect(logins[1]).toBe('demo-user')
    expect(logins[0]).toMatch(/^demo-user-[0-9a-f]{8}$/)
    expect(new Set(logins).size).toBe(3)
  })

  it('gives the plain login to none of several who would change into it', () => {
    const names = ['demo user', 'demo.user']
    for (const name of names) expect(safeLogin(name, names)).toMatch(/^demo-user-[0-9a-f]{8}$/)
  })

  it('does not meet a name that looks like its own hash', () => {
    const [hashed = ''] = [safeLogin('demo user', ['demo user', 'demo-user'])]
    const names = ['demo user', 'demo-user', hashed, hashed.toUpperCase()]
    expect(new Set(names.map((name) => safeLogin(name, names))).size).toBe(names.length)
  })

  it('is a login, a different one for each user, whatever their names and order', () => {
    const name = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'A', ' ', '-', '.', '1', 'ä', '世'), minLength: 1, maxLength: 4 }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 64 }),
      fc.constantFrom('default', 'Default', 'default ', 'user-default', 'user default'),
    )
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 16 }), (names) => {
        const logins = names.map((one) => safeLogin(one, names))
        for (const login of logins) expect(login).toMatch(LOGIN)
        expect(logins).not.toContain('default')
        expect(new Set(logins).size).toBe(names.length)
        const reversed = names.toReversed()
        expect(names.map((one) => safeLogin(one, reversed))).toEqual(logins)
      }),
    )
  })
})
