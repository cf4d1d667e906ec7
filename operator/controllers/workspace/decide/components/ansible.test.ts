import { POLICY_DEFAULTS, type WorkspaceSpec } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { ANSIBLE_KIND } from './ansible.ts'

/** Returns the component of a workspace whose machine has variables with as many empty texts. */
function componentWith(texts: number) {
  const variables = { texts: Array.from({ length: texts }, () => '') }
  const vm = { name: 'vm', backingVMDiskImage: 'golden', resources: { cpu: '1', memory: '1Gi' } }
  const spec: WorkspaceSpec = { vms: [{ ...vm, ansible: { roles: { build: [{ role: 'r', variables }] } } }] }
  const [component] = ANSIBLE_KIND.children({ workspace: { name: 'lab', uid: 'uid' }, spec, policy: POLICY_DEFAULTS })
  return component
}

describe('plays that are larger than a ConfigMap', () => {
  it('are held, and not rendered where it is known before that they do not fit', () => {
    expect(componentWith(1_000)?.held).toBeUndefined()
    const held = componentWith(80_000)
    expect(held).toMatchObject({ name: 'lab-ansible', held: { absent: { phase: 'Failed', why: 'AnsibleTooLarge' } } })
    expect(JSON.stringify(held?.objects).length).toBeLessThan(3_000)
  })
})
