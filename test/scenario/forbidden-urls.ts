/** Addresses that no image may come from, as four bytes. */
const FORBIDDEN_V4: readonly (readonly [number, number, number, number])[] = [
  [127, 0, 0, 1],
  [127, 1, 2, 3],
  [127, 255, 255, 254],
  [0, 0, 0, 0],
  [169, 254, 169, 254],
  [169, 254, 170, 2],
  [100, 100, 100, 200],
  [192, 0, 0, 192],
  [168, 63, 129, 16],
]

const hex = (value: number) => value.toString(16)
const octal = (value: number) => `0${value.toString(8)}`
const whole = ([a, b, c, d]: (typeof FORBIDDEN_V4)[number]) => ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
const groups = ([a, b, c, d]: (typeof FORBIDDEN_V4)[number]) => `${hex((a << 8) | b)}:${hex((c << 8) | d)}`
const each = (from: string, change: (digit: number) => string) =>
  from.replace(/[0-9]/g, (digit) => change(Number(digit)))

type Spelling = (address: (typeof FORBIDDEN_V4)[number]) => string

/** Spellings that resolvers, browsers and URL parsers are known to read as that IPv4 address. */
const AS_V4: Readonly<Record<string, Spelling>> = {
  plain: (bytes) => bytes.join('.'),
  'one number': (bytes) => String(whole(bytes)),
  'one hexadecimal number': (bytes) => `0x${hex(whole(bytes))}`,
  'one hexadecimal number in capitals': (bytes) => `0X${hex(whole(bytes)).toUpperCase()}`,
  'one octal number': (bytes) => octal(whole(bytes)),
  'one number that overflows': (bytes) => String(whole(bytes) + 2 ** 32),
  'two numbers': ([a, b, c, d]) => `${a}.${(b << 16) | (c << 8) | d}`,
  'three numbers': ([a, b, c, d]) => `${a}.${b}.${(c << 8) | d}`,
  'hexadecimal bytes': (bytes) => bytes.map((byte) => `0x${hex(byte)}`).join('.'),
  'octal bytes': (bytes) => bytes.map(octal).join('.'),
  'octal bytes with many zeros': (bytes) => bytes.map((byte) => `000${octal(byte)}`).join('.'),
  'bytes of three digits': (bytes) => bytes.map((byte) => String(byte).padStart(3, '0')).join('.'),
  'mixed bytes': ([a, b, c, d]) => `0x${hex(a)}.${octal(b)}.${c}.${d}`,
  'a dot at the end': (bytes) => `${bytes.join('.')}.`,
  'two dots at the end': (bytes) => `${bytes.join('.')}..`,
  'escaped dots': (bytes) => bytes.join('%2e'),
  'escaped digits': (bytes) => each(bytes.join('.'), (digit) => `%3${digit}`),
  'ideographic full stops': (bytes) => bytes.join('。'),
  'full-width digits': (bytes) => each(bytes.join('.'), (digit) => String.fromCodePoint(0xff10 + digit)),
  'digits in circles': (bytes) =>
    each(bytes.join('.'), (digit) => String.fromCodePoint(digit === 0 ? 0x24ea : 0x245f + digit)),
  'a soft hyphen': (bytes) => bytes.join('\u00ad.'),
  'behind a user': (bytes) => `images.example.com@${bytes.join('.')}`,
  'behind a user and password': (bytes) => `images.example.com:443@${bytes.join('.')}`,
  'behind a backslash': (bytes) => `images.example.com\\@${bytes.join('.')}`,
  'behind an escaped user': (bytes) => `images.example.com%40@${bytes.join('.')}`,
  'behind a blank': (bytes) => ` ${bytes.join('.')}`,
  'behind a line end': (bytes) => `\n${bytes.join('.')}`,
  'with a port': (bytes) => `${bytes.join('.')}:80`,
  'with the widest port': (bytes) => `${bytes.join('.')}:65535`,
  'in brackets': (bytes) => `[${bytes.join('.')}]`,
  'IPv6, mapped': (bytes) => `[::ffff:${bytes.join('.')}]`,
  'IPv6, mapped, in groups': (bytes) => `[::ffff:${groups(bytes)}]`,
  'IPv6, mapped, in capitals': (bytes) => `[::FFFF:${groups(bytes).toUpperCase()}]`,
  'IPv6, mapped, in full': (bytes) => `[0000:0000:0000:0000:0000:ffff:${groups(bytes)}]`,
  'IPv6, mapped, half in full': (bytes) => `[0:0:0:0:0:ffff:${bytes.join('.')}]`,
  'IPv6, compatible': (bytes) => `[::${groups(bytes)}]`,
  'IPv6, compatible, dotted': (bytes) => `[::${bytes.join('.')}]`,
  'IPv6, translated': (bytes) => `[64:ff9b::${groups(bytes)}]`,
  'IPv6, translated, dotted': (bytes) => `[64:ff9b::${bytes.join('.')}]`,
  'IPv6, translated, local prefix': (bytes) => `[0064:ff9b:1::${groups(bytes)}]`,
}

