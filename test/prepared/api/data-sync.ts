import { accepted, manifest, refused, type SpecFixture } from './spec.ts'

const URL = 'https://images.example.com/lab/attacker.qcow2'

/** As the proposal of the DataSync shows it, with a list where the proposal describes one in words. */
export const PROPOSED_DATA_SYNC = manifest('DataSync', 'sync-workspace-123', {
  workspaceId: '035',
  vms: [
    { name: 'attacker', url: 'https://s3.us-gov-west-1.amazonaws.com/b/attacker.qcow2', sourceType: 's3' },
    { name: 'web-server', url: 'https://images.example.com/web-server.qcow2', sourceType: 'http' },
  ],
})

const least = { workspaceId: '035', vms: [{ name: 'a', url: URL, sourceType: 'http' }] }
/** A spec with one vm that has these fields in addition to its name. */
const one = (vm: object, shared: object = {}) => ({ workspaceId: '035', ...shared, vms: [{ name: 'a', ...vm }] })
const many = (count: number, make: (at: number) => object) => ({
  workspaceId: '035',
  vms: Array.from({ length: count }, (_, at) => make(at)),
})
const LONGEST_URL = `https://a.example/${'x'.repeat(2048 - 18)}`
const MD5 = `md5:${'a'.repeat(32)}`

const WHOLE_SPECS: readonly SpecFixture[] = [
  accepted('the manifest of the proposal', PROPOSED_DATA_SYNC.spec),
  accepted('only what is needed', least),
  accepted('every field', {
    workspaceId: '035',
    version: '1.0.0',
    sourceType: 's3',
    diskSize: '10Gi',
    storageClass: 'gp3',
    snapshotClass: 'ebs',
    secretRef: 'foo',
    certConfigMap: 'certs',
    vms: [
      {
        name: 'attacker',
        url: URL,
        sourceType: 'http',
        diskSize: 1073741824,
        storageClass: 'gp2',
        snapshotClass: 'other',
        secretRef: 'bar',
        certConfigMap: 'more-certs',
        checksum: MD5,
      },
    ],
  }),
  accepted('fields without a value', { ...least, version: null, diskSize: null }),
  accepted('a field that nobody knows', { ...least, unknown: true }),
  accepted('any text as an identifier', { ...least, workspaceId: 'Lab 035 (äöü)', version: 'next' }),
  refused('nothing', {}, 'spec.workspaceId'),
  refused('an identifier that is a number', { ...least, workspaceId: 35 }, 'spec.workspaceId'),
  refused('an empty identifier', { ...least, workspaceId: '' }, 'spec.workspaceId'),
  refused('an identifier of 64 letters', { ...least, workspaceId: 'a'.repeat(64) }, 'spec.workspaceId'),
  accepted('an identifier of 63 emoji', { ...least, workspaceId: '😀'.repeat(63) }),
  refused('an identifier of 64 emoji', { ...least, workspaceId: '😀'.repeat(64) }, 'spec.workspaceId'),
  refused('a version that is a number', { ...least, version: 1.5 }, 'spec.version'),
  refused('an empty version', { ...least, version: '' }, 'spec.version'),
  refused('a version that is too long', { ...least, version: 'a'.repeat(64) }, 'spec.version'),
  refused('a secretRef with a slash', { ...least, secretRef: 'a/b' }, 'spec.secretRef'),
  refused('a diskSize for all that is none', { ...least, diskSize: '5GB' }, 'spec.diskSize'),
  refused('a sourceType for all that does not exist', { ...least, sourceType: 'vddk' }, 'spec.sourceType'),
]

