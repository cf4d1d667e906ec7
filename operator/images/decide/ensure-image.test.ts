import { describe, expect, it } from 'vitest'
import type { KubeObject, ObjectMeta } from '../../kube/kube-object.ts'
import type { ImageView } from '../image-view.ts'
import type { ImageClaim } from '../references.ts'
import { type Ensured, ensureImage, type ImageWish } from './ensure-image.ts'

const TEMPLATE = { url: 'https://images.example/a.qcow2', sourceType: 'http', diskSize: '10Gi' } as const
const WRONG = { ...TEMPLATE, url: 'https://images.example/wrong.qcow2' }
const creator = (more: Partial<ObjectMeta> = {}, kind = 'VirtualMachine'): KubeObject => {
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind,
    metadata: { namespace: 'team', name: 'vm', uid: 'vm-uid', ...more },
  }
}
const MARK = 'VirtualMachine/team/vm/vm-uid generation 1'
const WISH: ImageWish = {
  ref: { namespace: 'farm', name: 'golden' },
  template: TEMPLATE,
  mode: undefined,
  createdBy: creator(),
}
const ATTEMPT = { number: 1, revision: 'r', outcome: 'Failed', reason: 'NotFound', message: '404' } as const
const FAILED: ImageView['status'] = { phase: 'Failed', attempts: [ATTEMPT] }

/** Returns an image as its creator made it, from a template that was wrong. */
function made(more: Partial<Omit<ImageView, 'metadata'>> = {}, metadata: Partial<ObjectMeta> = {}): ImageView {
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'VMDiskImage',
    metadata: {
      namespace: 'farm',
      name: 'golden',
      uid: 'image-uid',
      resourceVersion: '50',
      generation: 1,
      annotations: { 'pelotech.ot/creator': MARK },
      ...metadata,
    },
    spec: WRONG,
    status: FAILED,
    ...more,
  }
}

const brief = (ensured: Ensured) => {
  const { kind } = ensured
  return kind === 'corrected' || kind === 'disputed' ? `${kind}: ${ensured.fields.join(', ')}` : kind
}
const madeBy = (mark: string) => made({}, { annotations: { 'pelotech.ot/creator': mark } })
const claimOf = (wants: ImageClaim['wants']): ImageClaim => ({ by: 'Workspace/lab', wants })
const KEEPER: ImageClaim = { by: 'DataSync/farm/release', wants: undefined, isKeeper: true }
const NOBODY = { claims: [], hasOthers: false }

