import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { World } from '../harness/world.ts'

const NAMES = Array.from({ length: 10 }, (_, at) => `image-${at}`)
const QUICK = { concurrency: '2', retryBackoffDuration: '500ms' }

describe('an operator that dies', () => {
  const cluster = useCluster()

  it('is followed by one that goes on where it was, without a download more', async () => {
    await using world = await World.start(cluster(), { policy: QUICK, idle: true })
    world.imageServer.set({ path: `/${world.namespace}/image-1`, fault: { status: 500 }, times: 1 })
    {
      await using first = new OperatorProcess(world, 'first')
      const release = world.gate.hold(world.urlOf('image-4'))
      for (const name of NAMES) await world.createImage(name)
      await world.untilSynced('image-0')
      await world.untilDownloading('image-4')
      await first.kill()
      // The next operator observes what ends in between.
      release()
    }
    await using second = new OperatorProcess(world, 'second')
    for (const name of NAMES) await world.untilSynced(name)
    for (const name of NAMES) expect(world.downloads(name), name).toBe(name === 'image-1' ? 2 : 1)
    expect(second.lines.join('\n')).not.toMatch(/"level":"error"/)
    await world.finish()
  })

  it('stops a download that failed while nobody looked, and counts each restart of its importer', async () => {
    await using world = await World.start(cluster(), {
      policy: { ...QUICK, retryLimit: '3' },
      pace: { restartBaseMs: 2_000 },
    })
    const path = `/${world.namespace}/broken.qcow2`
    await heldDownload(world, 'broken')
    await world.operator?.stop()
    world.imageServer.set({ path, fault: { cutAfterBytes: 1024 } })
    world.gate.releaseAll()
    await world.until('the importer was restarted', () => world.downloads('broken') >= 2)
    world.startOperator()
    const { status } = await world.untilPhase('broken', 'Failed')
    expect(world.downloads('broken')).toBe(4)
    expect(status?.attempts?.reduce((sum, { downloads = 0 }) => sum + downloads, 0)).toBe(4)
    await world.finish()
  })

  it('hands over at once when it has to stop', async () => {
    await using world = await World.start(cluster(), { policy: QUICK, idle: true })
    const release = world.gate.hold('https://images.example.com/')
    await using leader = new OperatorProcess(world, 'one')
    await world.until('a leader', () => holder(world)?.startsWith('one'))
    await using other = new OperatorProcess(world, 'two')
    for (const name of NAMES.slice(0, 4)) await world.createImage(name)
    await world.untilDownloading('image-0')
    expect(holder(world)).toMatch(/^one/)
    expect(await leader.terminate()).toBe(0)
    await world.until('the other leads', () => holder(world)?.startsWith('two'))
    release()
    for (const name of NAMES.slice(0, 4)) await world.untilSynced(name)
    for (const name of NAMES.slice(0, 4)) expect(world.downloads(name), name).toBe(1)
    expect(other.lines.join('\n')).not.toMatch(/"level":"error"/)
    await world.finish()
  })
})

function holder(world: World): string | undefined {
  return world.mirror.leases.get(`${world.operatorNamespace}/sync-operator`)?.spec?.holderIdentity
}
