import { describe, expect, it } from 'vitest'
import { POLICY_DEFAULTS, POLICY_KEYS, type PolicyValues, parsePolicy } from '../api/policy.ts'
import { render } from '../children/render.ts'
import { CLUSTER_ACCESS } from './access.ts'
import { AdmissionPolicies } from './admission-policies.ts'
import { Namespaces } from './namespaces.ts'
import { Operator, type OperatorProps } from './operator.ts'
import { OperatorConfinement } from './operator-confinement.ts'
import { heapFlag } from './operator-heap.ts'
import { policyData, SyncOperatorPolicy } from './policy.ts'
import { RETAIN_ANNOTATION } from './retained.ts'
import { UserRoles } from './user-roles.ts'

describe('SyncOperatorPolicy', () => {
  it('writes values as the ConfigMap has them', () => {
    const [policy] = render(
      (chart) =>
        new SyncOperatorPolicy(chart, 'Policy', {
          concurrency: 4,
          retryBackoffDuration: '5m',
          keepSourceVolume: false,
          allowedSourceUrls: ['https://a.example/x', 'https://b.example'],
        }),
    )
    expect(policy).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'sync-operator-policy', namespace: 'sync-operator' },
      data: {
        concurrency: '4',
        retryBackoffDuration: '5m',
        keepSourceVolume: 'false',
        allowedSourceUrls: 'https://a.example/x\nhttps://b.example',
      },
    })
  })

  it.each<PolicyValues>([{}, { concurrency: 1 }, { retryBackoffDuration: '2h' }, { workspaceQuota: { pods: '5' } }])(
    'has every key, so that one that is added in the cluster is seen, and means the same as without them: %j',
    (values) => {
      const [policy] = render((chart) => new SyncOperatorPolicy(chart, 'Policy', values)) as [
        { readonly data: Record<string, string> },
      ]
      expect(Object.keys(policy.data).toSorted()).toEqual(POLICY_KEYS.toSorted())
      const { retryBackoffMaxMs, ...others } = parsePolicy(policyData(values), POLICY_DEFAULTS).policy
      const longest = Math.max(retryBackoffMaxMs, others.retryBackoffMs)
      expect(parsePolicy(policy.data, POLICY_DEFAULTS)).toEqual({
        policy: { ...others, retryBackoffMaxMs: longest },
        problems: [],
      })
    },
  )

  it('does not turn a list without URLs into one that allows all', () => {
    const build = () => render((chart) => new SyncOperatorPolicy(chart, 'Policy', { allowedSourceUrls: [] }))
    expect(build).toThrow(/allowedSourceUrls: "\[\]" must be URL prefixes/)
  })

  it('throws at synth, naming path, key and value', () => {
    const build = () =>
      render((chart) => new SyncOperatorPolicy(chart, 'Policy', { concurrency: -1, retryBackoffDuration: '5' }))
    expect(build).toThrow(
      /render\/Policy: .*\n {2}concurrency: "-1" must be .*\n {2}retryBackoffDuration: "5" must be /,
    )
  })
})

