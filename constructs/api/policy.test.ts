import { describe, expect, it } from 'vitest'
import { BAD_QUOTAS } from '../../test/prepared/api/policy.ts'
import { isUrlAllowed, POLICY_DEFAULTS, POLICY_KEYS, type Policy, parsePolicy, policyDefaultText } from './policy.ts'
import { POLICY_SCHEMA } from './policy-schema.ts'

/** Differs from the defaults in every field that the tests look at. */
const LAST_GOOD: Policy = {
  ...POLICY_DEFAULTS,
  concurrency: 9,
  retryLimit: 7,
  retryBackoffMs: 1,
  unreferencedTtlMs: 2,
  keepSourceVolume: false,
  defaultDiskSize: '7Gi',
  allowedSourceUrls: ['https://last.example'],
  clusterCidrs: ['10.0.0.0/8'],
}

const GOOD: readonly (readonly [string, string, keyof Policy, unknown])[] = [
  ['concurrency', '4', 'concurrency', 4],
  ['concurrency', ' 4\n', 'concurrency', 4],
  ['concurrency', '0', 'concurrency', 0],
  ['concurrency', '007', 'concurrency', 7],
  ['concurrency', '2000', 'concurrency', 2000],
  ['retryLimit', '0', 'retryLimit', 0],
  ['retryBackoffDuration', '5m', 'retryBackoffMs', 300_000],
  ['retryBackoffMax', '1h30m', 'retryBackoffMaxMs', 5_400_000],
  ['attemptTimeout', '500ms', 'attemptTimeoutMs', 500],
  ['stallTimeout', '1.5h', 'stallTimeoutMs', 5_400_000],
  ['snapshotTimeout', '1s', 'snapshotTimeoutMs', 1000],
  ['reclaimPolicy', 'Retain', 'reclaimPolicy', 'Retain'],
  ['unreferencedTTL', '0s', 'unreferencedTtlMs', 0],
  ['userReclaimPolicy', 'Delete', 'userReclaimPolicy', 'Delete'],
  ['userUnreferencedTTL', '0s', 'userUnreferencedTtlMs', 0],
  ['userUnreferencedTTL', '', 'userUnreferencedTtlMs', undefined],
  ['keepSourceVolume', 'false', 'keepSourceVolume', false],
  ['imageNamespace', 'farm', 'imageNamespace', 'farm'],
  [
    'imageUrlTemplate',
    'https://a.example/{name}/{version}.qcow2',
    'imageUrlTemplate',
    'https://a.example/{name}/{version}.qcow2',
  ],
  ['imageUrlTemplate', '', 'imageUrlTemplate', undefined],
  ['defaultStorageClass', 'gp3', 'defaultStorageClass', 'gp3'],
  ['defaultStorageClass', '', 'defaultStorageClass', undefined],
  ['defaultSnapshotClass', 'ebs', 'defaultSnapshotClass', 'ebs'],
  ['defaultSecretRef', 'foo', 'defaultSecretRef', 'foo'],
  ['defaultCertConfigMap', 'certs', 'defaultCertConfigMap', 'certs'],
  ['defaultSourceType', 's3', 'defaultSourceType', 's3'],
  ['defaultDiskSize', '24Gi', 'defaultDiskSize', '24Gi'],
  [
    'allowedSourceUrls',
    'https://a.example/x, https://b.example\nhttp://10.0.0.8',
    'allowedSourceUrls',
    ['https://a.example/x', 'https://b.example', 'http://10.0.0.8'],
  ],
  ['allowedSourceUrls', ' \n', 'allowedSourceUrls', undefined],
  ['requireChecksum', 'true', 'requireChecksum', true],
  ['networkDriver', 'ovn-layer2', 'networkDriver', 'ovn-layer2'],
  ['attachableNetworks', 'vlans/v-1, vlans/v.2\nvlans/v-1', 'attachableNetworks', ['vlans/v-1', 'vlans/v.2']],
  ['localVolumeRoot', '/var/lib/ot', 'localVolumeRoot', '/var/lib/ot'],
  ['allowHostPorts', 'false', 'allowHostPorts', false],
  ['allowedCapabilities', 'NET_ADMIN, SYS_TIME\nNET_ADMIN', 'allowedCapabilities', ['NET_ADMIN', 'SYS_TIME']],
  ['allowedCapabilities', '', 'allowedCapabilities', []],
  ['allowedServiceTypes', 'LoadBalancer ClusterIP', 'allowedServiceTypes', ['ClusterIP', 'LoadBalancer']],
  ['allowedServiceTypes', '', 'allowedServiceTypes', []],
  ['allowedDevices', 'vhost-net tun', 'allowedDevices', ['tun', 'vhost-net']],
  ['sharedSecretNamespaces', 'logins, licences\nlogins', 'sharedSecretNamespaces', ['logins', 'licences']],
  [
    'workspaceQuota',
    'requests.cpu=16,requests.memory=64Gi\npods=50, count/virtualmachines.pelotech.ot=9, requests.nvidia.com/gpu=2',
    'workspaceQuota',
    {
      'requests.cpu': '16',
      'requests.memory': '64Gi',
      pods: '50',
      'count/virtualmachines.pelotech.ot': '9',
      'requests.nvidia.com/gpu': '2',
    },
  ],
  ['workspaceQuota', '', 'workspaceQuota', undefined],
  ['clusterCidrs', '10.96.0.0/16,\nfd00::/108', 'clusterCidrs', ['10.96.0.0/16', 'fd00::/108']],
  ['clusterCidrs', 'none', 'clusterCidrs', []],
  ['internetDeniedCidrs', 'none', 'internetDeniedCidrs', []],
  [
    'internetDeniedCidrs',
    '9.9.9.9, 9.9.9.9/32,2620:FE::9 9.9.8.0/24',
    'internetDeniedCidrs',
    ['9.9.9.9/32', '2620:fe::9/128', '9.9.8.0/24'],
  ],
  ['clusterCidrs', '', 'clusterCidrs', undefined],
  ['vmProvisionTimeout', '30m', 'vmProvisionTimeoutMs', 1_800_000],
  ['workspaceLifetime', '72h', 'workspaceLifetimeMs', 259_200_000],
  ['workspaceLifetime', '', 'workspaceLifetimeMs', undefined],
  ['workspaceLifetimeMax', '720h', 'workspaceLifetimeMaxMs', 2_592_000_000],
  ['expiryNotice', '5m', 'expiryNoticeMs', 300_000],
  ['resetGrace', '0s', 'resetGraceMs', 0],
  ['kickLimit', '0', 'kickLimit', 0],
]

