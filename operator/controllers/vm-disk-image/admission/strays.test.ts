import { afterEach, describe, expect, it } from 'vitest'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { SECOND } from '../../../../test/prepared/runtime/times.ts'
import { AWAY, bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { viewDataVolume } from '../../../cluster/views.ts'
import type { ObjectMeta } from '../../../kube/kube-object.ts'

afterEach(renewBench)

const OWNER = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'x', uid: 'uid-x', controller: true }

describe('a slot', () => {
  it('is counted for a download without one only until nothing can download for it any more', async () => {
    bench.writeLedger(1, [])
    bench.limit = 1
    const left = bench.inherited('x', {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['tenant.example.com/keep'],
    })
    bench.want('a', '10')
    bench.downloading('x', left.metadata.uid)
    await bench.start()
    await bench.clock.advance(14 * SECOND)
    expect(bench.created).toEqual([])
    await bench.clock.advance(3 * SECOND)
    expect(bench.created).toEqual(['a'])
  })

  it('is not taken by labels alone', async () => {
    bench.limit = 1
    bench.writeLedger(1, [])
    bench.orphaned('a')
    await bench.start()
    bench.want('b', '20')
    await settled()
    expect(bench.created).toEqual(['b'])
  })

  it('is counted for each DataVolume of ours that has no holder', async () => {
    bench.writeLedger(2, [])
    const [x, y] = [bench.inherited('x'), bench.inherited('y')]
    bench.want('a', '10')
    bench.downloading('x', x.metadata.uid)
    bench.downloading('y', y.metadata.uid)
    await bench.start()
    expect(bench.created).toEqual([])
    await bench.drop('x')
    expect(bench.created).toEqual(['a'])
  })

  it('is counted for a DataVolume that had one until somebody took it out of the ledger, whatever its image says yet', async () => {
    await bench.begin(1, 'x')
    bench.writeLedger(1, [])
    bench.admission.checkLedger(undefined)
    bench.want('a', '20')
    await bench.clock.advance(60 * SECOND)
    expect(bench.created).toEqual(['x'])
  })

  it('is not counted for one that somebody made for an image of their own, which is told of it', async () => {
    bench.writeLedger(1, [])
    const forged = bench.inherited('x')
    await bench.begin(1, 'a')
    expect(bench.created).toEqual(['a'])
    expect(bench.admission.isStray(viewDataVolume(forged))).toBe(true)
    expect(bench.changed).toContain('team/x')
  })

  it.each([
    ['stopped', 'Cancelled', ['a']],
    ['done, and that is filled again since somebody deleted its claim', 'Succeeded', []],
  ] as const)('and one that the status of its image says was %s', async (_what, outcome, created) => {
    bench.writeLedger(1, [])
    bench.limit = 1
    const { metadata } = bench.inherited('x')
    bench.want('a', '10')
    bench.downloading('x', metadata.uid, [{ outcome, dataVolumeUID: metadata.uid }])
    await bench.start()
    expect(bench.created).toEqual(created)
  })

  it.each<[string, Partial<ObjectMeta>]>([
    ['names an image that does not exist', { ownerReferences: [{ ...OWNER, name: 'nobody' }] }],
    ['names an earlier image of that name', { ownerReferences: [{ ...OWNER, uid: 'earlier' }], finalizers: AWAY }],
    ['names a kind of another group', { ownerReferences: [{ ...OWNER, apiVersion: 'nope.example/v1' }] }],
    ['names an image of another namespace', { namespace: 'tenant' }],
    ['is owned without being controlled', { ownerReferences: [{ ...OWNER, controller: false }] }],
  ])('is not counted for a DataVolume that %s', async (_what, metadata) => {
    bench.writeLedger(1, [])
    bench.limit = 1
    const forged = bench.inherited('x', metadata)
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(60 * SECOND)
    expect(bench.created).toEqual(['a'])
    expect(bench.admission.isStray(viewDataVolume(forged))).toBe(false)
  })

  it('is not counted for one that is finished', async () => {
    bench.writeLedger(1, [])
    bench.inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    await bench.begin(1, 'a')
    expect(bench.created).toEqual(['a'])
  })
})
