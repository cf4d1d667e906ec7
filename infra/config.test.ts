import { join } from 'node:path'
import { renderInstallation } from '@open-terrain/constructs/platform'
import { describe, expect, it } from 'vitest'
import { CONFIG_KEYS, ConfigError, installationProps, parseConfig } from './config.ts'
import { environmentsIn, readStackFile } from './stack-files.ts'

const ROOT = join(import.meta.dirname, '..')
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
      replicas: 2,
      resources: {},
      policy: {},
      monitoring: { enabled: false },
      networkPolicies: { enabled: true },
      protect: true,
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
      'open-terrain:images.ubuntu: {"url":"not a url"} must be the spec of a VMDiskImage: ',
    ],
  ])('names key, value and remedy: %o', (values, problem) => {
    expect(problems(values)).toEqual([expect.stringContaining(problem)])
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
    expect(policy?.['data']).toEqual({ concurrency: '6', imageNamespace: 'disks' })
  })

  it('has monitoring only where it is enabled, as the stack wants it', () => {
    const monitoringOf = (monitoring: object) =>
      renderInstallation(installationProps(parseConfig({ image: IMAGE, monitoring }))).monitoring
    expect(monitoringOf({ enabled: false, interval: '1m' })).toEqual([])
    const wanted = { enabled: true, interval: '1m', alerts: { LookAlikes: false, StaleWatch: { above: 900 } } }
    const text = JSON.stringify(monitoringOf(wanted))
    expect(['"interval":"1m"', 'ot_informer_silent_seconds) > 900'].filter((one) => !text.includes(one))).toEqual([])
    expect(text).not.toContain('OpenTerrainLookAlikes')
    const wrong = { enabled: true, alerts: { Nothing: false } }
    expect(() => monitoringOf(wrong)).toThrow('alerts.Nothing does not exist, write one of QueueStuck, ')
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
