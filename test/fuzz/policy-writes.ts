import { POLICY_KEYS, type PolicyKeyName } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { BAD_QUOTAS } from '../prepared/api/policy.ts'
import { objectName, oddDuration, oddName, oddQuantity, oddText } from './odd-values.ts'

/** A value of a key, and its meaning, which is known without the product. */
export interface PolicyValue {
  readonly text: string
  /** Absent if the value cannot be used. */
  readonly reading?: { readonly value: unknown }
}

export interface PolicyWrite {
  /** Undefined: the ConfigMap is deleted. */
  readonly values: Readonly<Record<string, PolicyValue>> | undefined
  /** Keys that are written as binary data, which is invalid for all our keys. */
  readonly binary: readonly string[]
  /** Omits the field `data` if there are no values. */
  readonly isWithoutData: boolean
  /** The ConfigMap is deleted and created again instead of changed. */
  readonly isNew: boolean
}

const good = (text: string, value: unknown): PolicyValue => ({ text, reading: { value } })
const bad = (text: string): PolicyValue => ({ text })

const MEGABYTE = 2 ** 20
/** Values without a meaning. */
const nonsense = fc.oneof(
  { arbitrary: fc.constantFrom('NaN', '-1', '٤', '😀', 'Null', '{}', '[1]', '\u0000', '∞', 'X y'), weight: 9 },
  { arbitrary: fc.tuple(fc.constant('!'), oddText).map((parts) => parts.join('')), weight: 3 },
  fc.constantFrom(
    '😀'.repeat(MEGABYTE / 4),
    '9'.repeat(MEGABYTE),
    `a${'.a'.repeat(MEGABYTE / 2)}!`,
    'x'.repeat(MEGABYTE),
  ),
)
const blank = fc.constantFrom('', '', '', ' ', '\n', '\t ', '\u00a0')
const around = (value: fc.Arbitrary<PolicyValue>) =>
  fc.tuple(blank, value, blank).map(([before, { text, ...rest }, after]) => ({ ...rest, text: before + text + after }))

const goodAndBad = (usable: fc.Arbitrary<PolicyValue>, unusable: fc.Arbitrary<PolicyValue>) =>
  fc.oneof({ arbitrary: around(usable), weight: 3 }, { arbitrary: unusable, weight: 3 }, nonsense.map(bad))

function whole(max: number) {
  const number = fc
    .tuple(fc.nat(max), fc.constantFrom(1, 1, 9))
    .map(([n, width]) => good(String(n).padStart(width, '0'), n))
  const others = fc.constantFrom(
    '',
    ' ',
    '+4',
    '4.0',
    '1e9',
    'null',
    '0x4',
    '4,0',
    '1_000',
    '9007199254740992',
    '0000000001',
    `${max + 1}`,
    '5m',
  )
  return goodAndBad(number, others.map(bad))
}

const DURATIONS = [good('5m', 300_000), good('1h30m', 5_400_000), good('1.5h', 5_400_000), good('500ms', 500)]
const ZEROS = ['0', '0s', '0h0m']

function duration(isZeroAllowed: boolean) {
  const zeros = ZEROS.map((text) => (isZeroAllowed ? good(text, 0) : bad(text)))
  const seconds = fc.integer({ min: 1, max: 9_999_999 }).map((n) => good(`${n}s`, n * 1_000))
  const unusable = fc.oneof(
    fc
      .constantFrom('', '5', '4.0', '1e9', 'PT5M', '5 m', '-5m', '+5m', '1d', '1e3s', '5M', 'm5', '5m;', '10000000h')
      .map(bad),
    oddDuration.filter((text) => !/^([0-9.]+(ms|s|m|h))+$|^0$/.test(text.trim())).map(bad),
  )
  return goodAndBad(fc.oneof(seconds, fc.constantFrom(...DURATIONS, ...zeros)), unusable)
}

