import { describe, expect, it } from 'vitest'
import { renderNetworkData, usableRoutes } from './cloud-init-network-data.ts'
import { withMacAddresses } from './mac-address.ts'

describe('usableRoutes', () => {
  const via = (ipAddress: string, hop: string, to = ipAddress.includes(':') ? '::/0' : '0.0.0.0/0') =>
    usableRoutes({ ipAddress, routes: [{ to, via: hop }] }).length === 1

  it.each([
    ['10.0.0.5/24', '10.0.0.1', 'a neighbour'],
    ['10.0.0.5/24', '10.0.0.255', 'the last one'],
    ['172.27.11.11/28', '172.27.11.14', 'a neighbour in a small network'],
    ['10.0.0.4/31', '10.0.0.5', 'the other end of a link'],
    ['200.0.0.1/8', '200.255.255.255', 'a neighbour above half of all addresses'],
    ['fd00::5/64', 'fd00::1', 'a neighbour'],
    ['fd00:0:0:0:0:0:0:5/64', 'fd00::ffff:1', 'a neighbour in another spelling'],
    ['fd00::5/64', 'fe80::1', 'a router by its link-local address'],
  ])('of %s: %s is %s', (ipAddress, hop) => {
    expect(via(ipAddress, hop)).toBe(true)
  })

  it.each([
    ['10.0.0.5/24', '10.0.0.5', 'the machine itself'],
    ['fd00::5/64', 'fd00:0::0:5', 'no address at all'],
    ['fd00::5/64', 'FD00:0:0:0:0:0:0:5', 'the machine itself in another spelling'],
    ['fe80::5/64', 'fe80::5', 'the machine itself'],
    ['10.0.0.5/24', '10.0.1.1', 'off the link'],
    ['172.27.11.11/28', '172.27.11.16', 'just off the link'],
    ['fd00::5/64', 'fd00:0:0:1::1', 'off the link'],
    ['10.0.0.5/32', '10.0.0.6', 'off a link of one'],
    ['10.0.0.5/24', 'fe80::1', 'of the other family'],
    ['10.0.0.5/24', '10.0.0', 'no address'],
    ['10.0.0.5/24', '10.0.0.01', 'no plain address'],
    ['10.0.0.5/24', '', 'nothing'],
    ['fd00::5/64', 'fd00:::1', 'no address'],
    ['fd00::5/64', 'fd00::12345', 'no address'],
    ['fd00::5/64', 'fd00:1:2:3:4:5:6', 'too short'],
  ])('of %s: not %s, which is %s', (ipAddress, hop) => {
    expect(via(ipAddress, hop)).toBe(false)
  })

  it('of a guest without an address are none, and of one with several are those of any', () => {
    const routes = [
      { to: '0.0.0.0/0', via: '10.0.0.1' },
      { to: '::/0', via: 'fe80::1' },
      { to: 'fd77::/16', via: 'fd00::1' },
    ]
    expect(usableRoutes({ routes })).toEqual([])
    expect(usableRoutes({ ipAddresses: ['10.0.0.5/24', 'fd00::5/64'], routes })).toEqual(routes)
    expect(usableRoutes({ ipAddresses: ['10.0.0.5/24', '10.0.0.1/24'], routes }).map(({ via }) => via)).toEqual([
      'fe80::1',
    ])
  })

  it('has the first one to each network, by its first address', () => {
    const routes = [
      { to: '172.27.1.1/16', via: '10.0.0.1' },
      { to: '172.27.0.0/16', via: '10.0.0.2' },
      { to: '10.0.0.9/0', via: '10.0.9.1' },
      { to: '1.2.3.4/0', via: '10.0.0.3' },
      { to: '0.0.0.0/0', via: '10.0.0.4' },
    ]
    expect(usableRoutes({ ipAddress: '10.0.0.5/24', routes })).toEqual([
      { to: '172.27.0.0/16', via: '10.0.0.1' },
      { to: '0.0.0.0/0', via: '10.0.0.3' },
    ])
    const v6 = [
      { to: 'fd77:1:2::9/20', via: 'fd00::1' },
      { to: '::1/0', via: 'fd00::1' },
    ]
    expect(usableRoutes({ ipAddress: 'fd00::5/64', routes: v6 })).toEqual([
      { to: 'fd77::/20', via: 'fd00::1' },
      { to: '::/0', via: 'fd00::1' },
    ])
  })

  it('does not mix families', () => {
    expect(via('10.0.0.5/24', '10.0.0.1', '::/0')).toBe(false)
    expect(via('fd00::5/64', 'fd00::1', '0.0.0.0/0')).toBe(false)
    expect(via('fd00::5/64', 'fe80::1', 'default')).toBe(false)
  })
})

describe('renderNetworkData', () => {
  it('keeps guest names short however many interfaces and however long their networks', () => {
    const networks = Array.from({ length: 32 }, (_, at) => ({
      network: `${'n'.repeat(60)}${at}`,
      ipAddress: `10.0.${at}.1/24`,
    }))
    const interfaces = withMacAddresses('11111111-2222-3333-4444-555555555555', 'demo', networks)
    const { ethernets } = JSON.parse(renderNetworkData(interfaces)) as {
      ethernets: Record<string, { 'set-name': string }>
    }
    const names = Object.values(ethernets).map((ethernet) => ethernet['set-name'])
    expect(names).toEqual(interfaces.map((_, at) => `net${at}`))
    for (const name of names) expect(name.length).toBeLessThanOrEqual(15)
  })
})