const BAD: readonly (readonly [string, string])[] = [
  ...[
    '',
    '4.0',
    '-1',
    '+4',
    '1e9',
    'NaN',
    'Infinity',
    'four',
    '4 images',
    '0x4',
    '10001',
    '99999999999999999999',
    '٤',
  ].map((value) => ['concurrency', value] as const),
  ...['101', '-1', 'none'].map((value) => ['retryLimit', value] as const),
  ...['', '5', '0', '0s', '-5m', '5 minutes', '1d'].map((value) => ['retryBackoffDuration', value] as const),
  ...['-1h', '3d', ''].map((value) => ['unreferencedTTL', value] as const),
  ...['', 'delete', 'Recycle'].map((value) => ['reclaimPolicy', value] as const),
  ...['', 'none'].map((value) => ['userReclaimPolicy', value] as const),
  ...['-1h', '3d', 'none'].map((value) => ['userUnreferencedTTL', value] as const),
  ...['', 'True', 'yes', '1'].map((value) => ['keepSourceVolume', value] as const),
  ...['', 'Farm', 'a/b', 'a'.repeat(64)].map((value) => ['imageNamespace', value] as const),
  ...['x/{name}', 'https://a.example/{na me}', 'https://a.example/{name', 'https://a.example/{lab}'].map(
    (value) => ['imageUrlTemplate', value] as const,
  ),
  ...['A', 'a b'].map((value) => ['defaultStorageClass', value] as const),
  ...['S3', 'vddk'].map((value) => ['defaultSourceType', value] as const),
  ...['1Ki', '1GB', '2Pi'].map((value) => ['defaultDiskSize', value] as const),
  ...['*', 'a.example', 'https://a.example https://u:p@b.example', 's3://b'].map(
    (value) => ['allowedSourceUrls', value] as const,
  ),
  ...['Logins', 'a/b', '*', 'a;b'].map((value) => ['sharedSecretNamespaces', value] as const),
  ...['ExternalName', 'nodeport', 'ClusterIP;NodePort'].map((value) => ['allowedServiceTypes', value] as const),
  ...['/dev/kvm', 'fuse', '*'].map((value) => ['allowedDevices', value] as const),
  ...['CAP_CHOWN', 'net_admin', '*', 'NET_ADMIN;SYS_TIME'].map((value) => ['allowedCapabilities', value] as const),
  ['clusterCidrs', '10.96.0.0'],
  ['clusterCidrs', '10.96.0.0/16 none'],
  ...BAD_QUOTAS.map((value) => ['workspaceQuota', value] as const),
  ...['', 'macvtap'].map((value) => ['networkDriver', value] as const),
  ...['v-1', 'a/b/c', 'A/b', 'a/*'].map((value) => ['attachableNetworks', value] as const),
  ...['var/lib', '/var/../etc', '/'].map((value) => ['localVolumeRoot', value] as const),
]

