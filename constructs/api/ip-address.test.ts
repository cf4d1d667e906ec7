import { BlockList, isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ipText, isHostAddress, isInNetwork, networkOf, parseCidr, parseIp, prefixText } from './ip-address.ts'

const v4 = fc.nat(0xffff_ffff).map((value) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.'))
const group = fc.oneof({ arbitrary: fc.constant(0), weight: 3 }, fc.nat(0xffff), fc.nat(15))
const groups = fc.array(group, { minLength: 8, maxLength: 8 })
const longV6 = groups.map((list) => list.map((one) => one.toString(16).padStart(4, '0')).join(':'))
/** As the URL standard writes it, which is also the usual short form. */
const shortV6 = (text: string) => new URL(`http://[${text}]`).hostname.slice(1, -1)
const isV4InV6 = (text: string) => /^::ffff:[0-9a-f]{1,4}:[0-9a-f]{1,4}$/.test(shortV6(text))
const v6 = longV6.filter((text) => !isV4InV6(text))
const nearAddress = fc.string({
  unit: fc.constantFrom('0', '1', '2', '5', 'f', ':', '::', '.', '/', '255', '10', 'F', ' '),
  maxLength: 14,
})

describe('parseIp', () => {
  it.each([
    '0.0.0.0',
    '255.255.255.255',
    '10.0.0.8',
    '::',
    '::1',
    'fd00::1',
    'FD00:0:0::1',
    '1:2:3:4:5:6:7:8',
    '1::8',
    '::1.2.3.4',
    '64:ff9b::1.2.3.4',
  ])('reads %s', (text) => expect(parseIp(text)).toBeDefined())

  it.each([
    '',
    '1',
    '1.2.3',
    '1.2.3.4.5',
    '256.0.0.1',
    '01.2.3.4',
    '1.2.3.4 ',
    '1.2.3.-4',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    '12345::',
    'g::',
    'fe80::1%eth0',
    '::ffff:1.2.3.4',
    '::ffff:102:304',
    '1.2.3.4::',
    '::1.2.3',
    ':1',
    '1:',
    '[::1]',
  ])('does not read %s', (text) => expect(parseIp(text)).toBeUndefined())

  it('reads what Node reads, but for zones and IPv4 written as IPv6', () => {
    fc.assert(
      fc.property(fc.oneof(nearAddress, v4, v6), (text) => {
        const isIt = isIPv4(text) || (isIPv6(text) && !isV4InV6(text))
        expect(parseIp(text) !== undefined).toBe(isIt)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('ipText', () => {
  it('writes IPv4 as it was', () => {
    fc.assert(
      fc.property(v4, (text) => {
        expect(ipText(parseIp(text) as never)).toBe(text)
      }),
    )
  })

  it('writes IPv6 in the usual short way', () => {
    fc.assert(
      fc.property(v6, (text) => {
        expect(ipText(parseIp(text) as never)).toBe(shortV6(text))
      }),
    )
  })
})

describe('parseCidr', () => {
  it.each(['10.0.0.5/24', '0.0.0.0/0', '1.2.3.4/32', '::/0', 'fd00::1/128'])('reads %s', (text) => {
    expect(prefixText(parseCidr(text) as never)).toBe(text)
  })

  it.each([
    '10.0.0.5',
    '10.0.0.5/',
    '10.0.0.5/33',
    '10.0.0.5/024',
    '10.0.0.5/+8',
    '10.0.0.5/-1',
    '10.0.0.5/8/8',
    '/8',
    'fd00::/129',
    '10.0.0.5/8 ',
  ])('does not read %s', (text) => expect(parseCidr(text)).toBeUndefined())
})

const prefix = fc.oneof(
  fc.tuple(v4, fc.nat(32)).map(([address, length]) => ({ address, length, family: 'ipv4' as const })),
  fc.tuple(v6, fc.nat(128)).map(([address, length]) => ({ address, length, family: 'ipv6' as const })),
)

describe('a network', () => {
  it('has the addresses that Node says it has', () => {
    const near = fc.tuple(prefix, fc.oneof(v4, v6), fc.boolean(), fc.nat(127))
    fc.assert(
      fc.property(near, ([{ address, length, family }, other, isNear, bit]) => {
        const network = networkOf(parseCidr(`${address}/${length}`) as never)
        const list = new BlockList()
        list.addSubnet(ipText(network), length, family)
        const flipped = { ...network, value: network.value ^ (1n << BigInt(family === 'ipv4' ? bit % 32 : bit)) }
        const one = isNear ? ipText(flipped) : other
        const parsed = parseIp(one)
        if (parsed === undefined) return
        const isSame = parsed.family === network.family
        expect(isInNetwork(parsed, network)).toBe(isSame && list.check(one, family))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each<[string, boolean]>([
    ['10.0.0.0/24', false],
    ['10.0.0.1/24', true],
    ['10.0.0.254/24', true],
    ['10.0.0.255/24', false],
    ['10.0.1.255/16', true],
    ['10.0.255.255/16', false],
    ['255.255.255.255/8', false],
    ['10.0.0.4/30', false],
    ['10.0.0.7/30', false],
    ['10.0.0.4/31', true],
    ['10.0.0.5/31', true],
    ['10.0.0.5/32', true],
    ['fd00::/64', false],
    ['fd00::ffff:ffff:ffff:ffff/64', true],
    ['fd00::/127', true],
    ['fd00::4/126', false],
  ])('may have an interface with %s: %s', (text, may) => {
    expect(isHostAddress(parseCidr(text) as never)).toBe(may)
  })
})
