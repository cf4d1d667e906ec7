import { LABELS } from '@open-terrain/constructs'
import { MANAGER } from '@open-terrain/constructs/operator'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { SECOND } from '../../../../test/prepared/runtime/times.ts'
import { ATTEMPT_MS, aHolder, bench, renewBench, STALL_MS } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { POD_PHASE, viewClaim, viewDataVolume, viewPod } from '../../../cluster/views.ts'
import { type KubeObject, keyOf, type ObjectMeta } from '../../../kube/kube-object.ts'

afterEach(renewBench)

const filling = (claim: string, uid = `uid of ${claim}`) => [
  { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: claim, uid, controller: true },
]

/** A new leader, which knows of the importer of a slot only what the status of its image says. Returns the name of the pod. */
function anImporterOfTheStatus(): string {
  bench.limit = 1
  bench.writeLedger(1, [aHolder('a')])
  bench.inherited('a')
  const pod = bench.import('a')
  const { uid } = bench.client.peek<KubeObject>('Pod', `team/${pod}`)?.metadata ?? {}
  bench.downloading('a', 'gone', [], uid)
  bench.lose('a')
  return pod
}

describe('a slot', () => {
  it('is kept while its DataVolume is gone and an importer pod lives on', async () => {
    await bench.begin(1, 'a', 'b')
    const pod = bench.import('a')
    await bench.drop('a')
    bench.dropClaims()
    await bench.clock.advance(10 * 60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    expect(bench.created).toEqual(['a'])
    bench.dropPod(pod)
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept by its importer though the claims are gone before the DataVolume is, that which it fills first', async () => {
    await bench.begin(1, 'a', 'b')
    const pod = bench.import('a')
    for (const claim of bench.client.all('PersistentVolumeClaim').toReversed()) {
      bench.client.drop('PersistentVolumeClaim', keyOf(claim.metadata))
      bench.volumeClaims.remove(viewClaim(claim))
    }
    await bench.drop('a')
    await bench.clock.advance(10 * 60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    bench.dropPod(pod)
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept by its importer though somebody takes all labels off, and the watch of pods loses it', async () => {
    await bench.begin(1, 'a', 'b')
    const pod = bench.import('a')
    const [object] = bench.client.all('Pod')
    if (object === undefined) throw new Error('none')
    bench.pods.remove(viewPod(bench.client.put({ ...object, metadata: { ...object.metadata, labels: {} } })))
    await bench.drop('a')
    bench.dropClaims()
    await bench.clock.advance(10 * 60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    bench.dropPod(pod)
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it.each<[string, Partial<ObjectMeta>]>([
    ['in another namespace', { namespace: 'tenant', ownerReferences: filling('prime-x') }],
    ['without an owner', {}],
    ['of another claim', { ownerReferences: filling('data') }],
    [
      'of a ReplicaSet that is called like a claim',
      { ownerReferences: filling('prime-x').map((one) => ({ ...one, apiVersion: 'apps/v1' })) },
    ],
  ])('is not kept by a pod %s, whatever its labels', async (_what, metadata) => {
    await bench.begin(1, 'a', 'b')
    bench.forgedPod('a', metadata)
    await bench.drop('a')
    await bench.clock.advance(SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it.each<[string, (volume: string) => string]>([
    ['a prime claim that is gone', () => 'prime-x'],
    ['its own claim that is gone', (volume) => volume],
  ])('is kept for 2 minutes at most by pods that say they fill %s', async (_what, claimOf) => {
    const [{ target, uid }] = await bench.begin(1, 'a', 'b')
    bench.forgedPod('a', { ownerReferences: filling(claimOf(target.volumeName)) })
    await bench.drop('a')
    for (const at of [1, 2, 3, 4]) {
      // Another pod each time does not extend the wait.
      bench.forgedPod('a', { name: `another-${at}`, ownerReferences: filling(claimOf(target.volumeName)) })
      await bench.clock.advance(29 * SECOND)
      expect([bench.holding, bench.admission.slotWaitsFor(uid)]).toEqual([['a'], 'doubtful'])
    }
    await bench.clock.advance(8 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept while CDI may start an importer for a claim of it, as long as a download may stand still', async () => {
    const [{ uid }] = await bench.begin(1, 'a', 'b')
    const pod = bench.import('a')
    await bench.drop('a')
    bench.dropPod(pod)
    await bench.clock.advance(5 * SECOND)
    expect(bench.admission.slotWaitsFor(uid)).toBeUndefined()
    await bench.clock.advance(STALL_MS - 7 * SECOND)
    expect([bench.holding, bench.admission.slotWaitsFor(uid)]).toEqual([['a'], 'claim'])
    await bench.clock.advance(5 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it.each([
    ['is being deleted', { deletionTimestamp: '2026-01-01T00:00:00Z' }],
    ['was filled', { annotations: { [POD_PHASE]: 'Succeeded' } }],
  ])('is not kept by a claim that %s', async (_what, change) => {
    await bench.begin(1, 'a', 'b')
    const pod = bench.import('a')
    bench.changeClaims(change)
    await bench.drop('a')
    bench.dropPod(pod)
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept by an importer that CDI starts after all for a claim that was noted', async () => {
    await bench.begin(1, 'a', 'b')
    const first = bench.import('a')
    await bench.drop('a')
    bench.dropPod(first)
    const next = bench.importerOf('a', 'next')
    bench.dropClaims()
    await bench.clock.advance(STALL_MS)
    expect(bench.holding).toEqual(['a'])
    bench.dropPod(next)
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept by an importer that the status names, in a process that has seen nothing else of it', async () => {
    const pod = anImporterOfTheStatus()
    await bench.start()
    await bench.clock.advance(10 * 60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    bench.client.drop('Pod', `team/${pod}`)
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual([])
  })

  it('is freed by a process that has seen nothing of it but what the status names, where CDI is away and the claim is gone', async () => {
    const pod = anImporterOfTheStatus()
    for (const one of bench.client.all('Pod')) bench.pods.put(viewPod(one))
    await bench.start()
    await bench.clock.advance(20 * SECOND)
    expect(bench.client.callsOf('delete')).toEqual([`delete Pod team/${pod}`])
    bench.dropPod(pod)
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual([])
  })

  it.each([
    [
      'whose claim is being deleted is ended by the operator, unless CDI does that',
      true,
      ['delete Pod team/importer-a'],
    ],
    ['whose claim stays is not: CDI would replace it', false, []],
  ])('of which an importer is left %s', async (_what, isDeleted, expected) => {
    await bench.begin(1, 'a')
    bench.import('a')
    if (isDeleted) bench.changeClaims({ deletionTimestamp: '2026-01-01T00:00:00Z' })
    await bench.clock.advance(5 * SECOND)
    expect(bench.client.callsOf('delete')).toEqual([])
    await bench.drop('a')
    await bench.clock.advance(2 * SECOND)
    expect(bench.client.callsOf('delete')).toEqual([])
    await bench.clock.advance(2 * SECOND)
    expect(bench.client.callsOf('delete')).toEqual(expected)
  })

  it('is not looked at while the cache knows a living importer, and looked at once when that is gone', async () => {
    const [{ uid }] = await bench.begin(2, 'a')
    const pod = bench.import('a')
    const looks = () => bench.client.callsOf('get', 'list').length
    const before = looks()
    await bench.drop('a')
    bench.admission.want(uid, undefined)
    await bench.clock.advance(10 * 60 * SECOND)
    expect([looks(), bench.holding]).toEqual([before, ['a']])
    bench.dropClaims()
    bench.dropPod(pod)
    await settled()
    expect([looks(), bench.holding]).toEqual([before + 3, []])
  })

  it('is kept by the importer of a download that was there before the leader, whose DataVolume and claims are deleted', async () => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    bench.inherited('a')
    const pod = bench.import('a')
    await bench.start()
    bench.want('b', '20')
    await bench.drop('a')
    bench.dropClaims()
    await bench.clock.advance(10 * 60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    bench.dropPod(pod)
    await bench.clock.advance(SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept by the importer of a DataVolume that is gone, though one that a late request created has succeeded', async () => {
    await bench.begin(1, 'a', 'b')
    const pod = bench.import('a')
    await bench.drop('a')
    bench.dropClaims()
    bench.inherited('a')
    await bench.succeed('a')
    await bench.clock.advance(10 * 60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    bench.dropPod(pod)
    await settled()
    expect(bench.holding).toEqual(['b'])
  })

  it('is freed when its DataVolume has succeeded, whatever the watch of pods says of its importer', async () => {
    await bench.begin(1, 'a', 'b')
    bench.import('a')
    await bench.succeed('a')
    expect(bench.holding).toEqual(['b'])
  })

  it('is freed when a live look finds neither DataVolume nor pod', async () => {
    await bench.begin(1, 'a', 'b')
    await bench.drop('a')
    await settled()
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept while a live look is not possible', async () => {
    await bench.begin(1, 'a')
    bench.client.before = ({ verb, kind }) => {
      if (verb === 'list' && kind === 'Pod') throw apiError('Unavailable')
    }
    await bench.drop('a')
    await bench.clock.advance(60 * SECOND)
    expect(bench.holding).toEqual(['a'])
    bench.client.before = undefined
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual([])
  })

  it('is kept when only the watch has lost the DataVolume', async () => {
    await bench.begin(2, 'a')
    const [object] = bench.client.all('DataVolume')
    if (object === undefined) throw new Error('none')
    bench.dataVolumes.remove(viewDataVolume(object))
    bench.admission.wake()
    await bench.clock.advance(30 * SECOND)
    expect(bench.holding).toEqual(['a'])
  })

  const expectHeldUntil = async (end: () => unknown) => {
    await bench.start()
    bench.want('b', '20')
    await bench.clock.advance(60 * SECOND)
    expect([bench.holding, bench.created]).toEqual([['a'], []])
    await end()
    await bench.clock.advance(SECOND)
    expect([bench.holding, bench.created]).toEqual([['b'], ['b']])
  }

  it('is kept by a download whose owner the garbage collector has taken off, until it is finished', async () => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    bench.orphaned('a')
    await expectHeldUntil(() => bench.succeed('a'))
  })

  it.each<[string, number, (percent: number) => string]>([
    ['without progress for stallTimeout', STALL_MS, () => '10.0%'],
    ['for longer than attemptTimeout', ATTEMPT_MS, (percent) => `${percent}.0%`],
  ])('is freed by such a download that is under way %s, and not before', async (_what, ms, progressAt) => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    const left = viewDataVolume(bench.orphaned('a'))
    await bench.start()
    bench.want('b', '20')
    const step = STALL_MS / 2
    for (let passed = 0; passed < ms; passed += step) {
      expect([bench.holding, bench.created]).toEqual([['a'], []])
      const metadata = { ...left.metadata, resourceVersion: String(1_000 + passed) }
      bench.dataVolumes.put({ ...left, metadata, progress: progressAt(10 + passed / step) })
      await bench.clock.advance(step)
    }
    await bench.clock.advance(SECOND)
    expect([bench.holding, bench.created]).toEqual([['b'], ['b']])
  })

  it('is kept by such a download when only a live look finds it, until it is gone', async () => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    bench.dataVolumes.remove(viewDataVolume(bench.orphaned('a')))
    await expectHeldUntil(() => bench.drop('a'))
  })

  it.each<[string, object]>([
    ['with the label of another image', { labels: { [LABELS.managedBy]: MANAGER, [LABELS.imageUid]: 'uid-c' } }],
    ['that is not said to be ours', { labels: { [LABELS.imageUid]: 'uid-a' } }],
    [
      'that somebody else owns by now',
      { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'theirs', uid: 'theirs', controller: true }] },
    ],
  ])('is not kept by a DataVolume %s', async (_what, metadata) => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    bench.client.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs', namespace: 'team', uid: 'theirs' },
    })
    bench.orphaned('a', metadata)
    await bench.start()
    bench.want('b', '20')
    await bench.clock.advance(60 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is freed 15 s after its DataVolume was deleted, if only a finalizer of somebody keeps that', async () => {
    await bench.begin(1, 'a', 'b')
    const left = await bench.deleting('a', ['tenant.example.com/keep'])
    await bench.clock.advance(14 * SECOND)
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(3 * SECOND)
    expect([bench.holding, bench.created]).toEqual([['b'], ['a', 'b']])
    // Nor does it count against the limit as a download without a slot.
    expect(bench.admission.isStray(viewDataVolume(left))).toBe(true)
    bench.limit = 2
    bench.want('c', '30')
    await settled()
    expect(bench.holding).toEqual(['b', 'c'])
  })

  it.each<[string, (pod: string) => unknown]>([
    ['its importer lives', () => undefined],
    ['its claim may be filled again', (pod) => bench.dropPod(pod)],
  ])(
    'is kept beside a DataVolume that was deleted and is kept by a finalizer, as long as %s',
    async (_what, before) => {
      await bench.begin(1, 'a', 'b')
      const pod = bench.import('a')
      await bench.deleting('a', ['tenant.example.com/keep'])
      before(pod)
      await bench.clock.advance(10 * 60 * SECOND)
      expect(bench.holding).toEqual(['a'])
      bench.dropPod(pod)
      bench.dropClaims()
      await bench.clock.advance(2 * SECOND)
      expect(bench.holding).toEqual(['b'])
    },
  )

  it('is freed though a finalizer of somebody keeps the claim too, once that is being deleted', async () => {
    await bench.begin(1, 'a', 'b')
    const pod = bench.import('a')
    await bench.deleting('a', ['tenant.example.com/keep'])
    for (const claim of bench.client.all('PersistentVolumeClaim')) {
      const metadata = {
        ...claim.metadata,
        deletionTimestamp: '2026-01-01T00:00:00Z',
        finalizers: ['tenant.example.com/keep'],
      }
      bench.volumeClaims.put(viewClaim(bench.client.put({ ...claim, metadata })))
    }
    bench.dropPod(pod)
    await bench.clock.advance(17 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is kept while the garbage collector waits for what belongs to its DataVolume, which it is told to stop after 2 minutes', async () => {
    await bench.begin(1, 'a', 'b')
    const { apiVersion, kind, metadata } = await bench.deleting('a', ['foregroundDeletion'])
    const { name, uid = '' } = metadata
    const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }]
    const claim = { name, namespace: 'team', ownerReferences, finalizers: ['tenant.example.com/keep'] }
    bench.client.put({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: claim })
    await bench.clock.advance(119 * SECOND)
    expect([bench.holding, bench.client.callsOf('delete')]).toEqual([['a'], []])
    await bench.clock.advance(2 * SECOND)
    const [asked] = bench.client.calls.filter(({ verb }) => verb === 'delete')
    expect(asked?.options).toMatchObject({ propagationPolicy: 'Background', uid: expect.any(String) })
  })
})
