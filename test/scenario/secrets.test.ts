import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'

const SIGNATURE = 'X-Amz-Signature=5ec2e7c0ffee5ec2e7c0ffee'

describe('what is secret', () => {
  const cluster = useCluster()

  it.each([
    { what: 'a success', fault: {} },
    { what: 'a refusal', fault: { status: 403 } },
    { what: 'a missing image', fault: { status: 404 } },
    { what: 'an error', fault: { status: 500 } },
  ])('is in no status, event or log after $what', async ({ fault }) => {
    await using world = await World.start(cluster(), { policy: { retryLimit: '1', retryBackoffDuration: '300ms' } })
    const path = `/${world.namespace}/presigned.qcow2`
    world.imageServer.set({ path, fault })
    await world.createSecret('credentials')
    await world.createImage('presigned', { url: `${world.urlOf('presigned')}?${SIGNATURE}`, secretRef: 'credentials' })
    const { status } = await world.untilImage('presigned', 'an end', (image) =>
      ['Succeeded', 'Failed'].includes(image.status?.phase ?? ''),
    )
    await world.untilRenewed(2)
    const told = JSON.stringify([status, world.eventsOf('presigned'), world.logs.lines, world.ledger])
    expect(told).not.toContain('5ec2e7c0ffee')
    expect(told).not.toContain('very-secret-key')
    expect(world.downloadsOf(world.urlOf('presigned'))).toBeGreaterThan(0)
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