/** People have to have a chance to read a notice. */
function isTooShort({ reading }: PolicyValue): boolean {
  return reading !== undefined && Number(reading.value) < 300_000
}

/** An empty value means that there is none. */
const durationOrNone = fc.oneof(
  { arbitrary: duration(true).filter(({ text }) => text.trim() !== ''), weight: 5 },
  { arbitrary: blank.map((text) => good(text, undefined)), weight: 1 },
)

const oneOf = (values: readonly (readonly [text: string, value: unknown])[]) => {
  const usable = fc.constantFrom(...values.map(([text, value]) => good(text, value)))
  const others = fc.constantFrom(...values.map(([text]) => text).filter((text) => text !== ''))
  return goodAndBad(
    usable,
    fc.oneof(
      others.map((text) => bad(`${text}x`)),
      others.map((text) => bad(text.toUpperCase())),
    ),
  )
}

const isName = (text: string) =>
  text.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text) && !/[.-][.]|[.]-/.test(text)
const none = fc.constant(good('', undefined))
const name = goodAndBad(
  fc.oneof(
    objectName.map((text) => good(text, text)),
    none,
  ),
  oddName.filter((text) => text.trim() !== '' && !isName(text.trim())).map(bad),
)
const flag = oneOf([
  ['true', true],
  ['false', false],
])
const PREFIXES = ['https://images.example.com/vms', 'http://10.0.0.8:8080', 'docker://registry.example.com', 'gs://b']
const prefixes = goodAndBad(
  fc.oneof(
    none,
    fc
      .tuple(fc.subarray(PREFIXES, { minLength: 1 }), fc.constantFrom(' ', ',', '\n', ', '))
      .map(([list, separator]) => good(list.join(separator), list)),
  ),
  fc
    .constantFrom('*', 'a.example', 'https://u:p@a.example', 's3://b', 'https://a/../b', 'https://a?b', 'https://')
    .map(bad),
)
const template = goodAndBad(
  fc.oneof(
    none,
    fc.constantFrom('https://a.example/{name}/{version}.qcow2', 'gs://b/{baseVm}').map((text) => good(text, text)),
  ),
  fc
    .constantFrom(
      'x/{name}',
      'https://a/{na me}',
      'https://a/{name',
      'HTTPS://a/{name}',
      `https://a/${'x'.repeat(2_048)}`,
    )
    .map(bad),
)
const hostPath = goodAndBad(
  fc.oneof(
    none,
    fc.constantFrom('/var/lib/ot', '/a/').map((text) => good(text, text)),
  ),
  fc.constantFrom('var/lib', '/', '//', '/a/../b', '/a b', `/${'x'.repeat(1_024)}`).map(bad),
)
const capabilities = goodAndBad(
  fc.oneof(
    fc.constant(good('', [])),
    fc
      .tuple(fc.subarray(['NET_ADMIN', 'SYS_TIME', 'ALL'], { minLength: 1 }), fc.constantFrom(' ', ',', '\n', ', '))
      .map(([list, separator]) => good(list.join(separator), list)),
  ),
  fc.constantFrom('CAP_NET_ADMIN', 'net_admin', '*', 'NET-ADMIN', 'ALL;SYS_TIME').map(bad),
)
const quota = goodAndBad(
  fc.oneof(
    none,
    fc.constantFrom(',', '\n', ', ').map((separator) =>
      good(['pods=50', 'requests.cpu=1500m', 'count/otvm.pelotech.ot=3'].join(separator), {
        pods: '50',
        'requests.cpu': '1500m',
        'count/otvm.pelotech.ot': '3',
      }),
    ),
  ),
  fc.constantFrom(...BAD_QUOTAS).map(bad),
)
const isSizeLike = (text: string) => text === '' || /^[+]?[0-9.]+([eE][+-]?[0-9]+|[a-zA-Z]{0,2})$/.test(text)
const size = goodAndBad(
  fc.oneof(
    none,
    fc.constantFrom('24Gi', '1Mi', '1Pi', '2e9', '1048576').map((text) => good(text, text)),
  ),
  fc.oneof(
    fc.constantFrom('1Ki', '1GB', '2Pi', '-1Gi', '1e99999999', '1,5Gi').map(bad),
    oddQuantity.filter((text) => !isSizeLike(text.trim())).map(bad),
  ),
)

