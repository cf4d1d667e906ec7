import fc from 'fast-check'
import { oddText, slipOf, textAround } from './odd-values.ts'

/** Addresses that must not be reached, addresses next to them, and any other. */
const address = fc.oneof(
  fc.constantFrom(0x7f000001, 0x7fffffff, 0xa9fea9fe, 0xa9fe0001, 0, 0x00010203, 0x646464c8, 0xa83f8110, 0xc00000c0),
  fc.constantFrom(0x7effffff, 0x80000000, 0xa9fdffff, 0xa9ff0000, 0x01000000, 0x08080808, 0x0a000001, 0xc0a80101),
  fc.nat(0xffffffff),
)

type Spelling = (address: number) => string

const bytesOf = (bits: number) => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff)
const hex = (value: number) => `0x${value.toString(16)}`
const octal = (value: number) => `0${value.toString(8)}`
const groups = (bits: number) => `${(bits >>> 16).toString(16)}:${(bits & 0xffff).toString(16)}`
const dotted: Spelling = (bits) => bytesOf(bits).join('.')

const SPELLINGS_V4: readonly Spelling[] = [
  dotted,
  dotted,
  String,
  hex,
  octal,
  (bits) => hex(bits).toUpperCase(),
  (bits) => bytesOf(bits).map(hex).join('.'),
  (bits) => bytesOf(bits).map(octal).join('.'),
  (bits) =>
    bytesOf(bits)
      .map((byte) => String(byte).padStart(3, '0'))
      .join('.'),
  (bits) => `${bits >>> 24}.${bits & 0xffffff}`,
  (bits) => `${bits >>> 24}.${(bits >>> 16) & 0xff}.${bits & 0xffff}`,
  (bits) => `${hex(bits >>> 24)}.${bits & 0xffffff}`,
  (bits) => `${dotted(bits)}.`,
  (bits) => `${dotted(bits)}..`,
  (bits) => `${dotted(bits)}.nip.io`,
  (bits) => dotted(bits).replace('.', '。'),
  (bits) => dotted(bits).replaceAll('.', '%2e'),
  (bits) => String(bits + 2 ** 32),
  (bits) => dotted(bits).replace(/[0-9]/, (digit) => String.fromCodePoint(0x2460 + Number(digit))),
]

const SPELLINGS_V6: readonly Spelling[] = [
  (bits) => `::ffff:${dotted(bits)}`,
  (bits) => `::ffff:${groups(bits)}`,
  (bits) => `0:0:0:0:0:FFFF:${groups(bits)}`,
  (bits) => `::${dotted(bits)}`,
  (bits) => `::${groups(bits)}`,
  (bits) => `64:ff9b::${dotted(bits)}`,
  (bits) => `64:ff9b::${groups(bits)}`,
  (bits) => `0064:ff9b:1::${groups(bits)}`,
  (bits) => `2002:${groups(bits)}::1`,
  (bits) => `2001:0:${groups(bits)}::`,
  (bits) => `fe80::${groups(bits)}`,
  (bits) => `febf:${groups(bits)}::%eth0`,
  (bits) => `fd00:ec2::${groups(bits)}`,
  (bits) => `2606:4700::${groups(bits)}`,
  (bits) => `2606:4700:0:0:0:0:${groups(bits)}`,
  (bits) => `0:0:0:0:0:0:${groups(bits)}`,
  (bits) => `0000:0000:0000:0000:0000:ffff:${groups(bits)}`,
  () => '::1',
  () => '::',
  () => '1::',
  () => '0::0:1',
  () => ':::1',
  () => '1:2:3:4:5:6:7:8:9',
]

const spelled = (spellings: readonly Spelling[]) =>
  fc.tuple(fc.constantFrom(...spellings), address).map(([spell, bits]) => spell(bits))

