import { type CloudInitData, renderCloudInit, withMacAddresses } from '@open-terrain/constructs/operator'
import { describe, expect, inject, it } from 'vitest'
import type { CloudInit } from './package.ts'
import { expectReadAsMeant } from './random-machines.ts'
import { judge, type Verdict } from './verdict.ts'

const SAMPLES = 20
const cloudInit = inject('cloudInit')

const userData = (config: object): CloudInitData => ({ userdata: `#cloud-config\n${JSON.stringify(config)}\n` })
const users = (...entries: object[]) => userData({ users: ['default', ...entries] })
const network = (ethernet: object): CloudInitData => ({
  userdata: '#cloud-config\n{"hostname":"vm"}\n',
  networkdata: JSON.stringify({ version: 2, ethernets: { net: { addresses: ['10.0.0.1/24'], ...ethernet } } }),
})

describe.skipIf(cloudInit === undefined)('cloud-init', () => {
  async function check(documents: readonly CloudInitData[]): Promise<Verdict[]> {
    if (typeof cloudInit === 'string') throw new Error(cloudInit)
    return judge(cloudInit as CloudInit, documents)
  }

  it('accepts the machine of the proposal, and makes the user that it asks for', async () => {
    const demo = {
      name: 'demo user',
      plain_text_passwd: 'demo-pwd',
      lock_passwd: false,
      sudo: 'ALL=(ALL) NOPASSWD:ALL',
      groups: 'sudo',
    }
    const interfaces = withMacAddresses('uid', 'demo-workspace-1', [
      { network: 'control-net', ipAddress: '10.10.0.161/24' },
      {
        network: 'bridge-inet',
        ipAddress: '4.29.163.6/28',
        routes: [{ to: '0.0.0.0/0', via: '4.29.163.14' }],
        mtu: 1400,
        nameservers: ['4.29.163.7'],
      },
      { network: 'bridge-edge', ipAddress: '172.27.11.11/28', routes: [{ to: '172.26.0.0/15', via: '172.27.11.12' }] },
    ])
    const [verdict] = await check([renderCloudInit({ hostname: 'demo-vm', users: [demo], interfaces })])
    expect(verdict?.problems).toEqual([])
    expect(Object.keys(verdict?.logins ?? {}).sort()).toEqual(['demo-user', 'distro-default'])
    const { name: gecos, ...asked } = demo
    expect(verdict?.logins?.['demo-user']).toEqual({
      ...asked,
      gecos,
      primary_group: 'demo-user',
      groups: 'demo-user,sudo',
      shell: '/bin/bash',
      default: false,
    })
  })

  it.each(['default', 'Default'])('makes a user of its own of one that is called %s', async (name) => {
    const asked = { name, plain_text_passwd: 'demo-pwd', lock_passwd: false, sudo: 'ALL=(ALL) NOPASSWD:ALL' }
    const [verdict] = await check([renderCloudInit({ hostname: 'vm', users: [asked] })])
    expect(verdict?.problems).toEqual([])
    const { name: gecos, ...settings } = asked
    expect(verdict?.logins).toEqual({
      'user-default': {
        ...settings,
        gecos,
        primary_group: 'user-default',
        groups: 'user-default',
        shell: '/bin/bash',
        default: false,
      },
      'distro-default': { groups: '', default: true },
    })
  })

  it(`accepts ${SAMPLES} machines at random, and reads each as it was meant`, async () => {
    await expectReadAsMeant(SAMPLES, check)
  })

  it('refuses what it has to: the check is alive', async () => {
    const cases: readonly (readonly [name: string, data: CloudInitData, problem: RegExp])[] = [
      ['an unknown key', users({ name: 'a', password: 'x' }), /SchemaValidationError/],
      ['a text for a boolean', users({ name: 'a', lock_passwd: 'false' }), /SchemaValidationError/],
      ['a number for a password', users({ name: 'a', plain_text_passwd: 1234 }), /SchemaValidationError/],
      ['no name', users({ sudo: 'ALL' }), /SchemaValidationError/],
      ['an empty list', users({ name: 'a', ssh_authorized_keys: [] }), /SchemaValidationError/],
      ['a mail header', users({ name: 'a', plain_text_passwd: 'MIME-Version: 1.0' }), /e-mail/],
      ['letters in an e-mail', users({ name: 'a', plain_text_passwd: 'MIME-Version: é' }), /another text/],
      ['a control character', { userdata: '#cloud-config\n{"hostname":"a\u0080"}\n' }, /./],
      ['a route without a next hop', network({ routes: [{ to: '10.1.0.0/16' }] }), /gateway/],
    ]
    const verdicts = await check(cases.map(([, data]) => data))
    for (const [at, [name, , problem]] of cases.entries()) {
      expect(verdicts[at]?.problems.join(), name).toMatch(problem)
    }
    expect(verdicts).toHaveLength(cases.length)
  })
})
