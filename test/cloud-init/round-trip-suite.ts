import {
  type CloudInitProps,
  type CloudInitUser,
  type GuestInterface,
  renderCloudInit,
  renderUserData,
  usableRoutes,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { anyText, cloudInitProps } from './arbitraries.ts'

const LOGIN = /^[a-z_][a-z0-9_-]{0,31}$/

type Entry = Omit<CloudInitUser, 'name'> & {
  readonly name: string
  readonly gecos?: string
  readonly shell: string
  readonly primary_group?: string
}
interface UserData {
  readonly hostname: string
  readonly ssh_pwauth?: boolean
  readonly users?: readonly ['default', ...Entry[]]
  readonly chpasswd?: { readonly expire: boolean; readonly users: readonly object[] }
}

/** Parses the text as YAML 1.1, as cloud-init does. The result must be the same as for JSON. */
function readBack(text: string): unknown {
  const fromYaml: unknown = parse(text, { version: '1.1' })
  expect(fromYaml).toEqual(JSON.parse(text))
  return fromYaml
}

function readUserData(userdata: string): UserData {
  const [header, line = '', ...rest] = userdata.split('\n')
  expect([header, ...rest]).toEqual(['#cloud-config', ''])
  return readBack(line) as UserData
}

/** Returns the user that an entry stands for. Members that were not requested stay in it. */
function asked({ shell, gecos, primary_group, groups, ...entry }: Entry): CloudInitUser {
  expect(shell).toBe('/bin/bash')
  expect(entry.name).toMatch(LOGIN)
  expect(primary_group).toBe(entry.name)
  const [own, ...others] = groups?.split(',') ?? []
  expect(own).toBe(entry.name)
  return {
    ...entry,
    ...(gecos !== undefined && { name: gecos }),
    ...(others.length > 0 && { groups: others.join(',') }),
  }
}

function plain(user: CloudInitUser): CloudInitUser {
  const { groups, ssh_authorized_keys: keys } = user
  return {
    ...user,
    groups: groups?.replaceAll(' ', ''),
    ...(keys?.length === 0 && { ssh_authorized_keys: undefined }),
  }
}

function checkUsers({ hostname, users = [] }: CloudInitProps, data: UserData): void {
  const [first, ...entries] = data.users ?? ['default']
  expect(first).toBe('default')
  expect(entries.map(asked)).toEqual(users.map(plain))
  expect(new Set(entries.map(({ name }) => name)).size).toBe(users.length)
  const passwords = users.flatMap(({ plain_text_passwd: password, lock_passwd }, at) =>
    password !== undefined && lock_passwd === false ? [{ name: entries[at]?.name, password, type: 'text' }] : [],
  )
  const hasPasswords = passwords.length > 0
  expect({ ...data, users: undefined }).toEqual({
    hostname,
    ssh_pwauth: hasPasswords || undefined,
    chpasswd: hasPasswords ? { expire: false, users: passwords } : undefined,
  })
}

function expectedEthernet(each: GuestInterface, at: number): object {
  const card = { match: { macaddress: each.macAddress }, 'set-name': `net${at}`, dhcp6: false }
  const { addressing } = each
  if (addressing === 'none') return { ...card, dhcp4: false, optional: true }
  if (addressing === 'dhcp')
    return { ...card, dhcp4: true, optional: true, 'dhcp4-overrides': { 'route-metric': 100 + at } }
  const routes = usableRoutes(each).map((route) => ({ ...route, metric: 100 + at }))
  return {
    ...card,
    dhcp4: false,
    addresses: each.ipAddresses ?? [each.ipAddress],
    ...(routes.length > 0 && { routes }),
    ...(each.mtu !== undefined && { mtu: each.mtu }),
    ...(each.nameservers?.length && { nameservers: { addresses: each.nameservers } }),
  }
}

function checkNetwork({ interfaces = [] }: CloudInitProps, networkdata: string | undefined): void {
  if (interfaces.length === 0) {
    expect(networkdata).toBeUndefined()
    return
  }
  const ethernets = Object.fromEntries(interfaces.map((each, at) => [each.network, expectedEthernet(each, at)]))
  expect(readBack(networkdata ?? '')).toEqual({ version: 2, ethernets })
}

/** @param runs number of specs, and number of texts */
export function roundTripSuite(runs: number): void {
  it('parses back to exactly what was asked for', () => {
    fc.assert(
      fc.property(cloudInitProps, (props) => {
        const { userdata, networkdata } = renderCloudInit(props)
        checkUsers(props, readUserData(userdata))
        checkNetwork(props, networkdata)
      }),
      { numRuns: runs },
    )
  })

  it('keeps any text what it is, also one that no rule has looked at', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const userdata = renderUserData({ hostname: 'vm', users: [{ name: 'demo', plain_text_passwd: text }] })
        expect(readUserData(userdata).users?.[1]?.plain_text_passwd).toBe(text)
        // cloud-init reads the whole text as an e-mail if it contains this.
        expect(userdata.toLowerCase()).not.toContain('mime-version:')
        // Characters that PyYAML rejects, or reads as the end of a line or of the text.
        expect(userdata).not.toMatch(
          /[^\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u,
        )
      }),
      { numRuns: runs },
    )
  })
}
