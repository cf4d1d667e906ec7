import { HOST_NAME_PATTERN, PRIVATE_V4, URL_MAX_LENGTH, URL_PATTERNS } from '../api/source-url.ts'
import { celMatches } from '../schema/cel.ts'

/** A named part of a policy. It is evaluated when it is first used, and then kept for the request. */
export interface PolicyVariable {
  readonly name: string
  readonly expression: string
}

/** Separators of prefixes in the policy's ConfigMap: commas, and what JavaScript treats as whitespace. */
const SEPARATORS = '\\s\\v\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff},'

/** Global unicast, and the ranges in it that are not routed or lead to IPv4. */
const GLOBAL_V6 = '2000::/3'
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

/**
 * Variables that implement `isSourceUrlAllowed` in CEL, with the policy's ConfigMap as `params` and a list of `{field, text}` as `variables.urls`.
 * They do not fail for any text, unless they exceed the cost limit of the API server for a policy. These are the verdict:
 *
 * - `notPlain`: URLs that are not in the only spelling that all programs parse alike, or that lead to a loopback, link-local or metadata address.
 * - `refused`: of the others, those that are below no prefix of the list; without a list, those with private addresses. If an entry of the list is
 *   not a prefix, none is refused: the operator continues with the last good list, which only it knows.
 */
export const SOURCE_URL_VARIABLES: readonly PolicyVariable[] = [
  {
    // Parsed: scheme, host and port as one string, the path as another. URLs that cannot be parsed are left out.
    name: 'sources',
    expression: takenApart(`variables.urls.filter(u, ${isSpelled('u.text')})`),
  },
  { name: 'plain', expression: `variables.sources.filter(u, ${isPlain('u')})` },
  { name: 'notPlain', expression: 'variables.urls.filter(u, !variables.plain.exists(one, one.field == u.field))' },
  {
    name: 'entries',
    expression: `params.?data.?allowedSourceUrls.orValue('').findAll(r'[^${SEPARATORS}]+')`,
  },
  {
    name: 'prefixes',
    // A registry without a repository is a prefix, too. It is checked as a URL with any repository.
    expression: takenApart(
      `variables.entries.filter(entry, [!entry.startsWith('docker://') ? entry : entry.endsWith('/') ? entry + 'x' : entry + '/x']` +
        `.all(whole, ${isSpelled('whole')}) && !entry.matches(r'[?#]')).map(entry, {'field': '', 'text': entry})`,
    ),
  },
  {
    name: 'isUnusable',
    expression:
      'variables.prefixes.size() < variables.entries.size() || ' +
      `variables.prefixes.exists(prefix, ${celMatches('prefix.path', URL_PATTERNS.dotSegment)})`,
  },
  {
    name: 'refused',
    expression:
      'variables.entries.size() > 0 && variables.isUnusable ? [] : variables.plain.filter(u, ' +
      `variables.entries.size() == 0 ? ${isPrivate('u')} : !(${isListed('u')}))`,
  },
]

function isV4(source: string): string {
  return celMatches(`('https://' + ${source}.host)`, URL_PATTERNS.dottedQuad)
}

function isV6(source: string): string {
  return `${source}.host.startsWith('[')`
}

/** The IPv6 address without its brackets. Only if the host is one. */
function v6(source: string): string {
  return `${source}.host.substring(1, ${source}.host.size() - 1)`
}

function isPlain(source: string): string {
  const lower = `${source}.text.lowerAscii()`
  return [
    `(!${celMatches(lower, URL_PATTERNS.numericHost)} || ${celMatches(lower, URL_PATTERNS.dottedQuad)})`,
    `!${celMatches(lower, URL_PATTERNS.localHost)}`,
    `(${source}.text.startsWith('oci-archive:') || ${isV4(source)} || (${isV6(source)} ? isIP(${v6(source)}) && !${source}.host.contains('.') : ` +
      `${source}.host.size() <= 253 && ${celMatches(`${source}.host`, HOST_NAME_PATTERN)}))`,
  ].join(' &&\n')
}

/** Only for a plain URL. */
function isPrivate(source: string): string {
  const networks = PRIVATE_V4.map(([network, prefix]) => `${network.join('.')}/${prefix}`)
  return (
    `(${isV4(source)} ? ${inNetworks(networks, `${source}.host`)} : ` +
    `${isV6(source)} && (!cidr('${GLOBAL_V6}').containsIP(${v6(source)}) || ${inNetworks(SPECIAL_V6, v6(source))}))`
  )
}

function isListed(source: string): string {
  const path = `${source}.path`
  return (
    `!${celMatches(path, URL_PATTERNS.dotSegment)} && variables.prefixes.exists(prefix, ` +
    `${source}.origin == prefix.origin && ${path}.startsWith(prefix.path) && (` +
    `prefix.path.endsWith('/') || ${path} == prefix.path || ${path}.startsWith(prefix.path + '/') || ` +
    `(${source}.origin.startsWith('docker:') && (${path}.startsWith(prefix.path + ':') || ${path}.startsWith(prefix.path + '@')))))`
  )
}

/** Whether `takenApart` can parse the text: a known scheme, no user, printable ASCII. */
function isSpelled(text: string): string {
  return (
    `${text}.size() <= ${URL_MAX_LENGTH} && !${celMatches(text, URL_PATTERNS.userinfo)} && ` +
    celMatches(text, URL_PATTERNS.shape)
  )
}

/**
 * Adds `host`, `origin` (scheme, host and port) and `path` to each `{field, text}` of a list, normalized as in `parseSourceUrl`. CEL has no local
 * variables, so each step is a map over the results of the previous step.
 */
function takenApart(list: string): string {
  const isShortRegistry =
    "u.scheme == 'docker' && !u.authority.matches(r'[.:]') && u.authority.lowerAscii() != 'localhost'"
  const same = "'field': u.field, 'text': u.text"
  return [
    list,
    `.map(u, {${same}, 'head': u.text.find(r'^[a-z-]+://[^/?#]*')})`,
    `.map(u, {${same}, 'scheme': u.head.find(r'^[a-z-]+'), 'authority': u.head.substring(u.head.indexOf('://') + 3), ` +
      "'path': u.text.substring(u.head.size()).find(r'^[^?#]*')})",
    `.map(u, u.scheme == 'oci-archive' ? {${same}, 'scheme': u.scheme, 'host': '', 'port': '', 'path': '/' + u.authority + u.path} : ${isShortRegistry} ? ` +
      `{${same}, 'scheme': u.scheme, 'host': 'docker.io', 'port': '', 'path': '/' + u.authority + u.path} : ` +
      `{${same}, 'scheme': u.scheme, 'host': u.authority.lowerAscii().find(r'^(\\[[^\\]]*\\]|[^:]*)'), ` +
      "'port': u.authority.find(r':[0-9]+$').find(r'[0-9]+'), 'path': u.path == '' ? '/' : u.path})",
    `.map(u, {${same}, 'scheme': u.scheme, 'host': u.host.endsWith('.') ? u.host.substring(0, u.host.size() - 1) : u.host, ` +
      "'port': u.port == '' ? '' : ':' + string(int(u.port)), 'path': u.path})",
    `.map(u, {${same}, 'host': u.host, 'path': u.path, ` +
      "'origin': u.scheme + '://' + u.host + (u.scheme + u.port in ['http:80', 'https:443'] ? '' : u.port)})",
  ].join('\n')
}

function inNetworks(networks: readonly string[], address: string): string {
  return `[${networks.map((network) => `'${network}'`).join(', ')}].exists(network, cidr(network).containsIP(${address}))`
}