const VMS: readonly SpecFixture[] = [
  refused('no list of vms', { workspaceId: '035' }, 'spec.vms'),
  refused(
    'vms in words, as in the proposal',
    { ...least, vms: 'yaml list of vms with name, url, sourceType' },
    'spec.vms',
  ),
  refused('no vms', { ...least, vms: [] }, 'spec.vms'),
  accepted(
    '100 vms with the longest URLs',
    many(100, (at) => ({ name: `vm-${at}`, url: LONGEST_URL })),
  ),
  refused(
    '101 vms',
    many(101, (at) => ({ name: `vm-${at}`, url: URL })),
    'spec.vms',
  ),
  refused(
    'two vms of one name',
    many(2, () => ({ name: 'a', url: URL })),
    'spec.vms[1]',
  ),
  refused('a vm without a name', { ...least, vms: [{ url: URL }] }, 'spec.vms[0].name'),
  refused('a vm with an empty name', { ...least, vms: [{ name: '', url: URL }] }, 'spec.vms[0].name'),
  refused('a vm with a long name', { ...least, vms: [{ name: 'a'.repeat(64), url: URL }] }, 'spec.vms[0].name'),
  accepted('a vm with any name', { ...least, vms: [{ name: 'Web Server (世)', url: URL }] }),
  refused('a vm that is a text', { ...least, vms: ['a'] }, 'spec.vms[0]'),
  ...[
    ['storageClass', 'Gp3'],
    ['snapshotClass', ''],
    ['secretRef', 'a/b'],
    ['certConfigMap', 'A'],
    ['diskSize', '1Ki'],
    ['checksum', 'md5:0'],
    ['sourceType', 'S3'],
  ].map(([field = '', value]) =>
    refused(`a vm with ${field} ${value}`, one({ url: URL, [field]: value }), `spec.vms[0].${field}`),
  ),
]

const SOURCES: readonly SpecFixture[] = [
  ...[
    'https://user:secret@images.example.com/a',
    'ftp://images.example.com/a',
    'https://127.0.0.1/a',
    'https://0177.0.0.1/a',
    'https://[::1]/a',
    'http://169.254.169.254/latest',
    'http://metadata.google.internal/a',
    'https://images.example.com/a b',
    `${LONGEST_URL}x`,
    '',
  ].map((url) => refused(`a vm from ${url.slice(0, 60)} of ${url.length}`, one({ url }), 'spec.vms[0].url')),
  ...['https://10.0.0.8/a', 'gs://bucket/a', 'docker://registry.example.com/org/a', 'oci-archive:///a'].map((url) =>
    accepted(`a vm from ${url}`, one({ url })),
  ),
  accepted('a blank disk', one({ sourceType: 'blank', diskSize: '1Gi' })),
  accepted('a blank disk by the type of all', one({}, { sourceType: 'blank' })),
  accepted('a type of its own beside that of all', one({ url: URL, sourceType: 'http' }, { sourceType: 'registry' })),
  accepted('a checksum with the type of all', one({ url: URL, checksum: MD5 }, { sourceType: 'http' })),
  refused('no url', one({}), 'spec.vms'),
  refused('no url with the type of all', one({}, { sourceType: 'http' }), 'spec.vms'),
  refused('no url with a type of its own', one({ sourceType: 'http' }, { sourceType: 'blank' }), 'spec.vms[0].url'),
  refused('a blank disk with a url', one({ url: URL, sourceType: 'blank' }), 'spec.vms[0].url'),
  refused('a blank disk by the type of all, with a url', one({ url: URL }, { sourceType: 'blank' }), 'spec.vms'),
  refused('a checksum without a type', one({ url: URL, checksum: MD5 }), 'spec.vms'),
  refused('a checksum with another type', one({ url: URL, checksum: MD5, sourceType: 's3' }), 'spec.vms[0].checksum'),
  refused('a checksum with another type of all', one({ url: URL, checksum: MD5 }, { sourceType: 's3' }), 'spec.vms'),
  ...[
    ['s3', 'gs://bucket/a'],
    ['http', 'docker://registry.example.com/a'],
    ['gcs', 'oci-archive:///a'],
    ['registry', URL],
  ].flatMap(([sourceType, url]) => [
    refused(`${sourceType} from ${url}`, one({ url, sourceType }), 'spec.vms[0].url'),
    refused(`${sourceType} for all, from ${url}`, one({ url }, { sourceType }), 'spec.vms'),
  ]),
]

export const DATA_SYNC_FIXTURES: readonly SpecFixture[] = [...WHOLE_SPECS, ...VMS, ...SOURCES]
