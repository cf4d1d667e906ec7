import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, type PlannedWorld, parsed, settledWorld } from '../../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../../kube/kube-object.ts'
import { planWorkspace } from '../plan.ts'
import { renderComponents } from '../render.ts'

const OPEN = { ...DEPLOYED, internetAccess: 'Enabled' } as const
const ALLOWED = { allowInternetAccess: true }
const ID = 'NetworkPolicy allow-internet'

function planOf(planned: PlannedWorld, spec?: WorkspaceSpecInput) {
  if (spec !== undefined) planned.spec = parsed(spec)
  const { status, apply, remove } = planWorkspace(planned.world, NOW)
  const told = status.components?.find(({ kind }) => kind === 'InternetAccess')
  const titled = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`
  return {
    told: told && [told.phase, told.reason],
    phase: `${status.phase} ${status.reason}`,
    apply: apply.map(titled),
    remove: remove.map(({ kind, name }) => `${kind} ${name}`),
    message: told?.message,
  }
}

describe('access to the internet', () => {
  it.each<[what: string, spec: WorkspaceSpecInput, policy: object, told: unknown, isThere: boolean]>([
    ['nobody asks for', DEPLOYED, {}, undefined, false],
    ['nobody asks for, and may be had', DEPLOYED, ALLOWED, undefined, false],
    ['is refused in words', { ...DEPLOYED, internetAccess: 'Disabled' }, ALLOWED, undefined, false],
    ['the policy allows', OPEN, ALLOWED, ['Ready', 'Ready'], true],
    [
      'the policy allows to nothing',
      OPEN,
      { ...ALLOWED, internetDeniedCidrs: ['0.0.0.0/0', '::/0'] },
      ['Failed', 'InternetAccessNotAllowed'],
      true,
    ],
    ['the policy does not allow', OPEN, {}, ['Failed', 'InternetAccessNotAllowed'], false],
  ])('that %s', (_what, spec, policy, told, isThere) => {
    const planned = settledWorld(DEPLOYED, policy)
    planned.spec = parsed(spec)
    planned.take(planWorkspace(planned.world, NOW))
    const plan = planOf(planned)
    expect([plan.told, planned.children.has(ID)]).toEqual([told, isThere])
    // All the rest is there in any case.
    expect([plan.apply, plan.remove, planned.children.has('Deployment demo-app')]).toEqual([[], [], true])
    const isFailed = Array.isArray(told) && told[0] === 'Failed'
    expect(plan.phase).toBe(!isFailed ? 'Ready Ready' : 'Failed InternetAccessNotAllowed')
  })

  it('comes and goes alone', () => {
    const planned = settledWorld(DEPLOYED, ALLOWED)
    expect(planOf(planned, OPEN)).toMatchObject({ apply: [ID], remove: [] })
    planned.take(planWorkspace(planned.world, NOW))
    expect(planOf(planned)).toMatchObject({ told: ['Ready', 'Ready'], apply: [], remove: [] })
    expect(planOf(planned, DEPLOYED)).toMatchObject({ apply: [], remove: [ID] })
  })

  it.each<[what: string, before: (planned: PlannedWorld) => void]>([
    ['a spec', () => undefined],
    [
      'a spec that cannot be used',
      (planned) => {
        planned.unusable = 'InvalidSpec'
      },
    ],
    [
      'a deletion that waits',
      (planned) => {
        planned.deletionTimestamp = '2026-01-31T12:00:00Z'
      },
    ],
  ])('is taken away when the policy does not allow it any more, whatever else happens: %s', (_what, before) => {
    const planned = settledWorld(OPEN, ALLOWED)
    before(planned)
    expect(planOf(planned).remove).not.toContain(ID)
    planned.changePolicy({ allowInternetAccess: false })
    const { remove, apply } = planOf(planned)
    expect(remove).toContain(ID)
    expect(apply).toEqual([])
  })

  it.each(['InvalidSpec', 'TooLarge'] as const)(
    'is taken away with its word, as far as that is known: %s',
    (unusable) => {
      const planned = settledWorld(OPEN, ALLOWED)
      planned.spec = parsed(DEPLOYED)
      planned.unusable = unusable
      expect(planOf(planned).remove).toEqual(unusable === 'InvalidSpec' ? [ID] : [])
    },
  )

  it('is put right where somebody has widened it', () => {
    const planned = settledWorld(OPEN, ALLOWED)
    const found = planned.children.get(ID) as KubeObject & { readonly spec: object }
    planned.children.set(ID, { ...found, spec: { ...found.spec, egress: [{}] } } as KubeObject)
    expect(planOf(planned).apply).toEqual([ID])
  })

  it('stays as it is while the ranges of the cluster could not be read, and does not come', () => {
    const planned = settledWorld(OPEN, ALLOWED)
    planned.clusterRanges = 'unknown'
    const found = planned.children.get(ID) as KubeObject & { readonly spec: object }
    planned.children.set(ID, { ...found, spec: { ...found.spec, egress: [] } } as KubeObject)
    expect(planOf(planned)).toMatchObject({ told: ['Ready', 'Ready'], apply: [], remove: [] })
    planned.children.delete(ID)
    expect(planOf(planned)).toMatchObject({ told: ['Provisioning', 'Provisioning'], apply: [], remove: [] })
    planned.changePolicy({ allowInternetAccess: false })
    expect(planOf(planned).told).toEqual(['Failed', 'InternetAccessNotAllowed'])
  })

  it('does not lead to ranges of the policy, nor to those of the cluster', () => {
    const planned = settledWorld(OPEN, ALLOWED)
    const { policy, spec, workspace } = planned.world
    if (!spec.ok) throw new Error('no spec')
    const [component] = renderComponents({
      workspace: { name: workspace.metadata.name, uid: '0' },
      spec: spec.spec,
      policy: { ...policy, internetDeniedCidrs: ['9.9.9.0/24'], clusterCidrs: ['8.8.0.0/16'] },
      clusterRanges: ['2600:1f18::/56', '10.244.0.0/24'],
    }).filter(({ kind }) => kind === 'InternetAccess')
    const text = JSON.stringify(component?.objects)
    for (const one of ['9.9.9.0/24', '8.8.0.0/16', '2600:1f18::/56']) expect(text).toContain(`"${one}"`)
    expect(text).not.toContain('10.244')
  })
})
