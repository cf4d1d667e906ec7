import { describe, expect, it } from 'vitest'
import { VIRTUAL_MACHINE_REASONS } from '../api/virtual-machine-reasons.ts'
import { userDataWarnings } from './user-data-warnings.ts'

const CANARY = 'canary-3c1d'
const { UserDataOverridden, UserDataUnreadable } = VIRTUAL_MACHINE_REASONS
const DEMO = { name: 'demo', plain_text_passwd: 'x', lock_passwd: false }

const told = (userData: string, users: Parameters<typeof userDataWarnings>[0]['users'] = [DEMO]) =>
  userDataWarnings({ hostname: 'web', users, userData })

const overridden = (keys: string) => [
  {
    reason: UserDataOverridden,
    message: `userData sets ${keys}, which users and name of the spec decide: what it says there has no effect`,
  },
]
const unreadable = (why: string) => [{ reason: UserDataUnreadable, message: `${why}: the guest leaves it out` }]

describe('userDataWarnings', () => {
  it.each<[string, string, string]>([
    ['another host name', 'hostname: other', 'hostname'],
    ['users, in any order', 'users: []\nchpasswd: { list: x }\nssh_pwauth: no', 'chpasswd, ssh_pwauth, users'],
    ['the password of the user of the image', 'password: x', 'password'],
    ['what would keep the name of the image', 'preserve_hostname: yes', 'preserve_hostname'],
    ['a mapping in one line', '{ "users": [], hostname: web }', 'users'],
  ])('tells what has no effect: %s', (_what, config, keys) => {
    expect(told(`#cloud-config\n${config}\n`)).toEqual(overridden(keys))
    const content = JSON.stringify(`#cloud-config\n${config}\n`)
    expect(told(`#cloud-config-archive\n- ${content}\n`)).toEqual(overridden(keys))
  })

  it('tells the keys of a template, and of a cloud-config that is too long to be read', () => {
    expect(told(`## template: jinja\n#cloud-config\nhostname: {{ x }}\n{% if a %}\nusers: []\n`)).toEqual(
      overridden('hostname, users'),
    )
    expect(told(`#cloud-config\nusers: []\n${'# long\n'.repeat(10_000)}`)).toEqual(overridden('users'))
    expect(told('## template: jinja\n#!/bin/sh\nusers: []\n')).toEqual([])
  })

  it('tells that cloud-init does not read the network there', () => {
    expect(told('#cloud-config\nnetwork: { version: 2 }\n')).toEqual([
      {
        reason: UserDataOverridden,
        message: 'userData sets network, which cloud-init does not read there: interfaces of the spec decide',
      },
    ])
  })

  it.each<[string, string]>([
    ['the same as the spec', '#cloud-config\nhostname: web\nssh_pwauth: true\npreserve_hostname: no\n'],
    ['what the spec does not decide', '#cloud-config\nfqdn: web.example.com\npackages: [nginx]\n'],
    ['an empty cloud-config', '#cloud-config\n# nothing\n'],
    ['a script', '#!/bin/sh\nusers: []\n'],
    ['an address', '#include\nhttps://a.example/users\n'],
    [
      'types that a program of the archive may know',
      'Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: text/part-handler\n\n#part-handler\n--a\nContent-Type: text/odd\n\nx\n--a--\n',
    ],
  ])('is silent about %s', (_what, userData) => {
    expect(told(userData)).toEqual([])
  })

  it('is silent about users where the spec has none', () => {
    const userData = '#cloud-config\nusers: [{ name: other }]\nchpasswd: { list: x }\nssh_pwauth: true\npassword: x\n'
    expect(told(userData, [])).toEqual([])
    // Nobody of the spec logs in with a password.
    expect(told(userData, [{ name: 'demo' }])).toEqual(overridden('users'))
  })

  it.each<[string, string, string]>([
    ['no YAML', '#cloud-config\npackages: [nginx\n', 'userData is not valid YAML in line 3'],
    ['no mapping', '#cloud-config\n- packages\n', 'userData is a cloud-config without keys and values'],
    [
      'an unknown type in an archive',
      `Content-Type: multipart/mixed; boundary=a\n\n--a\n\n#!/bin/sh\n--a\nContent-Type: text/${CANARY}\n\nx\n--a--\n`,
      'part 2 of userData is of no kind that cloud-init knows',
    ],
  ])('tells what the guest leaves out: %s', (_what, userData, why) => {
    expect(told(userData)).toEqual(unreadable(why))
  })

  it('has none of its content', () => {
    const texts = [
      `hostname: ${CANARY}\nusers: [${CANARY}]\npassword: ${CANARY}\n`,
      `${CANARY}: [${CANARY}\n`,
      `- ${CANARY}\n`,
      `? ${CANARY}\n: &${CANARY} *${CANARY}2\n`,
    ]
    for (const text of texts) {
      const warnings = told(`#cloud-config\n${text}`)
      expect(warnings).not.toEqual([])
      expect(JSON.stringify(warnings)).not.toContain(CANARY)
    }
  })

  it('takes little time, whatever somebody writes', () => {
    const bomb = `#cloud-config\na: &a [x, x]\n${Array.from({ length: 40 }, (_, at) => `b${at}: &b${at} [*${at === 0 ? 'a' : `b${at - 1}`}, *a]`).join('\n')}\n`
    const nested = `Content-Type: multipart/mixed; boundary=a\n\n${'--a\nContent-Type: multipart/mixed; boundary=a\n\n'.repeat(2_000)}`
    const many = `Content-Type: multipart/mixed; boundary=a\n\n${'--a\n\nx\n'.repeat(50_000)}`
    expect(told(bomb)).toEqual([])
    expect(told(nested)).toEqual([])
    expect(told(many).length).toBeLessThan(100)
  })
})

describe('userDataWarnings of a Windows guest', () => {
  const toldOf = (userData: string) => userDataWarnings({ os: 'windows', hostname: 'dc', userData })

  it.each<[string, string, string]>([
    ['keys that only cloud-init knows', '#cloud-config\npackages: [a]\nzzz: 1\nyyy: 2\n', 'packages, 2 other keys'],
    ['another host name', '#cloud-config\nset_hostname: other\n', 'in place of the name of the spec'],
    ['no YAML', '#cloud-config\nusers: [a\n', 'not valid YAML in line 3'],
    [
      'a kind that it does not know',
      'Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: text/cloud-boothook\n\n#!/bin/sh\n--a--\n',
      'of no kind that cloudbase-init knows',
    ],
  ])('tells of %s', (_what, userData, text) => {
    expect(toldOf(userData).map(({ message }) => message)).toEqual([expect.stringContaining(text)])
  })

  it.each(['#ps1_sysnative\nhostname\n', 'rem cmd\nhostname\n', '#cloud-config\nruncmd: [hostname]\nusers: []\n'])(
    'is silent about what it knows: %j',
    (userData) => {
      expect(toldOf(userData)).toEqual([])
    },
  )
})
