import { BlockList, isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { readSpec, type Verdict } from './spec-judges.ts'
import type { Manifest } from './spec-manifests.ts'

/**
 * Describes how the two verdicts differ, or returns undefined if they are equal. Equal means:
 *
 * - both accept, or both refuse;
 * - if both refuse and both name fields, they have at least one in common, unless the server says that it skipped rules, which
 *   it does if the name of the object is invalid;
 * - if both accept, the operator reads the stored spec exactly as the sent one: nothing that it would use was dropped,
 *   defaulted or changed. Lone surrogates are ignored; the API server stores them as U+FFFD. It stores -0 as 0;
 * - no accepted URL leads to a loopback, link-local or metadata address or carries a user, as the URL standard reads it;
 * - every accepted address of an interface is an address, and one that a machine can have.
 *
 * One difference is allowed, {@link isFloatSpelling}.
 */
export function differenceOf(manifest: Manifest, server: Verdict, schema: Verdict): string | undefined {
  if (isFloatSpelling(manifest, server)) return undefined
  if (server.isAccepted !== schema.isAccepted) {
    return `the API server ${said(server)}; the schema ${said(schema)}`
  }
  if (server.isAccepted && schema.isAccepted) {
    return changeWhileStored(manifest, server.spec) ?? dangersOf(schema.spec as Accepted)
  }
  return isSameField(server, schema) ? undefined : `the API server ${said(server)}; the schema ${said(schema)}`
}

/** What the API server says of such a number, and the fields in which it does. */
const FLOAT_SPELLINGS: readonly (readonly [message: string, field: RegExp])[] = [
  ['expected XIntOrString', /"(diskSize|size|cpu|memory)":-?[0-9]+([.]|[0-9.]*[eE])/],
  ['expected int, got float64', /"(containerPort|hostPort)":-?[0-9]+([.]|[0-9.]*[eE])/],
]

/**
 * A whole number that is written with a point or an exponent (`1048576.0`, `1e7`). To the API server it is no int-or-string, and no integer for the
 * rules of the objects that it is in; JavaScript cannot tell it from one. Nothing is stored, JavaScript never writes such a number, and the server
 * converts the value before any of our rules sees it. So neither side can be fixed.
 */
export function isFloatSpelling({ body }: Manifest, server: Verdict): boolean {
  if (server.isAccepted) return false
  return FLOAT_SPELLINGS.some(([message, field]) => {
    return server.problems.some((problem) => problem.message.includes(message)) && field.test(body)
  })
}

function said(verdict: Verdict): string {
  if (verdict.isAccepted) return 'accepts it'
  return `refuses ${verdict.problems.map(({ path, message }) => `${path || 'it'} (${message.slice(0, 200)})`).join(', ')}`
}

function isSameField(server: Verdict, schema: Verdict): boolean {
  const [one, other] = [pathsOf(server), pathsOf(schema)]
  const isNamed = one.length > 0 && other.length > 0
  return !isNamed || one.some((path) => other.includes(path)) || hasLeftOutRules(server, one)
}

/** A bad spec is not excused: the rule that both know must be among its problems. */
function hasLeftOutRules(server: Verdict, paths: readonly string[]): boolean {
  if (server.isAccepted || paths.some((path) => path.startsWith('spec'))) return false
  return server.problems.some(({ message }) => message.includes('some validation rules were not checked'))
}

function pathsOf(verdict: Verdict): string[] {
  return verdict.isAccepted ? [] : verdict.problems.map(({ path }) => path).filter((path) => path !== '')
}

function changeWhileStored({ kind, body }: Manifest, stored: unknown): string | undefined {
  const sent = JSON.parse(body, (_key, value: unknown) => asStored(value)) as { spec: unknown }
  const [before, after] = [readSpec(kind, sent.spec), readSpec(kind, stored)]
  return isDeepStrictEqual(before, after) ? undefined : `stored as ${JSON.stringify(stored)}`
}

function asStored(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value === 0 ? 0 : value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), member]))
}

