import { describe, expect, it } from 'vitest'
import { render } from '../children/render.ts'
import { CLUSTER_ACCESS, NAMESPACE_ACCESS } from './access.ts'
import { AdmissionPolicies } from './admission-policies.ts'
import { Operator } from './operator.ts'
import { SyncOperatorPolicy } from './policy.ts'
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

  it('grants no wildcard, and writes to pods to nobody', () => {
    const rules = [...CLUSTER_ACCESS, ...NAMESPACE_ACCESS]
    expect(rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs])).not.toContain(
      '*',
    )
    const readOnly = rules.filter(({ resources }) => ['pods'].some((name) => resources.includes(name)))
    expect(readOnly.flatMap(({ verbs }) => verbs)).toEqual(['get', 'list', 'watch'])
  })

  it('may do itself what the admission policies ask of those who write a VirtualMachine', () => {
    const verbs = CLUSTER_ACCESS.filter(({ resources }) => resources.includes('vmdiskimages')).flatMap(
      (rule) => rule.verbs,
    )
    expect(verbs).toEqual(expect.arrayContaining(['use', 'create']))
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
