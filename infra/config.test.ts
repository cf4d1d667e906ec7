import { join } from 'node:path'
import { renderInstallation } from '@open-terrain/constructs/platform'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CONFIG_KEYS, ConfigError, installationProps, parseConfig } from './config.ts'
import { SCHEMA } from './config-schema.ts'
import { releasedImage } from './released-image.ts'
import { environmentsIn, readStackFile } from './stack-files.ts'

const ROOT = join(import.meta.dirname, '..')
const URL = 'https://images.example/ubuntu.qcow2'
const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`

function problems(values: Record<string, unknown>): readonly string[] {
  try {
    parseConfig({ image: IMAGE, ...values })
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

describe('parseConfig', () => {
  it('fills in the defaults', () => {
    expect(parseConfig({ image: IMAGE })).toEqual({
      image: IMAGE,
      imagePullSecrets: [],
      namespace: 'sync-operator',
      imageNamespace: 'vmdi-farm',
      cdiNamespace: 'cdi',
      kubevirtNamespace: 'kubevirt',
      replicas: 2,
      resources: {},
      pods: {},
      policy: {},
      labIsolation: { enabled: false },
      monitoring: { enabled: false },
      networkPolicies: { enabled: true },
      admission: {},
      protect: true,
      adopt: false,
      images: {},
    })
  })

  it('reads values as Pulumi hands them over, which is as texts', () => {
    const config = parseConfig({
      image: IMAGE,
      namespace: '007',
      replicas: '3',
      protect: 'false',
      policy: '{"concurrency":6}',
    })
    expect(config).toMatchObject({ namespace: '007', replicas: 3, protect: false, policy: { concurrency: 6 } })
  })

  it.each<[Record<string, unknown>, string]>([
    [
      { image: undefined },
      'open-terrain:image is not set: run pulumi config set image <value>; it must be a container image, such as registry.example/open-terrain/operator:1.4.0',
    ],
    [
      { image: 'operator:1.4.0' },
      'open-terrain:image: "operator:1.4.0" must name its registry: write <registry>/<repository>, such as registry.example/open-terrain/operator',
    ],
    [
      { image: 'team/operator:1.4.0' },
      'open-terrain:image: "team/operator:1.4.0" must name its registry: write <registry>/<repository>, such as registry.example/open-terrain/operator',
    ],
    [
      { image: 'registry.example/operator:latest' },
      'open-terrain:image: "registry.example/operator:latest" must be pinned: add @sha256:<digest>, or a tag that is a version, such as :1.4.0; other tags can move',
    ],
    [
      { image: 'registry.example/operator' },
      'open-terrain:image: "registry.example/operator" must be pinned: add @sha256:<digest>, or a tag that is a version, such as :1.4.0; other tags can move',
    ],
    [
      { image: 'registry.example/operator@sha256:0' },
      'open-terrain:image: "registry.example/operator@sha256:0" must have a digest of the form sha256:<64 hexadecimal digits>',
    ],
    [
      { imagePullSecrets: 'registry' },
      'open-terrain:imagePullSecrets: "registry" must be a list of names of Secrets in the namespace of the operator',
    ],
    [
      { imagePullSecrets: ['registry', 'Registry'] },
      'open-terrain:imagePullSecrets.1: "Registry" must be the name of a Secret: lower-case letters, digits, dashes and dots',
    ],
    [
      { namespace: 'Sync' },
      'open-terrain:namespace: "Sync" must be a name of lower-case letters, digits and dashes, of at most 63 characters',
    ],
    [
      { imageNamespace: 'sync-operator' },
      'open-terrain:imageNamespace: "sync-operator" must be another namespace than the operator has: images outlive it',
    ],
    [{ replicas: 0 }, 'open-terrain:replicas: 0 must be at least 1; set policy.concurrency to 0 to pause downloads'],
    [{ replicas: 'two' }, 'open-terrain:replicas: "two" must be a whole number from 1 to 5'],
    [
      { resources: { limits: { memory: '1 GB' } } },
      'open-terrain:resources.limits.memory: "1 GB" must be a quantity such as 500m or 256Mi',
    ],
    [
      { resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } } },
      'open-terrain:resources.requests.memory: "2Gi" must not be more than the limit, 1Gi',
    ],
    [
      { pods: { tolerations: [{ effect: 'NoSchedule' }] } },
      'open-terrain:pods.tolerations.0.operator is not set: it must be Exists where there is no key: such a toleration tolerates every taint',
    ],
    [
      { pods: { tolerations: [{ key: 'infra', operator: 'Exists', value: 'yes' }] } },
      'open-terrain:pods.tolerations.0.value: "yes" must be left out with the operator Exists',
    ],
    [
      { pods: { tolerations: [{ key: 'infra', effect: 'NoSchedule', tolerationSeconds: 5 }] } },
      'open-terrain:pods.tolerations.0.tolerationSeconds: 5 must be a number of seconds, and only with the effect NoExecute',
    ],
    [
      { pods: { labels: { 'app.kubernetes.io/name': 'mine' } } },
      "open-terrain:pods.labels: app.kubernetes.io/name is a label of the operator's own: leave it out",
    ],
    [
      { pods: { env: { 'LOG-LEVEL': 'x' } } },
      'open-terrain:pods.env.LOG-LEVEL: this name must be letters, digits and underscores',
    ],
    [{ pods: { env: { LOG_LEVEL: 4 } } }, 'open-terrain:pods.env.LOG_LEVEL: 4 must be a text in quotes'],
    [
      { pods: { env: { NODE_OPTIONS: '' } } },
      'open-terrain:pods.env: NODE_OPTIONS follows from other properties: leave it out',
    ],
    [{ pods: { nodeSelector: { a: 1 } } }, 'open-terrain:pods.nodeSelector.a: 1 must be a text'],
    [
      { pods: { priorityClassName: 'High' } },
      'open-terrain:pods.priorityClassName: "High" must be a name of lower-case letters, ',
    ],
    [{ pods: { annotations: ['a'] } }, 'open-terrain:pods.annotations: ["a"] must be annotations: a text by key, '],
    [{ policy: { concurrency: -1 } }, 'open-terrain:policy.concurrency: -1 must be a whole number from 0 to 2000'],
    [
      { policy: { concurrencey: 4 } },
      'open-terrain:policy.concurrencey: 4 is not a key of the policy: take one of concurrency, ',
    ],
    [
      { policy: { imageNamespace: 'other' } },
      'open-terrain:policy.imageNamespace: "other" must be left out: the key imageNamespace says it, vmdi-farm',
    ],
    [{ networkPolicies: { enabled: 'maybe' } }, 'open-terrain:networkPolicies.enabled: "maybe" must be true or false'],
    [{ monitoring: { enable: true } }, 'open-terrain:monitoring.enable is not a key: remove it'],
    [{ imge: IMAGE }, 'open-terrain:imge is not a key: the keys are image, imagePullSecrets, namespace, '],
    [
      { images: { ubuntu: { url: 'not a url' } } },
      'open-terrain:images.ubuntu: spec.url: url must start with https://, ',
    ],
    [
      { images: { ubuntu: { url: URL, urll: URL } } },
      'open-terrain:images.ubuntu: spec has no field urll; remove it or correct its spelling',
    ],
    [
      { images: { ubuntu: { url: URL, metadata: { namespace: 'labs' } } } },
      'open-terrain:images.ubuntu: metadata: must be left out: the key is the name, and imageNamespace says the rest',
    ],
    [
      { images: { Ubuntu: { url: URL } } },
      'open-terrain:images.Ubuntu: this name must be a name of lower-case letters, digits and dashes, of at most 63 characters',
    ],
    [
      { images: { ubuntu: { url: URL, diskSize: '9Gi' } } },
      'open-terrain:images.ubuntu: spec.sourceType is missing: set it, such as http, or set policy.defaultSourceType',
    ],
    [
      { images: { ubuntu: { url: URL } }, policy: { defaultSourceType: 'http' } },
      'open-terrain:images.ubuntu: spec.diskSize is missing: set it, such as 24Gi, or set policy.defaultDiskSize',
    ],
    [
      {
        images: { ubuntu: { url: URL, sourceType: 'http', diskSize: '9Gi' } },
        policy: { allowedSourceUrls: ['https://other.example/'] },
      },
      'open-terrain:images.ubuntu: spec.url is not allowed: correct it, or allow the place in policy.allowedSourceUrls',
    ],
    [
      {
        images: { ubuntu: { url: URL } },
        policy: { defaultSourceType: 'http', defaultDiskSize: '9Gi', requireChecksum: true },
      },
      'open-terrain:images.ubuntu: spec.checksum is missing, and policy.requireChecksum asks for it: set it, ',
    ],
    [{ images: [] }, 'open-terrain:images: [] must be specs of VMDiskImages by name, such as {ubuntu: {url: ...}}'],
    [
      { imagePullSecrets: ['registry', 'registry'] },
      'open-terrain:imagePullSecrets.1: "registry" must be left out: it is in the list already',
    ],
    [
      { cdiNamespace: 'vmdi-farm' },
      'open-terrain:cdiNamespace: "vmdi-farm" must be another namespace than imageNamespace',
    ],
    [
      { networkPolicies: { metricsFrom: {} } },
      'open-terrain:networkPolicies.metricsFrom: {} must have at least one label: without any, the pods of all namespaces',
    ],
    ...['0', '1m'].map((cpu): [Record<string, unknown>, string] => [
      { resources: { requests: { cpu: '0' }, limits: { cpu } } },
      `open-terrain:resources.limits.cpu: "${cpu}" must be at least 50m, or the operator cannot run`,
    ]),
    ...[
      'LOG_LEVEL: verbose',
      'LEASE_DURATION: soon',
      'LEASE_DURATION: 5s',
      'API_REQUEST_BURST: 0',
      'KUBECONFIG: /x',
    ].map((line): [Record<string, unknown>, string] => {
      const [name = '', value = ''] = line.split(': ')
      const told =
        value === '5s' ? 'LEASE_RENEW_DEADLINE is not set: it must be shorter than' : `${name}: "${value}" must `
      return [{ pods: { env: { [name]: value } } }, `open-terrain:pods.env.${told}`]
    }),
    ...(['default', 'kube-system', 'kube-flannel', 'cdi', 'kubevirt', 'open-terrain-nodes'] as const).flatMap((name) =>
      (['namespace', 'imageNamespace'] as const).map((key): [Record<string, unknown>, string] => [
        { [key]: name },
        `open-terrain:${key}: "${name}" must be a namespace that nothing else uses: take another name`,
      ]),
    ),
    [
      { cdiNamespace: 7 },
      'open-terrain:cdiNamespace: 7 must be a name in quotes, of lower-case letters, digits and dashes',
    ],
    [{ kubevirtNamespace: 'a.b' }, 'open-terrain:kubevirtNamespace: "a.b" must be a name of lower-case letters, '],
    [{ replicas: 1.5 }, 'open-terrain:replicas: 1.5 must be a whole number from 1 to 5'],
    [
      { resources: { requests: { memory: '1Gi' } } },
      'open-terrain:resources.requests.memory: "1Gi" must not be more than the limit, 320Mi, the default: set limits.memory too',
    ],
    [
      { resources: { requests: { cpu: '1500m' }, limits: { cpu: '1.25' } } },
      'open-terrain:resources.requests.cpu: "1500m" must not be more than the limit, 1.25',
    ],
    [
      { resources: { limits: { memory: '1Ki' } } },
      'open-terrain:resources.limits.memory: "1Ki" must be at least 96Mi, or the operator cannot run',
    ],
    [
      { resources: { limits: { cpu: '-1' } } },
      'open-terrain:resources.limits.cpu: "-1" must be a quantity such as 500m or 256Mi',
    ],
    [
      { monitoring: { labels: { 'a b': 'c' } } },
      'open-terrain:monitoring.labels.a b: this name must be the key of a label, such as team or example.com/team',
    ],
    [
      { monitoring: { interval: '30' } },
      'open-terrain:monitoring.interval: "30" must be a duration of Prometheus, such as 30s or 1h30m',
    ],
    [
      { monitoring: { runbookUrl: 'docs/operations.md' } },
      'open-terrain:monitoring.runbookUrl: "docs/operations.md" must be the URL of a page, such as https://docs.example/operations',
    ],
    [
      { monitoring: { alerts: { NoLeader: 'off' } } },
      'open-terrain:monitoring.alerts.NoLeader: "off" must be false, which leaves the alert out, or have severity, above or for',
    ],
    [
      { monitoring: { alerts: { NoLeader: { above: 1 } } } },
      'open-terrain:monitoring.alerts.NoLeader.above: 1 must be left out: this alert has no threshold',
    ],
    [
      { monitoring: { alerts: { NoLeader: { severity: 'page' } } } },
      'open-terrain:monitoring.alerts.NoLeader.severity: "page" must be critical, warning or info',
    ],
    [
      { monitoring: { alerts: { NoLeader: { until: '1m' } } } },
      'open-terrain:monitoring.alerts.NoLeader.until is not a key: remove it',
    ],
    [
      { monitoring: { dashboard: true } },
      'open-terrain:monitoring.dashboard: true must be false, which leaves the dashboard out, or have namespace, labels or annotations',
    ],
    [
      { monitoring: { dashboard: { labels: { 'a b': 'c' } } } },
      'open-terrain:monitoring.dashboard.labels.a b: this name must be the key of a label, such as team or example.com/team',
    ],
    [
      { monitoring: { alerts: { Leaderless: false } } },
      'open-terrain:monitoring.alerts.Leaderless: false is of no alert: take one of QueueStuck, ',
    ],
    [
      { networkPolicies: { apiServerPorts: [] } },
      'open-terrain:networkPolicies.apiServerPorts: [] must have at least one port: a rule without ports allows all of them',
    ],
    [
      { networkPolicies: { apiServerPorts: ['https'] } },
      'open-terrain:networkPolicies.apiServerPorts.0: "https" must be a port, a number from 1 to 65535',
    ],
    [
      { networkPolicies: { importers: { deniedRanges: ['10.0.0.0'] } } },
      'open-terrain:networkPolicies.importers.deniedRanges.0: "10.0.0.0" must be a range such as 10.0.0.0/8, and not everything',
    ],
    [
      { networkPolicies: { importers: true } },
      'open-terrain:networkPolicies.importers: true must be false, or have deniedRanges, which must be a list of ranges such as 10.0.0.0/8',
    ],
    [
      { labIsolation: { enabled: true } },
      'open-terrain:labIsolation.image is not set: it must name a container image with sh and nft',
    ],
    [
      { admission: { plainTextPasswords: 'deny' } },
      'open-terrain:admission.plainTextPasswords: "deny" must be Warn, which takes such objects with a warning, or Deny',
    ],
    [{ admission: { passwords: 'Deny' } }, 'open-terrain:admission.passwords is not a key: remove it'],
    [{ adopt: 'yes' }, 'open-terrain:adopt: "yes" must be true or false'],
    [{ protect: 'no' }, 'open-terrain:protect: "no" must be true or false'],
  ])('names key, value and remedy: %o', (values, problem) => {
    expect(problems(values)).toEqual([expect.stringContaining(problem)])
  })

  /** The keys of an object and of all objects in it, as paths. */
  function pathsIn(schema: z.core.$ZodType, path: readonly string[] = []): (readonly string[])[] {
    if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return pathsIn(schema.unwrap(), path)
    if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => pathsIn(one, path))
    if (schema instanceof z.ZodArray) return [path, ...pathsIn(schema.element, [...path, '0'])]
    if (schema instanceof z.ZodRecord) return [path, ...pathsIn(schema.valueType, [...path, 'NoLeader'])]
    if (!(schema instanceof z.ZodObject)) return [path]
    const inside = Object.entries(schema.shape).flatMap(([key, one]) => pathsIn(one, [...path, key]))
    return path.length === 0 ? inside : [path, ...inside]
  }

  /** An object, or a list, in which the value is at the path. */
  function holding([first, ...rest]: readonly string[], value: unknown): unknown {
    if (first === undefined) return value
    return first === '0' ? [holding(rest, value)] : { [first]: holding(rest, value) }
  }

  const BAD = [
    null,
    5,
    -1,
    1.5,
    '',
    'a b',
    'A',
    true,
    [],
    [null],
    [['a']],
    {},
    { a: 1 },
    { 'a b': 'c' },
    { a: { b: {} } },
  ]

  it('has words of its own for whatever is wrong with a key, with the key in front, and takes nothing that cannot be installed', () => {
    const paths = pathsIn(SCHEMA)
    expect(paths.map((path) => path.join('.'))).toEqual(
      expect.arrayContaining([...CONFIG_KEYS, 'resources.limits.memory', 'networkPolicies.importers.deniedRanges.0']),
    )
    const told = paths.flatMap((path) =>
      BAD.flatMap((value) => problems(holding(path, value) as Record<string, unknown>).map((text) => ({ path, text }))),
    )
    expect(told.length).toBeGreaterThan(paths.length * 5)
    const foreign = /invalid|expected|received|unrecognized|undefined|too (big|small)|docs\/pulumi|[\n]|\bat .*[.]ts:/i
    expect(told.filter(({ text }) => foreign.test(text))).toEqual([])
    expect(told.filter(({ path, text }) => !text.startsWith(`open-terrain:${path[0]}`))).toEqual([])
  })

  it('tells all problems at once', () => {
    expect(problems({ replicas: 9, namespace: '-' })).toHaveLength(2)
  })

  it.each([
    `localhost:5000/operator:2.0.0`,
    'registry.example:5000/a/b:v1.2.3-rc.1',
    `registry.example/a:main@sha256:${'0'.repeat(64)}`,
  ])('takes the image %s', (image) => {
    expect(problems({ image })).toEqual([])
  })

  it('never shows a secret', () => {
    expect(() => parseConfig({ image: 'x', secrets: { registry: { secretKey: 'hush' } } })).not.toThrow(/hush/)
  })
})

describe('installationProps', () => {
  it('has the policy name the namespace of images where it is another one', () => {
    const props = installationProps(parseConfig({ image: IMAGE, imageNamespace: 'disks', policy: { concurrency: 6 } }))
    const [policy] = renderInstallation(props).policy
    expect(policy?.['data']).toMatchObject({ concurrency: '6', imageNamespace: 'disks' })
  })

  it('has monitoring only where it is enabled, as the stack wants it', () => {
    const monitoringOf = (monitoring: object) =>
      renderInstallation(installationProps(parseConfig({ image: IMAGE, monitoring }))).monitoring
    expect(monitoringOf({ enabled: false, interval: '1m' })).toEqual([])
    const wanted = { enabled: true, interval: '1m', alerts: { LookAlikes: false, StaleWatch: { above: 900 } } }
    const text = JSON.stringify(monitoringOf(wanted))
    expect(['"interval":"1m"', 'ot_informer_silent_seconds) > 900'].filter((one) => !text.includes(one))).toEqual([])
    expect(text).not.toContain('OpenTerrainLookAlikes')
  })
})

describe('the image of a release', () => {
  it('is the default of the package that was released with it, and of no other one', () => {
    const other = IMAGE.replace('operator@', 'other@')
    expect(releasedImage({})).toBeUndefined()
    expect(releasedImage({ operatorImage: IMAGE })).toBe(IMAGE)
    expect(releasedImage()).toBeUndefined()
    expect(parseConfig({}, IMAGE).image).toBe(IMAGE)
    expect(parseConfig({ image: other }, IMAGE).image).toBe(other)
  })
})

describe('stack files', () => {
  const environments = environmentsIn(ROOT)

  it('are one for each environment', () => {
    expect(environments).toEqual(['dev', 'production', 'staging'])
  })

  it.each(environments)('of %s lack nothing but the image', (environment) => {
    const values = readStackFile(ROOT, environment)
    expect(() => parseConfig(values)).toThrow(
      /^the configuration of the stack is not valid\n {2}open-terrain:image is not set: [^\n]+$/,
    )
    expect(renderInstallation(installationProps(parseConfig({ ...values, image: IMAGE }))).operator).not.toEqual([])
  })

  it('and the project describe the keys that there are, with the defaults that count', () => {
    expect(Object.keys(readStackFile(ROOT, 'dev')).sort()).toEqual(
      [...CONFIG_KEYS.filter((key) => key !== 'image'), 'secrets'].sort(),
    )
  })
})
