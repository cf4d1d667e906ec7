import { accepted, manifest, refused, type SpecFixture } from './spec.ts'

/** As the proposal shows it, with the dash that its rendering lost before the condition. */
export const PROPOSED_IMAGE = {
  ...manifest('VMDiskImage', 'sync-workspace-123', {
    storageClass: 'gp3',
    snapshotClass: 'ebs-snapshot',
    secretRef: 'foo-bar',
    name: 'harrison-vm',
    url: 'https://s3.us-gov-west-1.amazonaws.com/uki-lrn-vm-images/images/lab-151/1.0.0/attacker.qcow2',
    sourceType: 's3',
    diskSize: '24Gi',
  }),
  status: {
    phase: 'Queued',
    message: 'Request is waiting for an available worker.',
    conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2025-07-11T20:57:00Z' }],
  },
}

const HTTP = { sourceType: 'http', url: 'https://images.example.com/a.qcow2', diskSize: '24Gi' }

const acceptedUrl = (url: string, sourceType?: string) =>
  accepted(`${sourceType ?? 'any type'} from ${shown(url)}`, {
    url,
    diskSize: '1Gi',
    ...(sourceType && { sourceType }),
  })
const refusedUrl = (url: string, sourceType?: string) =>
  refused(
    `${sourceType ?? 'any type'} from ${shown(url)}`,
    { url, diskSize: '1Gi', ...(sourceType && { sourceType }) },
    'spec.url',
  )

function shown(url: string): string {
  return url.length <= 80 ? JSON.stringify(url) : `a URL of ${url.length} characters`
}

const host = (text: string) => refusedUrl(`https://${text}/a.qcow2`)

const LONGEST_URL = `https://a.example/${'x'.repeat(2048 - 18)}`

const WHOLE_SPECS: readonly SpecFixture[] = [
  accepted('the manifest of the proposal', PROPOSED_IMAGE.spec),
  accepted('every field', {
    ...HTTP,
    storageClass: 'gp3',
    snapshotClass: 'ebs.snapshot',
    secretRef: 'foo',
    certConfigMap: 'certs',
    name: 'Harrison VM (äöü)',
    checksum: `sha256:${'0'.repeat(64)}`,
    reclaimPolicy: 'Delete',
    unreferencedTTL: '72h',
    suspend: false,
  }),
  accepted('only a url', { url: 'https://images.example.com/a.qcow2' }),
  accepted('blank without url', { sourceType: 'blank', diskSize: '1Gi' }),
  accepted('a field that nobody knows', { ...HTTP, unknown: true }),
  accepted('fields without a value', { ...HTTP, secretRef: null, storageClass: null, suspend: null }),
  accepted('no diskSize', { ...HTTP, diskSize: null }),
  refused('nothing', {}, 'spec.url'),
  refused('a url without a value', { ...HTTP, url: null }, 'spec.url'),
  refused('http without url', { sourceType: 'http', diskSize: '1Gi' }, 'spec.url'),
  refused('no sourceType and no url', { diskSize: '1Gi' }, 'spec.url'),
  refused('blank with url', { ...HTTP, sourceType: 'blank' }, 'spec.url'),
  refused('a sourceType that CDI has, but we have not', { ...HTTP, sourceType: 'vddk' }, 'spec.sourceType'),
  refused('a sourceType in upper case', { ...HTTP, sourceType: 'S3' }, 'spec.sourceType'),
  refused('a url that is a number', { ...HTTP, url: 7 }, 'spec.url'),
  refused('suspend as a text', { ...HTTP, suspend: 'true' }, 'spec.suspend'),
  refused('a reclaimPolicy that does not exist', { ...HTTP, reclaimPolicy: 'Recycle' }, 'spec.reclaimPolicy'),
  refused('an empty name', { ...HTTP, name: '' }, 'spec.name'),
  accepted('a name of 253 emoji', { ...HTTP, name: '😀'.repeat(253) }),
  refused('a name of 254 emoji', { ...HTTP, name: '😀'.repeat(254) }, 'spec.name'),
  refused('a name of 254 letters', { ...HTTP, name: 'a'.repeat(254) }, 'spec.name'),
  refused('a secretRef with a slash', { ...HTTP, secretRef: 'other/secret' }, 'spec.secretRef'),
  refused('a secretRef in upper case', { ...HTTP, secretRef: 'Foo' }, 'spec.secretRef'),
  refused('an empty storageClass', { ...HTTP, storageClass: '' }, 'spec.storageClass'),
  refused('a snapshotClass of 254 characters', { ...HTTP, snapshotClass: 'a'.repeat(254) }, 'spec.snapshotClass'),
]

const sized = (diskSize: unknown) => ({ ...HTTP, diskSize })