const LOCAL_NAMES = ['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'localhost.localdomain', 'ip6-loopback']
const CLOUD_NAMES = ['metadata', 'metadata.google.internal', 'METADATA.goog', 'instance-data.ec2.internal']
const FINE_NAMES = [
  'images.example.com',
  'a',
  'notlocalhost',
  'x_y.example',
  'minio.storage.svc',
  '0x7f.example',
  'a--b.c',
]
const ODD_NAMES = [
  '',
  '.',
  '..',
  'a..b',
  '.a',
  'a.',
  '-',
  'ä.example',
  'ⓔxample.com',
  'a b',
  'a%00b',
  'a\\b',
  'a,b',
  '*',
]

const host = fc.oneof(
  { arbitrary: fc.constantFrom(...FINE_NAMES), weight: 4 },
  { arbitrary: spelled(SPELLINGS_V4), weight: 4 },
  { arbitrary: spelled(SPELLINGS_V6).map((text) => `[${text}]`), weight: 3 },
  spelled(SPELLINGS_V6),
  fc.constantFrom(...LOCAL_NAMES, ...CLOUD_NAMES, ...ODD_NAMES),
  oddText,
)
const SCHEMES = ['http', 'https', 'gs', 'docker', 'oci-archive']
const scheme = fc.oneof(
  { arbitrary: fc.constantFrom(...SCHEMES), weight: 8 },
  fc.constantFrom('HTTP', 'Https', 's3', 'ftp', 'file', 'docker-daemon', 'dir', 'http ', '', 'javascript', 'http:http'),
)
const mark = fc.oneof(
  { arbitrary: fc.constant('://'), weight: 12 },
  fc.constantFrom(':/', ':', '//', ':///', ':\\\\', ''),
)
const userinfo = fc.oneof(
  { arbitrary: fc.constant(''), weight: 8 },
  fc.constantFrom('user@', 'user:secret@', '@', ':@', 'a@b@', 'user%40x@', 'user:p/w@', '%40', '\\@', 'a?@', 'a#@'),
)
const port = fc.oneof(
  { arbitrary: fc.constant(''), weight: 6 },
  fc.constantFrom(
    ':',
    ':0',
    ':80',
    ':443',
    ':65535',
    ':65536',
    ':99999',
    ':123456',
    ':00080',
    ':-1',
    ':http',
    ':8 0',
    ':٨',
  ),
)
const path = fc.oneof(
  fc.constantFrom('', '/', '/a.qcow2', '/org/image:tag', '//', '/a/../b', '/%2e%2e/a', '/a b', '/ä', '/[x]', "/'"),
  fc.webPath(),
  oddText.map((text) => `/${text}`),
)
const query = fc.oneof(
  { arbitrary: fc.constant(''), weight: 6 },
  fc.constantFrom('?', '?a=b', '#', '#x', '?X-Amz-Signature=a%2Fb&x=1#top', '?@', '#@', '? ', '?\u0000', '?://'),
)

/** URLs in every odd spelling. About one in five is accepted. */
export const oddUrl: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.tuple(scheme, mark, userinfo, host, port, path, query).map((parts) => parts.join('')), weight: 8 },
  { arbitrary: slipOf(fc.tuple(scheme, mark, host, path).map((parts) => parts.join(''))), weight: 2 },
  textAround(2_048 - 18, ['x', 'ä', '😀', '/']).map((text) => `https://a.example/${text}`),
  oddText,
)

const fineHost = fc.oneof(
  fc.constantFrom(...FINE_NAMES.filter((name) => name !== ''), 'IMAGES.example.com', '10.0.0.8', '[2606:4700::1111]'),
  fc.constantFrom('s3.eu-west-1.amazonaws.com', '8.8.8.8', 'a.example.', '128.0.0.1'),
)
const finePort = fc.constantFrom('', '', ':8443', ':1')
const finePath = fc.oneof(
  fc.constantFrom('/a.qcow2', '/bucket/key', '/org/image:tag', '/a@b', '/[b]/~c', `/${'x'.repeat(1_900)}`),
  fc.webPath({ size: 'small' }).map((rest) => `/${rest}`),
)

/** Valid URLs of one scheme. */
export function fineUrl(name: string): fc.Arbitrary<string> {
  if (name === 'oci-archive') return finePath.map((rest) => `oci-archive:/${rest.startsWith('//') ? rest : `/${rest}`}`)
  const repository = finePath.map((rest) => (name === 'docker' ? `/x${rest}` : rest))
  return fc.tuple(fineHost, finePort, repository).map((parts) => `${name}://${parts.join('')}`)
}
