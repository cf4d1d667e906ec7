import type { DataSyncStatus, VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import {
  aDataSyncWorld,
  dataSyncOf,
  Images,
  NAMESPACE,
  NOW,
  SPEC,
} from '../../../../test/prepared/data-sync/data-sync-world.ts'
import type { DataSyncView } from '../world.ts'
import { type DataSyncPlan, planDataSync } from './plan.ts'

const REACHED = 'pelotech.ot/requests-reached'
const SYNC = 'pelotech.ot/sync-requested-at'
const RETRY = 'pelotech.ot/retry-requested-at'

const plan = (...args: Parameters<typeof aDataSyncWorld>) => planDataSync(aDataSyncWorld(...args), NOW)
const names = ({ apply }: DataSyncPlan) => apply.map(({ metadata }) => metadata.name)
const writes = ({ apply, touch = [], remove }: DataSyncPlan) => [...apply, ...touch, ...remove]
const conditions = ({ conditions: all = [] }: DataSyncStatus) =>
  all.filter(({ status }) => status === 'True').map(({ type }) => type)

/** Returns both images as the DataSync wants them. */
function created(dataSync: DataSyncView, ...statuses: VMDiskImageStatus[]): Images {
  const images = new Images()
  for (const [at, image] of plan(dataSync).apply.entries()) {
    images.put(image)
    const status = statuses[at]
    if (status !== undefined) images.tell(image.metadata.name, status)
  }
  return images
}

const withUrl = (url: string) => ({ ...SPEC, vms: [{ ...SPEC.vms[0], url }, SPEC.vms[1]] })
const NEW_URL = 'https://images.example/attacker-2.qcow2'
const lab = dataSyncOf()
const changed = dataSyncOf(withUrl(NEW_URL), { generation: 2 })
const ready: VMDiskImageStatus = { phase: 'Succeeded', reason: 'Synced' }

describe('planDataSync', () => {
  it('creates an image for each vm, without an owner', () => {
    const { apply, status, events, remove } = plan(lab)
    expect(apply).toEqual([
      {
        apiVersion: 'pelotech.ot/v1alpha1',
        kind: 'VMDiskImage',
        metadata: {
          name: '035-attacker',
          namespace: NAMESPACE,
          labels: { 'pelotech.ot/created-by': 'DataSync' },
          annotations: {
            'pelotech.ot/creator': 'DataSync/farm/lab/uid-lab generation 1',
            'pelotech.ot/workspace-id': '035',
            'pelotech.ot/workspace-vm': 'attacker',
          },
        },
        spec: { name: 'attacker', url: SPEC.vms[0]?.url, sourceType: 'http' },
      },
      expect.objectContaining({
        metadata: expect.objectContaining({ name: '035-router' }),
        spec: { name: 'router', url: SPEC.vms[1]?.url, sourceType: 'http', diskSize: '5Gi' },
      }),
    ])
    expect(remove).toEqual([])
    expect(status).toMatchObject({ phase: 'Queued', ready: '0/2', progress: '0.0%', observedGeneration: 1 })
    const message = '0/2 images are ready; Queued: attacker (ImageMissing), router (ImageMissing)'
    expect(events).toEqual([{ type: 'Normal', reason: 'Queued', message }])
  })

  it('names images of another version apart', () => {
    expect(names(plan(dataSyncOf({ ...SPEC, version: '1.0.0' })))).toEqual(['035-1.0.0-attacker', '035-1.0.0-router'])
  })

  it('writes nothing where everything is as it should be, also to its own status', () => {
    const images = created(lab, ready, { phase: 'Syncing', progress: '50.0%', reason: 'Syncing' })
    const first = plan(lab, images)
    expect(writes(first)).toEqual([])
    const again = planDataSync(aDataSyncWorld({ ...lab, status: first.status }, images), NOW + 60_000)
    expect(again).toEqual({ ...first, events: [] })
  })

  it('counts neither another spelling of a size, nor what is for people', () => {
    const images = created(lab, ready, ready)
    const image = images.stored.get('035-router')
    const spec = { ...(image?.spec as object), diskSize: '5120Mi', suspend: true, reclaimPolicy: 'Retain' }
    images.update({ ...image, spec } as Parameters<Images['update']>[0])
    expect(writes(plan(lab, images))).toEqual([])
  })

  it('has an image follow its vm, and leaves on it what is for people', () => {
    const images = created(lab, ready, ready)
    const image = images.stored.get('035-attacker')
    images.update({ ...image, spec: { ...(image?.spec as object), suspend: true, diskSize: '1Gi' } } as never)
    const { apply, status, events } = plan(changed, images)
    const { uid, resourceVersion } = images.stored.get('035-attacker')?.metadata ?? {}
    expect(apply).toMatchObject([
      {
        metadata: { namespace: NAMESPACE, name: '035-attacker', uid, resourceVersion },
        spec: { name: 'attacker', url: NEW_URL, sourceType: 'http', suspend: true },
      },
    ])
    expect(apply[0]).not.toHaveProperty('spec.diskSize')
    expect(status.images?.[0]).toMatchObject({ phase: 'Queued', reason: 'ImageChanged' })
    expect(conditions(status)).toEqual(['Reconciling'])
    const message = '1/2 images are ready; Queued: attacker (ImageChanged)'
    expect(events).toEqual([{ type: 'Normal', reason: 'Queued', message }])
  })

  it('drops a vm by not speaking of its image any more', () => {
    const images = created(lab, ready, ready)
    const { status, ...rest } = plan(dataSyncOf({ ...SPEC, vms: [SPEC.vms[0]] }), images)
    expect(writes({ status, ...rest })).toEqual([])
    expect(status).toMatchObject({ phase: 'Succeeded', ready: '1/1' })
  })

  it('does nothing any more where it is deleted', () => {
    const status: DataSyncStatus = { phase: 'Queued', message: 'as it was' }
    const going = dataSyncOf(withUrl(NEW_URL), { deletionTimestamp: '2026-01-31T12:00:00Z' }, status)
    expect(plan(going)).toEqual({ status, finalizer: 'keep', apply: [], remove: [], touch: [], events: [] })
  })

  it('waits for an image that goes, and creates it again', () => {
    const images = created(lab, ready, ready)
    images.change('035-attacker', { deletionTimestamp: '2026-01-31T12:00:00Z' })
    const { status, ...rest } = plan(changed, images)
    expect(writes({ status, ...rest })).toEqual([])
    expect(status.images?.[0]).toMatchObject({ phase: 'Queued', reason: 'ImageTerminating' })
    images.stored.delete('035-attacker')
    expect(names(plan(changed, images))).toEqual(['035-attacker'])
  })

  it('does not take the failure of before for the answer to a retry', () => {
    const images = created(lab, ready, { phase: 'Failed', reason: 'NotFound', message: 'no such file' })
    const asking = dataSyncOf(SPEC, { annotations: { [RETRY]: 'now' } })
    const [touch] = plan(asking, images).touch ?? []
    const { metadata } = images.stored.get('035-router') ?? {}
    for (const name of ['035-attacker', '035-router'])
      images.annotate(name, images.stored.get(name)?.metadata ?? {}, touch?.annotations ?? {})
    images.tell('035-attacker', ready)
    expect(metadata?.annotations).not.toHaveProperty(RETRY)
    expect(plan(asking, images).status).toMatchObject({ phase: 'Queued', images: [{}, { reason: 'ImageChanged' }] })
    images.tell('035-router', { phase: 'Failed', reason: 'NotFound', message: 'no such file' })
    expect(plan(asking, images).status).toMatchObject({ phase: 'Failed', reason: 'ImageFailed' })
  })

  it('does not wait for an image whose deletion waits for it, and says what to do', () => {
    const images = created(lab, ready, ready)
    images.change('035-attacker', { deletionTimestamp: '2026-01-31T12:00:00Z' })
    const blocked = { type: 'DeletionBlocked', status: 'True', reason: 'InUse', message: '' } as const
    images.tell('035-attacker', { ...ready, conditions: [blocked] })
    const { status, ...rest } = plan(lab, images)
    expect(writes({ status, ...rest })).toEqual([])
    expect(conditions(status)).toEqual(['Stalled', 'Settled'])
    expect(status.images?.[0]).toMatchObject({ phase: 'Failed', reason: 'ImageTerminating' })
    expect(status.message).toContain('remove the vm from every DataSync that has it')
  })

  it('creates nothing in a namespace that goes', () => {
    const { status, events, ...rest } = plan(lab, new Images(), [lab], { namespaceTerminating: true })
    expect(writes({ status, events, ...rest })).toEqual([])
    expect(status).toMatchObject({ phase: 'Queued', reason: 'NamespaceTerminating' })
    expect(events).toMatchObject([{ type: 'Warning', reason: 'NamespaceTerminating' }])
  })

  it('says of a spec that cannot be read which field is wrong', () => {
    const { status, ...rest } = plan(dataSyncOf({ ...SPEC, workspaceId: 35 }))
    expect(writes({ status, ...rest })).toEqual([])
    expect(status).toMatchObject({ phase: 'Failed', reason: 'InvalidSpec' })
    expect(status.message).toMatch(/^spec\.workspaceId: must be a text: put quotes around a number/)
    expect(conditions(status)).toEqual(['Stalled', 'Settled'])
  })

  it('says what the API server refuses', () => {
    const { status } = plan(lab, new Images(), [lab], { refusal: 'exceeded quota' })
    expect(status).toMatchObject({ phase: 'Queued', reason: 'Refused' })
    expect(status.message).toMatch(/; the API server rejected the change: exceeded quota$/)
  })
})

describe('an image that is not as a DataSync wants it', () => {
  const other = (spec: unknown, name = 'other') => dataSyncOf(spec, { name })

  it.each<[string, Readonly<Record<string, string>>]>([
    ['has no annotations', {}],
    ['is for another vm', { 'pelotech.ot/workspace-id': '035', 'pelotech.ot/workspace-vm': 'web' }],
    [
      'is for another version',
      {
        'pelotech.ot/workspace-id': '035',
        'pelotech.ot/workspace-vm': 'attacker',
        'pelotech.ot/workspace-version': '',
      },
    ],
  ])('is left alone where it %s', (_what, annotations) => {
    const images = created(lab, ready, ready)
    images.change('035-attacker', { annotations })
    const asked = dataSyncOf(withUrl(NEW_URL), { annotations: { [SYNC]: '1' } })
    const { status, ...rest } = plan(asked, images)
    expect(writes({ status, ...rest }).map((one) => 'name' in one && one.name)).toEqual(['035-router'])
    expect(status.images?.[0]).toMatchObject({ phase: 'Failed', reason: 'NameConflict' })
  })

  it('stays as it is while DataSyncs disagree, and both hear who wants what', () => {
    const mine = dataSyncOf(withUrl('https://images.example/mine.qcow2'))
    const theirs = other({ ...SPEC, diskSize: '7Gi' })
    const images = created(dataSyncOf(withUrl('https://images.example/first.qcow2')), ready, ready)
    for (const [one, all] of [
      [mine, [mine, theirs]],
      [theirs, [mine, theirs]],
    ] as const) {
      const { status, ...rest } = plan(one, images, all)
      expect(names({ status, ...rest })).toEqual([])
      expect(status).toMatchObject({ phase: 'Failed', reason: 'NameConflict', ready: '1/2' })
    }
    expect(plan(mine, images, [mine, theirs]).status.message).toContain(
      'vm attacker: DataSync lab wants no diskSize, url "https://images.example/mine.qcow2"; DataSync other wants diskSize "7Gi", ' +
        'url "https://images.example/attacker.qcow2": VMDiskImage 035-attacker, which they share, stays as it is until all of them want the same; ' +
        'or give one of them another version',
    )
  })

  it('tells nobody the query of a URL, which may be a signature', () => {
    const signed = other(withUrl('https://images.example/a?X-Signature=secret'))
    const { status, events } = plan(lab, new Images(), [lab, signed])
    expect(status.reason).toBe('Queued')
    expect(JSON.stringify(status)).not.toContain('secret')
    const alone = dataSyncOf({ ...SPEC, vms: [SPEC.vms[0]] })
    const conflict = plan(alone, new Images(), [alone, signed])
    expect(conflict.status.message).toContain('DataSync other wants url "https://images.example/a')
    expect(JSON.stringify([conflict.status, conflict.events, events])).not.toContain('secret')
  })

  it('is created by nobody while they disagree', () => {
    const [mine, theirs] = [lab, other(withUrl(NEW_URL))]
    expect(names(plan(mine, new Images(), [mine, theirs]))).toEqual(['035-router'])
    expect(names(plan(theirs, new Images(), [mine, theirs]))).toEqual(['035-router'])
  })

  it('does no harm to who has what they want', () => {
    const images = created(lab, ready, ready)
    const all = [lab, other(withUrl(NEW_URL))]
    expect(plan(lab, images, all).status).toMatchObject({ phase: 'Succeeded', reason: 'Synced' })
    expect(plan(all[1] as DataSyncView, images, all).status).toMatchObject({ phase: 'Failed', reason: 'NameConflict' })
  })

  it('follows when all want the same, whoever is asked', () => {
    const images = created(lab, ready, ready)
    const all = [changed, other(withUrl(NEW_URL))]
    const [one, two] = all.map((each) => plan(each, images, all).apply)
    expect(one).toMatchObject([{ metadata: { name: '035-attacker' }, spec: { url: NEW_URL } }])
    expect(two).toEqual(one)
  })

  it('names few of many who disagree', () => {
    const many = Array.from({ length: 9 }, (_, at) => other({ ...SPEC, diskSize: `${at + 1}Gi` }, `other-${at}`))
    const { message = '' } = plan(lab, new Images(), [lab, ...many]).status
    expect(message.match(/DataSync other-\d wants/g)).toHaveLength(5)
    expect(message).toContain('; 4 more want something else: ')
  })
})

describe('whose an image is', () => {
  const late = (metadata: object = {}, spec: unknown = withUrl(NEW_URL)) =>
    dataSyncOf(spec, { name: 'late', ...metadata })
  const attacker = ({ images = [] }: DataSyncStatus) => images.find(({ vm }) => vm === 'attacker')
  const toAttacker = ({ apply, touch = [] }: DataSyncPlan) => {
    return [...apply.map(({ metadata }) => metadata.name), ...touch.map(({ name }) => name)].filter((name) =>
      name.endsWith('attacker'),
    )
  }

  it('is that of the DataSync that had it created, or of one beside it', () => {
    const images = created(lab, ready, ready)
    expect(toAttacker(plan(late(), images, [late(), changed]))).toEqual(['035-attacker'])
    expect(toAttacker(plan(late(), images, [late()]))).toEqual([])
    // What it wanted is what it has, until it wants something else or asks for something.
    expect(plan(late({}, SPEC), images, [late({}, SPEC)]).status).toMatchObject({ phase: 'Succeeded' })
    const asking = late({ annotations: { [SYNC]: '1' } }, SPEC)
    const asked = plan(asking, images, [asking])
    expect([toAttacker(asked), attacker(asked.status)?.message]).toEqual([
      [],
      expect.stringMatching(/does not get the request of an annotation.* as DataSync farm\/lab had it created/),
    ])
  })

  it('does not pass to who shares it, nor to a namesake of who had it created', () => {
    const images = created(lab, ready, ready)
    const namesake = dataSyncOf(withUrl(NEW_URL), { uid: 'uid-2' })
    const { status, ...rest } = plan(namesake, images)
    expect(writes({ status, ...rest })).toEqual([])
    expect(attacker(status)).toMatchObject({ phase: 'Failed', reason: 'NameConflict' })
    expect(status.message).toContain(attacker(status)?.message)
    expect(attacker(status)?.message).toBe(
      'VMDiskImage 035-attacker differs in url, and is not changed, as DataSync farm/lab had it created, and a DataSync changes only what it, or one ' +
        'beside it, had created: give the vm what the image has, or another version; or delete the image, and it is created from this DataSync: ' +
        'kubectl -n farm delete vmdi 035-attacker; or give it to this DataSync: kubectl -n farm annotate --overwrite vmdi 035-attacker ' +
        'pelotech.ot/creator=DataSync/farm/lab/uid-2',
    )
    images.annotate('035-attacker', images.stored.get('035-attacker')?.metadata ?? {}, {
      'pelotech.ot/creator': 'DataSync/farm/lab/uid-2',
    })
    expect(toAttacker(plan(namesake, images))).toEqual(['035-attacker'])
  })

  it('stays told when one beside the creator writes it', () => {
    const images = created(lab, ready, ready)
    const [image] = plan(late(), images, [late(), changed]).apply
    expect(image?.metadata.annotations).toMatchObject({
      'pelotech.ot/creator': 'DataSync/farm/lab/uid-lab generation 2',
    })
  })

  it.each([
    ['of before the image', '2026-01-30T00:00:00Z', ['035-attacker']],
    ['of after it', '2026-01-31T00:00:01Z', []],
  ])(
    'is that of a DataSync %s where an earlier version of the operator created it',
    (_when, creationTimestamp, told) => {
      const images = created(lab, ready, ready)
      const { annotations: { 'pelotech.ot/creator': _mark, ...annotations } = {} } =
        images.stored.get('035-attacker')?.metadata ?? {}
      images.change('035-attacker', { annotations, creationTimestamp: '2026-01-31T00:00:00Z' })
      const one = late({ creationTimestamp })
      const planned = plan(one, images)
      expect(toAttacker(planned)).toEqual(told)
      expect(planned.apply.map(({ metadata }) => metadata.annotations?.['pelotech.ot/creator'])).toEqual(
        told.map(() => 'DataSync/farm/late/uid-late generation 2'),
      )
    },
  )

  const forLab = (spec: object, metadata: object = {}) => {
    const images = created(lab, ready, ready)
    const creator = { 'pelotech.ot/creator': 'Workspace/lab-1/uid-1 generation 1' }
    images.stored.delete('035-attacker')
    images.put({
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'VMDiskImage',
      metadata: { namespace: NAMESPACE, name: '035-attacker', annotations: creator, ...metadata },
      spec,
    } as never)
    images.tell('035-attacker', ready)
    return images
  }
  const URL = SPEC.vms[0]?.url

  it.each<[string, object, object?]>([
    ['as it is', { url: URL, sourceType: 'http' }],
    ['in other words', { url: 'https://IMAGES.example:443/attacker.qcow2', sourceType: 'http' }],
    ['with what the policy adds', { url: URL, diskSize: '10240Mi' }],
    ['with what is for people', { url: URL, sourceType: 'http', name: 'vm', suspend: true, reclaimPolicy: 'Retain' }],
    ['from a person', { url: URL, sourceType: 'http' }, { annotations: {} }],
  ])('does not matter where it is what the vm wants, %s', (_how, spec, metadata) => {
    const policy = { defaultDiskSize: '10Gi', defaultSourceType: 'http' } as const
    const { status, ...rest } = plan(lab, forLab(spec, metadata), [lab], { policy })
    expect(writes({ status, ...rest })).toEqual([])
    expect(status).toMatchObject({ phase: 'Succeeded', reason: 'Synced' })
  })

  it.each<[string, object, string]>([
    ['url', { url: NEW_URL, sourceType: 'http' }, 'Workspace lab-1 had it created'],
    ['diskSize', { url: URL, sourceType: 'http', diskSize: '11Gi' }, 'Workspace lab-1 had it created'],
    ['checksum', { url: URL, sourceType: 'http', checksum: `md5:${'0'.repeat(32)}` }, 'Workspace lab-1 had it created'],
  ])('is told where it is another one in %s', (field, spec, who) => {
    const { status, ...rest } = plan(lab, forLab(spec), [lab], { policy: { defaultDiskSize: '10Gi' } })
    expect(writes({ status, ...rest })).toEqual([])
    expect(attacker(status)).toMatchObject({ phase: 'Failed', reason: 'NameConflict' })
    expect(attacker(status)?.message).toContain(`differs in ${field}, and is not changed, as ${who}`)
    expect(attacker(status)?.message).not.toContain('annotate')
  })
})

describe('an image that is too large for its cache', () => {
  it('is left as it is, whatever a DataSync wants of it, and is told', () => {
    const status: VMDiskImageStatus = {
      phase: 'Failed',
      reason: 'TooLarge',
      message: 'too large',
      observedGeneration: 1,
    }
    const images = created(lab, status, ready)
    for (const [name, image] of images.stored)
      if (name === '035-attacker') images.stored.set(name, { ...image, spec: {}, isCut: true })
    const asking = dataSyncOf(withUrl(NEW_URL), { generation: 2, annotations: { [SYNC]: '1' } })
    const { apply, touch = [], status: told } = plan(asking, images)
    expect([...apply, ...touch]).toMatchObject([{ name: '035-router' }])
    expect(told.images).toMatchObject([{ vm: 'attacker', phase: 'Failed', reason: 'TooLarge' }, { vm: 'router' }])
    expect(told.message).toContain('too large')
  })
})

describe('a request of a DataSync', () => {
  const asked = (annotations: Record<string, string>, name = 'lab') => dataSyncOf(SPEC, { name, annotations })
  const carryOut = ({ touch = [] }: DataSyncPlan, images: Images) => {
    for (const { name, annotations, ...seen } of touch) images.annotate(name, seen, annotations)
    return touch
  }

  it('reaches each of its images once', () => {
    const images = created(lab, ready, ready)
    const one = asked({ [SYNC]: '1', [RETRY]: 'a', other: 'x' })
    const first = plan(one, images)
    expect(first.touch).toMatchObject([
      { kind: 'VMDiskImage', name: '035-attacker', annotations: { [SYNC]: '1', [RETRY]: 'a' } },
      { kind: 'VMDiskImage', name: '035-router', annotations: { [SYNC]: '1', [RETRY]: 'a' } },
    ])
    expect(first.status.phase).toBe('Queued')
    carryOut(first, images)
    expect(plan(one, images).touch).toEqual([])
    // It does not undo what a person requests of the image itself either.
    images.annotate('035-attacker', images.stored.get('035-attacker')?.metadata ?? {}, { [SYNC]: 'mine' })
    expect(plan(one, images).touch).toEqual([])
    expect(plan(asked({ [SYNC]: '2', [RETRY]: 'a' }), images).touch).toMatchObject([
      { annotations: { [SYNC]: '2' } },
      { annotations: { [SYNC]: '2' } },
    ])
  })

  it('is written with the image where that is created or changed', () => {
    const one = asked({ [SYNC]: '1' })
    const images = new Images()
    const { apply, touch } = plan(one)
    for (const image of apply) images.put(image)
    expect(apply[0]?.metadata.annotations).toMatchObject({ [SYNC]: '1', [REACHED]: expect.any(String) })
    expect(touch).toEqual([])
    expect(writes(plan(one, images))).toEqual([])
    const two = dataSyncOf(withUrl(NEW_URL), { annotations: { [SYNC]: '2' } })
    const update = plan(two, images)
    expect(update.apply).toMatchObject([{ metadata: { annotations: { [SYNC]: '2' } }, spec: { url: NEW_URL } }])
    expect(update.touch).toMatchObject([{ name: '035-router' }])
  })

  it('does not undo that of another one which shares the image', () => {
    const images = created(lab, ready, ready)
    const all = [asked({ [SYNC]: '2026-01-02' }), asked({ [SYNC]: '2026-01-01' }, 'other')]
    const [one, two] = all.map((each) => plan(each, images, all))
    expect(one?.touch).toMatchObject([{ annotations: { [SYNC]: '2026-01-02' } }, {}])
    expect(two?.touch).toEqual(one?.touch)
    carryOut(one as DataSyncPlan, images)
    // Both may have planned it before either has written it.
    expect(() => carryOut(two as DataSyncPlan, images)).toThrow('is not what was seen')
    for (const each of all) expect(plan(each, images, all).touch).toEqual([])
  })

  it('is remembered of those that disagree', () => {
    const images = created(lab, ready, ready)
    const mine = asked({ [SYNC]: '1' })
    const theirs = asked({ [SYNC]: '2' }, 'other')
    carryOut(plan(mine, images, [mine, theirs]), images)
    const dissenting = { ...theirs, spec: withUrl(NEW_URL) }
    const again = asked({ [SYNC]: '3' })
    carryOut(plan(again, images, [again, dissenting]), images)
    expect(images.stored.get('035-attacker')?.metadata.annotations?.[SYNC]).toBe('3')
    expect(plan(again, images, [again, theirs]).touch).toEqual([])
  })
})
