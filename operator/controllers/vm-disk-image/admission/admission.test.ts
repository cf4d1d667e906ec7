import { ANNOTATIONS, childName, LABELS, MANAGER } from '@open-terrain/constructs'
import { afterEach, describe, expect, it } from 'vitest'
import { viewClaim, viewDataVolume, viewPod } from '../../../cluster/views.ts'
import { apiError } from '../../../kube/api-error.fixtures.ts'
import { settled } from '../../../kube/fake-clock.fixtures.ts'
import type { RequestOptions } from '../../../kube/kube-client.ts'
import type { KubeObject, ObjectMeta } from '../../../kube/kube-object.ts'
import { SECOND } from '../../../runtime/times.fixtures.ts'
import { AdmissionBench, ATTEMPT_MS, AWAY, aHolder, aStart, STALL_MS } from './admission.fixtures.ts'

let bench = new AdmissionBench()
afterEach(async () => {
  await bench.stop()
  bench = new AdmissionBench()
})

const OWNER = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'x', uid: 'uid-x', controller: true }
const isCreate = ({ verb, kind }: { verb: string; kind: string }) => verb === 'create' && kind === 'DataVolume'
const isLedgerWrite = ({ verb, kind }: { verb: string; kind: string }) => verb === 'replace' && kind === 'ConfigMap'

const RUNNING = { phase: 'ImportInProgress', progress: '5%' }

/** A DataVolume as another leader made it, known to the API server and to the watch. */
function inherited(name: string, metadata: Partial<ObjectMeta> = {}, status: object = RUNNING): KubeObject {
  const { start, image } = aStart(name, '1')
  bench.images.put(image)
  bench.client.put(image)
  const object = bench.client.put({
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: {
      name: start.target.volumeName,
      namespace: 'team',
      labels: { [LABELS.managedBy]: MANAGER, [LABELS.revision]: start.revision, [LABELS.imageUid]: start.uid },
      ownerReferences: [
        { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name, uid: start.uid, controller: true },
      ],
      ...metadata,
    },
    status,
  } as KubeObject)
  bench.dataVolumes.put(viewDataVolume(object))
  return object
}

/** The status of an image tells of a download. */
function downloading(name: string, dataVolumeUID: string | undefined, attempts: readonly object[] = []): void {
  const { image } = aStart(name, '1')
  const status = {
    ...image.status,
    attempts,
    ...(dataVolumeUID !== undefined && { dataVolumeUID }),
  } as typeof image.status
  bench.images.put({ ...image, metadata: { ...image.metadata, resourceVersion: '900' }, status })
}

/** The garbage collector has taken its owner off. */
function orphaned(name: string, more: object = {}): KubeObject {
  const { metadata, ...object } = inherited(name)
  const { ownerReferences: _owner, ...rest } = metadata
  const left = bench.client.put({ ...object, metadata: { ...rest, ...more } } as KubeObject)
  bench.dataVolumes.put(viewDataVolume(left))
  return left
}

/** A pod that somebody made: it says with all labels that it is an importer of the image. */
function forgedPod(name: string, metadata: Partial<ObjectMeta> = {}): void {
  const labels = { [LABELS.imageUid]: `uid-${name}`, [LABELS.imageName]: name, [LABELS.managedBy]: MANAGER }
  const object = { name: `importer-${name}`, namespace: 'team', labels, finalizers: AWAY, ...metadata }
  bench.pods.put(viewPod(bench.client.put({ apiVersion: 'v1', kind: 'Pod', metadata: object })))
  bench.admission.downloadsChanged()
}

