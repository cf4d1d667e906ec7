import { describe, expect, it } from 'vitest'
import { renderUserData } from './cloud-init-user-data.ts'

describe('renderUserData', () => {
  const user = (more: object) => {
    const [, line = ''] = renderUserData({ hostname: 'vm', users: [{ name: 'demo', ...more }] }).split('\n')
    return JSON.parse(line) as { ssh_pwauth?: boolean; users: [string, object] }
  }

  it.each([
    [{ plain_text_passwd: 'x', lock_passwd: false }, true],
    [{ plain_text_passwd: 'x', lock_passwd: true }, undefined],
    [{ plain_text_passwd: 'x' }, undefined],
    [{ lock_passwd: false }, undefined],
    [{ plain_text_passwd: '', lock_passwd: false }, undefined],
  ])('opens SSH to passwords only where one can be used: %j', (fields, expected) => {
    expect(user(fields).ssh_pwauth).toBe(expected)
  })

  it.each([
    ['demo,sudo', 'demo,sudo'],
    ['sudo, demo , sudo', 'demo,sudo'],
  ])('names the own group of a user among its groups: %s', (groups, all) => {
    expect(user({ groups }).users[1]).toMatchObject({ primary_group: 'demo', groups: all })
  })

  it('leaves the groups of root to the image', () => {
    expect(user({ name: 'root', groups: 'docker' }).users[1]).toEqual({ name: 'root', shell: '/bin/bash' })
  })

  it('says nothing that was not asked for', () => {
    const empty = { ssh_authorized_keys: [], plain_text_passwd: '' }
    expect(user(empty).users).toEqual([
      'default',
      { name: 'demo', primary_group: 'demo', groups: 'demo', shell: '/bin/bash' },
    ])
  })
})
