/**
 * Rules on the URLs and addresses that an image may come from, in two strengths. The rules of the CRD are patterns, because they must mean the same
 * in CEL. The rule of the policy parses addresses as numbers.
 *
 * A name can resolve to any address at any time. These rules block plain and disguised spellings. A NetworkPolicy on the importer pods blocks the
 * rest.
 */

export const URL_SCHEMES = ['http', 'https', 'gs', 'docker', 'oci-archive'] as const
export type UrlScheme = (typeof URL_SCHEMES)[number]

export const URL_MAX_LENGTH = 2048

/** RE2 and JavaScript alike; those for hosts are for the URL in lower case. */
export const URL_PATTERNS = {
  scheme: '^(https?|gs|docker|oci-archive)://',
  /** Something before an `@` in the authority. */
  userinfo: '^[^/?#]*://[^/?#]*@',
  /**
   * Scheme, host, port and rest in printable ASCII. A registry URL needs a repository. An archive URL has only a path. A host in brackets must have a
   * colon: importers connect to `[127.0.0.1]` as if there were no brackets.
   */
  shape:
    '^((https?|gs)://([A-Za-z0-9_.-]+|\\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\\])(:[0-9]{1,5})?([/?][!-\\[\\]-~]*)?' +
    '|docker://([A-Za-z0-9_.-]+|\\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\\])(:[0-9]{1,5})?/[!-\\[\\]-~]+' +
    '|oci-archive://[!-\\[\\]-~]+)$',
  /** The last label is a decimal, octal or hexadecimal number, which every resolver reads as an IPv4 address. */
  numericHost: '^[a-z-]+://([a-z0-9_.-]*[.])?([0-9]+|0x[0-9a-f]*)[.]*([:/?]|$)',
  /** An IPv4 address in the only spelling that all programs parse alike. */
  dottedQuad:
    '^[a-z-]+://((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])([:/?]|$)',
  /** Loopback, unspecified, link-local and cloud metadata, by name or address. */
  localHost:
    '^[a-z-]+://(' +
    '([a-z0-9_.-]*[.])?localhost([.]localdomain)?[.]*' +
    '|localhost6([.]localdomain6)?[.]*|ip6-(localhost|loopback)[.]*' +
    '|metadata([.]google[.]internal|[.]goog)?[.]*|instance-data([.]ec2[.]internal)?[.]*' +
    '|(0|127)([.][0-9]+){3}|169[.]254([.][0-9]+){2}' +
    '|100[.]100[.]100[.]200|192[.]0[.]0[.]192|168[.]63[.]129[.]16' +
    '|\\[(:|0{1,4}:)[^\\]]*\\]|\\[fe[89ab][0-9a-f]:[^\\]]*\\]|\\[0{0,2}64:ff9b:[^\\]]*\\]|\\[fd00:0?ec2:[^\\]]*\\]' +
    '|\\[2002:(7f[0-9a-f]{2}|a9fe):[^\\]]*\\]' +
    ')([:/?]|$)',
  /**
   * In a path: `.` or `..` as a segment, with which a server would leave the directory. Also with dots, slashes or backslashes that are escaped once or
   * more often, which a proxy may undo, and with parameters (`..;a=b`), which some servers take off first.
   */
  dotSegment: '(^|/|%(25)*2[fF]|%(25)*5[cC])([.]|%(25)*2[eE]){1,2}(/|;|%(25)*2[fF]|%(25)*5[cC]|%(25)*3[bB]|$)',
} as const

const scheme = new RegExp(URL_PATTERNS.scheme)
const userinfo = new RegExp(URL_PATTERNS.userinfo)
const shape = new RegExp(URL_PATTERNS.shape)
const numericHost = new RegExp(URL_PATTERNS.numericHost)
const dottedQuad = new RegExp(URL_PATTERNS.dottedQuad)
const localHost = new RegExp(URL_PATTERNS.localHost)
const dotSegment = new RegExp(URL_PATTERNS.dotSegment)

/** The CRD's rules, one predicate per message. */
export const isUrlOf = {
  knownScheme: (url: string) => scheme.test(url),
  noUserinfo: (url: string) => !userinfo.test(url),
  shape: (url: string) => shape.test(url),
  plainAddress: (url: string) => !numericHost.test(url.toLowerCase()) || dottedQuad.test(url.toLowerCase()),
  remoteHost: (url: string) => !localHost.test(url.toLowerCase()),
} as const