describe('an image that somebody wants', () => {
  it.each<[what: string, becomes: string, wish: Partial<ImageWish>, found: ImageView | undefined, hasOthers?: true]>([
    ['is missing', 'created', {}, undefined],
    ['is known in part', 'follows', {}, made({ isCut: true })],
    ['is missing, without a template', 'taken', { template: undefined }, undefined],
    ['is missing, and may not be created', 'taken', { mode: 'FailIfNotExist' }, undefined],
    ['was made from a template that was wrong', 'corrected: url', {}, made()],
    [
      'lacks a field of the template',
      'corrected: snapshotClass',
      { template: { ...WRONG, snapshotClass: 's' } },
      made(),
    ],
    ['has a field that the template lost', 'corrected: diskSize', {}, made({ spec: { ...TEMPLATE, diskSize: '1Gi' } })],
    [
      'has a field that is in no template any more',
      'corrected: suspend',
      {},
      made({ spec: { ...TEMPLATE, suspend: true } }),
    ],
    ['is downloaded from a wrong URL', 'corrected: url', {}, made({ status: { phase: 'Syncing' } })],
    ['waits in the queue', 'corrected: url', {}, made({ status: { phase: 'Queued' } })],
    ['has no status yet', 'corrected: url', {}, made({ status: {} })],
    [
      'was corrected before',
      'corrected: url',
      {},
      made({}, { generation: 2, annotations: { 'pelotech.ot/creator': 'VirtualMachine/team/vm/vm-uid generation 2' } }),
    ],
    ['is as the template says', 'follows', {}, made({ spec: TEMPLATE })],
    ['is as the template says, in other words', 'follows', {}, made({ spec: { ...TEMPLATE, diskSize: '10240Mi' } })],
    ['may not be created, and is there', 'taken', { mode: 'FailIfNotExist' }, made()],
    ['is there, without a template', 'taken', { template: undefined }, made()],
    ['is referred to by something unknown', 'taken', {}, made(), true],
    [
      'has an artifact',
      'taken',
      {},
      made({ status: { ...FAILED, artifact: { kind: 'VolumeSnapshot', name: 'x', revision: 'r' } } }),
    ],
    ['lost its artifact', 'taken', {}, made({ status: { attempts: [{ ...ATTEMPT, outcome: 'Succeeded' }] } })],
    ['is being deleted', 'taken', {}, made({}, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['was made by a person', 'taken', {}, made({}, { annotations: {} })],
    ['was edited by a person since', 'taken', {}, made({}, { generation: 2 })],
    ['was handed over by a person', 'taken', {}, made({}, { annotations: { 'pelotech.ot/creator': 'Workspace/a/b' } })],
    [
      'was made by another machine, that is gone',
      'corrected: url',
      { createdBy: creator({ uid: 'next-uid' }) },
      made(),
    ],
    ['was made by a Workspace that is gone', 'corrected: url', {}, madeBy('Workspace/lab/gone generation 1')],
    ['was made by a DataSync that is gone', 'corrected: url', {}, madeBy('DataSync/farm/release/gone generation 1')],
  ])('%s: %s', (_what, becomes, wish, found, hasOthers = false as never) => {
    expect(brief(ensureImage({ ...WISH, ...wish }, found, { claims: [], hasOthers }, {}))).toBe(becomes)
  })

  it.each<[what: string, becomes: string, claims: readonly ImageClaim[], found?: ImageView]>([
    ['want the same', 'corrected: url, with others', [claimOf(TEMPLATE), claimOf(undefined)]],
    [
      'want the same in other words, and for other machines',
      'corrected: url, with others',
      [
        claimOf({
          ...TEMPLATE,
          diskSize: '10240Mi',
          url: 'https://IMAGES.example/a.qcow2',
          name: 'x',
          storageClass: 's',
        }),
      ],
    ],
    ['take what there is', 'corrected: url, with others', [claimOf(undefined)]],
    ['rely on it as it is', 'disputed: url', [KEEPER, claimOf(TEMPLATE)]],
    ['want the image as it is', 'disputed: url', [claimOf(TEMPLATE), claimOf(WRONG)]],
    ['want something that cannot be read', 'disputed: url', [claimOf({})]],
    ['had it created and keep it', 'disputed: url', [KEEPER], madeBy('DataSync/farm/release/uid generation 1')],
    ['want something else than it already is', 'follows', [claimOf(WRONG)], made({ spec: { ...TEMPLATE, name: 'y' } })],
  ])('to which others refer that %s: %s', (_what, becomes, claims, found = made()) => {
    const ensured = ensureImage(WISH, found, { claims, hasOthers: false }, { defaultStorageClass: 's' })
    const agreeing = ensured.kind === 'corrected' ? ensured.agreeing : []
    expect(brief(ensured) + (agreeing.length > 0 ? ', with others' : '')).toBe(becomes)
    expect(agreeing).toEqual(agreeing.length > 0 ? claims.map(({ by }) => by) : [])
  })

  it('is created with its creator', () => {
    const ensured = ensureImage(WISH, undefined, NOBODY, {})
    expect(ensured).toMatchObject({
      kind: 'created',
      image: {
        kind: 'VMDiskImage',
        metadata: {
          namespace: 'farm',
          name: 'golden',
          labels: { 'pelotech.ot/created-by': 'VirtualMachine' },
          annotations: { 'pelotech.ot/creator': MARK },
        },
        spec: TEMPLATE,
      },
    })
    expect(ensured.kind === 'created' && ensured.image.metadata.resourceVersion).toBeUndefined()
  })

  it('is corrected only as it was seen, and follows its creator afterwards', () => {
    const ensured = ensureImage(WISH, made(), NOBODY, {})
    if (ensured.kind !== 'corrected') throw new Error(ensured.kind)
    expect(ensured.image).toMatchObject({ metadata: { uid: 'image-uid', resourceVersion: '50' }, spec: TEMPLATE })
    const { annotations } = ensured.image.metadata
    // The API server increments the generation.
    const written = made({ spec: TEMPLATE }, { annotations, generation: 2 })
    expect(ensureImage(WISH, written, NOBODY, {}).kind).toBe('follows')
    expect(brief(ensureImage({ ...WISH, template: WRONG }, written, NOBODY, {}))).toBe('corrected: url')
  })
})
