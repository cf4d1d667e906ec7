import { expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

it('a workspace is switched off at its end, or deleted by its own word, when its warning is old enough by the clock of the API server', async () => {
  await using workspaces = await Workspaces.start(cluster(), {
    localVolumeRoot: '/srv/labs',
    reclaimPolicy: 'Retain',
  })
  const { world } = workspaces
  const spec = { containerClusters: [{ name: 'web', containers: [{ name: 'web', image: 'web:1' }] }] }
  const [halts, deletes] = await Promise.all([
    workspaces.deploy('halts', { ...spec, lifetime: '1h' }),
    workspaces.deploy('deletes', { ...spec, lifetime: '1h', onExpiry: 'Delete' }),
  ])
  const names = [halts, deletes].map(({ metadata }) => metadata.name) as [string, string]
  const warned = await Promise.all(names.map((name) => workspaces.untilWarned(name)))
  for (const { metadata, status } of warned) {
    const noticedAfterMs = Date.parse(status?.expiry?.noticeTime ?? '') - Date.parse(metadata.creationTimestamp ?? '')
    expect(noticedAfterMs).toBeGreaterThanOrEqual(0)
    expect(Date.parse(status?.expiresAt ?? '') - Date.parse(status?.expiry?.noticeTime ?? '')).toBeGreaterThanOrEqual(
      3_600_000,
    )
  }
  for (const name of names) await workspaces.letTwoHoursPass(name)
  await workspaces.until(names[0], 'off', ({ status }) => status?.phase === 'Ready' && status.reason === 'Expired')
  await workspaces.untilGone(names[1])
  const pods = () => [...world.mirror.pods.values()].filter((pod) => names.includes(pod.metadata.namespace ?? ''))
  await world.until('no pod is left', () => pods().length === 0)
  // Events are written a moment after the status.
  const reasons = () =>
    [...world.mirror.events.values()].flatMap(({ reason = '', involvedObject: { name = '' } = {} }) =>
      names.includes(name) && reason.startsWith('Expire') ? [`${name} ${reason}`] : [],
    )
  await expect
    .poll(() => new Set(reasons()))
    .toEqual(new Set(names.flatMap((name) => [`${name} ExpiresSoon`, `${name} Expired`])))
  await workspaces.patch(names[0], { expiresAt: '2099-01-01T00:00:00Z' })
  await workspaces.until(names[0], 'on', ({ status }) => status?.phase === 'Ready' && status.reason === 'Ready')
  await workspaces.delete(names[0])
  await world.finish()
})