const DISK_SIZES: readonly SpecFixture[] = [
  ...['24Gi', '1Mi', '1048576', '1.5Gi', '.5Gi', '5.Gi', '500M', '2e9', '2E9', '+1Gi', '1Pi', '1Ti', '1048575.5'].map(
    (size) => accepted(`diskSize ${size}`, sized(size)),
  ),
  accepted('diskSize as a number', sized(1073741824)),
  ...[
    '',
    ' 1Gi',
    '1Gi ',
    '1gi',
    '1GB',
    'Gi',
    '.',
    '1e',
    'abc',
    '1Ki',
    '1048575',
    '-1Gi',
    '0',
    '1m',
    '1n',
    '2Pi',
    '1Ei',
    '1e30',
    '1e007',
    '1e99999999',
    '1e-9999999999',
    '9E',
    'NaN',
    '0x100000',
    '1,5Gi',
  ].map((size) => refused(`diskSize ${JSON.stringify(size)}`, sized(size), 'spec.diskSize')),
  ...[0, -1, 1048575, 1125899906842625, 1.5, true].map((size) =>
    refused(`diskSize as ${size}`, sized(size), 'spec.diskSize'),
  ),
]

const CHECKSUMS: readonly SpecFixture[] = [
  ...[`md5:${'a'.repeat(32)}`, `sha1:${'b'.repeat(40)}`, `sha256:${'c'.repeat(64)}`, `sha512:${'d'.repeat(128)}`].map(
    (checksum) => accepted(`checksum ${checksum.slice(0, 8)}`, { ...HTTP, checksum }),
  ),
  ...[
    `md5:${'a'.repeat(31)}`,
    `sha256:${'a'.repeat(63)}`,
    `sha256:${'A'.repeat(64)}`,
    `sha256:${'g'.repeat(64)}`,
    `sha3:${'a'.repeat(64)}`,
    'a'.repeat(64),
    '',
  ].map((checksum) =>
    refused(
      `checksum ${JSON.stringify(checksum.slice(0, 12))} of ${checksum.length}`,
      { ...HTTP, checksum },
      'spec.checksum',
    ),
  ),
  refused(
    'checksum with s3',
    { sourceType: 's3', url: 'https://s3.eu.amazonaws.com/b/k', diskSize: '1Gi', checksum: `md5:${'a'.repeat(32)}` },
    'spec.checksum',
  ),
  refused(
    'checksum without sourceType',
    { url: HTTP.url, diskSize: '1Gi', checksum: `md5:${'a'.repeat(32)}` },
    'spec.checksum',
  ),
]

const TTLS: readonly SpecFixture[] = [
  ...['72h', '0s', '0', '1h30m', '1.5h', '500ms', '1h0m0.5s'].map((unreferencedTTL) =>
    accepted(`unreferencedTTL ${unreferencedTTL}`, { ...HTTP, reclaimPolicy: 'Delete', unreferencedTTL }),
  ),
  accepted('unreferencedTTL beside Retain', { ...HTTP, reclaimPolicy: 'Retain', unreferencedTTL: '72h' }),
  refused('unreferencedTTL alone', { ...HTTP, unreferencedTTL: '72h' }, 'spec.unreferencedTTL'),
  ...['', '72', '3d', '-1h', '1h 30m', 'h', '1e3s', '∞'].map((unreferencedTTL) =>
    refused(
      `unreferencedTTL ${JSON.stringify(unreferencedTTL)}`,
      { ...HTTP, reclaimPolicy: 'Delete', unreferencedTTL },
      'spec.unreferencedTTL',
    ),
  ),
]

const SCHEMES: readonly SpecFixture[] = [
  acceptedUrl('https://s3.eu-west-1.amazonaws.com/bucket/key', 's3'),
  acceptedUrl('http://minio.storage.svc:9000/bucket/key', 's3'),
  acceptedUrl('http://images.example.com/a', 'http'),
  acceptedUrl('gs://bucket/object', 'gcs'),
  acceptedUrl('https://storage.googleapis.com/bucket/object', 'gcs'),
  acceptedUrl('docker://registry.example.com/org/image:tag', 'registry'),
  acceptedUrl(`docker://registry.example.com:443/org/image@sha256:${'0'.repeat(64)}`, 'registry'),
  acceptedUrl('oci-archive:///images/a.tar', 'registry'),
  acceptedUrl('oci-archive://images/a.tar', 'registry'),
  acceptedUrl('docker://kubevirt/fedora-cloud-container-disk-demo'),
  acceptedUrl('gs://bucket/object'),
  refusedUrl('s3://bucket/key', 's3'),
  refusedUrl('s3://bucket/key'),
  refusedUrl('gs://bucket/object', 's3'),
  refusedUrl('docker://registry.example.com/org/image', 's3'),
  refusedUrl('docker://registry.example.com/org/image', 'http'),
  refusedUrl('gs://bucket/object', 'http'),
  refusedUrl('docker://registry.example.com/org/image', 'gcs'),
  refusedUrl('https://registry.example.com/org/image', 'registry'),
  refusedUrl('ftp://images.example.com/a'),
  refusedUrl('file:///etc/passwd'),
  refusedUrl('HTTPS://images.example.com/a'),
  refusedUrl('images.example.com/a'),
  refusedUrl('//images.example.com/a'),
  refusedUrl(' https://images.example.com/a'),
  refusedUrl(''),
]