describe('Operator', () => {
  it('is, in full', () => {
    expect(
      render((chart) => new Operator(chart, 'Operator', { image: 'registry.example/operator@sha256:0' })),
    ).toMatchSnapshot()
  })

  it('knows where CDI is', () => {
    const props = { image: 'registry.example/operator@sha256:0', cdiNamespace: 'openshift-cnv' }
    const objects = render((chart) => new Operator(chart, 'Operator', props))
    const deployment = objects.find((one) => 'kind' in one && one.kind === 'Deployment')
    const env = expect.arrayContaining([{ name: 'CDI_NAMESPACE', value: 'openshift-cnv' }])
    expect(deployment).toMatchObject({ spec: { template: { spec: { containers: [{ env }] } } } })
  })

  it('pulls its image with the Secrets that are named', () => {
    const props = { image: 'registry.example/operator@sha256:0', imagePullSecrets: ['registry', 'mirror.example'] }
    const objects = render((chart) => new Operator(chart, 'Operator', props))
    const deployment = objects.find((one) => 'kind' in one && one.kind === 'Deployment')
    const imagePullSecrets = [{ name: 'registry' }, { name: 'mirror.example' }]
    expect(deployment).toMatchObject({ spec: { template: { spec: { imagePullSecrets } } } })
  })

  it('has pods where and with what they are wanted, and as they were where nothing is said', () => {
    const image = 'registry.example/operator@sha256:0'
    const pods = {
      nodeSelector: { 'node-role': 'infra' },
      tolerations: [{ key: 'infra', operator: 'Exists' as const }],
      priorityClassName: 'platform',
      labels: { team: 'platform' },
      annotations: { 'example.com/owner': 'platform' },
      env: { LOG_LEVEL: 'debug' },
    }
    const deploymentOf = (props: OperatorProps) =>
      render((chart) => new Operator(chart, 'Operator', props)).find(
        (one) => 'kind' in one && one.kind === 'Deployment',
      )
    const { env, labels, annotations, ...spec } = pods
    expect(deploymentOf({ image, pods })).toMatchObject({
      spec: {
        selector: { matchLabels: expect.not.objectContaining(labels) },
        template: {
          metadata: { labels: { ...labels, 'app.kubernetes.io/name': 'open-terrain-operator' }, annotations },
          spec: {
            ...spec,
            containers: [{ env: expect.arrayContaining([{ name: 'LOG_LEVEL', value: env.LOG_LEVEL }]) }],
          },
        },
      },
    })
    expect(deploymentOf({ image, pods: {} })).toEqual(deploymentOf({ image }))
  })

  it('has a heap that fits its limit of memory, and requests no more than that', () => {
    expect(containerOf({}).resources).toEqual({
      requests: { cpu: '100m', memory: '192Mi' },
      limits: { memory: '320Mi' },
    })
    expect(containerOf({}).env).toContainEqual({ name: 'NODE_OPTIONS', value: '--max-old-space-size=192' })
    const large = containerOf({ limits: { cpu: '2', memory: '1Gi' } })
    expect(large.resources).toEqual({ requests: { cpu: '100m', memory: '192Mi' }, limits: { cpu: '2', memory: '1Gi' } })
    expect(large.env).toContainEqual({ name: 'NODE_OPTIONS', value: '--max-old-space-size=614' })
    expect(containerOf({ limits: { memory: '160M' } }).resources.requests).toEqual({ cpu: '100m', memory: '160M' })
    expect(containerOf({ limits: { cpu: '0.05' } }).resources.requests).toEqual({ cpu: '0.05', memory: '192Mi' })
  })

  it('is spread over nodes that belong to no zone, as over those that do', () => {
    const objects = render((chart) => new Operator(chart, 'Operator', { image: 'registry.example/operator@sha256:0' }))
    const deployment = objects.find((one) => 'kind' in one && one.kind === 'Deployment')
    // The scheduler gives no points for spread to a node that lacks the label of any constraint. It minds no such node where affinity is preferred.
    const onlyByNode = [expect.objectContaining({ topologyKey: 'kubernetes.io/hostname' })]
    const byZone = expect.objectContaining({ topologyKey: 'topology.kubernetes.io/zone' })
    const preferred = [{ weight: 100, podAffinityTerm: byZone }]
    const affinity = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } }
    expect(deployment).toMatchObject({
      spec: { template: { spec: { topologySpreadConstraints: onlyByNode, affinity } } },
    })
  })

  it('says its version in labels, and in no selector', () => {
    const objects = render((chart) => new Operator(chart, 'Operator', { image: 'r.example/o:1', version: '1.2.3' }))
    const deployment = objects.find((one) => 'kind' in one && one.kind === 'Deployment')
    const labels = expect.objectContaining({ 'app.kubernetes.io/version': '1.2.3' })
    expect(deployment).toMatchObject({
      metadata: { labels },
      spec: {
        selector: { matchLabels: { 'app.kubernetes.io/name': 'open-terrain-operator' } },
        template: { metadata: { labels } },
      },
    })
    expect(JSON.stringify(objects).match(/1\.2\.3/g)).toHaveLength(2)
  })

  it('may do itself what the admission policies ask of those who write a VirtualMachine', () => {
    const verbs = CLUSTER_ACCESS.filter(({ resources }) => resources.includes('vmdiskimages')).flatMap(
      (rule) => rule.verbs,
    )
    expect(verbs).toEqual(expect.arrayContaining(['use', 'create']))
  })
})

