import { describe, expect, it } from 'vitest'
import { render } from '../children/render.ts'
import { CLUSTER_ACCESS } from './access.ts'
import { AdmissionPolicies } from './admission-policies.ts'
import { Namespaces } from './namespaces.ts'
import { Operator } from './operator.ts'
import { heapFlag } from './operator-heap.ts'
import { SyncOperatorPolicy } from './policy.ts'
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
    expect(policy).toEqual({
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
    ])
  })
})

describe('UserRoles', () => {
  it('are, in full', () => {
    expect(render((chart) => new UserRoles(chart, 'UserRoles'))).toMatchSnapshot()
  })
})
