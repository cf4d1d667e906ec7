import type { WorkspaceStatus } from '@open-terrain/constructs'
import type { PlayRecord } from '@open-terrain/constructs/operator'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { WorkspaceMetrics } from './workspace-metrics.ts'

const BUILD: PlayRecord = {
  vm: 'web',
  play: 'build',
  phase: 'Running',
  of: 'disk',
  job: 'build-web-1',
  jobUID: 'job-1',
}

/** Returns what is counted while a status goes through these records. */
async function counted(...steps: readonly (readonly PlayRecord[])[]): Promise<Record<string, number>> {
  const registry = new Registry()
  const metrics = new WorkspaceMetrics(registry, { now: () => 0 })
  const statuses = [[], ...steps].map((plays): WorkspaceStatus => ({ plays: [...plays] }))
  for (const [at, after] of statuses.entries()) metrics.notePlays(statuses[at - 1] ?? {}, after)
  const values = (await registry.getSingleMetric('ot_plays_total')?.get())?.values ?? []
  return Object.fromEntries(values.map(({ labels, value }) => [`${labels['play']} ${labels['result']}`, value]))
}

describe('a play', () => {
  const ended: PlayRecord = { ...BUILD, phase: 'Failed' }

  it('counts once, when it has ended, whatever else changes', async () => {
    expect(await counted([BUILD])).toEqual({})
    const said: PlayRecord = { ...ended, message: 'task copy failed' }
    expect(await counted([BUILD], [ended], [ended, { ...BUILD, vm: 'db' }], [said])).toEqual({ 'build Failed': 1 })
  })

  it('counts again when it is played again, and each kind and result for itself', async () => {
    const again: PlayRecord = { ...BUILD, jobUID: 'job-2', phase: 'Succeeded' }
    const deploy: PlayRecord = { ...BUILD, play: 'deploy', phase: 'Failed', jobUID: 'job-3' }
    expect(await counted([ended], [BUILD], [again], [again, deploy], [{ ...again, phase: 'Failed' }, deploy])).toEqual({
      'build Failed': 2,
      'build Succeeded': 1,
      'deploy Failed': 1,
    })
  })
})
