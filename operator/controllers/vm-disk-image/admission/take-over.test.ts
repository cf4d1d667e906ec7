import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { childName, MANAGER } from '@open-terrain/constructs/operator'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { failing } from '../../../../test/prepared/kube/scripted-client.ts'
import { SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aHolder, aStart, bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'
import { isLedgerWrite } from '../../../../test/prepared/vm-disk-image/admission-calls.ts'
import { viewDataVolume } from '../../../cluster/views.ts'
import type { KubeObject, ObjectMeta } from '../../../kube/kube-object.ts'

afterEach(renewBench)

describe('a ledger that somebody else wrote', () => {
  it('is read again after a conflict, and the claim is made again', async () => {
    await bench.start()
    bench.client.before = failing(2, apiError('Conflict'), isLedgerWrite)
    bench.want('a', '10')
    await settled()
    expect(bench.created).toEqual(['a'])
    expect(bench.holding).toEqual(['a'])
  })

  it('shows a foreign claim: its slot counts, is made ours, and is not freed before its request has settled', async () => {
    bench.limit = 1
    await bench.start()
    bench.writeLedger(1, [aHolder('x', { claimant: 'other' })])
    bench.want('a', '10')
    await settled()
    expect(bench.created).toEqual([])
    expect(bench.ledger.holders).toMatchObject([{ name: 'x', claimant: 'me' }])
    await bench.clock.advance(14 * SECOND)
    expect(bench.holding).toEqual(['x'])
    await bench.clock.advance(2 * SECOND)
    expect(bench.holding).toEqual(['a'])
    expect(bench.created).toEqual(['a'])
  })

  it('again and again, as another leader does that takes each slot back, is written ever more rarely', async () => {
    await bench.begin(1, 'a')
    const adoptions = async (rounds: number) => {
      const before = bench.client.callsOf('replace').length
      for (let round = 0; round < rounds; round += 1) {
        if (bench.ledger.holders.every(({ claimant }) => claimant === 'me')) bench.writeLedger(1, [aHolder('a')])
        bench.admission.checkLedger(bench.ledgerObject)
        await bench.clock.advance(10)
      }
      return bench.client.callsOf('replace').length - before
    }
    expect(await adoptions(100)).toBeLessThan(50)
    expect(await adoptions(1_000)).toBeLessThan(30)
    await bench.clock.advance(SECOND)
    expect(bench.ledger.holders).toMatchObject([{ name: 'a', claimant: 'me' }])
  })

  it('that cannot be read is made again, and admits nobody until what may be on its way has settled', async () => {
    bench.writeLedger(2, [])
    const broken = bench.client.peek<KubeObject>('ConfigMap', 'sync-operator/sync-operator-slots')
    bench.client.put({ ...broken, data: { limit: 'two', holders: '[]' } } as unknown as KubeObject)
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(14_999)
    expect(bench.ledgerData).toEqual({ limit: '2', holders: '[]', settling: 'true' })
    expect(bench.created).toEqual([])
    await bench.clock.advance(2 * SECOND)
    expect(bench.created).toEqual(['a'])
  })

  it('that was made again admits nobody under the next leader either, until that one has waited, and then as any other', async () => {
    bench.limit = 1
    bench.writeLedger(1, [], { settling: 'true' })
    await bench.start()
    bench.want('a', '10')
    bench.want('b', '11')
    await bench.clock.advance(14_999)
    expect(bench.created).toEqual([])
    await bench.clock.advance(2)
    expect([bench.created, bench.ledgerData]).toEqual([['a'], expect.not.objectContaining({ settling: 'true' })])
    await bench.succeed('a')
    expect(bench.created).toEqual(['a', 'b'])
  })

  it('that was made again is waited for to the end, also where somebody removes what says so', async () => {
    bench.writeLedger(1, [], { settling: 'true' })
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(5 * SECOND)
    bench.writeLedger(1, [])
    bench.admission.checkLedger(undefined)
    await bench.clock.advance(9 * SECOND)
    expect(bench.created).toEqual([])
    await bench.clock.advance(2 * SECOND)
    expect(bench.created).toEqual(['a'])
  })
})

describe('a download that the ledger, as last read, has no slot for', () => {
  it('is no stray when another leader has claimed it meanwhile, and the watch of the ledger is late', async () => {
    await bench.start()
    bench.writeLedger(2, [aHolder('x', { claimant: 'other' })])
    const dataVolume = viewDataVolume(bench.inherited('x'))
    expect(bench.admission.isStray(dataVolume)).toBe(false)
    bench.admission.wake()
    await settled()
    expect(bench.admission.isStray(dataVolume)).toBe(false)
    expect(bench.admission.slotOf('uid-x')).toMatchObject({ name: 'x' })
    expect(bench.admission.countStrays()).toBe(0)
  })

  it('is a stray once a new look at the ledger has no slot for it either, and its image is told', async () => {
    await bench.start()
    const dataVolume = viewDataVolume(bench.inherited('x'))
    expect(bench.admission.isStray(dataVolume)).toBe(false)
    const reads = bench.client.callsOf('get').length
    for (let turn = 0; turn < 3; turn += 1) {
      bench.admission.wake()
      await settled()
    }
    expect(bench.admission.isStray(dataVolume)).toBe(true)
    expect(bench.changed).toContain('team/x')
    expect(bench.client.callsOf('get')).toHaveLength(reads + 1)
  })

  it('is counted where we have made it, and not where somebody else has', async () => {
    await bench.start()
    bench.inherited('theirs')
    const { metadata } = bench.inherited('ours')
    expect(bench.admission.countStrays()).toBe(0)
    bench.downloading('ours', metadata.uid)
    expect(bench.admission.countStrays()).toBe(1)
  })
})

describe('a take-over', () => {
  it('makes all holders its own before anything else', async () => {
    bench.writeLedger(2, [aHolder('x'), aHolder('y')])
    await bench.start()
    expect(bench.ledger.holders.map(({ claimant }) => claimant)).toEqual(['me', 'me'])
    expect(bench.changed).toEqual(['team/x', 'team/y'])
  })

  it.each(['old', 'me'])(
    'frees no slot for 15 s, whoever claimed it (%s): a create may be on its way',
    async (claimant) => {
      bench.writeLedger(2, [aHolder('x', { claimant })])
      await bench.start()
      await bench.clock.advance(14_999)
      expect(bench.holding).toEqual(['x'])
      await bench.clock.advance(2 * SECOND)
      expect(bench.holding).toEqual([])
    },
  )

  it('frees at once what Succeeded', async () => {
    bench.writeLedger(2, [aHolder('x')])
    bench.inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    await bench.start()
    await settled()
    expect(bench.holding).toEqual([])
  })

  it('does not take the success of an earlier attempt for that of the claim', async () => {
    bench.writeLedger(2, [aHolder('x', { attempt: 2 })])
    bench.inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    await bench.start()
    await bench.clock.advance(14_999)
    expect(bench.holding).toEqual(['x'])
  })

  it('frees a claim that stands beside the finished download of another attempt, once no request is on its way', async () => {
    // Anybody who may write in the namespace can change the number in the annotation of the DataVolume.
    bench.writeLedger(2, [aHolder('x', { attempt: 2 })])
    bench.inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    await bench.start()
    await bench.clock.advance(16 * SECOND)
    expect(bench.holding).toEqual([])
  })

  it('creates the DataVolume of a claim that has none', async () => {
    const { start, image } = aStart('x', '5')
    bench.writeLedger(2, [aHolder('x')])
    bench.images.put(image)
    await bench.start()
    bench.admission.want(start.uid, start)
    await settled()
    expect(bench.created).toEqual(['x'])
    expect(bench.holding).toEqual(['x'])
  })

  it('keeps more holders than a lowered limit allows, and admits none until below', async () => {
    bench.writeLedger(3, [aHolder('x'), aHolder('y'), aHolder('z')])
    for (const name of ['x', 'y', 'z']) bench.inherited(name)
    await bench.begin(1, 'a')
    expect(bench.ledger).toMatchObject({ limit: 1, holders: [{ name: 'x' }, { name: 'y' }, { name: 'z' }] })
    for (const name of ['x', 'y']) await bench.succeed(name)
    expect(bench.created).toEqual([])
    await bench.succeed('z')
    expect(bench.created).toEqual(['a'])
  })

  it('keeps the limit of the ledger where the policy says none', async () => {
    bench.writeLedger(1, [])
    await bench.begin(undefined, 'a', 'b')
    expect(bench.ledger.limit).toBe(1)
    expect(bench.created).toEqual(['a'])
  })

  it('tries until the ledger answers', async () => {
    bench.writeLedger(2, [])
    bench.client.before = failing(5, apiError('Unavailable'), ({ verb }) => verb === 'get')
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(60 * SECOND)
    expect(bench.created).toEqual(['a'])
  })
})

describe('a ledger that is missing', () => {
  it('is made, and admission begins at once where no image ever had a ticket', async () => {
    await bench.begin(2, 'a')
    expect(bench.created).toEqual(['a'])
  })

  it('is rebuilt from what downloads, and nobody is admitted for 15 s', async () => {
    bench.inherited('x')
    bench.images.put(aStart('x', '5').image)
    await bench.start()
    expect(bench.ledger.holders).toMatchObject([{ name: 'x', claimant: 'me', attempt: 1 }])
    bench.want('a', '10')
    await bench.clock.advance(14_999)
    expect(bench.created).toEqual([])
    await bench.clock.advance(2)
    expect(bench.created).toEqual(['a'])
    expect(bench.holding).toEqual(['x', 'a'])
  })

  it('is quiet for 15 s also where images had tickets and nothing downloads', async () => {
    bench.images.put(aStart('x', '5').image)
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(14_999)
    expect(bench.created).toEqual([])
    await bench.clock.advance(2)
    expect(bench.created).toEqual(['a'])
  })

  it('is rebuilt with a download whose owner the garbage collector has taken off', async () => {
    bench.limit = 1
    const { metadata } = bench.orphaned('a', { annotations: { [ANNOTATIONS.imageNameFull]: 'a' } })
    bench.downloading('a', metadata.uid)
    await bench.start()
    bench.want('b', '20')
    await bench.clock.advance(60 * SECOND)
    expect(bench.ledger.holders).toMatchObject([{ uid: 'uid-a', namespace: 'team', name: 'a' }])
    expect(bench.created).toEqual([])
  })

  it.each<[string, string | undefined]>([
    ['no status tells of', undefined],
    ['is another one than that of the status', 'another'],
  ])('is not rebuilt with a DataVolume that only its labels call ours, and that %s', async (_what, uid) => {
    bench.orphaned('a', { annotations: { [ANNOTATIONS.imageNameFull]: 'a' } })
    bench.downloading('a', uid)
    await bench.start()
    expect(bench.ledger.holders).toEqual([])
  })

  it('is rebuilt with an image whose status says that it downloads, until a live look finds nothing', async () => {
    const { image } = aStart('a', '1')
    bench.images.put({ ...image, status: { ...image.status, phase: 'Syncing' } })
    bench.forgedPod('b')
    await bench.start()
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(16 * SECOND)
    expect(bench.holding).toEqual([])
  })

  it('does not take finished or foreign DataVolumes for holders', async () => {
    bench.inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    const labels = { [LABELS.managedBy]: MANAGER, [LABELS.revision]: '01234567' }
    const metadata = { name: childName('z', '01234567'), namespace: 'team', labels }
    bench.client.put({ apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata })
    await bench.start()
    expect(bench.ledger.holders).toEqual([])
  })

  it.each<[string, Partial<ObjectMeta>]>([
    ['an attempt that is no number', { annotations: { [ANNOTATIONS.attempt]: 'x' } }],
    ['a huge attempt', { annotations: { [ANNOTATIONS.attempt]: '9007199254740993' } }],
    ['half an attempt', { annotations: { [ANNOTATIONS.attempt]: '1.5' } }],
    ['a revision that is none', { name: childName('x', 'zzzzzzzz') }],
  ])('is rebuilt though somebody made a DataVolume with %s', async (_what, metadata) => {
    bench.inherited('x', metadata)
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(16 * SECOND)
    expect(bench.created).toEqual(['a'])
  })

  it('is rebuilt with no more holders than it may have, first of all those whose status says that they download', async () => {
    const { image } = aStart('i', '1')
    for (let at = 0; at < 4_010; at += 1) {
      const name = `i${at}`
      const uid = `uid-${name}`
      const status = at < 4_000 ? image.status : { ...image.status, phase: 'Syncing' as const }
      bench.images.put({ ...image, metadata: { ...image.metadata, name, uid }, status })
      const owner = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name, uid, controller: true }
      const metadata = { name: childName(name, '01234567'), namespace: 'team', ownerReferences: [owner] }
      bench.client.put({ apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata })
    }
    await bench.start()
    expect(bench.admission.state?.holders).toHaveLength(4_000)
    expect(bench.holding).toEqual(expect.arrayContaining(['i4000', 'i4009']))
  })

  it('that was deleted while we run is rebuilt, and the limit holds', async () => {
    await bench.begin(2, 'a', 'b', 'c')
    bench.dropLedger()
    await bench.succeed('a')
    await bench.clock.advance(10 * SECOND)
    expect(bench.holding).toEqual(['b'])
    expect(bench.created).toEqual(['a', 'b'])
    await bench.clock.advance(10 * SECOND)
    expect(bench.created).toEqual(['a', 'b', 'c'])
  })
})
