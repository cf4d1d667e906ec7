import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { safeLogin } from './virtual-machine-logins.ts'

const LOGIN = /^[a-z_][a-z0-9_-]{0,31}$/

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
    ['sudo', 'user-sudo'],
    ['Staff', 'user-staff'],
    ['operator', 'user-operator'],
    ['systemd-x', 'user-systemd-x'],
    ['root', 'root'],
    ['admin', 'admin'],
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
      fc.constantFrom('default', 'Default', 'default ', 'user-default', 'user default', 'sudo', 'Sudo', 'user-sudo'),
    )
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 16 }), (names) => {
        const logins = names.map((one) => safeLogin(one, names))
        for (const login of logins) expect(login).toMatch(LOGIN)
        for (const login of ['default', 'sudo']) expect(logins).not.toContain(login)
        expect(new Set(logins).size).toBe(names.length)
        const reversed = names.toReversed()
        expect(names.map((one) => safeLogin(one, reversed))).toEqual(logins)
      }),
    )
  })
})
