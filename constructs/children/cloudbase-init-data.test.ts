import { describe, expect, it } from 'vitest'
import { earlierCloudInit, renderCloudInit } from './cloud-init-secret.ts'
import { withMacAddresses } from './mac-address.ts'

const CARD_ADDRESSES = ['10.0.0.5', 'fd00::5', '10.9.0.6', 'fd00::6']
const UID = '11111111-2222-3333-4444-555555555555'

describe('data for cloudbase-init', () => {
  const config = (props: object) => {
    const [header, line = ''] = renderCloudInit({ os: 'windows', hostname: 'dc', ...props }).userdata.split('\n')
    expect(header).toBe('#cloud-config')
    return JSON.parse(line) as unknown
  }

  it('has users with a password that can be used, and their groups', () => {
    const users = [
      { name: 'Administrator', plain_text_passwd: 'P@ss-w0rd-1', lock_passwd: false },
      { name: 'Demo User', plain_text_passwd: 'locked', groups: 'administrators, lab' },
      { name: 'keys', ssh_authorized_keys: ['ssh-ed25519 AAAA a'], groups: 'lab' },
    ]
    expect(config({ users })).toEqual({
      hostname: 'dc',
      groups: ['administrators', 'lab'],
      users: [
        { name: 'Administrator', passwd: 'P@ss-w0rd-1' },
        { name: 'Demo User', groups: ['administrators', 'lab'] },
        { name: 'keys', groups: ['lab'], ssh_authorized_keys: ['ssh-ed25519 AAAA a'] },
      ],
    })
  })

  it('is never empty, which it would report as an error', () => {
    expect(config({})).toEqual({ hostname: 'dc' })
  })

  it('is not taken for an archive, whatever a key says', () => {
    const ssh_authorized_keys = ['ssh-ed25519 AAAA Content-Type: multipart']
    const { userdata } = renderCloudInit({ os: 'windows', hostname: 'dc', users: [{ name: 'a', ssh_authorized_keys }] })
    expect(userdata).not.toContain('Content-Type: multipart')
  })

  it('has addresses, the first default route of each family, and commands for the other routes', () => {
    const interfaces = withMacAddresses(UID, 'dc', [
      {
        network: 'lab',
        ipAddresses: ['10.0.0.5/24', 'fd00::5/64'],
        nameservers: ['10.0.0.1'],
        routes: [
          { to: '0.0.0.0/0', via: '10.0.0.1' },
          { to: '::/0', via: 'fe80::1' },
          { to: '172.26.0.0/15', via: '10.0.0.2' },
          { to: 'fd77::/16', via: 'fd00::2' },
        ],
      },
      { network: 'other', ipAddress: '10.9.0.5/16', routes: [{ to: '0.0.0.0/0', via: '10.9.0.1' }] },
      { network: 'quiet', addressing: 'dhcp' as const },
    ])
    expect(config({ interfaces })).toMatchObject({
      runcmd: ['route -p add 172.26.0.0 mask 255.254.0.0 10.0.0.2', 'route -p add fd77::/16 fd00::2'],
    })
    const { networkdata = '' } = renderCloudInit({ os: 'windows', hostname: 'dc', interfaces })
    const services = [{ type: 'dns', address: '10.0.0.1' }]
    expect(JSON.parse(networkdata)).toEqual({
      links: interfaces.map(({ macAddress }, at) => ({
        id: `net${at}`,
        type: 'phy',
        ethernet_mac_address: macAddress,
      })),
      networks: [
        {
          id: 'net0-0',
          link: 'net0',
          type: 'ipv4',
          ip_address: '10.0.0.5',
          netmask: '255.255.255.0',
          routes: [{ network: '0.0.0.0', netmask: '0.0.0.0', gateway: '10.0.0.1' }],
          services,
        },
        {
          id: 'net0-1',
          link: 'net0',
          type: 'ipv6',
          ip_address: 'fd00::5',
          netmask: 'ffff:ffff:ffff:ffff::',
          routes: [{ network: '::', netmask: '::', gateway: 'fe80::1' }],
          services,
        },
        {
          id: 'net1-0',
          link: 'net1',
          type: 'ipv4',
          ip_address: '10.9.0.5',
          netmask: '255.255.0.0',
          routes: [],
          services: [],
        },
      ],
      services: [],
    })
  })

  const CARD = {
    network: 'lab',
    ipAddresses: ['10.0.0.5/24', 'fd00::5/64', '10.9.0.6/16', 'fd00::6/64'],
    routes: [
      { to: '0.0.0.0/0', via: '10.9.0.1' },
      { to: '::/0', via: 'fd00::1' },
      { to: '172.26.0.0/15', via: '10.9.0.2' },
    ],
    mtu: 1_400,
  }
  const cards = withMacAddresses(UID, 'dc', [CARD, { network: 'quiet', mtu: 1_280 }, { network: 'jumbo', mtu: 9_000 }])
  const props = { os: 'windows', hostname: 'dc', interfaces: cards } as const

  it('has the first address of each family, and commands for the others before what is reached by them', () => {
    const { links, networks } = JSON.parse(renderCloudInit(props).networkdata ?? '') as Record<string, object[]>
    expect(networks).toMatchObject([
      { link: 'net0', type: 'ipv4', ip_address: '10.0.0.5', routes: [] },
      { link: 'net0', type: 'ipv6', ip_address: 'fd00::5', routes: [{ gateway: 'fd00::1' }] },
    ])
    expect(networks).toHaveLength(2)
    expect(links?.map((link) => ('mtu' in link ? link.mtu : undefined))).toEqual([1_400, 1_280, undefined])
    expect(config(props)).toMatchObject({
      runcmd: [
        'netsh interface ipv6 set subinterface net0 mtu=1400 store=persistent',
        'netsh interface ipv4 add address net0 10.9.0.6 255.255.0.0',
        'netsh interface ipv6 add address net0 fd00::6/64',
        'route -p add 0.0.0.0 mask 0.0.0.0 10.9.0.1',
        'route -p add 172.26.0.0 mask 255.254.0.0 10.9.0.2',
      ],
    })
  })

  it('is known as earlier versions rendered it, with the commands for what the guest lacks', () => {
    const { data, commands } = earlierCloudInit(props) ?? {}
    const { links, networks } = JSON.parse(data?.networkdata ?? '') as Record<string, object[]>
    expect(networks?.map((one) => ('ip_address' in one ? one.ip_address : undefined))).toEqual(CARD_ADDRESSES)
    expect(links?.some((link) => 'mtu' in link)).toBe(false)
    expect(data?.userdata).toBe(
      '#cloud-config\n{"hostname":"dc","runcmd":["route -p add 172.26.0.0 mask 255.254.0.0 10.9.0.2"]}\n',
    )
    expect(commands).toEqual([
      'netsh interface ipv4 set subinterface net0 mtu=1400 store=persistent',
      'netsh interface ipv4 set subinterface net1 mtu=1280 store=persistent',
      'netsh interface ipv6 set subinterface net0 mtu=1400 store=persistent',
      'netsh interface ipv6 add address net0 fd00::5/64',
      'netsh interface ipv4 add address net0 10.0.0.5 255.255.255.0',
    ])
  })

  it('is known with the routes that the guest could not reach with the last address of a card', () => {
    const routes = [
      { to: '0.0.0.0/0', via: '10.0.0.1' },
      { to: '172.26.0.0/15', via: '10.0.0.2' },
      { to: '172.28.0.0/15', via: '10.9.0.2' },
    ]
    const interfaces = withMacAddresses(UID, 'dc', [
      { network: 'lab', ipAddresses: ['10.0.0.5/24', '10.9.0.6/16'], routes },
    ])
    expect(earlierCloudInit({ ...props, interfaces })?.commands).toEqual([
      'netsh interface ipv4 add address net0 10.0.0.5 255.255.255.0',
      'route -p add 0.0.0.0 mask 0.0.0.0 10.0.0.1',
      'route -p add 172.26.0.0 mask 255.254.0.0 10.0.0.2',
    ])
  })

  it('is as earlier versions rendered it where a card has one address of a family, and no mtu that Windows takes', () => {
    const one = { ...CARD, ipAddresses: ['10.9.0.6/16', 'fd00::5/64'], mtu: 9_000 }
    const same = { ...props, interfaces: withMacAddresses(UID, 'dc', [one, { network: 'quiet' }]) }
    expect(earlierCloudInit(same)).toBeUndefined()
    expect(renderCloudInit({ ...same, cardWords: 'first' })).toEqual(renderCloudInit(same))
    expect(earlierCloudInit({ ...props, os: 'linux' })).toBeUndefined()
  })
})