const LOCAL = new BlockList()
LOCAL.addSubnet('127.0.0.0', 8)
LOCAL.addSubnet('0.0.0.0', 8)
LOCAL.addSubnet('169.254.0.0', 16)
LOCAL.addSubnet('::', 127, 'ipv6')
LOCAL.addSubnet('fe80::', 10, 'ipv6')
LOCAL.addAddress('100.100.100.200')
LOCAL.addAddress('168.63.129.16')
LOCAL.addAddress('fd00:ec2::254', 'ipv6')

/** One list for each version, because an IPv4 address would also match `::/16`. */
const NO_MACHINE = { 4: new BlockList(), 6: new BlockList() }
NO_MACHINE[4].addSubnet('0.0.0.0', 8)
NO_MACHINE[4].addSubnet('127.0.0.0', 8)
NO_MACHINE[4].addSubnet('169.254.0.0', 16)
NO_MACHINE[4].addSubnet('224.0.0.0', 3)
NO_MACHINE[6].addSubnet('::', 16, 'ipv6')
NO_MACHINE[6].addSubnet('fe80::', 10, 'ipv6')
NO_MACHINE[6].addSubnet('ff00::', 8, 'ipv6')

interface WithInterfaces {
  readonly interfaces?: readonly { readonly ipAddress?: string; readonly ipAddresses?: readonly string[] }[]
}

/** What is checked again: a VMDiskImage, a VirtualMachine and its template, vms of a DataSync, or machines and containers of a Workspace. */
interface Accepted extends WithInterfaces {
  readonly url?: string
  readonly vmDiskImageTemplate?: { readonly url?: string }
  readonly vms?: readonly (WithInterfaces & Pick<Accepted, 'url' | 'vmDiskImageTemplate'>)[]
  readonly containerClusters?: readonly WithInterfaces[]
}

function dangersOf(spec: Accepted): string | undefined {
  const { vms = [], containerClusters = [] } = spec
  const owners: readonly WithInterfaces[] = [spec, ...vms, ...containerClusters]
  const nics = owners.flatMap(({ interfaces = [] }) => interfaces)
  const addresses = nics.flatMap(({ ipAddress, ipAddresses = [] }) => [ipAddress ?? [], ipAddresses].flat())
  const urls = [spec, ...vms].flatMap(({ url, vmDiskImageTemplate }) => [url, vmDiskImageTemplate?.url])
  return [...urls.map(dangerOf), ...addresses.map(falseAddress)].find((one) => one !== undefined)
}

function falseAddress(cidr: string): string | undefined {
  const [address = '', prefix = '', ...rest] = cidr.split('/')
  const version = isIP(address)
  const isPrefix = /^[1-9][0-9]{0,2}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128)
  if (version === 0 || !isPrefix || rest.length > 0) return `the accepted address ${cidr} is none`
  const isForbidden = version === 4 ? NO_MACHINE[4].check(address) : NO_MACHINE[6].check(address, 'ipv6')
  return isForbidden ? `no machine can have the accepted address ${cidr}` : undefined
}

/** A second check of addresses, by a parser and a table that are not ours. An archive has no host; the standard says most of hosts that HTTP asks. */
function dangerOf(url: string | undefined): string | undefined {
  if (url === undefined || url.startsWith('oci-archive:')) return undefined
  const parsed = URL.parse(url.replace(/^(docker|gs):/, 'http:'))
  if (parsed === null) return undefined
  if (parsed.username !== '' || parsed.password !== '') return 'the accepted URL carries a user'
  const host = parsed.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const version = isIP(host)
  const isLocal = version === 0 ? /(^|\.)localhost$/.test(host) : LOCAL.check(host, version === 4 ? 'ipv4' : 'ipv6')
  return isLocal ? `the accepted URL leads to ${host}` : undefined
}
