import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { anImage, PUBLISHED, QUEUED, TEMPLATE } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { aMachineWorld, type MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { planMachine } from './plan.ts'

const WHICH = 'VMDiskImage farm/golden'

const NO_TEMPLATE = { vmDiskImageTemplate: undefined }

const planOf = (overrides: MachineWorldOverrides) => planMachine(aMachineWorld(overrides), START)

const missing = (more: MachineWorldOverrides = {}): MachineWorldOverrides => ({ image: undefined, ...more })

describe('an image that is created', () => {
  it('has the name of the reference, the spec of the template, and no owner', () => {
    const { apply, events } = planOf(missing())
    expect(apply).toEqual([
      {
        apiVersion: 'pelotech.ot/v1alpha1',
        kind: 'VMDiskImage',
        metadata: {
          name: 'golden',
          namespace: 'farm',
          labels: { 'pelotech.ot/created-by': 'VirtualMachine' },
          annotations: { 'pelotech.ot/creator': 'VirtualMachine/team/vm/vm-uid generation 1' },
        },
        spec: TEMPLATE,
      },
    ])
    expect(events).toContainEqual({
      type: 'Normal',
      reason: 'ImageCreated',
      message: `${WHICH} is created from the template`,
    })
  })

  it('is in the namespace of the machine where the reference names none', () => {
    const { apply, status } = planOf(missing({ spec: { vmDiskImageRef: { name: 'golden' } } }))
    expect(apply[0]?.metadata).toMatchObject({ namespace: 'team', name: 'golden' })
    expect(status.image).toEqual({ namespace: 'team', name: 'golden' })
  })

  it('is created once, and waited for', () => {
    const walk = new MachineWalk(missing()).settle()
    expect(walk.log.filter((line) => line.startsWith('apply'))).toEqual(['apply VMDiskImage golden'])
    expect(walk.stand).toBe('Provisioning/WaitingForImage')
    expect(walk.events).toEqual(['Normal ImageCreated'])
  })
})

describe('an image that a template made, and that has no artifact', () => {
  const WRONG = { ...TEMPLATE, url: 'https://images.example/wrong.qcow2' }
  const creator = (generation: number) => ({
    'pelotech.ot/creator': `VirtualMachine/team/vm/vm-uid generation ${generation}`,
  })
  const GOLDEN = { namespace: 'farm', name: 'golden', uid: 'image-uid', resourceVersion: '50' }
  const failed: VMDiskImageStatus = { phase: 'Failed', message: 'got 404', observedGeneration: 1 }
  const made = anImage(failed, { generation: 1, annotations: creator(1) }, WRONG)

  it('follows the template when that is corrected: told once, and written as it was seen', () => {
    const { status, apply, events, onlyIf } = planOf({ image: made, status: { phase: 'Failed' } })
    expect(`${status.phase}/${reasonOf(status)}`).toBe('Provisioning/ImageCorrected')
    expect(apply).toMatchObject([
      {
        kind: 'VMDiskImage',
        metadata: { ...GOLDEN, annotations: creator(2) },
        spec: TEMPLATE,
      },
    ])
    expect(onlyIf).toMatchObject([
      { unreferenced: { namespace: 'farm', name: 'golden' }, by: 'anyone', except: ['VirtualMachine/team/vm'] },
    ])
    const message = `${WHICH} has no artifact yet, and is corrected from vmDiskImageTemplate in url`
    expect([status.message, events]).toEqual([message, [{ type: 'Normal', reason: 'ImageCorrected', message }]])
  })

  it('is not called Failed for what it was before the correction', () => {
    const written = (status: VMDiskImageStatus) =>
      planOf({ image: anImage(status, { generation: 2, annotations: creator(2) }) }).status
    expect(reasonOf(written(failed))).toBe('ImageCorrected')
    expect(reasonOf(written({ ...failed, observedGeneration: 2 }))).toBe('ImageFailed')
    expect(reasonOf(written({ phase: 'Queued', observedGeneration: 2 }))).toBe('WaitingForImage')
  })

  it('is corrected for a machine that is not to be deployed, too', () => {
    const { apply, onlyIf } = planOf({ image: made, spec: { ignoreOnDeploy: true } })
    expect([apply.length, onlyIf?.length]).toEqual([1, 1])
  })

  it.each<[string, MachineWorldOverrides]>([
    ['to which something else refers', { image: made, isImageShared: true }],
    ['that somebody else made', { image: anImage(failed, { generation: 1 }, WRONG) }],
    ['that somebody has edited', { image: anImage(failed, { generation: 2, annotations: creator(1) }, WRONG) }],
    ['of a machine whose namespace is being deleted', { image: made, namespaceTerminating: true }],
  ])('%s is left alone', (_what, overrides) => {
    expect(planOf(overrides)).toMatchObject({ apply: [] })
  })
})

describe('a template', () => {
  const said = (overrides: MachineWorldOverrides) =>
    planOf(overrides).status.conditions?.find(({ type }) => type === 'ImageMismatch')?.message
  const differing = (fields: object, status = PUBLISHED): MachineWorldOverrides => ({
    image: anImage(status, {}, { ...TEMPLATE, ...fields }),
  })

  it.each<[string, MachineWorldOverrides]>([
    ['without an image', missing()],
    ['that the image has as it is', {}],
    ['that says less than the image', differing({ reclaimPolicy: 'Retain', suspend: true })],
    ['that there is none of', { spec: NO_TEMPLATE, ...differing({ url: 'https://images.example/other' }) }],
  ])('%s is nothing to speak of', (_what, overrides) => {
    expect(said(overrides)).toBeUndefined()
  })

  it.each<[string, object, string]>([
    ['one field', { url: 'https://images.example/b.qcow2' }, 'url'],
    ['two fields', { url: 'https://images.example/b.qcow2', diskSize: '20Gi' }, 'url, diskSize'],
    ['a field that the image does not have', { snapshotClass: undefined }, 'snapshotClass'],
  ])('that the image differs from in %s is told, and the image is used as it is', (_what, fields, names) => {
    expect(said(differing(fields))).toBe(
      `the image differs from the template in ${names}, and the operator did not create it; the image is used as it is: correct spec.vmDiskImageTemplate, or name another image`,
    )
    expect(planOf(differing(fields)).apply.map(({ kind }) => kind)).not.toContain('VMDiskImage')
  })

  it('is told of while the image is waited for too', () => {
    expect(said(differing({ diskSize: '20Gi' }, QUEUED))).toContain('in diskSize')
  })

  it('may have a size as a number where the image has a text, and the reverse', () => {
    const template = { ...TEMPLATE, diskSize: 1_048_576 }
    expect(said({ spec: { vmDiskImageTemplate: template }, ...differing({ diskSize: '1048576' }) })).toBeUndefined()
    expect(said({ spec: { vmDiskImageTemplate: template }, ...differing({ diskSize: 1_048_576 }) })).toBeUndefined()
  })

  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['is the reason of a machine that runs', {}, 'Ready/ImageMismatch'],
    ['comes first where the machine is off', { runStrategy: 'Halted' }, 'Ready/Halted'],
  ])('whose image is another one %s', (_what, more, stand) => {
    const mark = { 'pelotech.ot/creator': 'Workspace/squatter/uid generation 1' }
    const image = anImage(PUBLISHED, { annotations: mark }, { ...TEMPLATE, url: 'https://images.example/b.qcow2' })
    const walk = new MachineWalk({ image, spec: more }).settle().disk(DISK.succeeded)
    if (stand.endsWith('ImageMismatch')) walk.start()
    expect(walk.after(HOUR).stand).toBe(stand)
    expect(walk.message).toMatch(
      /^the image differs from the template in url, and Workspace squatter had it created; .*; the (guest|machine)/,
    )
  })

  it('that differs only in how the image is kept is no reason', () => {
    const template = { ...TEMPLATE, reclaimPolicy: 'Retain' }
    const walk = new MachineWalk({ spec: { vmDiskImageTemplate: template } })
      .settle()
      .disk(DISK.succeeded)
      .start()
      .after(HOUR)
    expect([walk.stand, walk.condition('ImageMismatch')?.message]).toEqual([
      'Ready/Running',
      expect.stringContaining('in reclaimPolicy'),
    ])
  })

  it('that differs is one Event, and not told any more when it does not', () => {
    const walk = new MachineWalk(differing({ diskSize: '20Gi' })).settle()
    walk.disk(DISK.succeeded).start().after(HOUR)
    expect(walk.events.filter((line) => line.endsWith('ImageMismatch'))).toEqual(['Warning ImageMismatch'])
    expect(walk.condition('ImageMismatch')?.status).toBe('True')
    expect(walk.stand).toBe('Ready/ImageMismatch')
    expect(walk.set({ image: anImage() }).settle().condition('ImageMismatch')).toBeUndefined()
  })

  it('may be of an image whose spec is not readable', () => {
    const image = anImage(PUBLISHED, {}, null)
    expect(said({ image })).toContain('in storageClass, snapshotClass, url, sourceType, diskSize')
  })
})
