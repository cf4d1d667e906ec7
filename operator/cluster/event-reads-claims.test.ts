import { describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { aLiveReadBench } from '../../test/prepared/runtime/look-bench.ts'
import { SECOND } from '../../test/prepared/runtime/times.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { claimRefusals } from './event-reads.ts'

const QUOTA = 'persistentvolumeclaims "prime-1" is forbidden: exceeded quota: q'

function build() {
  const { client, clock, changed, basics, onChange, run } = aLiveReadBench()
  const refusals = run(claimRefusals({ ...basics, onChange }))
  const note = (name = 'a', claimUid = `claim of ${name}`) =>
    refusals.note(name, { key: `team/${name}`, namespace: 'team', uid: claimUid }).text
  const warn = (message: string, name = 'a', more: object = {}) =>
    client.put({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `event of ${name}`, namespace: 'team' },
      involvedObject: { kind: 'PersistentVolumeClaim', name, uid: `claim of ${name}` },
      type: 'Warning',
      reason: 'ErrCreatingPVCPrime',
      message,
      ...more,
    } as KubeObject)
  return { client, clock, changed, refusals, note, warn }
}

describe('a download of which CDI shows nothing', () => {
  it('for a moment costs no request', async () => {
    const { client, clock, refusals, note } = build()
    expect(note()).toBeUndefined()
    await clock.advance(2 * SECOND - 1)
    refusals.drop('a')
    await clock.advance(60 * SECOND)
    expect(client.calls).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('is told what CDI says of its claim within seconds, and when that changes', async () => {
    const { client, clock, changed, note, warn } = build()
    warn(QUOTA)
    note()
    await clock.advance(2 * SECOND)
    expect(client.callsOf()).toEqual(['list Event team'])
    expect(changed).toEqual(['team/a'])
    expect(note()).toBe(QUOTA)
    // As CDI copies it from the prime claim.
    warn('[prime-1] : admission webhook denied it')
    await clock.advance(30 * SECOND)
    expect(changed).toEqual(['team/a', 'team/a'])
    expect(note()).toBe('admission webhook denied it')
  })

  it.each<[string, object]>([
    ['another claim', { involvedObject: { kind: 'PersistentVolumeClaim', name: 'a', uid: 'before' } }],
    ['something else', { reason: 'ProvisioningFailed' }],
  ])('is told nothing of %s', async (_name, more) => {
    const { clock, changed, note, warn } = build()
    warn(QUOTA, 'a', more)
    note()
    await clock.advance(60 * SECOND)
    expect(note()).toBeUndefined()
    expect(changed).toEqual([])
  })

  it('begins again with its next claim', async () => {
    const { clock, note, warn } = build()
    warn(QUOTA)
    note()
    await clock.advance(2 * SECOND)
    expect(note('a', 'the next one')).toBeUndefined()
    await clock.advance(60 * SECOND)
    expect(note('a', 'the next one')).toBeUndefined()
  })

  it('is looked at once in 30 seconds, and all together once a second', async () => {
    const { client, clock, note } = build()
    for (const name of ['a', 'b', 'c']) note(name)
    await clock.advance(2 * SECOND)
    expect(client.calls).toHaveLength(1)
    await clock.advance(2 * SECOND)
    expect(client.calls).toHaveLength(3)
    await clock.advance(25 * SECOND)
    expect(client.calls).toHaveLength(3)
  })

  it('is looked at again when a look failed', async () => {
    const { client, clock, note, warn } = build()
    warn(QUOTA)
    note()
    client.before = () => {
      throw apiError('Unavailable')
    }
    await clock.advance(2 * SECOND)
    client.before = undefined
    expect(note()).toBeUndefined()
    await clock.advance(60 * SECOND)
    expect(note()).toBe(QUOTA)
  })

  it('is told no secret of a URL', async () => {
    const { clock, note, warn } = build()
    warn('no room for https://u:s3cr3t@a.example/b?sig=s3cr3t')
    note()
    await clock.advance(2 * SECOND)
    expect(note()).not.toContain('s3cr3t')
  })
})
