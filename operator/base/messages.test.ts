import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { redactUrls } from './messages.ts'

describe('redactUrls', () => {
  it.each([
    ['a plain text', 'a plain text'],
    ['Get https://a.example/b.qcow2: EOF', 'Get https://a.example/b.qcow2: EOF'],
    ['https://a.example/b?X-Amz-Signature=s3cr3t&x=1', 'https://a.example/b?…'],
    ['https://a.example/b#s3cr3t', 'https://a.example/b#…'],
    ['Get "https://a.example/b?sig=s3cr3t": EOF', 'Get "https://a.example/b?…": EOF'],
    ["https://a.example/b?note='s3cr3t", 'https://a.example/b?…'],
    ['<https://a.example/b?x=<s3cr3t>', '<https://a.example/b?…>'],
    ['https://user:s3cr3t@a.example/b', 'https://a.example/b'],
    ["https://us'er:s3<cr3t@a.example/b", 'https://a.example/b'],
    ['https://user:s3cr3t@a.example/b?sig=s3cr3t', 'https://a.example/b?…'],
    ['HTTPS://user:s3cr3t@a.example/b', 'HTTPS://a.example/b'],
    ['docker://user:s3cr3t@a.example/b and gs://b/k?s3cr3t', 'docker://a.example/b and gs://b/k?…'],
    ['https://a.example/mail@example', 'https://a.example/mail@example'],
    ['https://user:first@s3cr3t@a.example/b', 'https://a.example/b'],
    ['https:\\/\\/s3cr3t@a.example\\/b', 'https:\\/\\/a.example\\/b'],
    ['dial user:s3cr3t@a.example:443', 'dial …a.example:443'],
    ['{"from":"user:s3cr3t@a.example/b"}', '…a.example/b"}'],
    ['//s3cr3t@a.example/b', '//a.example/b'],
    ['a text that was cut at https://user:s3cr', 'a text that was cut at https://user:…'],
    ['?X-Amz-Signature=s3cr3t', '?…'],
    ['images/b.qcow2?X-Amz-Signature=s3cr3t: EOF', 'images/b.qcow2?…: EOF'],
    ['X-Amz-Date=1&X-Amz-Signature=s3cr3t', 'X-Amz-Date=…'],
    ['{"X-Amz-Signature":"s3cr3t"}', '{"X-Amz-Signature":…"}'],
    ['<Signature>s3cr3t</Signature>', '<Signature>…>'],
    ['…gnature=s3cr3t\\u0026sig=s3cr3t', '…gnature=…'],
    ['does not exist.\n\tstatus code: 404', 'does not exist. status code: 404'],
    ['redirected to /login%3FX-Amz-Signature%3Ds3cr3t', 'redirected to /login%3FX-Amz-Signature%3D…'],
  ])('makes of %s', (text, expected) => {
    expect(redactUrls(text)).toBe(expected)
    expect(redactUrls(redactUrls(text))).toBe(expected)
  })

  it.each([
    'got 403 from 10.0.0.1:443: is the key right? See the log',
    'pvc farm/lab-1: 1000m of cpu, 5 => 6, [::1]:80, quota "pods"=3, sha256:0a1b',
    'quay.io/lab/attacker:1.0@sha256:0a1b2c is not there',
    'admission webhook "x.cdi.kubevirt.io" denied the request: spec.source: Invalid value',
  ])('leaves alone: %s', (text) => {
    expect(redactUrls(text)).toBe(text)
  })

  it('cuts what a status cannot bear', () => {
    expect(redactUrls('x'.repeat(5_000))).toHaveLength(1_000)
    expect(redactUrls('x'.repeat(1_000))).toBe('x'.repeat(1_000))
  })

  it('leaves nothing of a URL that it sees the beginning of alone', () => {
    const padding = '/'.repeat(7_980)
    for (let more = 0; more < 40; more += 1)
      expect(redactUrls(`${'- '.repeat(more)}${padding}https://s3cr3t@a.example/b`)).not.toContain('s3c')
  })
})

