import { HOST_NAME_PATTERN, PRIVATE_V4, URL_MAX_LENGTH, URL_PATTERNS } from '../api/source-url.ts'
import { celMatches } from '../schema/cel.ts'

/** A named part of a policy: computed when it is first needed, and then kept for the request. */
export interface PolicyVariable {
  readonly name: string
  readonly expression: string
}

/** What separates prefixes in the policy's ConfigMap: commas, and what JavaScript takes for blank. */
const SEPARATORS = '\\s\\v\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff},'

/** `.` or `..` as a segment, also with escaped dots, slashes or backslashes. */
const DOT_SEGMENT = '(^|/|%2[fF]|%5[cC])([.]|%2[eE]){1,2}(/|%2[fF]|%5[cC]|$)'

/** Global unicast, and what is not routed or leads to IPv4 inside it. */
const GLOBAL_V6 = '2000::/3'
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

/**
 * `isSourceUrlAllowed` in CEL, for the policy's ConfigMap as `params` and a list of `{field, text}` as `variables.urls`: variables, of which these are the
 * verdict. They fail for no text, unless the API server runs out of what it spends on a policy:
 *
 * - `notPlain`: URLs that are not spelled in the one way that all programs read alike, or lead to a loopback, link-local or metadata address.
 * - `refused`: of the others, those that are below no prefix of the list; without a list, those of private addresses. A list with an entry
 *   that is no prefix refuses none: the operator goes on with the last good list, which nobody else knows.
 */
export const SOURCE_URL_VARIABLES: readonly PolicyVariable[] = [
  {
    // In parts: scheme, host and port as one text, the path as another. Left out where nothing can be told.
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
    // A registry alone is a prefix too, and becomes a URL with any repository.
    expression: takenApart(
      `variables.entries.filter(entry, [!entry.startsWith('docker://') ? entry : entry.endsWith('/') ? entry + 'x' : entry + '/x']` +
        `.all(whole, ${isSpelled('whole')}) && !entry.matches(r'[?#]')).map(entry, {'field': '', 'text': entry})`,
    ),
  },
  {
    name: 'isUnusable',
    expression:
      'variables.prefixes.size() < variables.entries.size() || ' +
      `variables.prefixes.exists(prefix, ${celMatches('prefix.path', DOT_SEGMENT)})`,
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

/** Without its brackets, where it is one. */
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

/** Of a plain one. */
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
    `!${celMatches(path, DOT_SEGMENT)} && variables.prefixes.exists(prefix, ` +
    `${source}.origin == prefix.origin && ${path}.startsWith(prefix.path) && (` +
    `prefix.path.endsWith('/') || ${path} == prefix.path || ${path}.startsWith(prefix.path + '/') || ` +
    `(${source}.origin.startsWith('docker:') && (${path}.startsWith(prefix.path + ':') || ${path}.startsWith(prefix.path + '@')))))`
  )
}

/** Whether `takenApart` can read the text: a known scheme, no user, printable ASCII. */
function isSpelled(text: string): string {
  return (
    `${text}.size() <= ${URL_MAX_LENGTH} && !${celMatches(text, URL_PATTERNS.userinfo)} && ` +
    celMatches(text, URL_PATTERNS.shape)
  )
}

/**
 * Each `{field, text}` of a list with `host`, `origin` (scheme, host and port) and `path` beside them, with everything that has several spellings brought
 * into one, as `parseSourceUrl` does it. CEL has no local names: every step is a map over the results of the step before.
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
