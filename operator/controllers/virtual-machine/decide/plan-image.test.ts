import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { ARTIFACT, anImage, PUBLISHED, QUEUED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { aMachineWorld, type MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import { planMachine } from './plan.ts'

const WHICH = 'VMDiskImage farm/golden'

const NO_TEMPLATE = { vmDiskImageTemplate: undefined }

const ONLY_IF_THERE = { vmDiskImageMode: 'FailIfNotExist' }

const TERMINATING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

const planOf = (overrides: MachineWorldOverrides) => planMachine(aMachineWorld(overrides), START)

const missing = (more: MachineWorldOverrides = {}): MachineWorldOverrides => ({ image: undefined, ...more })

const present = (status: VMDiskImageStatus): MachineWorldOverrides => ({ image: anImage(status) })

describe('an image that no disk can be cloned from', () => {
  it.each<[string, MachineWorldOverrides, string, string]>([
    ['is missing', missing(), 'Provisioning/ImageMissing', `${WHICH} does not exist: it is created from the template`],
    [
      'is missing, without a template',
      missing({ spec: NO_TEMPLATE }),
      'Provisioning/ImageNotFound',
      'no vmDiskImageTemplate: waiting until somebody creates it',
    ],
    [
      'is missing, and may not be created',
      missing({ spec: ONLY_IF_THERE }),
      'Failed/ImageNotFound',
      'vmDiskImageMode is FailIfNotExist: create it, or change the mode',
    ],
    [
      'is missing, may not be created, and has no template',
      missing({ spec: { ...ONLY_IF_THERE, ...NO_TEMPLATE } }),
      'Failed/ImageNotFound',
      `${WHICH} does not exist`,
    ],
    ...[NO_TEMPLATE, { ...ONLY_IF_THERE, ...NO_TEMPLATE }].map(
      (spec): [string, MachineWorldOverrides, string, string] => [
        'is missing, and there is one with a hash',
        missing({ spec, imageWithHash: 'farm/lab-033-2.0.0-dc1-9cef6943' }),
        `${'vmDiskImageMode' in spec ? 'Failed' : 'Provisioning'}/ImageNotFound`,
        '; a DataSync has one under the name lab-033-2.0.0-dc1-9cef6943: name that one if it is meant',
      ],
    ),
    [
      'is missing with its namespace',
      missing({ imageNamespace: 'missing' }),
      'Provisioning/ImageMissing',
      `namespace farm does not exist: ${WHICH} cannot be created in it`,
    ],
    [
      'is missing, and its namespace is being deleted',
      missing({ imageNamespace: 'terminating' }),
      'Provisioning/NamespaceTerminating',
      'namespace farm is being deleted',
    ],
    ['has no status yet', present({}), 'Provisioning/WaitingForImage', `${WHICH} is new`],
    [
      'waits in the queue',
      present({ ...QUEUED, message: 'waits for a slot' }),
      'Provisioning/WaitingForImage',
      `${WHICH} is Queued: waits for a slot`,
    ],
    [
      'waits for something that it lacks',
      present({ phase: 'Queued', message: 'Secret creds does not exist' }),
      'Provisioning/WaitingForImage',
      `${WHICH} is Queued: Secret creds does not exist`,
    ],
    [
      'is downloaded',
      present({ phase: 'Syncing', progress: '42.0%' }),
      'Provisioning/ImageSyncing',
      `${WHICH} is Syncing (42.0%)`,
    ],
    ['is snapshotted', present({ phase: 'Snapshotting' }), 'Provisioning/ImageSyncing', `${WHICH} is Snapshotting`],
    ['lost its artifact', present({ phase: 'Succeeded' }), 'Provisioning/WaitingForImage', `${WHICH} is Succeeded`],
    [
      'has failed',
      present({ phase: 'Failed', message: 'got 404' }),
      'Failed/ImageFailed',
      `${WHICH} is Failed: got 404`,
    ],
    [
      'is being deleted, with its artifact',
      { image: anImage(PUBLISHED, TERMINATING) },
      'Provisioning/ImageTerminating',
      'is being deleted: it is created again from the template once it is gone',
    ],
    [
      'is being deleted, and will not be made again',
      { image: anImage(PUBLISHED, TERMINATING), spec: NO_TEMPLATE },
      'Provisioning/ImageTerminating',
      'is being deleted: create it again, or name another in vmDiskImageRef',
    ],
    [
      'is being deleted after it failed',
      { image: anImage({ phase: 'Failed' }, TERMINATING) },
      'Provisioning/ImageTerminating',
      'is being deleted',
    ],
  ])('since it %s: told, and nothing is made of it', (_what, overrides, stand, text) => {
    const { status, apply, remove, requeue } = planOf(overrides)
    const reason = reasonOf(status)
    expect([`${status.phase}/${reason}`, status.message]).toEqual([stand, expect.stringContaining(text)])
    expect(apply.filter(({ kind }) => kind !== 'VMDiskImage')).toEqual([])
    expect(remove).toEqual([])
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'ImageReady', status: 'False', reason, message: status.message }),
    )
    // No time limit runs while the machine waits for its image.
    expect([requeue, status.provisioningSince]).toEqual([undefined, undefined])
  })

  it('and is not created for a machine whose namespace is being deleted: told', () => {
    const { status, apply } = planOf(missing({ namespaceTerminating: true }))
    expect(apply).toEqual([])
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'ImageReady',
        reason: 'NamespaceTerminating',
        message: `${WHICH} does not exist, and is not created for a virtual machine whose namespace is being deleted`,
      }),
    )
  })

  it.each<[string, MachineWorldOverrides]>([
    ['exists', present(QUEUED)],
    ['has failed', present({ phase: 'Failed' })],
    ['is being deleted', { image: anImage(PUBLISHED, TERMINATING) }],
    ['may not be created', missing({ spec: ONLY_IF_THERE })],
    ['has no template', missing({ spec: NO_TEMPLATE })],
    ['has no namespace', missing({ imageNamespace: 'missing' })],
    ['has a namespace that is being deleted', missing({ imageNamespace: 'terminating' })],
  ])('and %s is not created', (_what, overrides) => {
    expect(planOf(overrides)).toMatchObject({ apply: [] })
  })
})

