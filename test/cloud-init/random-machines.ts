import { type CloudInitData, renderCloudInit } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { expect } from 'vitest'
import { cloudInitProps } from './arbitraries.ts'
import type { Verdict } from './verdict.ts'

/** Checks `count` random machines: cloud-init must accept each one, and read it as intended. */
export async function expectReadAsMeant(
  count: number,
  check: (documents: readonly CloudInitData[]) => Promise<Verdict[]>,
): Promise<void> {
  const samples = fc.sample(cloudInitProps, count).map(renderCloudInit)
  const verdicts = await check(samples)
  expect(verdicts).toHaveLength(count)
  for (const [at, { userdata, networkdata }] of samples.entries()) {
    expect(verdicts[at]).toMatchObject({
      problems: [],
      config: JSON.parse(userdata.slice(userdata.indexOf('\n'))) as unknown,
      network: networkdata === undefined ? null : (JSON.parse(networkdata) as unknown),
    })
  }
}
