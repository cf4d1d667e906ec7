import { expect, it } from 'vitest'
import { comparePolicies } from './policy-campaign.ts'

const SEED = Number(process.env['FUZZ_SEED'] ?? 20778)

it('any values of the policy leave the last good ones in force, key by key', async () => {
  const { finding, writes, withBadValues, deletions } = await comparePolicies({ seed: SEED, count: 2_000 })
  expect(finding).toBeUndefined()
  for (const count of [writes - withBadValues, withBadValues, deletions]) expect(count).toBeGreaterThan(100)
})