describe('what the status shows of an image', () => {
  it.each<[string, MachineWorldOverrides, object]>([
    ['that is missing', missing(), {}],
    ['that is new', present({}), { uid: 'image-uid' }],
    ['in the queue', present(QUEUED), { uid: 'image-uid', ...QUEUED }],
    ['with an artifact', {}, { uid: 'image-uid', phase: 'Succeeded', revision: '1a2b3c4d' }],
    [
      'that is refreshed, to a machine that waits',
      present({ ...QUEUED, artifact: ARTIFACT }),
      { uid: 'image-uid', ...QUEUED, revision: '1a2b3c4d' },
    ],
  ])('%s', (_what, overrides, expected) => {
    expect(planOf(overrides).status.image).toEqual({ namespace: 'farm', name: 'golden', ...expected })
  })

  it('is neither its phase nor its place in the queue to a machine that has its disk', () => {
    const walk = new MachineWalk().settle().image({ ...QUEUED, artifact: ARTIFACT })
    const expected = { namespace: 'farm', name: 'golden', uid: 'image-uid', revision: '1a2b3c4d' }
    expect(walk.status.image).toEqual(expected)
    expect(
      walk
        .deploy()
        .set({ clone: undefined })
        .image({ ...QUEUED, artifact: ARTIFACT }).status.image,
    ).toEqual(expected)
  })

  it('is one write for a whole refresh, with a try that fails, to each machine that has its disk', () => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    const refresh: VMDiskImageStatus = { revision: 'next', artifact: ARTIFACT }
    const next = { ...ARTIFACT, name: 'golden-next', revision: 'next' }
    walk.image({ ...refresh, ...QUEUED })
    for (const message of ['attempt 1', 'attempt 2']) {
      walk.image({ ...refresh, phase: 'Syncing', progress: '1.0%', message })
      walk.image({ ...refresh, phase: 'Syncing', progress: '42.0%', message })
      walk.image({ ...refresh, phase: 'Failed', message: `${message} failed` })
      walk.image({ ...refresh, ...QUEUED, message: `${message} failed; next attempt at ${message}` })
    }
    walk.image({ ...refresh, phase: 'Snapshotting' })
    expect(walk.log.slice(before)).toEqual([])
    walk.image({ phase: 'Succeeded', revision: 'next', artifact: next })
    expect(walk.log.slice(before)).toEqual(['status Ready/Running'])
    expect(walk.status.image?.revision).toBe('next')
  })
})