const VALUES: Readonly<Record<PolicyKeyName, fc.Arbitrary<PolicyValue>>> = {
  concurrency: whole(2_000),
  retryLimit: whole(100),
  retryBackoffDuration: duration(false),
  retryBackoffMax: duration(false),
  attemptTimeout: duration(false),
  stallTimeout: duration(false),
  snapshotTimeout: duration(false),
  reclaimPolicy: oneOf([
    ['Retain', 'Retain'],
    ['Delete', 'Delete'],
  ]),
  unreferencedTTL: duration(true),
  userReclaimPolicy: oneOf([
    ['Retain', 'Retain'],
    ['Delete', 'Delete'],
  ]),
  userUnreferencedTTL: durationOrNone,
  keepSourceVolume: flag,
  imageNamespace: goodAndBad(
    fc.constantFrom('farm', 'a-b', 'a'.repeat(63)).map((text) => good(text, text)),
    fc.constantFrom('', ' ', 'Farm', 'a/b', '-a', 'a'.repeat(64)).map(bad),
  ),
  imageUrlTemplate: template,
  defaultStorageClass: name,
  defaultSnapshotClass: name,
  defaultSecretRef: name,
  defaultCertConfigMap: name,
  defaultSourceType: oneOf([
    ['s3', 's3'],
    ['http', 'http'],
    ['', undefined],
  ]),
  defaultDiskSize: size,
  allowedSourceUrls: prefixes,
  requireChecksum: flag,
  networkDriver: oneOf([
    ['bridge', 'bridge'],
    ['ovn-layer2', 'ovn-layer2'],
  ]),
  sharedSecretNamespaces: goodAndBad(
    fc.constantFrom(good('', []), good('logins , licences-1\nlogins', ['logins', 'licences-1'])),
    fc.constantFrom('Logins', 'logins;licences', 'logins/ours', '-a', 'a.b', '*').map(bad),
  ),
  attachableNetworks: goodAndBad(
    fc.constantFrom(good('', []), good('vlans/v-1 , vlans/v.2\nvlans/v-1', ['vlans/v-1', 'vlans/v.2'])),
    fc.constantFrom('v-1', 'vlans/', 'Vlans/v-1', 'vlans/v-1;vlans/v-2', 'a/b/c').map(bad),
  ),
  allowedOverrides: goodAndBad(
    fc.constantFrom(
      good('', []),
      good('vm:template.spec.domain.cpu , vm:template\nvm:template', ['vm:template.spec.domain.cpu', 'vm:template']),
    ),
    fc
      .constantFrom(
        'template.spec',
        'vm:',
        'vm:template.spec.volumes',
        'vm:spec',
        'host:template',
        'vm:template;vm:template',
      )
      .map(bad),
  ),
  localVolumeRoot: hostPath,
  allowHostPorts: flag,
  allowPrivileged: flag,
  allowPrivilegedExec: flag,
  allowedCapabilities: capabilities,
  allowedDevices: goodAndBad(
    fc.constantFrom(good('', []), good('tun', ['tun']), good('vhost-net, kvm\nkvm', ['kvm', 'vhost-net'])),
    fc.constantFrom('/dev/kvm', 'TUN', '*', 'tun;kvm', 'none').map(bad),
  ),
  allowedServiceTypes: goodAndBad(
    fc.constantFrom(
      good('', []),
      good('ClusterIP', ['ClusterIP']),
      good('LoadBalancer, NodePort\nNodePort', ['NodePort', 'LoadBalancer']),
    ),
    fc.constantFrom('ExternalName', 'clusterip', '*', 'ClusterIP;NodePort', 'none').map(bad),
  ),
  ansibleImage: goodAndBad(
    fc.oneof(
      none,
      fc.constantFrom('registry.example.com/ansible:2.19', 'ansible').map((text) => good(text, text)),
    ),
    fc.constantFrom('an image', 'ansible\t2', `a${'b'.repeat(512)}`).map(bad),
  ),
  allowInternetAccess: flag,
  internetDeniedCidrs: goodAndBad(
    fc.constantFrom(
      good('', []),
      good('none', []),
      good('9.9.9.9', ['9.9.9.9/32']),
      good('9.9.9.0/24 , 2620:fe::/48\n9.9.9.0/24', ['9.9.9.0/24', '2620:fe::/48']),
    ),
    fc.constantFrom('9.9.9', '9.9.9.0/33', 'None', '9.9.9.0/24;9.9.8.0/24', '::ffff:9.9.9.0/120').map(bad),
  ),
  workspaceQuota: quota,
  clusterCidrs: goodAndBad(
    fc.oneof(none, fc.constantFrom(good('none', []), good('10.96.0.0/16, fd00::/108', ['10.96.0.0/16', 'fd00::/108']))),
    fc.constantFrom('10.96.0.0', '10.96.0.0/33', 'None', '10.96.0.0/16;10.97.0.0/16').map(bad),
  ),
  vmProvisionTimeout: duration(false),
  kickLimit: whole(100),
  workspaceLifetime: fc.oneof(
    { arbitrary: duration(false).filter(({ text }) => text.trim() !== ''), weight: 5 },
    { arbitrary: blank.map((text) => good(text, undefined)), weight: 1 },
  ),
  workspaceLifetimeMax: fc.oneof(
    { arbitrary: duration(false).filter(({ text }) => text.trim() !== ''), weight: 5 },
    { arbitrary: blank.map((text) => good(text, undefined)), weight: 1 },
  ),
  workspaceSnapshotLimit: whole(100),
  expiryNotice: duration(false).map((one) => (isTooShort(one) ? bad(one.text) : one)),
  resetGrace: duration(true),
}

