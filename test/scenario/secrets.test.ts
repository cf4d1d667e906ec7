import { describe, expect, it } from 'vitest'
import type { ImageFault } from '../../sandbox/image-server/rules.ts'
import { useCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'

const SIGNATURE = 'X-Amz-Signature=5ec2e7c0ffee5ec2e7c0ffee'

describe('what is secret', () => {
  const cluster = useCluster()

  it('is in no status, event or log after a success, a refusal or an error', async () => {
    await using world = await World.start(cluster(), { policy: { retryLimit: '1', retryBackoffDuration: '300ms' } })
    const faults: Readonly<Record<string, ImageFault>> = {
      good: {},
      refused: { status: 403 },
      missing: { status: 404 },
      broken: { status: 500 },
    }
    await world.createSecret('credentials')
    for (const [name, fault] of Object.entries(faults)) {
      world.imageServer.set({ path: `/${world.namespace}/${name}.qcow2`, fault })
      await world.createImage(name, { url: `${world.urlOf(name)}?${SIGNATURE}`, secretRef: 'credentials' })
    }
    const ends: string[] = []
    for (const name of Object.keys(faults)) {
      const { status } = await world.untilImage(name, 'an end', (image) =>
        ['Succeeded', 'Failed'].includes(image.status?.phase ?? ''),
      )
      ends.push(`${name} ${status?.phase}`)
    }
    expect(ends).toEqual(['good Succeeded', 'refused Failed', 'missing Failed', 'broken Failed'])
    await world.untilRenewed(2)
    for (const name of Object.keys(faults)) {
      const told = JSON.stringify([world.getImage(name)?.status, world.eventsOf(name), world.logs.lines, world.ledger])
      expect(told).not.toContain('5ec2e7c0ffee')
      expect(told).not.toContain('very-secret-key')
      expect(world.downloadsOf(world.urlOf(name))).toBeGreaterThan(0)
    }
    await world.finish()
  })

  it('is not told when CDI words it in an error', async () => {
    await using world = await World.start(cluster(), { policy: { retryLimit: '0' } })
    const url = `${world.urlOf('presigned')}?${SIGNATURE}`
    const message = `Unable to connect to http data source: Get "${url}": dial tcp: lookup images.example.com: no such host`
    world.simulators.cdi.script({ namespace: world.namespace }, { type: 'error', message })
    await world.createImage('presigned', { url })
    const { status } = await world.untilPhase('presigned', 'Failed')
    await world.untilRenewed(2)
    expect(status?.message).toContain('no such host')
    expect(JSON.stringify([status, world.eventsOf('presigned'), world.logs.lines])).not.toContain('5ec2e7c0ffee')
    await world.finish()
  })
})