describe('an image with an artifact', () => {
  it.each<[string, VMDiskImageStatus]>([
    ['is refreshed', { phase: 'Syncing', artifact: ARTIFACT }],
    ['waits to be refreshed', { ...QUEUED, artifact: ARTIFACT }],
    ['could not be refreshed', { phase: 'Failed', message: 'got 404', artifact: ARTIFACT }],
  ])('and that %s is cloned all the same', (_what, status) => {
    const plan = planOf(present(status))
    expect(plan.apply.map(({ kind }) => kind)).toContain('DataVolume')
    expect(plan.status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'ImageReady',
        status: 'True',
        reason: 'ImageReady',
        message: 'VolumeSnapshot golden-1a2b3c4d can be cloned',
      }),
    )
  })
})

describe('while a machine waits for its image', () => {
  it('it goes through the states of the image, and time does not count', () => {
    const walk = new MachineWalk({ image: undefined }).settle()
    const seen = [walk.stand]
    const states: (VMDiskImageStatus | undefined)[] = [
      QUEUED,
      { phase: 'Syncing', progress: '1.0%' },
      { phase: 'Failed', message: 'got 404' },
      { phase: 'Queued' },
      { phase: 'Snapshotting' },
      PUBLISHED,
    ]
    for (const status of states) {
      walk.after(HOUR).image(status)
      seen.push(walk.stand)
    }
    expect(seen).toEqual([
      'Provisioning/WaitingForImage',
      'Provisioning/WaitingForImage',
      'Provisioning/ImageSyncing',
      'Failed/ImageFailed',
      'Provisioning/WaitingForImage',
      'Provisioning/ImageSyncing',
      'Provisioning/Cloning',
    ])
    expect(walk.status.provisioningSince).toBe('2026-01-01T06:00:00.000Z')
  })

  it('an image that somebody deletes meanwhile is made again when it is gone', () => {
    const walk = new MachineWalk({ image: anImage(QUEUED) }).settle()
    walk.set({ image: anImage(QUEUED, TERMINATING) }).settle()
    expect(walk.stand).toBe('Provisioning/ImageTerminating')
    expect(walk.log.filter((line) => line.startsWith('apply'))).toEqual([])
    walk.image(undefined)
    expect(walk.log.filter((line) => line.startsWith('apply'))).toEqual(['apply VMDiskImage golden'])
    expect(walk.deploy().stand).toBe('Ready/Running')
  })

  it('FailIfNotExist is left by itself when the image appears, and entered when it goes', () => {
    const walk = new MachineWalk({ image: undefined, spec: ONLY_IF_THERE }).settle()
    expect(walk.stand).toBe('Failed/ImageNotFound')
    expect(walk.image(QUEUED).stand).toBe('Provisioning/WaitingForImage')
    expect(walk.image(undefined).stand).toBe('Failed/ImageNotFound')
    expect(walk.deploy().stand).toBe('Ready/Running')
  })

  it('time does not count either when it has lost its disk, and waits once more', () => {
    const walk = new MachineWalk().settle().disk(DISK.cloning)
    walk.diskGone().image(QUEUED).reap()
    walk.after(5 * HOUR).image(PUBLISHED)
    expect(walk.stand).toBe('Provisioning/Cloning')
  })

  it('that may not be created and is being deleted, nobody is told that it is created again', () => {
    const { status } = planOf({ image: anImage(PUBLISHED, TERMINATING), spec: ONLY_IF_THERE })
    expect(status.message).not.toContain('it is created again')
  })
})

describe('once a machine has a disk', () => {
  it.each<[string, MachineWorldOverrides['image']]>([
    ['is gone', undefined],
    ['is being deleted', anImage(PUBLISHED, TERMINATING)],
    ['has failed', anImage({ phase: 'Failed' })],
    ['waits in the queue', anImage(QUEUED)],
  ])('it goes on whatever becomes of its image, which %s', (_what, image) => {
    const walk = new MachineWalk().settle().disk(DISK.cloning).set({ image }).settle()
    expect(walk.stand).toBe('Provisioning/Cloning')
    walk.disk(DISK.succeeded).start()
    expect(walk.stand).toBe('Ready/Running')
    expect(walk.condition('ImageReady')?.status).toBe('False')
    expect(walk.log).not.toContain('apply VMDiskImage golden')
    expect(walk.after(MINUTE).log.filter((line) => line.startsWith('delete'))).toEqual([])
  })

  it('another artifact is no reason to make another disk', () => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    walk.image({ phase: 'Succeeded', artifact: { ...ARTIFACT, name: 'golden-99999999', revision: '99999999' } })
    expect(walk.log.slice(before)).toEqual(['status Ready/Running'])
    expect(walk.status).toMatchObject({ image: { revision: '99999999' }, clone: { sourceRevision: '1a2b3c4d' } })
  })
})
