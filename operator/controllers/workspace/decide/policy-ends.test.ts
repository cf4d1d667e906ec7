import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { POLICY_DEFAULTS, parsePolicy, type WorkspaceStatus } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import { dueLabs, noteOnEnds } from './policy-ends.ts'

const { workspace } = settledWorld(DEPLOYED).world
const at = (hours: number) => new Date(START + hours * HOUR).toISOString().replace('.000Z', 'Z')
const lab = (name: string, spec: WorkspaceSpecInput = {}, status: WorkspaceStatus = {}) => ({
  workspace: { ...workspace, metadata: { ...workspace.metadata, name }, status: { ...workspace.status, ...status } },
  spec: { ok: true, spec: parsed({ ...DEPLOYED, ...spec }) } as const,
})
const ofPolicy = { source: 'policy', value: '24h' } as const
const labs = [
  lab('without'),
  lab('own', { lifetime: '1h' }),
  lab('known', {}, { expiresAt: at(5), expiry: ofPolicy }),
  lab('over', {}, { expiresAt: at(-5), expiry: { ...ofPolicy, ended: true } }),
  { ...lab('unreadable'), spec: { ok: false, errors: ['no spec'] } as never },
]
const policyOf = (data: Record<string, string>) => parsePolicy(data, POLICY_DEFAULTS).policy

it.each<[string, Record<string, string>, [string, string][]]>([
  [
    'gets its lifetime from now on, and what has an end of the policy keeps it',
    { workspaceLifetime: '72h' },
    [
      ['known', at(5)],
      ['without', at(72)],
    ],
  ],
  [
    'is announced before, however short its lifetime is',
    { workspaceLifetime: '1s', expiryNotice: '2h' },
    [
      ['without', at(2)],
      ['known', at(5)],
    ],
  ],
  ['has no end without the key', {}, []],
])('what says nothing of an end %s', (_what, data, expected) => {
  const due = dueLabs(labs, policyOf(data), START)
  expect(due.map(({ name, atMs }) => [name, at((atMs - START) / HOUR)])).toEqual(expected)
})

it('a change of the policy names the labs that it gives an end, and no others', () => {
  const note = (before: Record<string, string>, after: Record<string, string>) =>
    noteOnEnds(labs, policyOf(before), policyOf(after), START)
  const noted = note({}, { workspaceLifetime: '72h' })
  expect(noted).toMatchObject({ type: 'Warning', reason: 'WorkspacesDue' })
  expect(noted?.message).toMatch(new RegExp(`at ${at(5)}: known, without$`))
  expect(note({ workspaceLifetime: '72h' }, {})).toBeUndefined()
  expect(note({ workspaceLifetime: '72h' }, { workspaceLifetime: '72h', expiryNotice: '2h' })).toBeUndefined()
  // A changed value holds for labs that have no end yet.
  expect(
    noteOnEnds(labs.slice(2), policyOf({ workspaceLifetime: '72h' }), policyOf({ workspaceLifetime: '1h' }), START),
  ).toBeUndefined()
})
