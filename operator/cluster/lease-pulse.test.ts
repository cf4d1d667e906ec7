import { describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import type { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { aLiveReadBench } from '../../test/prepared/runtime/look-bench.ts'
import { MINUTE, SECOND } from '../../test/prepared/runtime/times.ts'
import type { ApiErrorReason } from '../kube/api-error.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { LeasePulse } from './lease-pulse.ts'

const NAME = 'cdi-controller-leader-election-helper'

function build(more: { readonly namespace?: string; readonly isAwaited?: () => boolean } = {}) {
  const { client, clock, basics, run } = aLiveReadBench()
  const { namespace: home = 'cdi', isAwaited } = more
  const presences: string[] = []
  const pulse: LeasePulse = run(
    new LeasePulse({
      ...basics,
      name: 'pulse',
      lease: { namespace: home, name: NAME },
      ...(isAwaited && { isAwaited }),
      onChange: () => presences.push(pulse.presence),
    }),
  )
  const beat = (namespace = 'cdi') =>
    client.put({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: NAME, namespace },
      spec: { renewTime: `at ${clock.now()}` },
    } as KubeObject)
  /** Advances the time while a caller keeps asking. `each` may renew the Lease. */
  const pass = async (ms: number, each: () => void = () => undefined) => {
    for (let left = ms; left > 0; left -= 5 * SECOND) {
      each()
      pulse.workedUntil()
      await clock.advance(5 * SECOND)
    }
  }
  const workedAgo = () => clock.monotonic() - pulse.workedUntil()
  return { client, clock, pulse, presences, beat, pass, workedAgo }
}

function refuse(client: ScriptedClient, reason: ApiErrorReason): void {
  client.before = () => {
    throw apiError(reason)
  }
}

describe('the pulse of a controller', () => {
  it('costs one request a minute while nobody listens, and one every ten seconds while somebody does', async () => {
    const { client, clock, pulse, beat, pass } = build()
    const asked = async (during: () => Promise<void>) => {
      const before = client.calls.length
      await during()
      return client.calls.length - before
    }
    beat()
    expect(await asked(() => clock.advance(10 * MINUTE))).toBe(12)
    expect(await asked(() => pass(MINUTE, beat))).toBe(7)
    await clock.advance(2 * MINUTE)
    expect(await asked(() => clock.advance(10 * MINUTE))).toBe(11)
    expect(new Set(client.callsOf())).toEqual(new Set([`get Lease cdi/${NAME}`]))
    expect([pulse.isSilent, pulse.presence]).toEqual([false, 'unsure'])
  })

  it('is missed when its Lease is not renewed between two looks, also while nobody listens', async () => {
    const { clock, pulse, beat } = build()
    const live = async (minutes: number) => {
      for (let left = minutes * 6; left > 0; left -= 1) {
        beat()
        await clock.advance(10 * SECOND)
      }
    }
    await live(10)
    expect(pulse.isMissed).toBe(false)
    await clock.advance(2 * MINUTE)
    expect([pulse.isMissed, pulse.isSilent, pulse.awayAt]).toEqual([true, false, undefined])
    pulse.workedUntil()
    await clock.advance(SECOND)
    expect(pulse.isMissed).toBe(true)
    await live(2)
    expect(pulse.isMissed).toBe(false)
  })

  it('is heard while its Lease is renewed', async () => {
    const { pulse, beat, pass, workedAgo } = build()
    await pass(10 * MINUTE, beat)
    expect(workedAgo()).toBeLessThanOrEqual(10 * SECOND)
    expect(pulse.isSilent).toBe(false)
  })

  it('is silent while its Lease is not, since somebody listens, until it is heard again', async () => {
    const { pulse, beat, pass, workedAgo } = build()
    beat()
    await pass(25 * SECOND)
    expect(pulse.isSilent).toBe(false)
    await pass(10 * MINUTE - 25 * SECOND)
    expect(workedAgo()).toBe(10 * MINUTE)
    expect(pulse.isSilent).toBe(true)
    await pass(15 * SECOND, beat)
    expect(workedAgo()).toBeLessThanOrEqual(10 * SECOND)
    expect(pulse.isSilent).toBe(false)
  })

  it.each<[string, (client: ScriptedClient) => void]>([
    ['there is no Lease', () => undefined],
    ['the operator may not read it', (client) => refuse(client, 'Rejected')],
  ])('tells nothing where %s: it is taken to be at work', async (_name, prepare) => {
    const { client, pulse, pass, workedAgo } = build()
    prepare(client)
    await pass(10 * MINUTE)
    expect(workedAgo()).toBe(0)
    expect(pulse.isSilent).toBe(false)
  })

  it('is not silent where the API server is', async () => {
    const { client, pulse, beat, pass, workedAgo } = build()
    await pass(MINUTE, beat)
    refuse(client, 'Unavailable')
    await pass(10 * MINUTE)
    expect(pulse.isSilent).toBe(false)
    expect(workedAgo()).toBeGreaterThanOrEqual(10 * MINUTE)
  })

  it.each<[string, boolean]>([
    ['is not hushed', true],
    ['is not replaced', false],
  ])('%s by a Lease of the same name elsewhere, renewed or not', async (_what, isAtWork) => {
    const { pulse, beat, pass, workedAgo } = build()
    beat()
    beat('of-a-tenant')
    await pass(10 * MINUTE, () => beat(isAtWork ? 'cdi' : 'of-a-tenant'))
    expect(workedAgo() <= 10 * SECOND).toBe(isAtWork)
    expect(pulse.isSilent).toBe(!isAtWork)
  })

  it('is taken to be there where only somebody else has a Lease of that name', async () => {
    const { pulse, beat, pass, workedAgo } = build()
    beat('of-a-tenant')
    await pass(10 * MINUTE)
    expect([workedAgo(), pulse.isSilent]).toEqual([0, false])
  })

  it('is looked for where the controller is installed', async () => {
    const { pulse, beat, pass } = build({ namespace: 'openshift-cnv' })
    beat('openshift-cnv')
    await pass(10 * MINUTE)
    expect(pulse.isSilent).toBe(true)
  })

  it('is unsure at first, works once a renewal is seen, is away when none is for long, and tells each change', async () => {
    const { pulse, presences, beat, pass } = build()
    beat()
    expect(pulse.presence).toBe('unsure')
    await pass(MINUTE, beat)
    await pass(MINUTE)
    expect(pulse.presence).toBe('away')
    await pass(MINUTE, beat)
    expect(presences).toEqual(['works', 'away', 'works'])
    expect(pulse.awayAt).toBeDefined()
  })

  it('is watched as long as something waits, even if nobody asks again', async () => {
    let isAwaited = true
    const { client, clock, pulse, beat } = build({ isAwaited: () => isAwaited })
    beat()
    pulse.workedUntil()
    await clock.advance(10 * MINUTE)
    expect(pulse.presence).toBe('away')
    isAwaited = false
    await clock.advance(2 * MINUTE)
    const asked = client.calls.length
    await clock.advance(10 * MINUTE)
    expect(client.calls.length - asked).toBeLessThanOrEqual(11)
    expect(pulse.presence).toBe('unsure')
  })
})
