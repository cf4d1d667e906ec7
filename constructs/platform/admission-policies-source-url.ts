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
 * `isSourceUrlAllowed` in CEL, for the policy's ConfigMap as `params` and a text as `variables.url`: variables, of which the last three are the
 * verdict. They never fail, whatever the texts are:
 *
 * - `isPlain`: the URL is spelled in the one way that all programs read alike, and not loopback, link-local or metadata.
 * - `isListed`: it is below a prefix of the list.
 * - `isAllowed`: it may be used, once it is plain. A list with an entry that is no prefix allows everything here: the operator goes on with
 *   the last good list, which nobody else knows.
 */
export const SOURCE_URL_VARIABLES: readonly PolicyVariable[] = [
  { name: 'lowerUrl', expression: 'variables.url.lowerAscii()' },
  { name: 'isSpelled', expression: isSpelled('variables.url') },
  {
    // In parts: scheme, host and port as one text, the path as another. Empty where nothing can be told.
    name: 'sources',
    expression: takenApart('(variables.isSpelled ? [variables.url] : [])'),
  },
  { name: 'host', expression: "variables.sources.size() == 0 ? '' : variables.sources[0].host" },
  { name: 'isV6', expression: "variables.host.startsWith('[')" },
  { name: 'v6', expression: "variables.isV6 ? variables.host.substring(1, variables.host.size() - 1) : ''" },
  { name: 'isV4', expression: celMatches("('https://' + variables.host)", URL_PATTERNS.dottedQuad) },
  {
    name: 'isPlain',
    expression: [
      'variables.isSpelled',
      `(!${celMatches('variables.lowerUrl', URL_PATTERNS.numericHost)} || ${celMatches('variables.lowerUrl', URL_PATTERNS.dottedQuad)})`,
      `!${celMatches('variables.lowerUrl', URL_PATTERNS.localHost)}`,
      "(variables.url.startsWith('oci-archive:') || variables.isV4 || (variables.isV6 ? isIP(variables.v6) && !variables.v6.contains('.') : " +
        `variables.host.size() <= 253 && ${celMatches('variables.host', HOST_NAME_PATTERN)}))`,
    ].join(' &&\n'),
  },
  {
    name: 'isPrivate',
    expression: [
      `(variables.isV4 && ${inNetworks(
        PRIVATE_V4.map(([network, prefix]) => `${network.join('.')}/${prefix}`),
        'variables.host',
      )})`,
      `(variables.isV6 && (!cidr('${GLOBAL_V6}').containsIP(variables.v6) || ${inNetworks(SPECIAL_V6, 'variables.v6')}))`,
    ].join(' ||\n'),
  },
  {
    name: 'entries',
    expression: `params.?data.?allowedSourceUrls.orValue('').findAll(r'[^${SEPARATORS}]+')`,
  },
  {
    name: 'prefixes',
    // A registry alone is a prefix too, and becomes a URL with any repository.
    expression: takenApart(
      `variables.entries.filter(entry, [!entry.startsWith('docker://') ? entry : entry.endsWith('/') ? entry + 'x' : entry + '/x']` +
        `.all(whole, ${isSpelled('whole')}) && !entry.matches(r'[?#]'))`,
    ),
  },
  {
    name: 'isListed',
    expression:
      `variables.sources.exists(source, !${celMatches('source.path', DOT_SEGMENT)} && variables.prefixes.exists(prefix, ` +
      'source.origin == prefix.origin && source.path.startsWith(prefix.path) && (' +
      "prefix.path.endsWith('/') || source.path == prefix.path || source.path.startsWith(prefix.path + '/') || " +
      "(source.origin.startsWith('docker:') && (source.path.startsWith(prefix.path + ':') || source.path.startsWith(prefix.path + '@'))))))",
  },
  {
    name: 'isAllowed',
    expression:
      'variables.entries.size() == 0 ? !variables.isPrivate : variables.isListed || ' +
      'variables.prefixes.size() < variables.entries.size() || ' +
      `variables.prefixes.exists(prefix, ${celMatches('prefix.path', DOT_SEGMENT)})`,
  },
]

/** Whether `takenApart` can read the text: a known scheme, no user, printable ASCII. */
function isSpelled(text: string): string {
  return (
    `${text}.size() <= ${URL_MAX_LENGTH} && !${celMatches(text, URL_PATTERNS.userinfo)} && ` +
    celMatches(text, URL_PATTERNS.shape)
  )
}

/**
 * Each URL of a list as a map of `host`, `origin` (scheme, host and port) and `path`, with everything that has several spellings brought into
 * one, as `parseSourceUrl` does it. CEL has no local names: every step is a map over the results of the step before.
 */
function takenApart(list: string): string {
  const isShortRegistry =
    "u.scheme == 'docker' && !u.authority.matches(r'[.:]') && u.authority.lowerAscii() != 'localhost'"
  return [
    list,
    ".map(u, {'text': u, 'head': u.find(r'^[a-z-]+://[^/?#]*')})",
    ".map(u, {'scheme': u.head.find(r'^[a-z-]+'), 'authority': u.head.substring(u.head.indexOf('://') + 3), " +
      "'path': u.text.substring(u.head.size()).find(r'^[^?#]*')})",
    `.map(u, u.scheme == 'oci-archive' ? {'scheme': u.scheme, 'host': '', 'port': '', 'path': '/' + u.authority + u.path} : ${isShortRegistry} ? ` +
      "{'scheme': u.scheme, 'host': 'docker.io', 'port': '', 'path': '/' + u.authority + u.path} : " +
      "{'scheme': u.scheme, 'host': u.authority.lowerAscii().find(r'^(\\[[^\\]]*\\]|[^:]*)'), " +
      "'port': u.authority.find(r':[0-9]+$').find(r'[0-9]+'), 'path': u.path == '' ? '/' : u.path})",
    ".map(u, {'scheme': u.scheme, 'host': u.host.endsWith('.') ? u.host.substring(0, u.host.size() - 1) : u.host, " +
      "'port': u.port == '' ? '' : ':' + string(int(u.port)), 'path': u.path})",
    ".map(u, {'host': u.host, 'path': u.path, " +
      "'origin': u.scheme + '://' + u.host + (u.scheme + u.port in ['http:80', 'https:443'] ? '' : u.port)})",
  ].join('\n')
}

function inNetworks(networks: readonly string[], address: string): string {
  return `[${networks.map((network) => `'${network}'`).join(', ')}].exists(network, cidr(network).containsIP(${address}))`
}