describe('parsePolicy', () => {
  it.each(GOOD)('reads %s %j', (key, value, field, expected) => {
    const { policy, problems } = parsePolicy({ [key]: value }, LAST_GOOD)
    expect(problems).toEqual([])
    expect(policy[field]).toEqual(expected)
  })

  it.each(BAD)('keeps the last good value of %s for %j, and says so', (key, value) => {
    const { policy, problems } = parsePolicy({ [key]: value, kickLimit: '5' }, LAST_GOOD)
    const { field } = POLICY_SCHEMA[key as keyof typeof POLICY_SCHEMA]
    expect(policy[field]).toEqual(LAST_GOOD[field])
    expect(policy.kickLimit).toBe(5)
    expect(problems).toEqual([{ key, value: expect.any(String), message: expect.stringMatching(/^must |^Too /) }])
  })

  it('keeps the last good value where there is no text, and says where it belongs', () => {
    const { policy, problems } = parsePolicy({ concurrency: null }, LAST_GOOD)
    expect(policy.concurrency).toBe(9)
    expect(problems).toEqual([{ key: 'concurrency', value: '', message: expect.stringContaining('binaryData') }])
  })

  it.each([undefined, {}])('has the defaults for a ConfigMap without keys: %j', (data) => {
    expect(parsePolicy(data, LAST_GOOD)).toEqual({ policy: POLICY_DEFAULTS, problems: [] })
  })

  it.each<[what: string, data: Record<string, string | null>, lastGood: Partial<Policy>, isOpen: boolean]>([
    ['True', { allowInternetAccess: 'True' }, {}, false],
    ['no', { allowInternetAccess: 'no' }, {}, false],
    ['an empty text', { allowInternetAccess: '' }, {}, false],
    ['no text', { allowInternetAccess: null }, {}, false],
    ['true', { allowInternetAccess: 'true' }, {}, true],
    ['denied ranges that were never known', { internetDeniedCidrs: '9.9.9.0/33' }, { internetDeniedCidrs: [] }, false],
    ['denied ranges that were known', { internetDeniedCidrs: '9.9.9.0/33' }, {}, true],
    ['ranges of the cluster that were never known', { clusterCidrs: '10.96.0.0' }, { clusterCidrs: undefined }, false],
    ['ranges of the cluster that were known', { clusterCidrs: '10.96.0.0' }, {}, true],
  ])('opens the internet on no doubt: %s', (_what, data, lastGood, isOpen) => {
    const known = { ...LAST_GOOD, allowInternetAccess: true, internetDeniedCidrs: ['9.9.9.0/24'], clusterCidrs: [] }
    const { policy, problems } = parsePolicy({ allowInternetAccess: 'true', ...data }, { ...known, ...lastGood })
    expect(policy.allowInternetAccess).toBe(isOpen)
    const said = problems.map(({ instead = '' }) => instead.includes('counts as false'))
    expect(said).toEqual(problems.map(() => !isOpen))
  })

  it('says that a longest wait below the first one does not count, and what does', () => {
    const data = { retryBackoffDuration: '2h', retryBackoffMax: '30m' }
    expect(parsePolicy(data, LAST_GOOD).problems).toEqual([
      {
        key: 'retryBackoffMax',
        value: '30m',
        message: 'must not be less than retryBackoffDuration',
        instead: 'the longest wait is retryBackoffDuration, 2h',
      },
    ])
  })

  it.each<Record<string, string>>([
    { retryBackoffDuration: '2h' },
    { retryBackoffDuration: '2h', retryBackoffMax: '2h' },
    { retryBackoffMax: '5m' },
  ])('finds nothing wrong with %j', (data) => {
    expect(parsePolicy(data, LAST_GOOD).problems).toEqual([])
  })

  it('reports unknown keys and applies the others', () => {
    const data = JSON.parse('{"concurency":"8","__proto__":"x","retryLimit":"1"}') as Record<string, string>
    const { policy, problems } = parsePolicy(data, LAST_GOOD)
    expect(problems.map(({ key }) => key)).toEqual(['concurency', '__proto__'])
    expect(policy).toEqual({ ...POLICY_DEFAULTS, retryLimit: 1 })
  })

  it('shows neither credentials nor endless values in problems', () => {
    const { problems } = parsePolicy(
      { allowedSourceUrls: 'https://user:hunter2@a.example/x?sig=hunter2', concurrency: '9'.repeat(5000) },
      LAST_GOOD,
    )
    expect(JSON.stringify(problems)).not.toContain('hunter2')
    expect(problems.every(({ value }) => value.length <= 64)).toBe(true)
  })

  it.each([
    ['https://user:hunter2@a.example/x', '…@a.example/x'],
    ["https://a.example/x?sig='hunter2", 'https://a.example/x…'],
    ['https://a.example/x?sig=<hunter2,https://b.example?hunter2', 'https://a.example/x…'],
    ['https://a.example/x?mail=hunter2@hunter2', '…@…'],
    ['user:hunter2@a.example', '…@a.example'],
    ['X-Amz-Signature=hunter2', 'X-Amz-Signature…'],
  ])('shows of %s no more than %s', (given, shown) => {
    const { problems } = parsePolicy({ concurrency: given, [given]: 'x' }, LAST_GOOD)
    expect(problems.map(({ key, value }) => [key, value])).toEqual([
      ['concurrency', shown],
      [shown, 'x'],
    ])
  })

  it('reads each default back as written', () => {
    const data = Object.fromEntries(
      POLICY_KEYS.map((key) => [key, policyDefaultText(key)]).filter(([, text]) => text !== undefined),
    )
    expect(parsePolicy(data, LAST_GOOD)).toEqual({ policy: POLICY_DEFAULTS, problems: [] })
  })

  it('has every field of the policy behind exactly one key', () => {
    const fields = POLICY_KEYS.map((key) => POLICY_SCHEMA[key].field)
    expect(fields.toSorted()).toEqual(Object.keys(POLICY_DEFAULTS).toSorted())
  })
})

describe('isUrlAllowed', () => {
  it('follows the list of the policy', () => {
    expect(isUrlAllowed('https://last.example/a', LAST_GOOD)).toBe(true)
    expect(isUrlAllowed('https://other.example/a', LAST_GOOD)).toBe(false)
    expect(isUrlAllowed('https://other.example/a', POLICY_DEFAULTS)).toBe(true)
  })
})