const filling = (claim: string, uid = `uid of ${claim}`) => [
  { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: claim, uid, controller: true },
]

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
    const { start, image } = aStart('a', '10')
    bench.images.put(image)
    bench.admission.want(start.uid, { ...start, admissible: false })
    bench.want('b', '20')
    await settled()
    expect(bench.created).toEqual([])
    bench.admission.setStuck(start.uid)
    await settled()
    expect(bench.created).toEqual(['b'])
    // It is tried again, and is not written yet.
    bench.admission.want(start.uid, { ...start, admissible: false })
    bench.want('c', '30')
    await settled()
    expect(bench.created).toEqual(['b', 'c'])
    bench.limit = 3
    bench.admission.want(start.uid, start)
    await settled()
    expect(bench.created).toEqual(['b', 'c', 'a'])
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

describe('a ledger that somebody else wrote', () => {
  it('is read again after a conflict, and the claim is made anew', async () => {
    await bench.start()
    let conflicts = 2
    bench.client.before = (call) => {
      if (isLedgerWrite(call) && conflicts-- > 0) throw apiError('Conflict')
    }
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

  it('that cannot be read is made anew, and admits nobody until what may be on its way has settled', async () => {
    bench.writeLedger(2, [])
    const broken = bench.client.peek<KubeObject>('ConfigMap', 'sync-operator/sync-operator-slots')
    bench.client.put({ ...broken, data: { limit: 'two', holders: '[]' } } as unknown as KubeObject)
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(14_999)
    expect(bench.ledger).toEqual({ limit: 2, holders: [] })
    expect(bench.created).toEqual([])
    await bench.clock.advance(2 * SECOND)
    expect(bench.created).toEqual(['a'])
  })

  it('whose answer was lost is read again, and the claim in it is used', async () => {
    await bench.start()
    let lost = 1
    bench.client.after = (call) => {
      if (isLedgerWrite(call) && lost-- > 0) throw apiError('NoAnswer')
    }
    bench.want('a', '10')
    await bench.clock.advance(10 * SECOND)
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(30 * SECOND)
    expect(bench.created).toEqual(['a'])
  })
})

describe('a download that the ledger, as last read, has no slot for', () => {
  it('is no stray when another leader has claimed it meanwhile, and the watch of the ledger is late', async () => {
    await bench.start()
    bench.writeLedger(2, [aHolder('x', { claimant: 'other' })])
    const dataVolume = viewDataVolume(inherited('x'))
    expect(bench.admission.isStray(dataVolume)).toBe(false)
    bench.admission.wake()
    await settled()
    expect(bench.admission.isStray(dataVolume)).toBe(false)
    expect(bench.admission.slotOf('uid-x')).toMatchObject({ name: 'x' })
    expect(bench.admission.countStrays()).toBe(0)
  })

  it('is a stray once a new look at the ledger has no slot for it either, and its image is told', async () => {
    await bench.start()
    const dataVolume = viewDataVolume(inherited('x'))
    expect(bench.admission.isStray(dataVolume)).toBe(false)
    const reads = bench.client.said('get').length
    for (let turn = 0; turn < 3; turn += 1) {
      bench.admission.wake()
      await settled()
    }
    expect(bench.admission.isStray(dataVolume)).toBe(true)
    expect(bench.changed).toContain('team/x')
    expect(bench.client.said('get')).toHaveLength(reads + 1)
  })

  it('is counted where we have made it, and not where somebody else has', async () => {
    await bench.start()
    inherited('theirs')
    const { metadata } = inherited('ours')
    expect(bench.admission.countStrays()).toBe(0)
    downloading('ours', metadata.uid)
    expect(bench.admission.countStrays()).toBe(1)
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
    let failures = 3
    bench.client.before = (call) => {
      if (isCreate(call) && failures-- > 0) throw apiError(reason, more)
    }
    bench.want('a', '10')
    await settled()
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(12 * SECOND)
    expect(bench.created).toEqual(['a', 'a', 'a', 'a'])
    expect(bench.holding).toEqual(['a'])
    expect(bench.client.all('DataVolume')).toHaveLength(1)
  })

  it('whose answer was lost is found to have happened', async () => {
    await bench.start()
    let lost = 1
    bench.client.after = (call) => {
      if (isCreate(call) && lost-- > 0) throw apiError('NoAnswer')
    }
    bench.want('a', '10')
    await bench.clock.advance(5 * SECOND)
    expect(bench.holding).toEqual(['a'])
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
    forgedPod('a', metadata)
    await bench.drop('a')
    await bench.clock.advance(SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it.each<[string, (volume: string) => string]>([
    ['a prime claim that is gone', () => 'prime-x'],
    ['its own claim that is gone', (volume) => volume],
  ])('is kept for 2 minutes at most by pods that say they fill %s', async (_what, claimOf) => {
    const [{ target }] = await bench.begin(1, 'a', 'b')
    forgedPod('a', { ownerReferences: filling(claimOf(target.volumeName)) })
    await bench.drop('a')
    for (const at of [1, 2, 3, 4]) {
      // A new one each time does not make it longer.
      forgedPod('a', { name: `another-${at}`, ownerReferences: filling(claimOf(target.volumeName)) })
      await bench.clock.advance(29 * SECOND)
      expect(bench.holding).toEqual(['a'])
    }
    await bench.clock.advance(8 * SECOND)
    expect(bench.holding).toEqual(['b'])
  })

  it('is not looked at while the cache knows a living importer, and looked at once when that is gone', async () => {
    const [{ uid }] = await bench.begin(2, 'a')
    const pod = bench.import('a')
    const looks = () => bench.client.said('get', 'list').length
    const before = looks()
    await bench.drop('a')
    bench.admission.want(uid, undefined)
    await bench.clock.advance(10 * 60 * SECOND)
    expect([looks(), bench.holding]).toEqual([before, ['a']])
    bench.dropPod(pod)
    await settled()
    expect([looks(), bench.holding]).toEqual([before + 2, []])
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

  it('is kept by a download whose owner the garbage collector has taken off, until it is finished', async () => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    orphaned('a')
    await bench.start()
    bench.want('b', '20')
    await bench.clock.advance(60 * SECOND)
    expect([bench.holding, bench.created]).toEqual([['a'], []])
    await bench.succeed('a')
    await bench.clock.advance(SECOND)
    expect([bench.holding, bench.created]).toEqual([['b'], ['b']])
  })

  it.each<[string, number, (percent: number) => string]>([
    ['without progress for stallTimeout', STALL_MS, () => '10.0%'],
    ['for longer than attemptTimeout', ATTEMPT_MS, (percent) => `${percent}.0%`],
  ])('is freed by such a download that is under way %s, and not before', async (_what, ms, progressAt) => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    const left = viewDataVolume(orphaned('a'))
    await bench.start()
    bench.want('b', '20')
    const step = STALL_MS / 2
    for (let passed = 0; passed < ms; passed += step) {
      expect([bench.holding, bench.created]).toEqual([['a'], []])
      const metadata = { ...left.metadata, resourceVersion: String(1_000 + passed) }
      bench.dataVolumes.put({ ...left, metadata, progress: progressAt(10 + passed / step) })
      bench.admission.downloadsChanged()
      await bench.clock.advance(step)
    }
    await bench.clock.advance(SECOND)
    expect([bench.holding, bench.created]).toEqual([['b'], ['b']])
  })

  it('is kept by such a download when only a live look finds it, until it is gone', async () => {
    bench.limit = 1
    bench.writeLedger(1, [aHolder('a')])
    bench.dataVolumes.remove(viewDataVolume(orphaned('a')))
    await bench.start()
    bench.want('b', '20')
    await bench.clock.advance(60 * SECOND)
    expect([bench.holding, bench.created]).toEqual([['a'], []])
    await bench.drop('a')
    await bench.clock.advance(SECOND)
    expect([bench.holding, bench.created]).toEqual([['b'], ['b']])
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
    orphaned('a', metadata)
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
    // It is no download without a slot either.
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
    expect([bench.holding, bench.client.said('delete')]).toEqual([['a'], []])
    await bench.clock.advance(2 * SECOND)
    const [asked] = bench.client.calls.filter(({ verb }) => verb === 'delete')
    expect(asked?.options).toMatchObject({ propagationPolicy: 'Background', uid: expect.any(String) })
  })

  it('is counted for a download without one only until nothing can download for it any more', async () => {
    bench.writeLedger(1, [])
    bench.limit = 1
    const left = inherited('x', { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['tenant.example.com/keep'] })
    bench.want('a', '10')
    downloading('x', left.metadata.uid)
    await bench.start()
    await bench.clock.advance(14 * SECOND)
    expect(bench.created).toEqual([])
    await bench.clock.advance(3 * SECOND)
    expect(bench.created).toEqual(['a'])
  })

  it('is not taken by labels alone', async () => {
    bench.limit = 1
    bench.writeLedger(1, [])
    orphaned('a')
    await bench.start()
    bench.want('b', '20')
    await settled()
    expect(bench.created).toEqual(['b'])
  })

  it('is counted for each DataVolume of ours that has no holder', async () => {
    bench.writeLedger(2, [])
    const [x, y] = [inherited('x'), inherited('y')]
    bench.want('a', '10')
    downloading('x', x.metadata.uid)
    downloading('y', y.metadata.uid)
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
    const forged = inherited('x')
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
    const { metadata } = inherited('x')
    bench.want('a', '10')
    downloading('x', metadata.uid, [{ outcome, dataVolumeUID: metadata.uid }])
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
    const forged = inherited('x', metadata)
    await bench.start()
    bench.want('a', '10')
    await bench.clock.advance(60 * SECOND)
    expect(bench.created).toEqual(['a'])
    expect(bench.admission.isStray(viewDataVolume(forged))).toBe(false)
  })

  it('is not counted for one that is finished', async () => {
    bench.writeLedger(1, [])
    inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    await bench.begin(1, 'a')
    expect(bench.created).toEqual(['a'])
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
    inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    await bench.start()
    await settled()
    expect(bench.holding).toEqual([])
  })

  it('does not take the success of an earlier attempt for that of the claim', async () => {
    bench.writeLedger(2, [aHolder('x', { attempt: 2 })])
    inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    await bench.start()
    await bench.clock.advance(14_999)
    expect(bench.holding).toEqual(['x'])
  })

  it('frees a claim that stands beside the finished download of another attempt, once no request is on its way', async () => {
    // As when a lost ledger was rebuilt from an importer pod, which does not tell its attempt.
    bench.writeLedger(2, [aHolder('x', { attempt: 2 })])
    inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
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
    for (const name of ['x', 'y', 'z']) inherited(name)
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
    let failures = 5
    bench.client.before = ({ verb }) => {
      if (verb === 'get' && failures-- > 0) throw apiError('Unavailable')
    }
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
    inherited('x')
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
    const { metadata } = orphaned('a', { annotations: { [ANNOTATIONS.imageNameFull]: 'a' } })
    downloading('a', metadata.uid)
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
    orphaned('a', { annotations: { [ANNOTATIONS.imageNameFull]: 'a' } })
    downloading('a', uid)
    await bench.start()
    expect(bench.ledger.holders).toEqual([])
  })

  it('is rebuilt with an image whose status says that it downloads, until a live look finds nothing', async () => {
    const { image } = aStart('a', '1')
    bench.images.put({ ...image, status: { ...image.status, phase: 'Syncing' } })
    forgedPod('b')
    await bench.start()
    expect(bench.holding).toEqual(['a'])
    await bench.clock.advance(16 * SECOND)
    expect(bench.holding).toEqual([])
  })

  it('does not take finished or foreign DataVolumes for holders', async () => {
    inherited('x', {}, { phase: 'Succeeded', progress: '100.0%' })
    const labels = { [LABELS.managedBy]: MANAGER, [LABELS.revision]: '01234567' }
    const metadata = { name: childName('z', '01234567'), namespace: 'team', labels }
    bench.client.put({ apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata })
    await bench.start()
    expect(bench.ledger.holders).toEqual([])
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
