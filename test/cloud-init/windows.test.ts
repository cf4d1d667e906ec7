import { type CloudInitProps, renderCloudInit, withMacAddresses } from '@open-terrain/constructs/operator'
import { describe, expect, inject, it } from 'vitest'
import { exampleLabs } from '../harness/example-labs.ts'
import { type WindowsStart, windowsStarts } from './cloudbase.ts'

const cloudbaseInit = inject('cloudbaseInit')
const PASSWORD = '"P@ss: {ß}\\'
const LAB = { name: 'lab', plain_text_passwd: PASSWORD, lock_passwd: false, groups: 'administrators, lab' }
const POWERSHELL = '#ps1_sysnative\nWrite-Host "Grüße"\n'
const CONFIG = '#cloud-config\nusers:\n  - { name: theirs, passwd: Theirs-1 }\nruncmd: [hostname]\n'
const ENTITY = 'Content-Type: text/x-shellscript\nContent-Disposition: attachment; filename="a.ps1"\n\nWrite-Host a\n'

describe.skipIf(cloudbaseInit === undefined)('data for Windows', () => {
  async function started(...guests: readonly Omit<CloudInitProps, 'hostname' | 'os'>[]): Promise<WindowsStart[]> {
    if (typeof cloudbaseInit !== 'object') throw new Error(cloudbaseInit)
    const data = guests.map((guest) => renderCloudInit({ os: 'windows', hostname: 'dc', ...guest }))
    const starts = await windowsStarts(cloudbaseInit, data)
    expect(starts.flatMap(({ errors }) => errors)).toEqual([])
    return starts
  }

  it('makes the users with their passwords, groups and keys', async () => {
    const key = 'ssh-ed25519 AAAA Content-Type: multipart'
    const [start] = await started({
      users: [
        { name: 'Administrator', plain_text_passwd: 'P@ss-w0rd-1', lock_passwd: false },
        LAB,
        { name: 'locked', plain_text_passwd: 'P@ss-w0rd-1', ssh_authorized_keys: [key] },
      ],
    })
    expect(start?.calls.filter(([name]) => /create_(user|group)$|password|local_group/.test(name))).toEqual([
      ['create_group', 'lab'],
      ['set_user_password', 'Administrator', 'P@ss-w0rd-1'],
      ['create_user', 'lab', PASSWORD],
      ['add_user_to_local_group', 'lab', 'administrators'],
      ['add_user_to_local_group', 'lab', 'lab'],
      ['create_user', 'locked', 'random'],
    ])
    // It has the name of the metadata already.
    expect(start?.calls.map(([name]) => name)).not.toContain('set_host_name')
  })

  it('has nothing to do without users', async () => {
    expect((await started({}, { users: [] })).map(({ calls }) => calls)).toEqual([[], []])
  })

  it('has user data of each kind beside the users of the spec, and ours first', async () => {
    const kinds: readonly (readonly [userData: string, program: string, text: string])[] = [
      [POWERSHELL, 'PowershellSysnative', POWERSHELL],
      ['#ps1_x86\nhostname\n', 'Powershell', '#ps1_x86\nhostname\n'],
      ['rem cmd\nhostname\n', 'Shell', 'rem cmd\nhostname\n'],
      ['#!/bin/sh\nhostname\n', 'Bash', '#!/bin/sh\nhostname\n'],
      ['<powershell>hostname</powershell>', 'EC2Config', '<powershell>hostname</powershell>'],
      [CONFIG, 'Shell', 'rem cmd\nhostname\n'],
    ]
    const starts = await started(...kinds.map(([userData]) => ({ users: [LAB], userData })))
    for (const [at, [userData, program, text]] of kinds.entries()) {
      const { calls, scripts } = starts[at] as WindowsStart
      expect(scripts, userData).toEqual([[program, text]])
      const users = calls.filter(([name]) => name === 'create_user')
      expect(users).toEqual([
        ['create_user', 'lab', PASSWORD],
        ...(userData === CONFIG ? [['create_user', 'theirs', 'Theirs-1']] : []),
      ])
    }
  })

  it('of the labs of the examples makes their users and runs their scripts', async () => {
    const labs = [...(await exampleLabs()).values()]
    const machines = labs.flatMap(({ spec }) => spec.vms ?? []).filter(({ os }) => os === 'windows')
    expect(machines.length).toBeGreaterThan(0)
    const guests = machines.map(({ users = [], userData = POWERSHELL }) => ({
      users: users.map(({ passwordSecretRef: _, ...user }) => ({ ...user, plain_text_passwd: PASSWORD })),
      userData,
    }))
    const starts = await started(...guests)
    const made = starts.map(({ calls, scripts }) => ({
      users: new Set(calls.filter(([name]) => /create_user|set_user_password/.test(name)).map(([, name]) => name)),
      scripts,
    }))
    expect(made).toEqual(
      guests.map(({ users, userData }) => ({
        users: new Set(users.map(({ name }) => name)),
        scripts: [['PowershellSysnative', userData]],
      })),
    )
  })

  it('reads archives of people in ours', async () => {
    const archive = `Content-Type: multipart/mixed; boundary=a\nMIME-Version: 1.0\n\n--a\n${ENTITY.replace(
      'a.ps1',
      'a',
    ).replace('Write', '#ps1\nWrite')}--a--\n`
    const [start] = await started({ users: [LAB], userData: archive })
    expect(start?.scripts.map(([program]) => program)).toEqual(['PowershellSysnative'])
    expect(start?.calls.map(([name]) => name)).toContain('create_user')
  })

  it('sets the addresses that the spec says, and adds the other routes by commands', async () => {
    const interfaces = withMacAddresses('uid', 'dc', [
      {
        network: 'lab',
        ipAddresses: ['10.0.0.5/24', 'fd00::5/64'],
        nameservers: ['10.0.0.1'],
        routes: [
          { to: '0.0.0.0/0', via: '10.0.0.1' },
          { to: '::/0', via: 'fd00::1' },
          { to: '172.26.0.0/15', via: '10.0.0.2' },
        ],
      },
      { network: 'other', addressing: 'dhcp' as const },
    ])
    const [start] = await started({ interfaces })
    expect(start?.calls.filter(([name]) => /network/.test(name))).toEqual([
      ['rename_network_adapter', `Ethernet ${interfaces[0]?.macAddress}`, 'net0'],
      ['enable_network_adapter', 'net0', true],
      ['rename_network_adapter', `Ethernet ${interfaces[1]?.macAddress}`, 'net1'],
      ['enable_network_adapter', 'net1', true],
      ['set_static_network_config', 'net0', '10.0.0.5', '24', '10.0.0.1', ['10.0.0.1']],
      ['set_static_network_config', 'net0', 'fd00::5', '64', 'fd00::1', ['10.0.0.1']],
    ])
    expect(start?.scripts).toEqual([['Shell', 'rem cmd\nroute -p add 172.26.0.0 mask 255.254.0.0 10.0.0.2\n']])
  })

  it('has all addresses of a card, each set once, and its MTU', async () => {
    const ipAddresses = ['10.0.0.5/24', '10.0.0.6/24', 'fd00::5/64', 'fd00::6/64']
    const [start] = await started({
      interfaces: withMacAddresses('uid', 'dc', [{ network: 'lab', ipAddresses, mtu: 1_400 }]),
    })
    // Each call removes what the card has of that family.
    expect(start?.calls.filter(([name]) => /static|mtu/.test(name))).toEqual([
      ['set_network_adapter_mtu', 'net0', 1_400],
      ['set_static_network_config', 'net0', '10.0.0.5', '24', null, []],
      ['set_static_network_config', 'net0', 'fd00::5', '64', null, []],
    ])
    const commands = [
      'netsh interface ipv6 set subinterface net0 mtu=1400 store=persistent',
      'netsh interface ipv4 add address net0 10.0.0.6 255.255.255.0',
      'netsh interface ipv6 add address net0 fd00::6/64',
    ]
    expect(start?.scripts).toEqual([['Shell', ['rem cmd', ...commands, ''].join('\n')]])
  })
})
