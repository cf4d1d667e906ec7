import { describe, expect, it } from 'vitest'
import { explainsReasons, judgesSpecs } from './kind-suite.fixtures.ts'
import { PROPOSED_WORKSPACE } from './proposed-workspace.fixtures.ts'
import { WORKSPACE_FIXTURES } from './workspace.fixtures.ts'
import { parseWorkspaceSpec, WORKSPACE_REASON_HELP, WORKSPACE_REASONS } from './workspace.ts'

const variablesOf = (variables: unknown) => {
  const vm = { name: 'a', backingVMDiskImage: 'b', resources: { cpu: 1, memory: '1Gi' } }
  const parsed = parseWorkspaceSpec({ vms: [{ ...vm, ansible: { roles: { build: [{ role: 'c', variables }] } } }] })
  return parsed.ok ? parsed.spec.vms?.[0]?.ansible?.roles?.build?.[0]?.variables : parsed.problems
}

describe('parseWorkspaceSpec', () => {
  judgesSpecs(WORKSPACE_FIXTURES, parseWorkspaceSpec)

  it('reads the manifest of the proposal as it is written', () => {
    expect(parseWorkspaceSpec(PROPOSED_WORKSPACE.spec)).toEqual({ ok: true, spec: PROPOSED_WORKSPACE.spec })
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
