import type { PlayRecord, WorkspaceStatus } from '@open-terrain/constructs/operator'
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
  const counts = values.filter(({ value }) => value > 0)
  return Object.fromEntries(counts.map(({ labels, value }) => [`${labels['play']} ${labels['result']}`, value]))
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

describe('a lab that runs on after its end', () => {
  const expiry = { source: 'lifetime', value: '1h' } as const
  const expiresAt = '1970-01-01T00:00:10Z'
  const overdueOf = async (status: WorkspaceStatus, deletionTimestamp?: string) => {
    const registry = new Registry()
    const metrics = new WorkspaceMetrics(registry, { now: () => 100_000 })
    metrics.readFrom(() => [{ metadata: { name: 'lab', ...(deletionTimestamp && { deletionTimestamp }) }, status }])
    return (await registry.getSingleMetric('ot_workspace_longest_overdue_seconds')?.get())?.values[0]?.value
  }

  it.each<[string, WorkspaceStatus, number]>([
    ['is late', { expiresAt, expiry }, 90],
    [
      'is late where it is off and is to be deleted',
      { expiresAt, expiry: { ...expiry, ended: true, announced: 'Delete' } },
      90,
    ],
    ['is not late where it is off', { expiresAt, expiry: { ...expiry, ended: true } }, 0],
    ['is not late before its end', { expiresAt: '1970-01-01T00:02:00Z', expiry }, 0],
    ['is not late without an end', {}, 0],
  ])('%s', async (_what, status, seconds) => {
    expect(await overdueOf(status)).toBe(seconds)
  })

  it('is not late where it is being deleted', async () => {
    expect(await overdueOf({ expiresAt, expiry }, '1970-01-01T00:00:20Z')).toBe(0)
  })
})
