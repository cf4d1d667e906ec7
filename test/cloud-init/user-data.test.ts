import {
  isUserData,
  ownConfig,
  parseWorkspaceSpec,
  renderCloudInit,
  renderUserData,
  renderWorkspaceMachine,
  type UserDataProps,
  userDataWarnings,
  withMacAddresses,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { exampleLabs } from '../harness/example-labs.ts'
import { cloudInitProps } from './arbitraries.ts'
import type { CloudInit } from './package.ts'
import { firstStarts, judge, type Merged, madeMime, merged } from './verdict.ts'

const SAMPLES = 60
const cloudInit = inject('cloudInit')

const USER = { name: 'demo', plain_text_passwd: 'pässword', lock_passwd: false }
const OURS: UserDataProps = { hostname: 'web', users: [USER] }
const SCRIPT = '#!/bin/sh\necho "Grüße" > /etc/motd\n'
const ASCII_SCRIPT = '#!/bin/sh\nexit 0\n'
const CONFIG = '#cloud-config\npackages: [nginx]\nwrite_files:\n  - { path: /etc/motd, content: "Grüße" }\n'
const READ = { packages: ['nginx'], write_files: [{ path: '/etc/motd', content: 'Grüße' }] }

/** Without the members that are undefined. */
const plain = (config: object) => JSON.parse(JSON.stringify(config)) as Record<string, unknown>

describe.skipIf(cloudInit === undefined)('user data of the spec', () => {
  function present(): CloudInit {
    if (typeof cloudInit === 'string') throw new Error(cloudInit)
    return cloudInit as CloudInit
  }

  async function read(...all: readonly UserDataProps[]): Promise<Merged[]> {
    return await merged(present(), all.map(renderUserData))
  }

  const own = plain(ownConfig(OURS))

  /** What is written, the cloud-config that it leads to beside ours, and the scripts. */
  const KINDS: readonly (readonly [what: string, userData: string, config: object, ...scripts: string[]])[] = [
    ['a cloud-config', CONFIG, READ],
    ['a script', SCRIPT, {}, SCRIPT],
    ['a template', '## template: jinja\n#cloud-config\nruncmd: ["{{ v1.region }}"]\n', { runcmd: ['lab'] }],
    [
      'an archive of cloud-init',
      `#cloud-config-archive\n- ${JSON.stringify(SCRIPT)}\n- ${JSON.stringify({ type: 'text/cloud-config', content: CONFIG })}\n`,
      READ,
      SCRIPT,
    ],
    [
      'an archive that does not end',
      `Content-Type: multipart/mixed; boundary="a"\n\n--a\n\n${ASCII_SCRIPT}`,
      {},
      ASCII_SCRIPT,
    ],
    [
      'an archive in an archive, with the line ends of Windows',
      [
        ...['Content-Type: multipart/mixed;', ' boundary=a', 'MIME-Version: 1.0', '', '--a'],
        ...['Content-Type: multipart/mixed; boundary="b"', '', '--b', 'Content-Type: text/cloud-config'],
        ...['Content-Transfer-Encoding: quoted-printable', '', 'packages: =5Bnginx=5D', '--b--', '--a--', ''],
      ].join('\r\n'),
      { packages: ['nginx'] },
    ],
    [
      'an e-mail of one part',
      'MIME-Version: 1.0\nContent-Type: text/cloud-config\n\npackages: [nginx]\n',
      { packages: ['nginx'] },
    ],
  ]

  it('of every kind is read as it is meant, beside ours', async () => {
    const guests = await read(...KINDS.map(([, userData]) => ({ ...OURS, userData })))
    for (const [at, [what, userData, config, ...scripts]] of KINDS.entries()) {
      const { scripts: found, ...guest } = guests[at] as Merged
      expect(isUserData(userData), what).toBe(true)
      expect(guest, what).toMatchObject({ config: { ...config, ...own }, warnings: [] })
      expect(Object.values(found).join('').trim(), what).toBe(scripts.join('').trim())
      expect(userDataWarnings({ ...OURS, userData }), what).toEqual([])
      // What it says is seen: the same keys as ours are told.
      const odd = userData.replace('packages', 'users').replace('runcmd', 'users')
      const told = odd === userData ? [] : ['UserDataOverridden']
      expect(
        userDataWarnings({ ...OURS, userData: odd }).map(({ reason }) => reason),
        what,
      ).toEqual(told)
    }
  })

  it('an archive as make-mime writes it is read as it is meant, and what it overrides is told', async () => {
    const userData = await madeMime(present(), [
      ['text/x-shellscript', SCRIPT],
      ['text/cloud-config', `${CONFIG}users: [{ name: other }]\n`],
    ])
    expect(isUserData(userData)).toBe(true)
    const [guest] = await read({ ...OURS, userData })
    expect(guest).toMatchObject({ config: { ...READ, ...own }, scripts: { 'part-0': SCRIPT }, warnings: [] })
    expect(userDataWarnings({ ...OURS, userData })).toMatchObject([{ reason: 'UserDataOverridden' }])
  })

  it('of the labs of the examples is valid, and so are the addresses of their machines', async () => {
    const machines = [...(await exampleLabs()).values()].flatMap(({ spec }) => {
      const read = parseWorkspaceSpec(spec)
      if (!read.ok) throw new Error(JSON.stringify(read.problems))
      const lab = { workspace: { name: 'lab', uid: 'lab-uid' }, spec: read.spec, imageNamespace: 'images' } as const
      return (read.spec.vms ?? []).map((vm) => renderWorkspaceMachine({ ...lab, vm, driver: 'bridge' }).spec)
    })
    const props = machines.map(({ name = 'machine', users = [], userData, os, interfaces = [] }) => ({
      ...{ hostname: name, users, userData, os },
      interfaces: withMacAddresses('uid', name, interfaces),
    }))
    expect(props.filter(({ userData }) => userData !== undefined).length).toBeGreaterThan(5)
    expect(props.flatMap(userDataWarnings)).toEqual([])
    const linux = props.filter(({ os }) => os !== 'windows')
    const guests = await read(...linux)
    const data = linux.map((each) => renderCloudInit(each).networkdata)
    const verdicts = await judge(
      present(),
      guests.map(({ config }, at) => ({
        userdata: `#cloud-config\n${JSON.stringify(config)}\n`,
        ...(data[at] !== undefined && { networkdata: data[at] }),
      })),
    )
    expect(verdicts.flatMap(({ problems }) => problems)).toEqual([])
    expect(verdicts.filter(({ network }) => network !== null).length).toBeGreaterThan(10)
  })

  it('does not change users and host name of the spec, whatever it says of merging', async () => {
    const theirs = [
      'hostname: other\nfqdn: other.example.com\nprefer_fqdn_over_hostname: true\npreserve_hostname: true',
      'users: [{ name: other }, { name: demo, lock_passwd: true }]\nssh_pwauth: false\nchpasswd: { list: ["demo:x"] }',
      'merge_how: "list(append)+dict(no_replace,recurse_list)+str(append)"\nusers: [{ name: other }]\nhostname: other',
    ]
    const guests = await read(...theirs.map((one) => ({ ...OURS, userData: `#cloud-config\n${one}\n` })))
    for (const { config, hostnames } of guests) {
      expect(config).toMatchObject(own)
      expect(hostnames).toEqual({ debian: 'web', rhel: 'web' })
    }
    const [start] = await firstStarts(
      present(),
      guests.slice(1, 2).map(({ config }) => ({ userdata: JSON.stringify(config), image: 'debian' })),
    )
    expect(start).toMatchObject({ error: null, users: { demo: { password: USER.plain_text_passwd } } })
    expect(Object.keys(start?.users ?? {}).sort()).toEqual(['debian', 'demo', 'root'])
  })

  it('has its users where the spec has none', async () => {
    const userData = '#cloud-config\nusers: [default, { name: other, plain_text_passwd: x, lock_passwd: false }]\n'
    const [guest] = await read({ hostname: 'web', userData })
    const [start] = await firstStarts(present(), [{ userdata: JSON.stringify(guest?.config), image: 'debian' }])
    expect(Object.keys(start?.users ?? {}).sort()).toEqual(['debian', 'other', 'root'])
    expect(userDataWarnings({ hostname: 'web', userData })).toEqual([])
  })

  it('that cannot be read is left out, which is told, and ours is read', async () => {
    const broken = ['#cloud-config\npackages: [nginx\n', '#cloud-config\n- a list\n', 'Content-Type: text/odd\n\nx\n']
    const guests = await read(...broken.map((userData) => ({ ...OURS, userData })))
    for (const [at, { config }] of guests.entries()) {
      expect(config).toEqual(own)
      const told = userDataWarnings({ ...OURS, userData: broken[at] })
      expect(told.map(({ reason }) => reason)).toEqual(['UserDataUnreadable'])
    }
  })

  it(`of ${SAMPLES} machines at random is read as it is meant, and all that has no effect is told`, async () => {
    const value = fc.oneof(fc.boolean(), fc.constantFrom('web', '1', ''), fc.array(fc.string(), { maxLength: 2 }))
    const key = fc.constantFrom(
      ...['hostname', 'fqdn', 'users', 'ssh_pwauth', 'chpasswd', 'preserve_hostname', 'prefer_fqdn_over_hostname'],
      ...['packages', 'runcmd', 'bootcmd', 'final_message'],
    )
    const theirs = fc.dictionary(key, value, { minKeys: 1, noNullPrototype: true }).filter(
      // A list for a name makes cloud-init itself fail.
      ({ fqdn = '' }) => typeof fqdn === 'string',
    )
    const samples = fc.sample(fc.tuple(cloudInitProps, theirs), SAMPLES)
    const machines = samples.map(([{ interfaces: _, ...props }, config]) => ({
      props,
      config,
      userData: `#cloud-config\n${JSON.stringify(config)}\n`,
    }))
    const guests = await read(...machines.map(({ props, userData }) => ({ ...props, userData })))
    for (const [at, { props, config, userData }] of machines.entries()) {
      const ours = plain(ownConfig(props))
      const { config: found, warnings } = guests[at] as Merged
      expect(warnings).toEqual([])
      expect(found).toMatchObject(ours)
      expect(Object.keys(found).toSorted()).toEqual(
        [...new Set([...Object.keys(config), ...Object.keys(ours)])].toSorted(),
      )
      const lost = Object.keys(config).filter((one) => JSON.stringify(found[one]) !== JSON.stringify(config[one]))
      const told = userDataWarnings({ ...props, userData }).map(({ message }) => message.split(', which')[0])
      expect(told).toEqual(lost.length === 0 ? [] : [`userData sets ${lost.toSorted().join(', ')}`])
    }
  })
})
