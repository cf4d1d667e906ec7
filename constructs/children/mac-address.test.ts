import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withMacAddresses } from './mac-address.ts'

const NETWORKS = ['control-net', 'bridge-inet', 'bridge-edge']

/** Returns the addresses of one machine, in the order of the networks. */
function addresses(networks: readonly string[], scope = 'scope', vmName = 'vm'): string[] {
  const interfaces = networks.map((network) => ({ network }))
  return withMacAddresses(scope, vmName, interfaces).map(({ macAddress }) => macAddress)
}

describe('withMacAddresses', () => {
  it('gives what existing guests are configured with', () => {
    expect(addresses(NETWORKS, '11111111-2222-3333-4444-555555555555', 'demo-workspace-1')).toEqual([
      '02:8d:76:b4:3c:d6',
      '02:cc:92:34:e5:5c',
      '02:69:fa:7c:0f:e3',
    ])
  })

  it('keeps the interfaces and their order', () => {
    const interfaces = NETWORKS.map((network, at) => ({ network, ipAddress: `10.0.${at}.1/24` }))
    expect(withMacAddresses('scope', 'vm', interfaces)).toMatchObject(interfaces)
  })

  it('takes what the spec gives', () => {
    const macAddress = '52:54:00:12:34:56'
    const [given, other] = withMacAddresses('scope', 'vm', [{ network: 'a', macAddress }, { network: 'b' }])
    expect(given?.macAddress).toBe(macAddress)
    expect(other?.macAddress).toBe(addresses(['b'])[0])
  })

  it('does not depend on the place in the list, nor on the other ones', () => {
    expect(addresses(NETWORKS.toReversed())).toEqual(addresses(NETWORKS).reverse())
    expect(addresses(['bridge-inet'])).toEqual([addresses(NETWORKS)[1]])
  })

  it.each([
    ['scope', addresses(NETWORKS, 'other')],
    ['machine', addresses(NETWORKS, 'scope', 'other')],
  ])('differs by %s', (_by, others) => {
    expect(new Set([...addresses(NETWORKS), ...others]).size).toBe(2 * NETWORKS.length)
  })

  it('tells two networks apart whose first choice is the same', () => {
    // Found by trying more than a million names.
    const twins = ['net-1308158', 'net-592787']
    const choice = '02:b1:97:38:57:fb'
    expect(twins.flatMap((network) => addresses([network]))).toEqual([choice, choice])

    const [first, second] = addresses(twins)
    expect(first).toBe(choice)
    expect(second).not.toBe(choice)
    expect(addresses(twins.toReversed())).toEqual([second, first])
  })

  it('is unique within a machine, and always a unicast address of our own', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.uniqueArray(fc.string(), { maxLength: 32 }), (scope, vm, networks) => {
        const all = addresses(networks, scope, vm)
        expect(new Set(all).size).toBe(networks.length)
        for (const address of all) expect(address).toMatch(/^02(:[0-9a-f]{2}){5}$/)
      }),
      { numRuns: 1_000 },
    )
  })
})