/** Marks each secret part, so that any remainder of it is detected. */
const CANARY = 'Zq7'
const secret = (unit: string) =>
  fc.string({ unit: fc.constantFrom(...unit), maxLength: 12 }).map((text) => `${CANARY}${text}${CANARY}`)
/** RFC 3986, and what clients accept anyway. */
const inUser = secret('abZ09-._~!$&\'()*+,;=:%<>"')
const inQuery = secret('abZ09-._~!$&\'()*+,;=:@/?%<>"{}[]|^`')
const host = fc.constantFrom('a.example', 'a.example:8443', '[2001:db8::1]', '10.0.0.8:80', 'bucket')
const path = fc.constantFrom('', '/', '/images/lab-1/b.qcow2', '/a//b', '/mail@example', '/a:b')
const parameter = fc.constantFrom(
  'X-Amz-Signature',
  'X-Amz-Credential',
  'sig',
  'Signature',
  'x-goog-signature',
  'token',
)
const scheme = fc.constantFrom('https://', 'HTTP://', 'docker://', 's3+x://', '//')
const queryOf = fc.oneof(
  inQuery.map((value) => `?${value}`),
  fc.tuple(parameter, inQuery).map(([name, value]) => `?${name}=${value}`),
  fc.tuple(parameter, inQuery, inQuery).map(([name, value, other]) => `?x=${other}&${name}=${value}`),
)
const url = fc.oneof(
  fc.tuple(scheme, inUser, host, path, queryOf).map(([a, user, b, c, d]) => `${a}${user}@${b}${c}${d}`),
  fc.tuple(scheme, inUser, host, path).map(([a, user, b, c]) => `${a}${user}@${b}${c}`),
  fc.tuple(scheme, host, path, queryOf).map((parts) => parts.join('')),
  fc.tuple(inUser, host, path).map(([user, b, c]) => `user:${user}@${b}${c}`),
  fc.tuple(path, queryOf).map((parts) => parts.join('')),
  fc.tuple(parameter, inQuery).map(([name, value]) => `${name}=${value}`),
)
/** How texts contain URLs. */
const around: readonly ((url: string) => string)[] = [
  (text) => text,
  (text) => `"${text}"`,
  (text) => `'${text}': EOF`,
  (text) => `<${text}>`,
  (text) => `(see ${text}).`,
  (text) => `[link](${text})`,
  (text) => JSON.stringify({ source: { url: text }, next: [text] }),
  (text) => JSON.stringify(JSON.stringify({ url: text })),
  (text) => `Get "${text}": dial tcp: lookup a.example: no such host`,
  (text) => `Unable to connect to http data source: ${text}, retrying`,
  (text) => `url=${text} after 3 tries`,
  (text) => `\n\t- ${text}\n\t- ${text}`,
]

describe('whatever the text', () => {
  it('no userinfo, query or presigned parameter is left', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(around.length - 1), url), { minLength: 1, maxLength: 4 }), (parts) => {
        const text = parts.map(([form, one]) => around[form]?.(one)).join(' and ')
        expect(redactUrls(text)).not.toContain(CANARY)
      }),
      { numRuns: 2_000 },
    )
  })

  it('it is read in pieces that do not overlap, up to a bound', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('a.', '://', '@', ':@', '?', '&=', 'sig', '=', '>', 'x-amz-', 'a:/', ' ', '\\u0026'),
        (piece) => {
          const most = piece.repeat(Math.ceil(8_000 / piece.length))
          const beyond = `${most} ${piece.repeat(10_000)}`
          // Text beyond the limit is not read: the result for a text of any length is that for its beginning.
          expect(redactUrls(`${beyond}${beyond}`)).toBe(redactUrls(beyond))
        },
      ),
    )
  })
})
