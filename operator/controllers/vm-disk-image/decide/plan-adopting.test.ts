import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { AdoptableKind } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import {
  ADOPTED_NAME,
  ADOPTED_UID,
  adopting,
  anAdoptable,
  anAdoptedObject,
  someFacts,
} from '../../../../test/prepared/vm-disk-image/adoption.ts'
import { aDataVolume, CDI, REFRESH } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import { aLookup, type ImageWorldOverrides, ONE_USER } from '../../../../test/prepared/vm-disk-image/image-world.ts'
import type { AdoptionFacts } from '../adoption-facts.ts'
import type { AdoptableView } from '../world.ts'
import { planImage } from './plan.ts'

interface Case {
  readonly kind?: AdoptableKind
  readonly facts?: Partial<AdoptionFacts>
  readonly adoptable?: Partial<AdoptableView>
  readonly spec?: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, string>>
}

const WITHOUT_SNAPSHOT = { snapshotClass: undefined }

function walkOf(
  { kind = 'DataVolume', facts, adoptable, spec, annotations }: Case = {},
  more: ImageWorldOverrides = {},
) {
  return new ImageWalk({
    metadata: { annotations: { ...adopting(kind), ...annotations } },
    ...(spec !== undefined && { spec }),
    adoptable: anAdoptable(kind, { sighted: { facts: someFacts(kind, facts), isFresh: true }, ...adoptable }),
    ...more,
  })
}

const adoptedOf = (walk: ImageWalk) => walk.status.conditions?.find(({ type }) => type === 'Adopted')
const object = (more: Parameters<typeof anAdoptedObject>[1], kind: AdoptableKind = 'DataVolume') => ({
  object: anAdoptedObject(kind, more),
})
const claim = (more: Parameters<typeof anAdoptedObject>[1]) => ({
  claim: anAdoptedObject('PersistentVolumeClaim', more),
})
const ownedBy = (title: string) => [{ title, uid: 'other' }]
const filledFrom = (url: string, checksum?: string) => ({ filledFrom: { sourceType: 'http' as const, url, checksum } })
const SUM = `sha256:${'a'.repeat(64)}`
const OTHER_SUM = `sha256:${'b'.repeat(64)}`
const URL = 'https://images.example/a.qcow2'