/** More hosts that name the machine itself, its link or its cloud. */
const OTHER_HOSTS: readonly string[] = [
  'localhost',
  'LOCALHOST',
  'LocalHost',
  'localhost.',
  'localhost..',
  'a.localhost',
  'a.b.LOCALHOST.',
  'localhost.localdomain',
  'localhost6',
  'localhost6.localdomain6',
  'ip6-localhost',
  'ip6-loopback',
  'metadata',
  'metadata.',
  'metadata.google.internal',
  'METADATA.google.internal.',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'localhost:8080',
  'localhost%2e',
  'loc%61lhost',
  'ｌｏｃａｌｈｏｓｔ',
  'ⓛocalhost',
  'user@localhost',
  '0',
  '0x0',
  '00',
  '127.1',
  '127.0.1',
  '0x7f.1',
  '0177.1',
  '[::]',
  '[::1]',
  '[::1]:80',
  '[0::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[00::1]',
  '[::1%25lo]',
  '[::1%lo]',
  '[::%31]',
  '[fe80::1]',
  '[FE80::1]',
  '[fe80::1%25eth0]',
  '[fe80::1%eth0]',
  '[fe90::1]',
  '[feaf::1]',
  '[febf:ffff::1]',
  '[fd00:ec2::254]',
  '[fd00:0ec2::254]',
  '[FD00:EC2:0:0:0:0:0:254]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::]',
  '[2002:7f00:0001:0:0:0:0:1]',
  '::1',
  '[::1',
  '::1]',
]

/** Forms of a URL in which an importer would look for a host. */
const FORMS: readonly ((host: string) => string)[] = [
  (host) => `http://${host}/a.qcow2`,
  (host) => `https://${host}/a.qcow2`,
  (host) => `docker://${host}/organisation/image:1`,
  (host) => `gs://${host}/a.qcow2`,
]

/** Other forms of a URL with a host. */
const ODD_FORMS: readonly ((host: string) => string)[] = [
  (host) => `HTTP://${host}/a`,
  (host) => `http:/${host}/a`,
  (host) => `http:///${host}/a`,
  (host) => `http:\\\\${host}\\a`,
  (host) => `//${host}/a`,
  (host) => `http://${host}?a`,
  (host) => `http://${host}#a`,
  (host) => `http://${host}`,
  (host) => ` http://${host}/a`,
  (host) => `ht\ntp://${host}/a`,
  (host) => `http://\t${host}/a`,
  (host) => `file://${host}/a`,
  (host) => `ftp://${host}/a`,
  (host) => `docker-daemon://${host}/a`,
]

/** Every spelling, each once. */
export function forbiddenUrls(): string[] {
  const spelled = FORBIDDEN_V4.flatMap((address) => Object.values(AS_V4).map((spell) => spell(address)))
  const usual = [...spelled, ...OTHER_HOSTS].flatMap((host, at) => {
    // Every host in one of the forms, by turns, and each seventh in all of them.
    const forms = at % 7 === 0 ? FORMS : [FORMS[at % 2] as (typeof FORMS)[number]]
    return forms.map((form) => form(host))
  })
  const plainest = ['127.0.0.1', '169.254.169.254', 'localhost', '[::1]'].flatMap((host) =>
    [...FORMS, ...ODD_FORMS].map((form) => form(host)),
  )
  return [...new Set([...usual, ...plainest])]
}

/** URLs that look like these, but are allowed. */
export const LEGITIMATE_URLS: readonly string[] = [
  'https://images.example.com/a.qcow2',
  'http://images.example.com:8080/a/b.img?version=1#top',
  'https://IMAGES.example.com./a',
  'https://s3.us-gov-west-1.amazonaws.com/uki-lrn-vm-images/images/lab-151/1.0.0/attacker.qcow2',
  'http://minio.storage.svc:9000/bucket/key',
  'https://notlocalhost/a',
  'https://localhost.example.com/a',
  'https://metadata.example.com/a',
  'https://127.0.0.1.example.com/a',
  'https://0x7f.example/a',
  'https://xn--bcher-kva.example/a',
  'https://a_b.example/a',
  'https://8.8.8.8/a',
  'https://128.0.0.1/a',
  'https://126.255.255.255:8443/a',
  'https://169.253.255.255/a',
  'https://169.255.0.1/a',
  'https://[2606:4700::1111]/a',
  'https://[2a00:1450:4001:0:0:0:0:1]:8443/a',
  'https://images.example.com/127.0.0.1/localhost',
  'https://images.example.com/a@b?url=http://127.0.0.1/',
  'gs://bucket/object',
  'docker://registry.example.com/organisation/image:1',
  'docker://organisation/image@sha256:0123',
  'docker://registry:5000/image',
  'oci-archive:///images/a.tar',
]
