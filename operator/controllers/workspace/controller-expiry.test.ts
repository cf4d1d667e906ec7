import { workspace } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../../test/prepared/runtime/times.ts'
import { MACHINE_ALONE, NAME, start, startReady, WRITES } from '../../../test/prepared/workspace/workspace-bench.ts'
import { toTime } from '../../base/time.ts'
import { ApiError } from '../../kube/api-error.ts'
import type { DeleteOptions } from '../../kube/kube-client.ts'

const HOUR = 60 * MINUTE
const DELETE = { ...MACHINE_ALONE, lifetime: '1h', onExpiry: 'Delete' } as const

it('a workspace is told of its end, which then comes without another write, and survives a change of leader', async () => {
  const bench = await startReady({ ...MACHINE_ALONE, lifetime: '2h' })
  await bench.clock.advance(HOUR + MINUTE)
  const warnings = new Set(bench.events().filter((one) => one.startsWith('Warning')))
  expect([...warnings]).toEqual([expect.stringMatching(/^Warning ExpiresSoon: it is switched off at 2026-01-01T02:/)])
  const before = bench.client.calls.length
  await bench.clock.advance(50 * MINUTE)
  const writes = bench.client.calls.slice(before).filter(({ verb }) => (WRITES as readonly string[]).includes(verb))
  expect(writes.filter(({ kind }) => kind !== 'Lease')).toEqual([])
  await bench.restart()
  await bench.clock.advance(10 * MINUTE)
  await bench.work()
  expect(bench.status()).toMatchObject({ phase: 'Ready', reason: 'Expired', expiry: { ended: true } })
  expect(bench.events().filter((one) => one.startsWith('Normal Expired: switched off: it ended'))).not.toEqual([])
  const expiresAt = toTime(bench.clock.now() + 24 * HOUR)
  bench.client.cluster.admin.mergePatch(workspace, { name: NAME }, { spec: { expiresAt } })
  await bench.work()
  expect(bench.status()).toMatchObject({
    phase: 'Ready',
    reason: 'Ready',
    expiry: { source: 'expiresAt', value: expiresAt },
  })
})

it('workspaces that end together are deleted one after the other, each in the version that was judged', async () => {
  const bench = await start(DELETE)
  const names = [NAME, 'second', 'third', 'fourth', 'fifth']
  for (const name of names.slice(1)) bench.create(DELETE, name)
  await bench.work()
  const deletions: { key: string; atMs: number; options: DeleteOptions }[] = []
  bench.client.after = ({ verb, kind, key, options }) => {
    const atMs = bench.clock.monotonic()
    if (verb === 'delete' && kind === 'Workspace') deletions.push({ key, atMs, options: options as DeleteOptions })
  }
  await bench.clock.advance(HOUR - MINUTE)
  expect(deletions).toEqual([])
  await bench.clock.advance(5 * MINUTE)
  expect(new Set(deletions.map(({ key }) => key))).toEqual(new Set(names))
  expect(deletions).toHaveLength(names.length)
  const gaps = deletions.slice(1).map(({ atMs }, at) => atMs - (deletions[at]?.atMs ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(20 * SECOND)
  for (const { options } of deletions)
    expect([options.uid, options.resourceVersion]).toEqual([expect.any(String), expect.any(String)])
})

it('a workspace that somebody extends in the moment of its deletion stays', async () => {
  const bench = await startReady(DELETE)
  let attempts = 0
  bench.client.before = ({ verb, kind }) => {
    if (verb !== 'delete' || kind !== 'Workspace') return
    attempts += 1
    const spec = { expiresAt: toTime(bench.clock.now() + 24 * HOUR) }
    bench.client.cluster.admin.mergePatch(workspace, { name: NAME }, { spec })
  }
  await bench.clock.advance(2 * HOUR)
  await bench.work()
  expect([attempts, bench.workspace()?.metadata.deletionTimestamp, bench.status().phase]).toEqual([
    1,
    undefined,
    'Ready',
  ])
})

it('a refusal of the deletion is told', async () => {
  const bench = await startReady(DELETE)
  bench.client.before = ({ verb, kind }) => {
    if (verb === 'delete' && kind === 'Workspace')
      throw new ApiError({ reason: 'Rejected', status: 403, message: 'a webhook keeps it' })
  }
  await bench.clock.advance(2 * HOUR)
  expect(bench.status().message).toContain('a webhook keeps it')
  bench.client.before = undefined
  await bench.clock.advance(5 * MINUTE)
  expect(bench.workspace()).toBeUndefined()
})