/** A parsed URL. Parts with several possible spellings are normalized. */
export interface SourceUrl {
  readonly scheme: UrlScheme
  /** Lower case, without a trailing dot; IPv6 in brackets; empty for archives. */
  readonly host: string
  /** Decimal. Empty if it is the default port of the scheme. */
  readonly port: string
  /** Starts with `/`; without query and fragment, escapes as written. */
  readonly path: string
  readonly hasQuery: boolean
}

const PARTS = /^([a-z-]+):\/\/([^/?#]*)([^?#]*)(.*)$/
const DEFAULT_PORTS: Partial<Record<UrlScheme, string>> = { http: '80', https: '443' }

/**
 * Parses a URL that follows the spelling rules of the CRD (known scheme, no userinfo, printable ASCII). Returns undefined for any other. As in
 * container tools, a registry URL without a registry (`docker://org/image`) means docker.io.
 */
export function parseSourceUrl(url: string): SourceUrl | undefined {
  if (url.length > URL_MAX_LENGTH || !isUrlOf.noUserinfo(url) || !isUrlOf.shape(url)) return undefined
  return takeApart(url)
}

/** Reports whether two URLs are one address: the case of the host, its default port and a trailing dot do not matter. */
export function isSameUrl(one: string, other: string): boolean {
  const [a, b] = [one, other].map((url) => {
    const parsed = parseSourceUrl(url)
    return parsed === undefined ? [url] : [...Object.values(parsed), /[?#].*$/.exec(url)?.[0]]
  })
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Like `parseSourceUrl`, for the prefix of a URL. A registry without a repository (`docker://registry.example.com`) is valid, too. */
function parseUrlPrefix(prefix: string): SourceUrl | undefined {
  const isRegistry = prefix.startsWith('docker://')
  const whole = isRegistry ? prefix.replace(/\/?$/, '/x') : prefix
  return parseSourceUrl(whole) === undefined ? undefined : takeApart(prefix)
}

function takeApart(url: string): SourceUrl | undefined {
  const match = PARTS.exec(url)
  if (match === null) return undefined
  const [, schemeText, authority = '', path = '', rest = ''] = match
  const parsed = { scheme: schemeText as UrlScheme, hasQuery: rest !== '' }
  if (parsed.scheme === 'oci-archive') return { ...parsed, host: '', port: '', path: `/${authority}${path}` }
  if (parsed.scheme === 'docker' && !/[.:]/.test(authority) && authority.toLowerCase() !== 'localhost') {
    return { ...parsed, host: 'docker.io', port: '', path: `/${authority}${path}` }
  }
  const port = /:([0-9]+)$/.exec(authority)?.[1] ?? ''
  const host = authority.slice(0, authority.length - (port === '' ? 0 : port.length + 1)).toLowerCase()
  const plainPort = port === '' ? '' : String(Number(port))
  return {
    ...parsed,
    host: host.replace(/\.$/, ''),
    port: plainPort === DEFAULT_PORTS[parsed.scheme] ? '' : plainPort,
    path: path === '' ? '/' : path,
  }
}

/** Class of a host, judged only by its spelling. */
export type HostClass = 'name' | 'public' | 'private' | 'local' | 'malformed'

/**
 * `local`: loopback, unspecified, link-local, cloud metadata. `private`: any other address that is not routed on the internet. `malformed`: an
 * address in a spelling that programs parse differently, or not a host.
 * @param host as in `SourceUrl`: lower case, IPv6 in brackets
 */
export function classifyHost(host: string): HostClass {
  const url = `https://${host}`
  if (!isUrlOf.shape(url) || !isUrlOf.plainAddress(url)) return 'malformed'
  if (!isUrlOf.remoteHost(url)) return 'local'
  if (host.startsWith('[')) return classifyV6(host.slice(1, -1))
  if (dottedQuad.test(url)) return classifyV4(host.split('.').map(Number) as V4)
  return isHostName(host) ? 'name' : 'malformed'
}

type V4 = [number, number, number, number]

/** Blocks that are not globally reachable. Source: the IANA special-purpose registries (RFC 6890 and what followed). */
export const PRIVATE_V4: readonly (readonly [network: V4, prefix: number])[] = [
  [[10, 0, 0, 0], 8],
  [[100, 64, 0, 0], 10],
  [[172, 16, 0, 0], 12],
  [[192, 0, 0, 0], 24],
  [[192, 0, 2, 0], 24],
  [[192, 88, 99, 0], 24],
  [[192, 168, 0, 0], 16],
  [[198, 18, 0, 0], 15],
  [[198, 51, 100, 0], 24],
  [[203, 0, 113, 0], 24],
  [[224, 0, 0, 0], 3],
]

function classifyV4(address: V4): HostClass {
  const bits = v4Bits(address)
  const isPrivate = PRIVATE_V4.some(([network, prefix]) => v4Bits(network) >>> (32 - prefix) === bits >>> (32 - prefix))
  return isPrivate ? 'private' : 'public'
}

function v4Bits([a, b, c, d]: V4): number {
  return ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
}

/** Global unicast is 2000::/3. Within it, tunnels (Teredo, 6to4) reach IPv4 addresses, and documentation ranges are not routed. */
function classifyV6(address: string): HostClass {
  const groups = v6Groups(address)
  if (groups === undefined) return 'malformed'
  const [first = 0, second = 0] = groups
  if (first >>> 13 !== 1) return 'private'
  const isSpecial = (first === 0x2001 && second < 0x200) || (first === 0x2001 && second === 0xdb8) || first === 0x2002
  return isSpecial || (first === 0x3fff && second < 0x1000) ? 'private' : 'public'
}

/** Returns the eight groups, or undefined. A dotted tail is refused: its only use is to disguise an IPv4 address. */
function v6Groups(address: string): number[] | undefined {
  const halves = address.split('::')
  if (halves.length > 2) return undefined
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  const isFull = halves.length === 1
  const given = head.length + tail.length
  if (isFull ? given !== 8 : given > 7) return undefined
  const all = isFull ? head : [...head, ...Array.from({ length: 8 - given }, () => '0'), ...tail]
  return all.every((group) => /^[0-9a-f]{1,4}$/.test(group))
    ? all.map((group) => Number.parseInt(group, 16))
    : undefined
}

const LABEL = '[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?'
/** A host name in lower case, without the check of its maximum length, 253. Means the same in RE2 and JavaScript. */
export const HOST_NAME_PATTERN = `^${LABEL}([.]${LABEL})*$`
const hostName = new RegExp(HOST_NAME_PATTERN)

function isHostName(host: string): boolean {
  return host.length <= 253 && hostName.test(host)
}

/**
 * Reports whether images may be fetched from the URL. Without an allowlist, any host name and any public address is allowed. With one, a prefix must
 * have the same scheme, host and port, and end at a segment boundary of the path. What is never allowed: loopback, link-local and metadata addresses,
 * and spellings of an address or a path that programs read differently.
 */
export function isSourceUrlAllowed(url: string, allowedPrefixes: readonly string[] | undefined): boolean {
  const source = parseSourceUrl(url)
  if (source === undefined || !isUrlOf.plainAddress(url) || !isUrlOf.remoteHost(url)) return false
  const hostClass = source.scheme === 'oci-archive' ? 'name' : classifyHost(source.host)
  if (hostClass === 'malformed' || hostClass === 'local') return false
  if (allowedPrefixes === undefined) return hostClass !== 'private'
  return !dotSegment.test(source.path) && allowedPrefixes.some((prefix) => isBelow(source, parseUrlPrefix(prefix)))
}

/** Reports whether `isSourceUrlAllowed` can use the prefix: a URL without a query, or for registries also `docker://host`. */
export function isUrlPrefix(prefix: string): boolean {
  const parsed = parseUrlPrefix(prefix)
  return parsed !== undefined && !parsed.hasQuery && !dotSegment.test(parsed.path)
}

function isBelow(source: SourceUrl, prefix: SourceUrl | undefined): boolean {
  if (prefix === undefined) return false
  if (source.scheme !== prefix.scheme || source.host !== prefix.host || source.port !== prefix.port) return false
  if (!source.path.startsWith(prefix.path)) return false
  if (prefix.path.endsWith('/') || source.path.length === prefix.path.length) return true
  const borders = source.scheme === 'docker' ? '/:@' : '/'
  return borders.includes(source.path.charAt(prefix.path.length))
}
