import { FINALIZERS } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { served, sideWrites, starts } from '../harness/history.ts'
import { World } from '../harness/world.ts'

const names = (count: number) => Array.from({ length: count }, (_, at) => `image-${String(at).padStart(2, '0')}`)

describe('the queue', () => {
  const cluster = useCluster()

  it('serves 30 images in the order of their creation, three at a time, for at most 12 requests each', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '0' }, mostDownloads: 3 })
    const all = names(30)
    for (const name of all) await world.createImage(name)
    await world.until('30 images wait in the queue', () =>
      all.every((name) => {
        const { status, metadata } = world.getImage(name) ?? {}
        return status?.ticket !== undefined && metadata?.finalizers?.includes(FINALIZERS.vmDiskImage)
      }),
    )

    const release = world.gate.hold('https://images.example.com/')
    await world.setPolicy({ concurrency: '3' })
    for (const name of all.slice(0, 3)) await world.untilDownloading(name)
    expect(world.ledger?.holders).toHaveLength(3)
    release()
    for (const name of all) await world.untilSynced(name)

    await world.history.catchUp()
    expect(starts(world)).toEqual(all)
    expect(world.simulators.cdi.observed.maxImporting).toBe(3)
    for (const name of all) expect(served(world, name)).toMatchObject({ requests: 1, completed: 1 })
    await world.untilQuiet()
    const { requests = [], writes = [] } = world.operator ?? {}
    // Each kind is listed and watched again by the clock, however many images there are.
    const ofImages = requests.filter(({ verb }) => verb !== 'list' && verb !== 'watch')
    const perImage = (ofImages.length - sideWrites(world)) / all.length
    const [requestsNow, writesNow] = [requests.length, writes.length]
    expect(perImage, tally(requests)).toBeLessThanOrEqual(12)

    // When idle, the operator writes only its Lease, and reads nothing but those of CDI's and KubeVirt's controllers, now and then.
    await world.untilRenewed(3)
    expect(world.operator?.writes.slice(writesNow), 'writes while idle').toEqual([])
    const reads = world.operator?.requests.slice(requestsNow).filter(({ verb }) => verb !== 'watch') ?? []
    expect(
      reads.filter(({ resource }) => resource !== 'leases'),
      'reads while idle',
    ).toEqual([])
    await world.finish()
  })

  it('takes in late arrivals behind those who wait', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    const [early, late] = [names(6), names(12).slice(6)]
    const release = world.gate.hold('https://images.example.com/')
    for (const name of early) await world.createImage(name)
    await world.until('two slots are held', () => world.ledger?.holders.length === 2)
    for (const name of late) await world.createImage(name)
    for (const name of late) await world.untilImage(name, 'a ticket', ({ status }) => status?.ticket !== undefined)
    release()
    for (const name of [...early, ...late]) await world.untilSynced(name)
    await world.history.catchUp()
    expect(starts(world).slice(2)).toEqual([...early, ...late].slice(2))
    await world.finish()
  })
})

function tally(requests: readonly { verb: string; resource: string; code: string }[]): string {
  const counts = new Map<string, number>()
  for (const { verb, resource, code } of requests) {
    const key = `${verb} ${resource} ${code}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts].map(([key, count]) => `${count} ${key}`).join('; ')
}
