import { describe, expect, it } from 'vitest'
import { outcomeOf, type StoredObject } from './settled.ts'
import { untilReady, type WaitClock } from './until-ready.ts'

const TRUE = (type: string, observedGeneration?: number) => ({
  type,
  status: 'True',
  ...(observedGeneration === undefined ? {} : { observedGeneration }),
})
const SECOND = 1_000
const MINUTE = 60 * SECOND

function stored(status?: StoredObject['status'], metadata: object = {}): StoredObject {
  return { metadata: { uid: 'of-pulumi', generation: 1, ...metadata }, ...(status === undefined ? {} : { status }) }
}

const READY = stored({ phase: 'Succeeded', observedGeneration: 1, conditions: [TRUE('Settled'), TRUE('Ready')] })
const SYNCING = stored({ phase: 'Syncing', reason: 'Syncing', message: '42 %', observedGeneration: 1, conditions: [] })
const FAILED = stored({
  phase: 'Failed',
  reason: 'NotFound',
  message: 'the source answered 404',
  observedGeneration: 1,
  conditions: [TRUE('Settled')],
})

/** What the API server has of an object after so many milliseconds. Throws if it does not answer. */
type Script = (elapsedMs: number) => StoredObject | undefined

interface Ended {
  /** Undefined if all are ready. */
  readonly error: string | undefined
  readonly elapsedMs: number
  readonly reports: readonly string[]
}

/** Waits in a time that passes only by pauses. */
async function wait(scripts: Readonly<Record<string, Script>>, signal = new AbortController().signal): Promise<Ended> {
  let elapsedMs = 0
  const reports: string[] = []
  const clock: WaitClock = {
    now: () => elapsedMs,
    pause: async (ms) => {
      elapsedMs += ms
    },
  }
  const applied = Object.keys(scripts).map((name) => ({
    manifest: { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', metadata: { name, namespace: 'labs' } },
    uid: 'of-pulumi',
  }))
  const reader = {
    server: 'https://one.example',
    read: async ({ metadata: { name } }: { metadata: { name: string } }) => scripts[name]?.(elapsedMs),
  }
  const options = { reader, component: 'team', timeoutMs: 60 * MINUTE, signal, clock }
  const report = (text: string) => void reports.push(text)
  const error = await untilReady(applied, { ...options, report }).then(
    () => undefined,
    (failure: Error) => failure.message,
  )
  return { error, elapsedMs, reports }
}

const refuses = () => {
  throw new Error('the API server answers 401: Unauthorized')
}

describe('a wait for objects', () => {
  it('ends when all are ready, and tells meanwhile what it waits for', async () => {
    const { error, reports } = await wait({ one: () => READY, other: (ms) => (ms < MINUTE ? SYNCING : READY) })
    expect(error).toBeUndefined()
    expect(reports).toEqual(['1 of 2 objects are not ready yet: VMDiskImage labs/other: Syncing: 42 %'])
  })

  it('ends within seconds with the reason of one that fails, while others go on', async () => {
    const { error, elapsedMs } = await wait({ one: () => SYNCING, other: (ms) => (ms < MINUTE ? SYNCING : FAILED) })
    expect(error).toBe(
      'VMDiskImage labs/other has failed: NotFound: the source answered 404 (after you fix it, run: pulumi up)',
    )
    expect(elapsedMs).toBeLessThan(MINUTE + 15 * SECOND)
  })

  it('goes on when the operator takes up again what had failed before the update', async () => {
    const { error } = await wait({ one: (ms) => (ms < 3 * SECOND ? FAILED : ms < MINUTE ? SYNCING : READY) })
    expect(error).toBeUndefined()
  })

  it('tells for each object what it waits for when the time is over', async () => {
    const { error, elapsedMs } = await wait({ one: () => SYNCING, other: () => READY, new: () => stored() })
    expect(error).toBe(
      [
        'team: 2 of 3 objects are not ready after 1h',
        'VMDiskImage labs/one: Syncing: 42 %',
        'VMDiskImage labs/new: the operator has not seen its present spec yet; see whether the operator runs',
      ].join('\n'),
    )
    expect(elapsedMs).toBe(60 * MINUTE)
  })

  it('tells of five objects at most', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const { error } = await wait(Object.fromEntries(names.map((name) => [name, () => FAILED])))
    expect(error?.split('\n')).toHaveLength(6)
    expect(error).toMatch(/\nand 2 more$/)
  })

  it('bears an API server that does not answer for a while', async () => {
    const { error } = await wait({ one: (ms) => (ms < 4 * MINUTE ? refuses() : READY) })
    expect(error).toBeUndefined()
  })

  it('tells the error of one that does not answer for minutes', async () => {
    const { error, elapsedMs } = await wait({ one: refuses, other: () => SYNCING })
    expect(error).toBe('VMDiskImage labs/one cannot be read: the API server answers 401: Unauthorized (for 5m)')
    expect(elapsedMs).toBeLessThan(6 * MINUTE)
  })

  it.each<[string, StoredObject | undefined]>([
    ['is in another cluster under the same name', { ...READY, metadata: { uid: 'of-another-cluster', generation: 1 } }],
    ['is not there', undefined],
  ])('never judges what %s', async (_, object) => {
    const { error, elapsedMs } = await wait({ one: () => object })
    expect(error).toBe(
      "VMDiskImage labs/one of https://one.example is not the one that Pulumi applied: it was deleted meanwhile, or the provider uses another cluster, and then team needs the provider's kubeconfig and context too",
    )
    expect(elapsedMs).toBe(0)
  })

  it('ends with the error of a program that fails elsewhere', async () => {
    const program = new AbortController()
    const failure = new Error('a Deployment was refused')
    const one: Script = (elapsedMs) => {
      if (elapsedMs > MINUTE) program.abort(failure)
      return SYNCING
    }
    const { error } = await wait({ one }, program.signal)
    expect(error).toBe(failure.message)
  })
})

describe('outcomeOf', () => {
  const settled = { phase: 'Succeeded', observedGeneration: 1, conditions: [TRUE('Settled', 1), TRUE('Ready', 1)] }

  it.each<[string, StoredObject, ReturnType<typeof outcomeOf>['kind'], RegExp?]>([
    ['nothing yet', stored(), 'waiting', /has not seen its present spec/],
    ['what the API server added', stored({ observedGeneration: -1 }), 'waiting', /has not seen its present spec/],
    ['what goes on', SYNCING, 'waiting', /^Syncing: 42 %$/],
    ['what is ready', READY, 'ready'],
    ['what was ready with an earlier spec', stored(settled, { generation: 2 }), 'waiting', /present spec/],
    ['what had failed with an earlier spec', stored(FAILED.status, { generation: 2 }), 'waiting', /present spec/],
    ['what has failed', FAILED, 'failed', /^NotFound: the source answered 404$/],
    ['a new spec that failed while the earlier disk serves', stored({ ...settled, phase: 'Failed' }), 'failed'],
    ['a failure without words', stored({ conditions: [TRUE('Settled')] }), 'failed', /^it does not say why$/],
    ['what is being deleted', stored(settled, { deletionTimestamp: '2026-01-01T00:00:00Z' }), 'failed', /deleted/],
  ])('judges %s', (_, object, kind, why = /./) => {
    const outcome = outcomeOf(object)
    expect(outcome.kind).toBe(kind)
    if (outcome.kind !== 'ready') expect(outcome.why).toMatch(why)
  })
})
