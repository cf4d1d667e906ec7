import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { settled } from '../../test/prepared/kube/fake-clock.ts'
import { failing, ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../test/prepared/runtime/fake-log.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { LeaderElector } from './leader.ts'

type Lease = KubeObject & { spec: Record<string, unknown> }

const TIMINGS = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }
let client = new ScriptedClient('n')
let clock = client.clock
let candidates: Candidate[] = []
beforeEach(() => {
  client = new ScriptedClient('n')
  clock = client.clock
  candidates = []
})
afterEach(async () => {
  for (const candidate of candidates) candidate.stop.abort()
  await clock.advance(5_000)
})

class Candidate {
  readonly stop = new AbortController()
  readonly history: boolean[] = []
  leads = false
  /** How long the work takes to end. */
  lingerMs = 0
  ended = false
  readonly client: ScriptedClient
  readonly elector: LeaderElector
  readonly log = fakeLog()
  hadPredecessor: boolean | undefined

  constructor(identity: string, its = client, looked: Promise<unknown> | undefined = undefined) {
    this.client = its
    candidates.push(this)
    this.elector = new LeaderElector({
      client: its,
      clock,
      identity,
      random: () => 0.5,
      log: this.log,
      namespace: 'n',
      name: 'lease',
      timings: TIMINGS,
      onChange: (leads) => this.history.push(leads),
    })
    void this.#run(looked).then(() => {
      this.ended = true
    })
  }

  async #run(looked: Promise<unknown> | undefined): Promise<void> {
    if (looked !== undefined) {
      await this.elector.look(this.stop.signal)
      await looked
    }
    await this.elector.run(this.stop.signal, (term, hadPredecessor) => this.#lead(term, hadPredecessor))
  }

  async #lead(term: AbortSignal, hadPredecessor: boolean): Promise<void> {
    this.leads = true
    this.hadPredecessor = hadPredecessor
    await new Promise((resolve) => term.addEventListener('abort', resolve, { once: true }))
    if (this.lingerMs > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, this.lingerMs))
    this.leads = false
  }
}
const lease = () => client.peek<Lease>('Lease', 'n/lease')
/** A Lease of a process whose clock is wrong, or which died long ago. */
const putOldLease = (holderIdentity: string) =>
  client.put({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'lease', namespace: 'n' },
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: '1999-01-01T00:00:00.000000Z' },
  } as KubeObject)
const giveLeaseTo = (holderIdentity: string) => {
  const { spec, ...rest } = lease() ?? ({} as Lease)
  client.put({ ...rest, spec: { ...spec, holderIdentity } } as KubeObject)
}