const SHAPES: readonly SpecFixture[] = [
  acceptedUrl('https://images.example.com'),
  acceptedUrl('https://images.example.com/'),
  acceptedUrl('https://images.example.com?version=1'),
  acceptedUrl('https://images.example.com/a?X-Signature=a%2Fb&x=1#top'),
  acceptedUrl('https://images.example.com/~a/[b]/c@d:e'),
  acceptedUrl('https://IMAGES.example.com:8443/a'),
  acceptedUrl('https://images_1.example.com./a'),
  acceptedUrl(LONGEST_URL),
  refusedUrl(`${LONGEST_URL}x`),
  refusedUrl('https://'),
  refusedUrl('https:///a'),
  refusedUrl('https://:443/a'),
  refusedUrl('https://images.example.com:port/a'),
  refusedUrl('https://images.example.com:123456/a'),
  refusedUrl('https://images.example.com/a b'),
  refusedUrl('https://images.example.com/a\nb'),
  refusedUrl('https://images.example.com/ä'),
  refusedUrl('https://imäges.example.com/a'),
  refusedUrl('https://images.example.com\\@evil.example/a'),
  refusedUrl('https://images.example.com/a\\b'),
  refusedUrl('https://images%2eexample.com/a'),
  refusedUrl('https://[::1/a'),
  refusedUrl('https://[fe80::1%25eth0]/a'),
  refusedUrl('docker://registry.example.com'),
  refusedUrl('docker://fedora:latest'),
  refusedUrl('https://user:secret@images.example.com/a'),
  refusedUrl('https://user@images.example.com/a'),
  refusedUrl('https://@images.example.com/a'),
  refusedUrl('docker://user:secret@registry.example.com/org/image'),
  refusedUrl('gs://user@bucket/object'),
]

const HOSTS: readonly SpecFixture[] = [
  acceptedUrl('https://10.0.0.8/a'),
  acceptedUrl('https://192.168.1.1:8080/a'),
  acceptedUrl('https://8.8.8.8/a'),
  acceptedUrl('https://128.0.0.1/a'),
  acceptedUrl('https://169.253.1.1/a'),
  acceptedUrl('https://[2606:4700::1111]/a'),
  acceptedUrl('https://[fd12:3456::1]:8443/a'),
  acceptedUrl('https://localhost.example.com/a'),
  acceptedUrl('https://notlocalhost/a'),
  acceptedUrl('https://127.0.0.1.example.com/a'),
  acceptedUrl('https://metadata.example.com/a'),
  acceptedUrl('https://images.example.com/localhost/127.0.0.1'),
  acceptedUrl('https://0x7f.example.com/a'),
  acceptedUrl('https://1.2.3.4.example/a'),
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'localhost:8080',
    'a.localhost',
    'localhost.localdomain',
    'ip6-localhost',
  ].map(host),
  ...['metadata.google.internal', 'Metadata.Google.Internal.', 'metadata', 'instance-data.ec2.internal'].map(host),
  ...['127.0.0.1', '127.0.0.1:80', '127.255.255.254', '0.0.0.0', '0.1.2.3', '169.254.169.254', '169.254.0.1:80'].map(
    host,
  ),
  ...['100.100.100.200', '168.63.129.16', '192.0.0.192'].map(host),
  ...[
    '2130706433',
    '017700000001',
    '0x7f000001',
    '0x7f.1',
    '127.1',
    '127.0.1',
    '0177.0.0.1',
    '127.0.0.01',
    '0X7F.0.0.1',
  ].map(host),
  ...['127.0.0.1.', '10.1', '1.2.3.4.5', '256.1.1.1', '8.8.8.08', 'example.1', 'example.0x1', '0', '0x'].map(host),
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[0000::0001]',
    '[::1]:443',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::FFFF:8.8.8.8]',
  ].map(host),
  ...[
    '[fe80::1]',
    '[FE80::1]',
    '[febf::1]',
    '[64:ff9b::7f00:1]',
    '[0064:ff9b::1]',
    '[fd00:ec2::254]',
    '[2002:7f00:1::]',
    '[::8.8.8.8]',
  ].map(host),
  refusedUrl('docker://localhost:5000/image', 'registry'),
  refusedUrl('docker://127.0.0.1:5000/image', 'registry'),
  refusedUrl('gs://localhost/object', 'gcs'),
  refusedUrl('http://localhost', 'http'),
  refusedUrl('http://localhost?x', 'http'),
  refusedUrl('http://127.0.0.1#x', 'http'),
]

export const SPEC_FIXTURES: readonly SpecFixture[] = [
  ...WHOLE_SPECS,
  ...DISK_SIZES,
  ...CHECKSUMS,
  ...TTLS,
  ...SCHEMES,
  ...SHAPES,
  ...HOSTS,
]
