import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { failing } from '../../../../test/prepared/kube/scripted-client.ts'
import { SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aStart, bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { isCreate, isLedgerWrite } from '../../../../test/prepared/vm-disk-image/admission-calls.ts'
import type { RequestOptions } from '../../../kube/kube-client.ts'

afterEach(renewBench)

const CDI_SAYS = 'admission webhook "datavolume-validate.cdi.kubevirt.io" denied the request: '

describe('admission', () => {
  it('claims first and creates then, in ticket order, never more than the limit', async () => {
    await bench.start()
    bench.want('c', '30')
    bench.want('a', '10')
    bench.want('d', '101')
    bench.want('b', '20')
    await settled()
    expect(bench.created).toEqual(['a', 'b'])
    expect(bench.holding).toEqual(['a', 'b'])
    const writes = bench.client.calls.filter((call) => isLedgerWrite(call) || isCreate(call)).map(({ verb }) => verb)
    expect(writes).toEqual(['replace', 'create', 'create'])
  })

  it('sends a create with no more patience than a claim is good for', async () => {
    await bench.begin(2, 'a')
    const [options] = bench.client.calls.filter(isCreate).map((call) => call.options as RequestOptions)
    expect(options?.timeoutMs).toBe(5 * SECOND)
    expect(options?.isStillValid?.()).toBe(true)
    bench.clock.freeze(5 * SECOND)
    expect(options?.isStillValid?.()).toBe(false)
  })

  it('hands a slot on in the write that frees it', async () => {
    await bench.begin(1, 'a', 'b')
    const before = bench.client.calls.filter(isLedgerWrite).length
    await bench.succeed('a')
    expect(bench.created).toEqual(['a', 'b'])
    expect(bench.holding).toEqual(['b'])
    expect(bench.client.calls.filter(isLedgerWrite)).toHaveLength(before + 1)
  })

  it('does nothing at all when nothing happens', async () => {
    await bench.begin(2, 'a')
    const before = bench.client.calls.length
    bench.admission.wake()
    await bench.clock.advance(600 * SECOND)
    expect(bench.client.calls).toHaveLength(before)
  })

  it('admits nobody at a limit of 0, and stops nobody', async () => {
    await bench.begin(2, 'a')
    bench.limit = 0
    bench.want('b', '20')
    await settled()
    expect(bench.ledger.limit).toBe(0)
    expect(bench.holding).toEqual(['a'])
    bench.limit = 2
    bench.admission.wake()
    await settled()
    expect(bench.holding).toEqual(['a', 'b'])
  })

  it('waits for the head of the queue whose ticket is not written yet, unless it is stuck', async () => {
    await bench.start()
    const start = bench.wantUnwritten('a', '10')
    bench.want('b', '20')
    await settled()
    expect(bench.created).toEqual([])
    bench.admission.setStuck(start.uid)
    await settled()
    expect(bench.created).toEqual(['b'])
    // The write is retried, and has not succeeded yet.
    bench.admission.want(start.uid, { ...start, admissible: false })
    bench.want('c', '30')
    await settled()
    expect(bench.created).toEqual(['b', 'c'])
    bench.limit = 3
    bench.admission.want(start.uid, start)
    await settled()
    expect(bench.created).toEqual(['b', 'c', 'a'])
  })

  it('waits 5 s for a head that somebody changes again and again, and it is next once it is written', async () => {
    await bench.begin(0)
    const start = bench.wantUnwritten('a', '10')
    bench.want('b', '20')
    bench.want('c', '30')
    bench.limit = 1
    bench.admission.wake()
    // Each change makes another plan, which wants the same and is not written either.
    for (let generation = 2; generation < 50; generation += 1) {
      await bench.clock.advance(100)
      bench.admission.want(start.uid, { ...start, generation, admissible: false })
      await settled()
    }
    expect(bench.created).toEqual([])
    await bench.clock.advance(400)
    await settled()
    expect(bench.created).toEqual(['b'])
    bench.admission.want(start.uid, start)
    bench.limit = 2
    bench.admission.wake()
    await settled()
    expect(bench.created).toEqual(['b', 'a'])
  })

  it('waits 5 s in all for many images that somebody changes again and again, also if they are made again', async () => {
    await bench.begin(0)
    for (let at = 10; at < 30; at += 1) bench.wantUnwritten(`old-${at}`, String(at))
    bench.want('b', '40')
    bench.limit = 1
    bench.admission.wake()
    // Each second one of them is gone, and another one behind those that wait is there instead.
    for (let second = 0; second < 5; second += 1) {
      expect(bench.created).toEqual([])
      await bench.clock.advance(1_000)
      bench.admission.forget(`uid-old-${10 + second}`)
      bench.wantUnwritten(`new-${second}`, String(50 + second))
      await settled()
    }
    expect(bench.created).toEqual(['b'])
    // Those behind the new ones wait no longer for each of them than for all.
    bench.limit = 2
    bench.want('c', '60')
    await bench.clock.advance(4_900)
    expect(bench.created).toEqual(['b'])
    await bench.clock.advance(200)
    await settled()
    expect(bench.created).toEqual(['b', 'c'])
  })

  it('counts all times together in which an image held up others', async () => {
    await bench.begin(0)
    const start = bench.wantUnwritten('a', '10')
    const other = bench.want('b', '20')
    bench.limit = 1
    bench.admission.wake()
    await bench.clock.advance(3_000)
    // Nobody waits behind it.
    bench.admission.want(other.uid, undefined)
    await bench.clock.advance(60_000)
    bench.admission.want(other.uid, other)
    await bench.clock.advance(1_900)
    await settled()
    expect(bench.created).toEqual([])
    bench.admission.want(start.uid, { ...start, generation: 2, admissible: false })
    await bench.clock.advance(200)
    await settled()
    expect(bench.created).toEqual(['b'])
  })

  it('creates nothing for an image that changed or is being deleted since it was planned', async () => {
    await bench.start()
    for (const [name, metadata] of [
      ['a', { generation: 2, resourceVersion: '900' }],
      ['b', { deletionTimestamp: '2026-01-01T00:00:00Z', resourceVersion: '901' }],
    ] as const) {
      const { image } = aStart(name, '10')
      bench.want(name, '10')
      bench.images.put({ ...image, metadata: { ...image.metadata, ...metadata } })
    }
    await settled()
    expect(bench.created).toEqual([])
  })
})

describe('a claim', () => {
  it('is looked at again before the create when the process was frozen for more than 5 s', async () => {
    await bench.start()
    bench.client.after = (call) => {
      if (isLedgerWrite(call)) bench.clock.freeze(5 * SECOND)
    }
    bench.want('a', '10')
    await settled()
    const order = bench.client.calls.map(({ verb, kind }) => `${verb} ${kind}`)
    expect(order.slice(order.lastIndexOf('replace ConfigMap'))).toEqual([
      'replace ConfigMap',
      'get ConfigMap',
      'create DataVolume',
    ])
  })

  it('that is gone by then is not used', async () => {
    await bench.start()
    bench.client.after = (call) => {
      if (!isLedgerWrite(call)) return
      bench.clock.freeze(6 * SECOND)
      bench.client.after = undefined
      bench.writeLedger(2, [])
    }
    const { start, image } = aStart('a', '10')
    bench.images.put(image)
    bench.admission.want(start.uid, start)
    await settled()
    expect(bench.created).toEqual([])
  })

  it('that was lost with the ledger is told to the image, so that it queues again', async () => {
    bench.isReconciling = true
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('Unavailable')
    }
    bench.want('a', '10')
    await settled()
    expect(bench.holding).toEqual(['a'])
    bench.dropLedger()
    await bench.clock.advance(10 * SECOND)
    bench.client.before = undefined
    await bench.clock.advance(60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    expect(bench.client.all('DataVolume')).toHaveLength(1)
  })

  it('of one is not held up by the create of another that fails', async () => {
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call) && call.key.startsWith('team/a-')) throw apiError('Unavailable')
    }
    bench.want('a', '10')
    bench.want('b', '20')
    await settled()
    expect(bench.created).toEqual(['a', 'b'])
  })
})