describe('adopting', () => {
  it.each<[string, Case, string, RegExp]>([
    [
      'an annotation that names no kind',
      { annotations: { [ANNOTATIONS.adopt]: 'disk/a' } },
      'AdoptionInvalid',
      /must be datavolume\/NAME/,
    ],
    [
      'a cluster where nobody checks',
      { facts: { fault: { why: 'it is not there', isWrong: true } } },
      'AdoptionUnchecked',
      /it is not there/,
    ],
    ['what does not exist', { facts: { object: undefined } }, 'AdoptionMissing', /does not exist in namespace team/],
    ['what is being deleted', { facts: object({ isTerminating: true }) }, 'AdoptionMissing', /is being deleted/],
    ['a DataVolume without its claim', { facts: { claim: undefined } }, 'AdoptionMissing', /does not exist/],
    ['a claim without its volume', { facts: claim({ phase: 'Lost' }) }, 'AdoptionMissing', /lost its volume/],
    [
      'a DataVolume that another controller has',
      { facts: object({ owners: ownedBy('VMDiskImage kali of crd.pelotech.ot') }) },
      'AdoptionOwned',
      /owned by VMDiskImage kali of crd\.pelotech\.ot.*ot adopt/,
    ],
    [
      'a DataVolume that the older operator deletes by its label',
      { facts: object({ labels: ['owner=kali'] }) },
      'AdoptionOwned',
      /label owner=kali,/,
    ],
    [
      'a claim with that label',
      { facts: claim({ labels: ['owner=other'] }) },
      'AdoptionOwned',
      /PersistentVolumeClaim kali-1\.0 has the label owner=other/,
    ],
    [
      'a claim that names its own DataVolume and another owner',
      {
        facts: claim({
          owners: [{ title: 'DataVolume it of cdi', uid: 'adopted-dv' }, ...ownedBy('StatefulSet db of apps')],
        }),
      },
      'AdoptionOwned',
      /owned by StatefulSet db of apps,/,
    ],
    [
      'a claim of a Workspace, for which ot adopt does nothing',
      {
        kind: 'PersistentVolumeClaim',
        facts: object({ owners: ownedBy('Workspace ws of pelotech.ot') }, 'PersistentVolumeClaim'),
      },
      'AdoptionOwned',
      /owned by Workspace ws of pelotech\.ot.*ownerReferences$/,
    ],
    [
      'the claim of another DataVolume',
      { facts: claim({ owners: ownedBy('DataVolume other of cdi.kubevirt.io') }) },
      'AdoptionOwned',
      /owned by DataVolume other/,
    ],
    [
      'a claim that has a DataVolume',
      {
        kind: 'PersistentVolumeClaim',
        facts: object({ owners: ownedBy('DataVolume a of cdi') }, 'PersistentVolumeClaim'),
      },
      'AdoptionOwned',
      /to datavolume\//,
    ],
    [
      'a DataVolume that downloads',
      { facts: object({ phase: 'ImportInProgress' }) },
      'AdoptionUnfinished',
      /not Succeeded/,
    ],
    ['a claim that is not bound', { facts: claim({ phase: 'Pending' }) }, 'AdoptionUnfinished', /not Bound/],
    ['a claim that CDI fills', { facts: claim({ filler: 'Running' }) }, 'AdoptionUnfinished', /fills/],
    [
      'a snapshot that is not ready',
      { kind: 'VolumeSnapshot', facts: object({ isReady: false }, 'VolumeSnapshot') },
      'AdoptionUnfinished',
      /readyToUse/,
    ],
    ['files', { facts: object({ contentType: 'archive' }) }, 'AdoptionMismatch', /no disk/],
    ['the disk of a machine', { facts: { usedBy: 'VirtualMachine desk' } }, 'AdoptionInUse', /VirtualMachine desk/],
    ['what another image has', { adoptable: { otherAdopter: 'other' } }, 'AdoptionInUse', /VMDiskImage other/],
    [
      'a larger disk',
      { facts: object({ size: '11Gi' }) },
      'AdoptionMismatch',
      /11Gi, which is larger than diskSize 10Gi/,
    ],
    [
      'a much larger claim',
      { kind: 'PersistentVolumeClaim', facts: object({ size: '12Gi' }, 'PersistentVolumeClaim') },
      'AdoptionMismatch',
      /larger/,
    ],
    ['another storage class', { facts: claim({ storageClass: 'slow' }) }, 'AdoptionMismatch', /slow, not of fast/],
    [
      'another source',
      { facts: object(filledFrom('https://images.example/b.qcow2?X-Amz-Signature=secret')) },
      'SourceDiffers',
      /b\.qcow2.*the spec says http https:\/\/images\.example\/a\.qcow2/,
    ],
    [
      'another checksum',
      { facts: object(filledFrom(URL, OTHER_SUM)), spec: { checksum: SUM } },
      'SourceDiffers',
      /adopt-source/,
    ],
  ])('refuses %s, and downloads nothing', (_what, given, reason, message) => {
    const walk = walkOf(given).settle()
    expect(walk.stand).toBe(`Queued/${reason}`)
    expect(adoptedOf(walk)).toMatchObject({ status: 'False', reason, message: expect.stringMatching(message) })
    expect(adoptedOf(walk)?.message).not.toContain('secret')
    expect(walk.status).toMatchObject({ message: adoptedOf(walk)?.message })
    expect([walk.plan().start, walk.status.artifact, walk.status.ticket]).toEqual([undefined, undefined, undefined])
    expect(walk.condition('Stalled')).toBe(reason === 'AdoptionUnfinished' ? 'False' : 'True')
  })

  it.each<[string, Case, string, RegExp]>([
    ['the source in the spec', {}, 'SourceMatches', /Succeeded, 10Gi, and was filled from the source in the spec$/],
    [
      'the source and the checksum',
      { facts: object(filledFrom(URL, SUM)), spec: { checksum: SUM } },
      'SourceMatches',
      /with its checksum/,
    ],
    [
      'a source without the checksum',
      { spec: { checksum: SUM } },
      'SourceUnknown',
      /nothing proves that it has the checksum/,
    ],
    [
      'no source that an image has',
      { facts: object({ filledFrom: { sourceType: undefined, url: undefined, checksum: undefined } }) },
      'SourceUnknown',
      /nothing says which source/,
    ],
    ['a claim', { kind: 'PersistentVolumeClaim' }, 'SourceUnknown', /is Bound, 10Gi; nothing says/],
    ['a snapshot', { kind: 'VolumeSnapshot' }, 'SourceUnknown', /is readyToUse/],
    [
      'another source that people accept',
      { facts: object(filledFrom('https://images.example/b')), annotations: { [ANNOTATIONS.adoptSource]: 'any' } },
      'SourceAccepted',
      /another source/,
    ],
    [
      'room for the file system',
      { kind: 'PersistentVolumeClaim', facts: object({ size: '11Gi' }, 'PersistentVolumeClaim') },
      'SourceUnknown',
      /11Gi/,
    ],
  ])('says of what it takes that it has %s', (_what, given, reason, message) => {
    const walk = walkOf(given).settle()
    expect(adoptedOf(walk)).toMatchObject({ status: 'True', reason, message: expect.stringMatching(message) })
  })

  it('publishes a claim as it is, without a slot, a download or an owner reference', () => {
    const walk = walkOf({ spec: WITHOUT_SNAPSHOT }).settle()
    expect(walk.stand).toBe('Succeeded/Synced')
    const artifact = {
      kind: 'PersistentVolumeClaim',
      name: ADOPTED_NAME,
      adoptedUID: ADOPTED_UID,
      storageClass: 'fast',
    }
    expect(walk.status.artifact).toMatchObject(artifact)
    expect(walk.status.adoption).toMatchObject({ object: `datavolume/${ADOPTED_NAME}`, uid: ADOPTED_UID })
    expect(walk.world.dataSource?.spec).toEqual({ source: { pvc: { namespace: 'team', name: ADOPTED_NAME } } })
    expect(walk.log.filter((line) => /claim|DataVolume/.test(line))).toEqual([])
    expect(walk.status.attempts).toBeUndefined()
  })

  it('has a snapshot taken of a claim, as after a download', () => {
    const walk = walkOf().settle()
    expect(walk.world.snapshots.map(({ claimName }) => claimName)).toEqual([ADOPTED_NAME])
    walk.snapshotReady()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.status.artifact).toMatchObject({ kind: 'VolumeSnapshot', name: walk.childName })
    expect(walk.status.artifact?.adoptedUID).toBeUndefined()
  })

  it('uses a snapshot as it is, of whatever class', () => {
    const walk = walkOf({ kind: 'VolumeSnapshot', spec: { snapshotClass: 'other' } }).settle()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.status.artifact).toMatchObject({ name: ADOPTED_NAME, snapshotClass: 'snap', adoptedUID: ADOPTED_UID })
    expect(walk.world.snapshots).toEqual([])
  })

  it('takes nothing that it has judged in another version', () => {
    const walk = walkOf({ adoptable: { sighted: { facts: someFacts('DataVolume'), isFresh: false } } }).settle()
    expect(walk.stand).toBe('Queued/Adopting')
    expect(walk.plan().adopts).toEqual({ kind: 'DataVolume', name: ADOPTED_NAME })
  })

  it('takes nothing more that was asked for while nobody checked', () => {
    const walk = walkOf({ facts: { fault: { why: 'it is not there', isWrong: true } } }).settle()
    const checked = anAdoptable('DataVolume')
    walk.set({ adoptable: checked }).settle()
    expect(walk.stand).toBe('Queued/AdoptionUnchecked')
    walk.annotate({ [ANNOTATIONS.adopt]: `dv/${ADOPTED_NAME}` }).settle()
    expect(walk.stand).toBe('Snapshotting/Snapshotting')
  })

  it.each([true, undefined])('says how to be checked without the start of a download (wrong: %s)', (isWrong) => {
    const fault = { why: 'it is of another version', ...(isWrong && { isWrong }) }
    const walk = walkOf({ facts: { fault, checkedSince: undefined } }).settle()
    expect(walk.status.adoption).toMatchObject({ unchecked: true })
    expect(walk.status.message).toContain(`set annotation ${ANNOTATIONS.adopt} to dv/${ADOPTED_NAME}`)
  })

  it('takes nothing that may have been annotated before there was a rule', () => {
    const checkedSince = Date.parse('2100-01-01T00:00:00Z')
    const walk = walkOf({ facts: { checkedSince } }).settle()
    expect([walk.stand, walk.status.adoption?.unchecked]).toEqual(['Queued/AdoptionUnchecked', true])
    walk.annotate({ [ANNOTATIONS.adopt]: `dv/${ADOPTED_NAME}` }).settle()
    expect([walk.stand, walk.status.adoption?.unchecked]).toEqual(['Snapshotting/Snapshotting', undefined])
  })

  const elsewhere = { object: undefined, claim: undefined }
  const sightedWith = (facts: Partial<AdoptionFacts>) => ({ facts: someFacts('DataVolume', facts), isFresh: true })
  const setTo = (walk: ImageWalk, value: string, sighted: AdoptableView['sighted']) =>
    walk
      .set({ adoptable: anAdoptable('DataVolume', { sighted }) })
      .annotate({ [ANNOTATIONS.adopt]: value })
      .settle()

  it.each([
    ['dv/kali-1.0', 'rule', 'Snapshotting/Snapshotting'],
    ['dv/kali-1.0', 'another', 'Queued/AdoptionUnchecked'],
    ['dv/other', 'another', 'Queued/AdoptionUnchecked'],
  ])('takes nothing that was annotated anew, as %s, while the rule may have been away (%s)', (value, rule, stand) => {
    const walk = walkOf({ facts: elsewhere }).settle()
    expect(walk.stand).toBe('Queued/AdoptionMissing')
    // Nothing is recorded of the new value before it was read after it.
    setTo(walk, value, undefined)
    expect(walk.status.adoption?.object).toBe('datavolume/kali-1.0')
    setTo(walk, value, sightedWith({ rule }))
    expect(walk.stand).toBe(stand)
    if (rule === 'rule') return
    setTo(walk, 'datavolumes/kali-1.0', sightedWith({ rule }))
    expect([walk.stand, walk.status.adoption?.unchecked]).toEqual(['Snapshotting/Snapshotting', undefined])
  })

  it('records the rule that it sees later, so that the other spelling is checked', () => {
    const fault = { why: 'it is not there', isWrong: true } as const
    const walk = walkOf({ facts: { fault, checkedSince: undefined, rule: undefined } }).settle()
    expect(walk.status.adoption?.rule).toBeUndefined()
    walk.set({ adoptable: anAdoptable('DataVolume', { sighted: sightedWith({}) }) }).settle()
    expect(walk.status.adoption).toMatchObject({ unchecked: true, rule: 'rule' })
    setTo(walk, 'dv/kali-1.0', sightedWith({}))
    expect([walk.stand, walk.status.adoption?.unchecked]).toEqual(['Snapshotting/Snapshotting', undefined])
  })

  it('keeps what it has told when its snapshot is there, and the adopted claim goes', () => {
    const walk = walkOf().settle().snapshotReady()
    const told = adoptedOf(walk)
    walk.set({ adoptable: undefined }).settle()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect([told?.status, adoptedOf(walk)]).toEqual(['True', told])
  })

  it('takes nothing where its status is lost, and a snapshot of the wanted revision is there', () => {
    const walk = new ImageWalk().publish()
    const snapshots = walk.world.snapshots.length
    const { revision } = walk.status
    walk
      .set({ adoptable: anAdoptable('DataVolume'), dataVolumes: [] })
      .annotate(adopting('DataVolume'))
      .change({ status: { revision } })
      .settle()
    expect([snapshots, walk.stand]).toEqual([1, 'Succeeded/Synced'])
    expect([walk.status.artifact?.name, walk.status.adoption]).toEqual([walk.childName, undefined])
  })

  it('ends where it would without a restart: the status is enough, whatever was read', () => {
    const walk = walkOf().settle()
    walk.set({ adoptable: anAdoptable('DataVolume', { sighted: undefined }) }).settle()
    walk.snapshotReady()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(adoptedOf(walk)).toMatchObject({ status: 'True', reason: 'SourceMatches' })
  })

  it('stops a download of the revision, which it does not need any more', () => {
    const walk = new ImageWalk().settle().admit().report(CDI.running)
    walk
      .set({ adoptable: anAdoptable('DataVolume') })
      .annotate(adopting('DataVolume'))
      .settle()
    expect(walk.world.dataVolumes[0]?.metadata.deletionTimestamp).toBeDefined()
    walk.importersGone().release()
    expect(walk.stand).toBe('Snapshotting/Snapshotting')
  })

  it('leaves an image alone that has its artifact', () => {
    const walk = new ImageWalk().publish()
    const { artifact } = walk.status
    walk
      .set({ adoptable: anAdoptable('DataVolume') })
      .annotate(adopting('DataVolume'))
      .settle()
    expect(walk.status.artifact).toEqual(artifact)
    expect([walk.stand, walk.status.adoption]).toEqual(['Succeeded/Synced', undefined])
    walk.annotate({ [REFRESH]: 'now' }).settle()
    expect(walk.status.adoption).toMatchObject({ uid: ADOPTED_UID, revision: walk.status.revision })
  })

  it('downloads the next revision, and keeps what it has adopted', () => {
    const walk = walkOf({ spec: WITHOUT_SNAPSHOT })
      .settle()
      .annotate({ [REFRESH]: 'now' })
      .settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.condition('Ready')).toBe('True')
    walk.admit().report(CDI.running).succeed().after(3_600_000)
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.status.artifact?.name).toBe(walk.childName)
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
    expect(adoptedOf(walk)).toBeUndefined()
  })

  it('keeps the artifact when the annotation goes, and downloads when that is lost then', () => {
    const walk = walkOf({ spec: WITHOUT_SNAPSHOT }).settle()
    const { metadata } = walk.subject
    walk.change({ metadata: { ...metadata, annotations: {} } }).settle()
    expect(walk.stand).toBe('Succeeded/Synced')
    walk.set({ adoptable: undefined }).settle()
    expect(walk.stand).toBe('Queued/Queued')
  })

  it('downloads nothing when what it has adopted is lost', () => {
    const walk = walkOf({ spec: WITHOUT_SNAPSHOT }).settle()
    const gone = someFacts('DataVolume', { object: undefined, claim: undefined })
    const sighted = { facts: gone, isFresh: true }
    const nothing = { dataVolume: undefined, claim: undefined, sighted }
    walk.set({ adoptable: anAdoptable('DataVolume', nothing) })
    const absent = expect.objectContaining({ name: ADOPTED_NAME, uid: ADOPTED_UID })
    expect(walk.plan().onlyIf).toEqual([{ absent: [absent], whose: "anybody's" }])
    walk.settle()
    expect([walk.stand, walk.condition('Ready'), walk.condition('ArtifactLost')]).toEqual([
      'Queued/AdoptionMissing',
      'False',
      'True',
    ])
  })

  it('waits for a slot of nobody while it is suspended', () => {
    expect(walkOf({ spec: { suspend: true } }).settle().stand).toBe('Queued/Suspended')
  })

  const kinds: readonly AdoptableKind[] = ['DataVolume', 'PersistentVolumeClaim', 'VolumeSnapshot']

  it.each(kinds)('leaves a %s when the image is deleted, unless the spec says Delete', (kind) => {
    for (const reclaimPolicy of [undefined, 'Retain', 'Delete']) {
      const walk = walkOf({ kind, spec: { ...WITHOUT_SNAPSHOT, reclaimPolicy } }).settle()
      walk.markDeleted().settle()
      expect(walk.isGone).toBe(true)
      const deleted = walk.log.filter((line) => line.startsWith('delete') && line.endsWith(ADOPTED_NAME))
      expect(deleted).toEqual(reclaimPolicy === 'Delete' ? [`delete ${kind} ${ADOPTED_NAME}`] : [])
    }
  })

  it.each<[string, (walk: ImageWalk) => ImageWalk]>([
    ['another controller has it', (walk) => walk.set({ adoptable: controlledElsewhere() })],
    ['something owns it that is no controller', (walk) => walk.set({ adoptable: controlledElsewhere(false) })],
    ['the operator made it of a template', (walk) => markAsOurs(walk)],
    ['another image has it too', (walk) => walk.set({ adoptable: anAdoptable('DataVolume', { otherAdopter: 'b' }) })],
    ['its author does not adopt it any more', (walk) => walk.annotate({ [ANNOTATIONS.adopt]: 'dv/other' })],
  ])('deletes nothing, even with Delete, if %s', (_why, change) => {
    const walk = walkOf({ spec: { ...WITHOUT_SNAPSHOT, reclaimPolicy: 'Delete' } }).settle()
    change(walk).markDeleted().settle()
    expect(walk.log.filter((line) => line.endsWith(ADOPTED_NAME))).toEqual([])
    expect(walk.isGone).toBe(true)
  })

  it('deletes nothing, even with Delete, of an image that is deleted with --cascade=orphan, also when the garbage collector has ended that', () => {
    const walk = walkOf({ spec: { ...WITHOUT_SNAPSHOT, reclaimPolicy: 'Delete' } }).settle()
    const { metadata } = walk.subject
    const finalizers = metadata.finalizers ?? []
    walk
      .change({ metadata: { ...metadata, finalizers: [...finalizers, 'orphan'] } })
      .markDeleted()
      .settle()
    expect(walk.isGone).toBe(false)
    const { dataSource } = walk.world
    if (dataSource === undefined) throw new Error('no DataSource was made')
    const { ownerReferences: _lost, ...ownerless } = dataSource.metadata
    walk.set({ dataSource: { ...dataSource, metadata: ownerless } })
    walk.change({ metadata: { ...walk.subject.metadata, finalizers } }).settle()
    expect(walk.isGone).toBe(true)
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
  })

  it('deletes it with Delete when the next revision has been there for a while', () => {
    const walk = walkOf({ spec: { ...WITHOUT_SNAPSHOT, reclaimPolicy: 'Delete' } }, { references: ONE_USER }).settle()
    walk
      .annotate({ [REFRESH]: 'now' })
      .settle()
      .admit()
      .report(CDI.running)
      .succeed()
    expect(walk.log.some((line) => line.endsWith(ADOPTED_NAME))).toBe(false)
    walk.after(3_600_000)
    expect(walk.log).toContain(`delete DataVolume ${ADOPTED_NAME}`)
  })

  it('needs no Secret, no class and no CDI', () => {
    const lookup = aLookup({ secret: 'missing', hasStorageClass: false })
    expect(walkOf({ spec: WITHOUT_SNAPSHOT }, { lookup }).settle().stand).toBe('Succeeded/Synced')
  })

  it.each<[string, Case]>([
    ['fits', {}],
    ['is refused', { facts: { usedBy: 'VirtualMachine desk' } }],
  ])('takes nothing where an earlier CRD drops its record, and writes that once: what %s', (_what, given) => {
    const walk = walkOf(given)
    for (let round = 0; round < 4; round += 1) {
      const { adoption: _dropped, ...status } = planImage(walk.world, walk.now).status
      walk.change({ status })
    }
    expect(walk.status.message).toMatch(/install the CRDs of this one/)
    expect([walk.status.artifact, walk.world.snapshots]).toEqual([undefined, []])
    expect(planImage(walk.world, walk.now).status).toEqual(walk.status)
  })

  it('deletes it only after a live read of who else has it', () => {
    const walk = walkOf({ spec: { ...WITHOUT_SNAPSHOT, reclaimPolicy: 'Delete' } }).settle()
    walk.markDeleted()
    // Nothing of it as long as a DataSource shows whether the deletion leaves all data.
    expect(walk.plan().remove.map(({ kind }) => kind)).toEqual(['DataSource'])
    walk.set({ dataSource: undefined })
    expect(walk.plan().status.message).toContain('which it has adopted, until nothing else owns or uses it')
    const unshared = { kind: 'DataVolume', namespace: 'team', name: ADOPTED_NAME }
    expect(walk.plan().remove).toContainEqual(expect.objectContaining({ kind: 'DataVolume', onlyIf: [{ unshared }] }))
  })
})

function markAsOurs(walk: ImageWalk): ImageWalk {
  const { metadata } = walk.subject
  return walk.change({ metadata: { ...metadata, labels: { ...metadata.labels, [LABELS.createdBy]: 'a' } } })
}

function controlledElsewhere(controller = true): AdoptableView {
  const adoptable = anAdoptable('DataVolume')
  const owner = { apiVersion: 'crd.pelotech.ot/v1alpha1', kind: 'VMDiskImage', name: 'kali', uid: 'old' }
  const dataVolume = adoptable.dataVolume ?? aDataVolume()
  const metadata = { ...dataVolume.metadata, ownerReferences: [{ ...owner, controller }] }
  return { ...adoptable, dataVolume: { ...dataVolume, metadata } }
}