describe('a candidate', () => {
  it('makes the Lease and leads', async () => {
    const one = new Candidate('one')
    await settled()
    expect(one.leads).toBe(true)
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'one', leaseDurationSeconds: 15, leaseTransitions: 0 })
    expect(lease()?.spec['renewTime']).toMatch(/^2026-01-01T00:00:00\.000000Z$/)
  })

  it('renews while it leads, with few requests', async () => {
    const one = new Candidate('one')
    await clock.advance(60_000)
    expect(one.history).toEqual([true])
    expect(lease()?.spec['renewTime']).toBe('2026-01-01T00:01:00.000000Z')
    expect(lease()?.spec['acquireTime']).toBe('2026-01-01T00:00:00.000000Z')
    expect(client.calls.length).toBeLessThanOrEqual(2 + 2 * 30)
  })

  it('logs once that it stands by, and for whom', async () => {
    const one = new Candidate('one')
    await settled()
    const other = new Candidate('other')
    await clock.advance(60_000)
    const standby = (leader: string) => ({ level: 'info', facts: { identity: 'other', leader }, text: 'standing by' })
    expect(other.log.lines).toEqual([standby('one')])
    one.stop.abort()
    await clock.advance(5_000)
    expect(other.log.lines.map(({ text }) => text)).toEqual(['standing by', 'leading'])
  })

  describe('that looked before it made its lists knows whether anybody may have led since', () => {
    /** A candidate makes its lists while `meanwhile` runs, and then leads. */
    const hadPredecessor = async (meanwhile: () => unknown): Promise<boolean | undefined> => {
      const lists = Promise.withResolvers<void>()
      const late = new Candidate('late', client, lists.promise)
      await settled()
      await meanwhile()
      lists.resolve()
      await clock.advance(20_000)
      return late.hadPredecessor
    }
    const ledBy = async (name: string) => {
      const one = new Candidate(name)
      await settled()
      one.stop.abort()
      await settled()
    }

    it('nobody ever did', async () => {
      expect(await hadPredecessor(() => undefined)).toBe(false)
    })

    it('nobody did, since the last one gave up the Lease before', async () => {
      await ledBy('one')
      expect(await hadPredecessor(() => undefined)).toBe(false)
    })

    it('somebody did for a moment', async () => {
      await ledBy('one')
      expect(await hadPredecessor(() => ledBy('two'))).toBe(true)
    })

    it('somebody gave up the Lease only then', async () => {
      const one = new Candidate('one')
      await settled()
      expect(await hadPredecessor(() => one.stop.abort())).toBe(true)
    })

    it('somebody may have, as the Lease could not be read', async () => {
      client.before = () => {
        throw apiError('Unavailable')
      }
      const meanwhile = () => {
        client.before = undefined
      }
      expect(await hadPredecessor(meanwhile)).toBe(true)
    })

    it('in its second term, somebody may have', async () => {
      const lists = Promise.withResolvers<void>()
      const one = new Candidate('one', client, lists.promise)
      lists.resolve()
      await settled()
      expect(one.hadPredecessor).toBe(false)
      client.before = () => {
        throw apiError('Unavailable')
      }
      await clock.advance(15_000)
      expect(one.leads).toBe(false)
      client.before = undefined
      await clock.advance(20_000)
      expect([one.leads, one.hadPredecessor]).toEqual([true, true])
    })
  })

  it('is one of two who leads', async () => {
    const pair = [new Candidate('one'), new Candidate('two')]
    for (let second = 0; second < 60; second += 1) {
      await clock.advance(1_000)
      expect(pair.filter(({ leads }) => leads)).toHaveLength(1)
    }
  })

  it('takes over soon after the leader stops, as that gives the Lease up when its work has ended', async () => {
    const one = new Candidate('one')
    await settled()
    const two = new Candidate('two')
    await clock.advance(10_000)
    one.lingerMs = 1_000
    one.stop.abort()
    await clock.advance(999)
    expect([one.leads, two.leads, lease()?.spec['holderIdentity']]).toEqual([true, false, 'one'])
    await clock.advance(2_401)
    expect([one.leads, one.ended, two.leads]).toEqual([false, true, true])
    expect(lease()?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 })
  })

  it('takes over from one that died only after the Lease did not change for its duration, by its own clock', async () => {
    putOldLease('dead')
    const two = new Candidate('two')
    await clock.advance(15_000)
    expect(two.leads).toBe(false)
    await clock.advance(2_400)
    expect(two.leads).toBe(true)
  })

  it('does not take over from one whose clock is wrong and who renews', async () => {
    putOldLease('other')
    const two = new Candidate('two')
    for (let turn = 0; turn < 20; turn += 1) {
      await clock.advance(5_000)
      putOldLease('other')
    }
    expect(two.leads).toBe(false)
  })

  it('stops leading before its Lease expires when it cannot renew', async () => {
    const one = new Candidate('one')
    await settled()
    client.before = () => {
      throw apiError('Unavailable')
    }
    await clock.advance(9_999)
    expect(one.leads).toBe(true)
    await clock.advance(3_000)
    expect(one.leads).toBe(false)
    expect(clock.monotonic()).toBeLessThan(TIMINGS.durationMs)
    client.before = undefined
    await clock.advance(5_000)
    expect(one.leads).toBe(true)
  })

  it.each([
    ['nothing is answered', 0],
    ['reads are answered just in time', 100],
  ])('stops leading in time though %s', async (_how, earlyMs) => {
    const one = new Candidate('one')
    await settled()
    const renewedAt = clock.monotonic()
    client.before = async ({ verb, options }) => {
      const isLate = verb !== 'get' || earlyMs === 0
      const { timeoutMs = 0 } = options as { timeoutMs?: number }
      await new Promise<void>((resolve) => clock.setTimer(resolve, timeoutMs - (isLate ? 0 : earlyMs)))
      if (isLate) throw apiError('NoAnswer')
    }
    while (one.leads && clock.monotonic() - renewedAt < TIMINGS.durationMs) await clock.advance(100)
    expect(clock.monotonic() - renewedAt).toBeLessThanOrEqual(TIMINGS.renewDeadlineMs + 100)
    client.before = undefined
  })

  it.each(['create', 'replace'])('leaves nobody a Lease by a %s that its stop cut short', async (verb) => {
    const one = new Candidate('one')
    client.after = (call) => {
      if (call.verb !== verb || one.stop.signal.aborted) return
      one.stop.abort()
      throw apiError('NoAnswer')
    }
    await clock.advance(5_000)
    expect([one.ended, lease()?.spec['holderIdentity']]).toEqual([true, ''])
  })

  it('survives a few errors', async () => {
    const one = new Candidate('one')
    await settled()
    client.before = failing(2, apiError('NoAnswer'))
    await clock.advance(60_000)
    expect(one.history).toEqual([true])
  })

  describe('says in one sentence, once a minute, what keeps it from the Lease', () => {
    const FORBIDDEN = apiError('Rejected', { status: 403 })
    const TERMINATING = apiError('Rejected', { status: 403, causes: ['NamespaceTerminating'] })
    const obstacles = ({ log }: Candidate) =>
      log.lines.map(({ text = '' }) => text).filter((text) => /^cannot/.test(text))

    it.each([
      [
        'its namespace is gone',
        undefined,
        /^cannot lead, because namespace n for the Lease lease does not exist: create it/,
      ],
      [
        'its namespace goes',
        TERMINATING,
        /^cannot lead, because namespace n with .* is being deleted: remove the operator/,
      ],
      [
        'it has no right',
        FORBIDDEN,
        /^cannot lead, because the operator may not .* namespace n: apply the access rights/,
      ],
      [
        'nobody answers',
        apiError('NoAnswer'),
        /^cannot lead, because the Lease lease in namespace n cannot be read or/,
      ],
    ])('%s', async (_what, error, sentence) => {
      const one = new Candidate('one')
      await clock.advance(10_000)
      client.drop('Lease', 'n/lease')
      if (error === undefined) client.drop('Namespace', 'n')
      else
        client.before = ({ verb }) => {
          if (verb !== 'get') throw error
        }
      await clock.advance(50_000)
      expect(obstacles(one)).toEqual([expect.stringMatching(sentence)])
      await clock.advance(60_000)
      expect(obstacles(one)).toHaveLength(2)
    })

    it('not when the Lease alone is gone, which it makes again', async () => {
      const one = new Candidate('one')
      await clock.advance(10_000)
      client.drop('Lease', 'n/lease')
      await clock.advance(2_000)
      client.before = ({ verb }) => {
        if (verb === 'replace') client.drop('Lease', 'n/lease')
      }
      await clock.advance(2_000)
      client.before = undefined
      await clock.advance(2_000)
      expect(lease()?.spec['holderIdentity']).toBe('one')
      expect([one.history, obstacles(one)]).toEqual([[true], []])
    })

    it('again at once when it was well meanwhile', async () => {
      const one = new Candidate('one')
      for (let turn = 1; turn <= 2; turn += 1) {
        await clock.advance(4_000)
        client.before = () => {
          throw apiError('Unavailable')
        }
        await clock.advance(4_000)
        client.before = undefined
        expect(obstacles(one)).toHaveLength(turn)
      }
    })
  })

  it('stops at once when somebody else has the Lease', async () => {
    const one = new Candidate('one')
    await settled()
    giveLeaseTo('other')
    await clock.advance(2_000)
    expect(one.leads).toBe(false)
    expect(lease()?.spec['holderIdentity']).toBe('other')
    expect(one.log.lines).toContainEqual(
      expect.objectContaining({ facts: { holder: 'other' }, text: 'lost the lead: somebody else holds the Lease' }),
    )
  })

  it('that was frozen beyond its deadline does not even try to renew', async () => {
    const one = new Candidate('one')
    await settled()
    clock.freeze(20_000)
    const before = client.calls.length
    await clock.advance(1)
    expect(one.history.slice(0, 2)).toEqual([true, false])
    const first = client.calls.slice(before).find(({ verb }) => verb !== 'get')
    expect(first?.body).toMatchObject({ spec: { holderIdentity: '' } })
  })

  it('that was frozen does not take the Lease from its successor', async () => {
    const one = new Candidate('one')
    await settled()
    clock.freeze(20_000)
    giveLeaseTo('two')
    await clock.advance(3_000)
    expect(one.leads).toBe(false)
    expect(lease()?.spec['holderIdentity']).toBe('two')
  })

  it('that stops while it waits ends', async () => {
    new Candidate('one')
    await settled()
    const two = new Candidate('two')
    await settled()
    two.stop.abort()
    await settled()
    expect(two.ended).toBe(true)
    expect(lease()?.spec['holderIdentity']).toBe('one')
  })
})