const UNKNOWN = [
  'concurency',
  'Concurrency',
  'retry-limit',
  '__proto__',
  'constructor',
  'x'.repeat(253),
  '.',
  'toString',
]
const known = Object.entries(VALUES).map(([key, value]) => fc.tuple(fc.constant(key), value))
const unknown = fc.tuple(fc.constantFrom(...UNKNOWN), nonsense.map(bad))

const put: fc.Arbitrary<PolicyWrite> = fc
  .record({
    values: fc
      .array(
        fc.oneof({ arbitrary: fc.oneof(...known), weight: 12 }, { arbitrary: known[0] ?? unknown, weight: 3 }, unknown),
        {
          maxLength: 8,
        },
      )
      .map((entries) => Object.fromEntries(entries)),
    binary: fc.oneof(
      { arbitrary: fc.constant<string[]>([]), weight: 6 },
      fc.subarray([...POLICY_KEYS, 'concurency'], { maxLength: 2 }),
    ),
    isWithoutData: fc.boolean(),
    isNew: fc.boolean(),
  })
  .map(({ values, binary, ...rest }) => ({
    ...rest,
    binary,
    // The API server does not allow a key in both.
    values: Object.fromEntries(Object.entries(values).filter(([key]) => !binary.includes(key))),
  }))
const remove: fc.Arbitrary<PolicyWrite> = fc.constant({
  values: undefined,
  binary: [],
  isWithoutData: true,
  isNew: true,
})

/** Consecutive writes of the policy ConfigMap. */
export const policyWrites: fc.Arbitrary<PolicyWrite[]> = fc.array(
  fc.oneof({ arbitrary: put, weight: 9 }, { arbitrary: remove, weight: 1 }),
  { minLength: 1, maxLength: 6 },
)

/** Values of `concurrency` only. */
export const concurrencyValue: fc.Arbitrary<PolicyValue> = VALUES.concurrency
