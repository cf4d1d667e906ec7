import { describe, expect, it } from 'vitest'
import type { KubeObject, ObjectMeta } from '../../kube/kube-object.ts'
import type { ImageView } from '../image-view.ts'
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

const brief = (ensured: Ensured) =>
  ensured.kind === 'corrected' ? `corrected: ${ensured.fields.join(', ')}` : ensured.kind

describe('an image that somebody wants', () => {
  it.each<[what: string, becomes: string, wish: Partial<ImageWish>, found: ImageView | undefined, isShared?: true]>([
    ['is missing', 'created', {}, undefined],
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
    ['is referred to by somebody else', 'taken', {}, made(), true],
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
    ['was made by another machine', 'taken', { createdBy: creator({ name: 'other', uid: 'other-uid' }) }, made()],
    ['was made by a namesake in another namespace', 'taken', { createdBy: creator({ namespace: 'other' }) }, made()],
    ['was made by a namesake of an earlier life', 'taken', { createdBy: creator({ uid: 'next-uid' }) }, made()],
    ['was made by a namesake of another kind', 'taken', { createdBy: creator({}, 'Workspace') }, made()],
  ])('%s: %s', (_what, becomes, wish, found, isShared = false as never) => {
    expect(brief(ensureImage({ ...WISH, ...wish }, found, isShared))).toBe(becomes)
  })

  it('is created with its creator', () => {
    const ensured = ensureImage(WISH, undefined, false)
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
    const ensured = ensureImage(WISH, made(), false)
    if (ensured.kind !== 'corrected') throw new Error(ensured.kind)
    expect(ensured.image).toMatchObject({ metadata: { uid: 'image-uid', resourceVersion: '50' }, spec: TEMPLATE })
    const { annotations } = ensured.image.metadata
    // The API server increments the generation.
    const written = made({ spec: TEMPLATE }, { annotations, generation: 2 })
    expect(ensureImage(WISH, written, false).kind).toBe('follows')
    expect(brief(ensureImage({ ...WISH, template: WRONG }, written, false))).toBe('corrected: url')
  })
})
