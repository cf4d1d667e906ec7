import { describe, expect, it } from 'vitest'
import { PROPOSED_VIRTUAL_MACHINE } from '../../test/prepared/api/virtual-machine.ts'
import { parseVirtualMachineSpec, type VirtualMachineSpec } from './virtual-machine.ts'
import { warningsOf } from './virtual-machine-warnings.ts'

const ssh_authorized_keys = ['ssh-ed25519 AAAAa a']

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
    ['sudo', 'user-sudo, since images have a user or group of the system with this name'],
    ['systemd-network', 'user-systemd-network, since images have a user or group of the system with this name'],
  ])('tells that %s, the name of something else in the guest, is no login', (name, text) => {
    const [warning] = warningsOf(specWith({ users: [{ name }] }))
    expect(warning).toEqual({ reason: 'LoginRenamed', message: `user "${name}" logs in as ${text}` })
  })

  it('tells of the label of a node that there cannot be, which only the pod is refused for', () => {
    const told = (nodeSelector: object) =>
      warningsOf(specWith({ nodeSelector })).filter(({ reason }) => reason === 'NoSuchNodeLabel')
    expect(told({ disk: 'ssd', 'example.com/My_lab': '', 'kubernetes.io/arch': 'amd64' })).toEqual([])
    for (const key of ['my disk', 'a/b/c', 'Example.com/lab', '-lab', 'x'.repeat(64)]) {
      expect(told({ disk: 'ssd', [key]: 'a' })).toMatchObject([{ message: expect.stringContaining(`"${key}"`) }])
    }
  })

  it('tells of a user of Windows in a machine that is not to be one', () => {
    const [warning] = warningsOf(specWith({ users: [{ name: 'Administrator' }] }))
    expect(warning?.reason).toBe('WindowsLogin')
    expect(warning?.message).toContain('set up only with os: windows: without it, nobody can log in')
  })

  it.each<[string, object, string]>([
    [
      'the user of the image',
      { name: 'Admin', plain_text_passwd: 'P@ss-w0rd-1', lock_passwd: false },
      'random password',
    ],
    ['a short password', { name: 'demo', plain_text_passwd: 'P@ss1', lock_passwd: false }, 'Windows Server refuses'],
    ['a plain one', { name: 'demo', plain_text_passwd: 'passw0rd', lock_passwd: false }, 'three of the kinds'],
    ['one with the name', { name: 'demo', plain_text_passwd: 'P@ss-Demo-1', lock_passwd: false }, 'not the name'],
    ['a locked one', { name: 'demo', plain_text_passwd: 'P@ss-w0rd-1' }, 'lock_passwd is true'],
    [
      'keys of an administrator',
      { name: 'demo', groups: 'lab,administrators', ssh_authorized_keys: ['ssh-ed25519 AAAAa a'] },
      'administrators_authorized_keys',
    ],
  ])('tells what may keep a user of Windows from logging in: %s', (_what, user, text) => {
    const { resources } = PROPOSED_VIRTUAL_MACHINE.spec
    const warnings = warningsOf(
      specWith({ os: 'windows', users: [user], resources: { ...resources, diskSize: undefined } }),
    )
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining(text)])
    expect(JSON.stringify(warnings)).not.toMatch(/P@ss|passw0rd/)
  })

  it('tells what Windows does not take from a spec', () => {
    const fields = {
      os: 'windows',
      name: 'domain-controller-1',
      interfaces: [{ network: 'a', addressing: 'none' }],
      users: [{ name: 'demo', ssh_authorized_keys }, { name: 'Demo' }, { name: 'docker', groups: 'ubuntu' }],
    }
    expect(warningsOf(specWith(fields)).map(({ message }) => message)).toEqual([
      'user "Demo" is the same account as another user, since Windows does not tell capitals apart',
      expect.stringContaining('the guest is called domain-controll,'),
      expect.stringContaining('addressing: none of a has no effect'),
      expect.stringContaining('the size of its image'),
    ])
    expect(warningsOf(specWith({ os: 'windows', users: [], name: '42' }))[0]?.message).toContain('digits alone')
  })

  it('tells that groups and users of the image do not go together', () => {
    const users = [
      { name: 'alice', groups: 'sudo, ubuntu' },
      { name: 'root', groups: 'docker' },
    ]
    const [ubuntu, root] = warningsOf(specWith({ users }))
    expect(ubuntu).toEqual({
      reason: 'GroupsOfImage',
      message:
        'user "alice" is in ubuntu, which is also the name of the default user of some images: then such an image does not get its default user',
    })
    expect(root?.message).toBe('groups of user "root" are left out: this user is part of the image, with its groups')
  })

  it.each([
    [
      'the group of a user beside it',
      {
        users: [
          { name: 'alice', groups: 'ubuntu' },
          { name: 'ubuntu', ssh_authorized_keys },
        ],
      },
    ],
    ['root without groups', { users: [{ name: 'root', ssh_authorized_keys }] }],
    ['no users', { users: undefined }],
    ['logins as Linux takes them', { users: [{ name: 'demo', ssh_authorized_keys }, { name: '_a-b' }] }],
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

it('tells that nobody can log in, where no user has a password or a key, and nothing else may make a login', () => {
  const reasons = (fields: object) =>
    warningsOf(specWith({ resources: { cpu: '1', memory: '1Gi' }, ...fields })).map(({ reason }) => reason)
  const users = [{ name: 'one', lock_passwd: false }, { name: 'two' }]
  expect(reasons({ users })).toEqual(['NoLogin'])
  expect(reasons({ users: [...users, { name: 'three', ssh_authorized_keys }] })).toEqual([])
  expect(reasons({ users, userData: '#!/bin/sh' })).toEqual([])
  expect(reasons({ users: [] })).toEqual([])
})