interface OperatorContainer {
  readonly env: readonly object[]
  readonly resources: { readonly requests: object; readonly limits: object }
}

function containerOf(resources: object): OperatorContainer {
  const objects = render(
    (chart) => new Operator(chart, 'Operator', { image: 'registry.example/operator:1', resources }),
  )
  const deployments = objects as { spec?: { template?: { spec: { containers: OperatorContainer[] } } } }[]
  const [container] = deployments.flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
  return container as OperatorContainer
}

describe('heapFlag', () => {
  it('names the property of a limit that is none', () => {
    for (const text of ['a lot', '', '1', '-1Gi'])
      expect(() => heapFlag(text)).toThrow(`resources.limits.memory: "${text}" is not an amount of memory`)
  })
})

describe('Namespaces', () => {
  it('are, in full', () => {
    expect(render((chart) => new Namespaces(chart, 'Namespaces'))).toMatchSnapshot()
  })

  it('keep the images apart, where they are retained', () => {
    const names = { namespace: 'ops', imageNamespace: 'images' }
    const [operator, images] = render((chart) => new Namespaces(chart, 'Namespaces', names))
    expect(operator).toMatchObject({ metadata: { name: 'ops' } })
    expect(JSON.stringify(operator)).not.toContain(RETAIN_ANNOTATION)
    expect(images).toMatchObject({ metadata: { name: 'images', annotations: { [RETAIN_ANNOTATION]: 'true' } } })
    const both = { namespace: 'ops', imageNamespace: 'ops' }
    expect(() => render((chart) => new Namespaces(chart, 'Namespaces', both))).toThrow(
      'render/Namespaces: imageNamespace is "ops", the namespace of the operator: name another one',
    )
  })
})

describe('AdmissionPolicies', () => {
  it('are, in full', () => {
    expect(render((chart) => new AdmissionPolicies(chart, 'AdmissionPolicies'))).toMatchSnapshot()
  })

  it('read the policy where the operator does', () => {
    const objects = render((chart) => new AdmissionPolicies(chart, 'AdmissionPolicies', { namespace: 'elsewhere' }))
    const paramRefs = objects.flatMap((object) => (object as { spec: { paramRef?: object } }).spec.paramRef ?? [])
    expect(paramRefs).toEqual([
      { name: 'sync-operator-policy', namespace: 'elsewhere', parameterNotFoundAction: 'Allow' },
      // All Workspaces.
      { selector: {}, parameterNotFoundAction: 'Allow' },
    ])
  })

  // The API server looks for the parameter before it looks at the conditions.
  it('stop nobody while their parameter cannot be found', () => {
    const objects = render((chart) => {
      new AdmissionPolicies(chart, 'AdmissionPolicies')
      new OperatorConfinement(chart, 'OperatorConfinement')
    })
    const specs = objects.map(
      (object) => (object as { spec: { failurePolicy?: string; paramKind?: object; paramRef?: object } }).spec,
    )
    const withParameter = specs.filter(({ paramKind }) => paramKind !== undefined)
    expect(withParameter.map(({ failurePolicy }) => failurePolicy)).toEqual(Array(6).fill('Ignore'))
    const references = specs.flatMap(({ paramRef }) => paramRef ?? [])
    expect(references).toHaveLength(withParameter.length)
    for (const reference of references) expect(reference).toMatchObject({ parameterNotFoundAction: 'Allow' })
  })
})

describe('UserRoles', () => {
  it('are, in full', () => {
    expect(render((chart) => new UserRoles(chart, 'UserRoles'))).toMatchSnapshot()
  })
})
