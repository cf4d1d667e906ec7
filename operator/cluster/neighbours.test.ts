import { describe, expect, it } from 'vitest'
import { aLiveReadBench } from '../../test/prepared/runtime/look-bench.ts'
import { MINUTE, SECOND } from '../../test/prepared/runtime/times.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { Neighbours } from './neighbours.ts'

function build() {
  const { client, clock, basics, run } = aLiveReadBench()
  const neighbours = run(new Neighbours(basics))
  const woken: string[] = []
  const wait = () => neighbours.await('a', ['KubeVirt'], () => woken.push('a'))
  const beat = () =>
    client.put({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'virt-controller', namespace: 'kubevirt' },
      spec: { renewTime: `at ${clock.now()}` },
    } as KubeObject)
  const pass = async (ms: number, each: () => void = () => undefined) => {
    for (let left = ms; left > 0; left -= 5 * SECOND) {
      each()
      await clock.advance(5 * SECOND)
    }
  }
  return { client, clock, neighbours, woken, wait, beat, pass }
}

describe('neighbours', () => {
  it('are asked about while something waits for them, and wake it when that changes', async () => {
    const { client, neighbours, woken, wait, beat, pass } = build()
    beat()
    expect(wait()).toMatchObject({ KubeVirt: { presence: 'unsure' } })
    await pass(MINUTE, beat)
    expect(wait()).toMatchObject({ KubeVirt: { presence: 'works' } })
    await pass(MINUTE)
    expect(wait()).toMatchObject({ KubeVirt: { presence: 'away', awayAt: expect.any(Number) } })
    expect([neighbours.isAway('KubeVirt'), neighbours.isAway('CDI')]).toEqual([true, false])
    expect(woken).toEqual(['a', 'a'])
    const asked = client.callsOf('get').filter((call) => call === 'get Lease kubevirt/virt-controller')
    expect(asked.length).toBeGreaterThanOrEqual(12)
    neighbours.forget('a')
    await pass(2 * MINUTE, beat)
    expect(neighbours.isAway('KubeVirt')).toBe(false)
  })

  it('are looked at once a minute while nothing waits for them, and are away then, too', async () => {
    const { client, neighbours, woken, wait, beat, pass } = build()
    await pass(10 * MINUTE, beat)
    expect(client.callsOf('get').length).toBeLessThanOrEqual(2 * 12)
    expect([neighbours.isAway('KubeVirt'), neighbours.isAway('CDI')]).toEqual([false, false])
    await pass(3 * MINUTE)
    expect([neighbours.isAway('KubeVirt'), neighbours.isAway('CDI')]).toEqual([true, false])
    // Whoever begins to wait is told what is known since then.
    expect(wait()).toMatchObject({ KubeVirt: { presence: 'unsure' } })
    await pass(5 * SECOND)
    expect(neighbours.isAway('KubeVirt')).toBe(true)
    await pass(MINUTE, beat)
    expect([neighbours.isAway('KubeVirt'), woken]).toEqual([false, ['a']])
  })

  it('are away while their webhooks cannot be called', async () => {
    const { clock, neighbours } = build()
    neighbours.noteFailure(
      'failed calling webhook "datavolume-mutate.cdi.kubevirt.io": failed to call webhook: refused',
    )
    neighbours.noteFailure('failed calling webhook "policies.example.com": failed to call webhook: refused')
    expect([neighbours.isAway('CDI'), neighbours.isAway('KubeVirt')]).toEqual([true, false])
    await clock.advance(10 * MINUTE)
    expect(neighbours.isAway('CDI')).toBe(false)
  })
})
