import { describe, expect, it } from 'vitest'
import { explainsReasons, judgesSpecs } from '../../test/prepared/api/kind-suite.ts'
import { PROPOSED_WORKSPACE } from '../../test/prepared/api/proposed-workspace.ts'
import { WORKSPACE_FIXTURES } from '../../test/prepared/api/workspace.ts'
import { parseWorkspaceSpec, WORKSPACE_REASON_HELP, WORKSPACE_REASONS } from './workspace.ts'

const variablesOf = (variables: unknown) => {
  const vm = { name: 'a', backingVMDiskImage: 'b', resources: { cpu: 1, memory: '1Gi' } }
  const parsed = parseWorkspaceSpec({ vms: [{ ...vm, ansible: { roles: { build: [{ role: 'c', variables }] } } }] })
  return parsed.ok ? parsed.spec.vms?.[0]?.ansible?.roles?.build?.[0]?.variables : parsed.problems
}

describe('parseWorkspaceSpec', () => {
  judgesSpecs(WORKSPACE_FIXTURES, parseWorkspaceSpec, PROPOSED_WORKSPACE.spec)

  it.each([
    [70000, 'must be at most 65535; it is 70000'],
    [0, 'must be at least 1; it is 0'],
    [53.5, 'must be a whole number; it is 53.5'],
    ['53', 'must be a number, without quotes; it is "53"'],
  ])('says the rule of a number that is %j', (hostPort, message) => {
    const container = { name: 'a', image: 'registry.example/a:1', resources: { cpu: 1, memory: '1Gi' } }
    const containers = [{ ...container, portMappings: [{ containerPort: 53, protocol: 'udp', hostPort }] }]
    const path = 'spec.containerClusters[0].containers[0].portMappings[0].hostPort'
    expect(parseWorkspaceSpec({ containerClusters: [{ name: 'a', containers }] })).toEqual({
      ok: false,
      problems: [{ path, message }],
    })
  })

  it('keeps variables of Ansible as they are', () => {
    const text = '{"__proto__":{"polluted":true},"a":null,"b":[null,{"c":null}],"constructor":1,"d":1.5}'
    expect(JSON.stringify(variablesOf(JSON.parse(text)))).toBe(text)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('reasons', () => {
  explainsReasons(WORKSPACE_REASONS, WORKSPACE_REASON_HELP)
})