describe('a create', () => {
  it.each([
    ['Unavailable', {}],
    ['NoAnswer', {}],
    ['Unavailable', { retryAfterMs: 3 * SECOND }],
  ] as const)('that meets %s keeps its claim and is tried again', async (reason, more) => {
    await bench.start()
    bench.client.before = failing(3, apiError(reason, more), isCreate)
    bench.want('a', '10')
    await settled()
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(12 * SECOND)
    expect(bench.created).toEqual(['a', 'a', 'a', 'a'])
    expect(bench.holding).toEqual(['a'])
    expect(bench.client.all('DataVolume')).toHaveLength(1)
  })

  it.each([
    ['itself', isCreate, { heldMs: 5 * SECOND, madeMs: 5 * SECOND, asked: ['a', 'a'] }],
    ['of its claim', isLedgerWrite, { heldMs: 10 * SECOND, madeMs: 40 * SECOND, asked: ['a'] }],
  ])('is found to have happened though the answer %s was lost', async (_whose, isLost, { heldMs, madeMs, asked }) => {
    await bench.start()
    bench.client.after = failing(1, apiError('NoAnswer'), isLost)
    bench.want('a', '10')
    await bench.clock.advance(heldMs)
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(madeMs - heldMs)
    expect(bench.created).toEqual(asked)
    expect(bench.client.all('DataVolume')).toHaveLength(1)
    await bench.succeed('a')
    await bench.clock.advance(15 * SECOND)
    expect(bench.holding).toEqual([])
  })

  it('of a name that somebody else has frees the slot, touches nothing, and is reported', async () => {
    const { start } = aStart('a', '10')
    const name = start.target.volumeName
    const foreign = bench.client.put({
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: { name, namespace: 'team', uid: 'foreign' },
    })
    await bench.begin(2, 'a')
    expect(bench.holding).toEqual([])
    expect(bench.admission.refusalOf(start.uid)).toMatchObject({ reason: 'NameConflict' })
    expect(bench.client.peek('DataVolume', `team/${name}`)).toEqual(foreign)
    expect(bench.changed).toContain('team/a')
  })

  it.each([
    ['RejectedByCDI', { status: 422, message: `${CDI_SAYS} spec.source` }, undefined],
    ['RejectedByCDI', { status: 422, message: 'DataVolume "x" is invalid: spec.source: Required value' }, undefined],
    [
      'CreateFailed',
      { status: 422, message: 'admission webhook "cdi.kubevirt.io.example.com" denied the request: no' },
      10 * SECOND,
    ],
    [
      'CreateFailed',
      { status: 422, message: `"x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied` },
      10 * SECOND,
    ],
    ['CDITooOld', { status: 400, message: 'strict decoding error: unknown field "spec.source.gcs"' }, 10 * SECOND],
    ['QuotaExceeded', { status: 403, message: 'exceeded quota' }, 10 * SECOND],
    ['CreateFailed', { status: 403, message: 'is forbidden' }, 10 * SECOND],
    ['NamespaceTerminating', { status: 403, serverReason: 'Forbidden', causes: ['NamespaceTerminating'] }, 10 * SECOND],
    ['NameConflict', { status: 422, message: `${CDI_SAYS} Destination PVC ns/x already exists` }, 10 * SECOND],
  ] as const)('that is refused frees the slot and is reported: %s', async (reason, error, waitMs) => {
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('Rejected', error)
    }
    const start = bench.want('a', '10')
    bench.want('b', '20')
    await settled()
    expect(bench.holding).toEqual([])
    expect(bench.admission.refusalOf(start.uid)).toMatchObject({
      reason,
      revision: start.revision,
      budgetKey: start.target.budgetKey,
      until: waitMs === undefined ? undefined : bench.clock.now() + waitMs,
    })
    expect(bench.changed).toContain('team/a')
  })

  it('that is refused says no secret', async () => {
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call))
        throw apiError('Rejected', { message: 'Invalid source URL: https://u:s3cr3t@a.example/b?sig=s3cr3t' })
    }
    const start = bench.want('a', '10')
    await settled()
    expect(bench.admission.refusalOf(start.uid)?.message).not.toContain('s3cr3t')
    expect(JSON.stringify(bench.log.lines)).not.toContain('s3cr3t')
  })

  it('that is refused when its image is gone frees the slot, and is not remembered', async () => {
    await bench.start()
    const refusing = Promise.withResolvers<void>()
    bench.client.before = async (call) => {
      if (!isCreate(call)) return
      await refusing.promise
      throw apiError('Rejected', { status: 403, message: 'exceeded quota' })
    }
    const start = bench.want('a', '10')
    await settled()
    bench.images.remove(aStart('a', '10').image)
    bench.admission.forget(start.uid)
    refusing.resolve()
    await settled()
    expect(bench.admission.refusalOf(start.uid)).toBeUndefined()
    expect(bench.holding).toEqual([])
  })

  it('where CDI is gone frees the slot', async () => {
    await bench.start()
    bench.client.before = (call) => {
      if (isCreate(call)) throw apiError('NotFound')
    }
    const start = bench.want('a', '10')
    await settled()
    expect(bench.holding).toEqual([])
    expect(bench.admission.refusalOf(start.uid)?.reason).toBe('CDIMissing')
  })
})
