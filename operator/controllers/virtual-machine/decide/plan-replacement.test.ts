import { ANNOTATIONS } from '@open-terrain/constructs'
import { ABOUT_LOSSES } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { ARTIFACT, KUBEVIRT, PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { toTime } from '../../../base/time.ts'
import { planMachine } from './plan.ts'

const FIRST = 'vm-root'
const SECOND = 'vm-root-g2'

/** A machine that has run, and of which somebody asks for another disk. */
const asked = () => new MachineWalk().deploy().reset().settle()
/** CDI has completed the new disk. */
const cloned = () => asked().root(SECOND, DISK.succeeded, 'claim-2').settle()
/** The machine runs from the new disk. */
const replaced = () => cloned().powerOff().settle().start()
const writesSince = (walk: MachineWalk, from: number) => walk.log.slice(from).filter((line) => !/^status/.test(line))

describe('a machine whose reset is asked for', () => {
  it('runs on while its new disk is cloned, and says what is lost, and when', () => {
    const walk = asked()
    expect([walk.stand, walk.startsFrom, walk.world.machine?.runStrategy]).toEqual(['Ready/Replacing', FIRST, 'Always'])
    expect(walk.status.replacement).toMatchObject({ asked: 'Reset', disk: { name: SECOND, image: 'farm/golden' } })
    expect(walk.condition('Replacing')?.message).toBe(
      `annotation ${ANNOTATIONS.resetRequestedAt} asks for a new root disk: when DataVolume ${SECOND}, a clone of VMDiskImage farm/golden, is complete, the guest is stopped, and starts from it; PersistentVolumeClaim ${FIRST} is deleted 1h later (policy key resetGrace), with all that the guest has written to it: save before what is needed`,
    )
    expect(walk.events.filter((line) => line === 'Warning Replacing')).toHaveLength(1)
    walk.root(SECOND, DISK.cloning, 'claim-2').settle()
    expect([walk.stand, walk.world.machine?.runStrategy]).toEqual(['Ready/Replacing', 'Always'])
  })

  it('is stopped when that is complete, gets it when it is off, and starts from it', () => {
    const walk = cloned()
    expect([walk.stand, walk.world.machine?.runStrategy, walk.startsFrom]).toEqual([
      'Provisioning/Replacing',
      'Halted',
      FIRST,
    ])
    const uuid = walk.world.machine?.firmwareUuid
    walk.powerOff().settle()
    expect([walk.startsFrom, walk.world.machine?.runStrategy, walk.world.rootName]).toEqual([SECOND, 'Always', SECOND])
    expect(walk.world.machine?.firmwareUuid).not.toBe(uuid)
    walk.start()
    expect(walk.stand).toBe('Ready/Running')
    expect(walk.status).toMatchObject({ diskUID: 'claim-2', oldDisk: { claim: FIRST } })
    expect(walk.status.replacement).toBeUndefined()
    expect(walk.condition('Replacing')).toBeUndefined()
  })

  it.each([
    ['its TPM is persistent', { tpm: { persistent: true } }, true],
    ['its UEFI variables are persistent', { bootloader: { efi: { persistent: true } } }, true],
    ['it has a new TPM at each start', { tpm: {} }, false],
  ])('says what stays beside the disk, where %s', (_what, hardware, isTold) => {
    const walk = new MachineWalk().deploy()
    if (walk.world.machine === undefined) throw new Error(walk.stand)
    walk.set({ machine: { ...walk.world.machine, hardware } })
    const { status } = planMachine(walk.reset().world, walk.now)
    const { message = '' } = status.conditions?.find(({ type }) => type === 'Replacing') ?? {}
    expect(message).toContain('is deleted 1h later (policy key resetGrace)')
    expect(message.includes('begins with persistent-state-for-vm: for new ones, delete that claim')).toBe(isTold)
  })

  it('keeps the old disk until the time that it says, and deletes it then', () => {
    const walk = replaced()
    const { expiresAt = '' } = walk.status.oldDisk ?? {}
    expect(Date.parse(expiresAt)).toBe(walk.now + HOUR)
    expect(walk.condition('OldDiskKept')?.message).toContain(`is kept until ${expiresAt}`)
    expect(walk.condition('OldDiskKept')?.message).toContain(`kubectl -n team delete dv ${FIRST}`)
    const from = walk.log.length
    walk.after(HOUR - 1)
    expect(writesSince(walk, from)).toEqual([])
    walk.after(1)
    expect(writesSince(walk, from)).toEqual([`delete DataVolume ${FIRST}`])
    expect([walk.status.oldDisk, walk.condition('OldDiskKept'), walk.stand]).toEqual([
      undefined,
      undefined,
      'Ready/Running',
    ])
  })

  it('keeps the old disk as long as it says by the clock of the API server, whatever the clocks of operators do', () => {
    const walk = replaced()
    const { oldDisk } = walk.status
    const from = walk.log.length
    // A new leader whose clock is a week ahead, and that has not heard of the API server yet.
    walk.serverAheadMs = undefined
    walk.after(7 * 24 * HOUR)
    walk.serverAheadMs = -7 * 24 * HOUR
    walk.after(HOUR - 1)
    expect([writesSince(walk, from), walk.status.oldDisk]).toEqual([[], oldDisk])
    walk.after(1)
    expect(writesSince(walk, from)).toEqual([`delete DataVolume ${FIRST}`])
  })

  it('keeps the old disk longer while somebody clones it', () => {
    const walk = replaced()
    walk.rescues.push({})
    walk.after(3 * HOUR)
    expect(walk.status.oldDisk).toBeDefined()
    const from = walk.log.length
    walk.rescues.pop()
    walk.after(HOUR)
    expect(writesSince(walk, from)).toEqual([`delete DataVolume ${FIRST}`])
  })

  it('and is asked for again before it has its new disk, it gets that one alone', () => {
    const walk = new MachineWalk().deploy().reset('one').settle().reset('two').settle()
    walk.root(SECOND, DISK.succeeded, 'claim-2').settle().reset('three').settle().powerOff().settle().start()
    walk.after(24 * HOUR)
    expect([walk.startsFrom, walk.status.replacement, walk.condition('Replacing')]).toEqual([
      SECOND,
      undefined,
      undefined,
    ])
  })

  it('and gets another disk from a restore meanwhile, it keeps that', () => {
    const walk = new MachineWalk().deploy().reset('one').settle().root(SECOND, DISK.cloning, 'claim-2').settle()
    const claim = aClaim({ name: 'restore-exam', uid: 'restored' })
    walk.set({ restoredClaim: 'restore-exam', isDiskElsewhere: true, claim }).settle()
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([`delete DataVolume ${SECOND}`])
    walk.roots.delete(SECOND)
    walk.after(HOUR)
    expect(walk.status.replacement).toBeUndefined()
  })

  it('and is restored after it, the old disk goes in its time, and the disk of the reset stays', () => {
    const walk = replaced()
    const claim = aClaim({ name: 'restore-exam', uid: 'restored' })
    walk.set({ restoredClaim: 'restore-exam', isDiskElsewhere: true, claim }).settle()
    const from = walk.log.length
    walk.after(24 * HOUR)
    expect(walk.log.slice(from).filter((line) => line.startsWith('delete'))).toEqual([`delete DataVolume ${FIRST}`])
    expect([...walk.roots.keys(), walk.world.clone?.metadata.name]).toContain(SECOND)
  })

  it('and is asked for again meanwhile, it is replaced again when the old disk is gone', () => {
    const walk = replaced().reset('again').settle()
    expect(walk.status.replacement).toBeUndefined()
    expect(walk.condition('Replacing')?.reason).toBe('ReplacementBlocked')
    expect(walk.condition('Replacing')?.message).toContain(`to go on at once: kubectl -n team delete dv ${FIRST}`)
    walk.after(HOUR)
    expect(walk.status.replacement?.disk.name).toBe('vm-root-g3')
    expect([...walk.roots.keys()]).toEqual(['vm-root-g3'])
  })

  it('counts each value once', () => {
    const walk = replaced().after(HOUR)
    const from = walk.log.length
    walk.reset().settle().after(HOUR)
    expect(writesSince(walk, from)).toEqual([])
  })

  it('counts no value again that comes back, and says so once', () => {
    const walk = replaced().after(HOUR).reset('another').settle()
    walk.root('vm-root-g3', DISK.succeeded, 'claim-3').settle().powerOff().settle().after(HOUR)
    const from = walk.log.length
    walk.reset().settle().after(HOUR)
    expect(writesSince(walk, from)).toEqual([])
    expect([walk.startsFrom, walk.events.filter((one) => one === 'Warning ResetNotCounted').length]).toEqual([
      'vm-root-g3',
      1,
    ])
    walk.reset('a third one').settle()
    expect(walk.status.replacement?.disk.name).toBe('vm-root-g4')
  })

  it('without time for the old disk, it is deleted when the new one is complete', () => {
    const walk = new MachineWalk().setPolicy({ resetGraceMs: 0 }).deploy().reset().settle()
    expect(walk.condition('Replacing')?.message).toContain('is deleted at once')
    walk.root(SECOND, DISK.succeeded, 'claim-2').settle().powerOff().settle()
    expect([[...walk.roots.keys()], walk.startsFrom]).toEqual([[], SECOND])
  })

  it('and is off, stays off', () => {
    const walk = new MachineWalk().deploy().edit({ powerState: 'Halted' }).settle().powerOff().settle()
    walk.reset().settle().root(SECOND, DISK.succeeded, 'claim-2').settle()
    expect([walk.startsFrom, walk.world.machine?.runStrategy, walk.stand]).toEqual([SECOND, 'Halted', 'Ready/Halted'])
  })

  it('and whose storage waits for a guest, gets the disk that waits, and keeps the old one until that is complete', () => {
    const walk = asked().root(SECOND, DISK.waiting, 'claim-2').settle().powerOff().settle()
    expect([walk.startsFrom, walk.status.oldDisk?.expiresAt]).toEqual([SECOND, undefined])
    walk.after(24 * HOUR)
    expect([...walk.roots.keys()]).toEqual([FIRST])
    walk.disk(DISK.succeeded).start()
    expect(Date.parse(walk.status.oldDisk?.expiresAt ?? '')).toBe(walk.now + HOUR)
  })
})

describe('nothing is stopped, and nothing is deleted', () => {
  const untouched = (walk: MachineWalk) => {
    expect([walk.startsFrom, walk.world.machine?.runStrategy, walk.world.claim?.metadata.name]).toEqual([
      FIRST,
      'Always',
      FIRST,
    ])
    expect(walk.log.filter((line) => /^delete|^change/.test(line))).toEqual([])
  }

  it.each([
    ['is missing', undefined, 'VMDiskImage farm/golden does not exist'],
    ['is Failed', { phase: 'Failed', message: '404' } as const, 'VMDiskImage farm/golden is Failed: 404'],
  ])('by an image that %s', (_what, image, text) => {
    const walk = new MachineWalk({ spec: { vmDiskImageTemplate: undefined } }).deploy().image(image).reset().settle()
    expect(walk.condition('Replacing')?.reason).toBe('ReplacementBlocked')
    expect(walk.condition('Replacing')?.message).toContain(`it waits, and nothing is stopped or deleted: ${text}`)
    untouched(walk.after(24 * HOUR))
    walk.image(PUBLISHED)
    expect([...walk.roots.keys()]).toEqual([SECOND])
  })

  it.each([
    ['fails', DISK.failed, 'DataVolume vm-root-g2 is Failed'],
    [
      'has no room',
      { ...DISK.new, bound: { reason: 'ErrExceededQuota', message: 'exceeded quota: lab' } },
      'a ResourceQuota of the namespace leaves no room for the new root disk: exceeded quota: lab; raise it, or delete what nobody needs',
    ],
  ])('by a new disk that %s', (_what, change, text) => {
    const walk = asked().root(SECOND, change).settle()
    expect(walk.condition('Replacing')?.message).toContain(text)
    untouched(walk.after(24 * HOUR))
  })

  it('while KubeVirt restores the machine', () => {
    const walk = asked()
      .root(SECOND, DISK.succeeded, 'claim-2')
      .set({ restoring: { restore: 'before-exam' } })
      .settle()
    untouched(walk)
    expect([walk.stand, walk.condition('Replacing')?.status]).toEqual(['Provisioning/Restoring', 'True'])
  })

  it('by an object of somebody else that has the name of the new disk', () => {
    const walk = new MachineWalk().deploy()
    walk.roots.set(SECOND, { claim: aClaim({ name: SECOND, uid: 'foreign', labels: {} }) })
    walk.reset().settle()
    expect(walk.condition('Replacing')?.message).toContain(
      `PersistentVolumeClaim ${SECOND} has the name of the new disk`,
    )
    untouched(walk)
  })

  it.each([ANNOTATIONS.resetRequestedAt, ANNOTATIONS.rebuildRequestedAt])(
    'by %s that the machine was created with',
    (annotation) => {
      untouched(new MachineWalk({ metadata: { annotations: { [annotation]: 'then' } } }).deploy().after(HOUR))
    },
  )

  it('by a reset that was there before the operator knew of resets: that is said, and the next one counts', () => {
    const walk = new MachineWalk().deploy()
    const { resetRequest: _unknown, ...status } = walk.status
    walk.change({ status }).reset('long ago').settle()
    untouched(walk)
    expect(walk.events).toContain('Warning ResetNotCounted')
    walk.reset('today').settle()
    expect(walk.stand).toBe('Ready/Replacing')
  })

  it('where nobody asks, and there is no write for the sake of that', () => {
    const walk = new MachineWalk().deploy()
    const { resetRequest, ...status } = walk.status
    expect(resetRequest).toBe('none')
    const from = walk.change({ status }).log.length
    untouched(walk.settle())
    expect(walk.log.slice(from)).toEqual([])
  })

  it('by a request while the machine is left as it is', () => {
    const walk = new MachineWalk().deploy().edit({ ignoreOnDeploy: true }).settle().reset().settle()
    expect(walk.events).toContain('Warning ResetNotCounted')
    walk.edit({ ignoreOnDeploy: false }).settle()
    untouched(walk)
  })
})

describe('a crash after each write', () => {
  it('changes nothing about how a disk is replaced', () => {
    const walk = new MachineWalk().deploy().reset().settleByWrites()
    walk.root(SECOND, DISK.succeeded, 'claim-2').settleByWrites()
    expect(walk.startsFrom).toBe(FIRST)
    walk.powerOff().settleByWrites()
    expect([walk.startsFrom, walk.world.machine?.runStrategy]).toEqual([SECOND, 'Always'])
    walk.instance().kubevirtSays(KUBEVIRT.running).settleByWrites()
    walk.now += HOUR
    walk.settleByWrites()
    expect([walk.stand, [...walk.roots.keys()]]).toEqual(['Ready/Running', []])
    const acts = walk.log.filter((line) => /vm-root|^change/.test(line))
    expect(acts).toEqual([
      `apply DataVolume ${FIRST}`,
      `apply DataVolume ${SECOND}`,
      'change VirtualMachine vm',
      'change VirtualMachine vm',
      `delete DataVolume ${FIRST}`,
    ])
  })
})

it('a guest that somebody starts before it has the new disk is stopped again first', () => {
  const walk = cloned().powerOff()
  walk.tamper({ spec: { runStrategy: 'Always' } }).instance()
  expect([walk.startsFrom, walk.world.machine?.runStrategy]).toEqual([FIRST, 'Halted'])
})

it('a disk that is not complete is made again for a reset', () => {
  const walk = new MachineWalk().image(PUBLISHED).disk(DISK.failed).reset().settle()
  expect(walk.log).toContain(`delete DataVolume ${FIRST}`)
  walk.diskGone().settle()
  expect([walk.log.filter((line) => line === `apply DataVolume ${FIRST}`).length, walk.stand]).toEqual([
    2,
    'Provisioning/Cloning',
  ])
  expect(walk.status.resetRequest).not.toBe('none')
})

it('a reset answers the loss of the disk', () => {
  const walk = new MachineWalk().deploy().set({ instance: undefined }).diskGone().settle()
  expect(walk.stand).toBe('Failed/DiskLost')
  walk.reset().machineGone().settle()
  expect(walk.log.at(-1)).not.toContain('delete')
  expect(walk.world.clone?.metadata.name).toBe(FIRST)
})

it('what a restore has made goes by its own uid, and an old disk that a restore has put in place stays', () => {
  const walk = replaced()
  walk.tamper({
    template: {
      volumes: [
        { name: 'rootdisk', persistentVolumeClaim: { claimName: FIRST } },
        { name: 'cloudinit', cloudInitNoCloud: { secretRef: { name: 'vm-cloudinit' } } },
      ],
    },
  })
  const claim = aClaim({ name: FIRST, uid: 'restored' })
  walk.set({ restoredClaim: FIRST, isDiskElsewhere: true, claim }).settle()
  const from = walk.log.length
  walk.after(24 * HOUR)
  expect(walk.log.slice(from).filter((line) => line.startsWith('delete'))).toEqual([])
  expect(walk.status.oldDisk).toBeUndefined()
})

it('a restored disk that was replaced, and whose predecessor is gone, is not taken for lost before that is recorded', () => {
  const { world, now } = cloned()
  const machine = world.machine && { ...world.machine, rootDataVolume: SECOND, rootClaim: '', runStrategy: 'Halted' }
  const swapped = { ...world, machine, instance: undefined, clone: undefined, claim: undefined }
  const plan = planMachine(swapped, now)
  expect([plan.status.clone?.name, plan.status.replacement, plan.status.phase]).toEqual([
    SECOND,
    undefined,
    'Provisioning',
  ])
  expect([plan.remove, plan.apply, plan.status.conditions?.find(({ type }) => type === 'DiskLost')?.status]).toEqual([
    [],
    [],
    undefined,
  ])
})

it('a restored disk that was replaced is the old one, and not the disk from before the restore, which stays', () => {
  const { world, now } = cloned()
  const { replacement } = world.vm.status
  const restored = { ...replacement, claim: 'restore-exam', claimUID: 'restored' } as typeof replacement
  const vm = { ...world.vm, status: { ...world.vm.status, replacement: restored } }
  const machine = world.machine && { ...world.machine, rootDataVolume: SECOND, rootClaim: '', runStrategy: 'Halted' }
  const { status } = planMachine({ ...world, vm, machine, instance: undefined }, now)
  expect([world.claim?.metadata.name, status.clone?.name]).toEqual([FIRST, SECOND])
  expect(status.oldDisk).toEqual({ claim: 'restore-exam', claimUID: 'restored', expiresAt: toTime(now + HOUR) })
})

describe('rebuild-requested-at', () => {
  /** The image has a newer revision than the disk. */
  const outdated = (walk = new MachineWalk().deploy()) =>
    walk.image({ ...PUBLISHED, artifact: { ...ARTIFACT, revision: 'new' } })

  it('replaces the disk of a machine that is outdated, once', () => {
    const walk = outdated().rebuild()
    expect(walk.status.replacement).toMatchObject({ asked: 'Rebuild', disk: { name: SECOND, sourceRevision: 'new' } })
    expect(walk.condition('Replacing')?.message).toContain(`annotation ${ANNOTATIONS.rebuildRequestedAt} asks for`)
    walk.root(SECOND, DISK.succeeded, 'claim-2').settle().powerOff().settle().start().after(HOUR)
    expect([walk.startsFrom, walk.condition('UpToDate')?.status]).toEqual([SECOND, 'True'])
    const from = walk.log.length
    walk.image({ ...PUBLISHED, artifact: { ...ARTIFACT, revision: 'newer' } }).after(HOUR)
    expect(writesSince(walk, from)).toEqual([])
  })

  const untouched = (walk: MachineWalk) => {
    walk.after(HOUR)
    expect([walk.status.replacement, walk.startsFrom, walk.world.machine?.runStrategy]).toEqual([
      undefined,
      FIRST,
      'Always',
    ])
  }

  it('is cancelled when the disk is up to date again before it is replaced', () => {
    const walk = outdated().rebuild().settle()
    walk.root(SECOND, DISK.cloning, 'claim-2').image(PUBLISHED).settle()
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([`delete DataVolume ${SECOND}`])
    untouched(walk)
  })

  it('of a Workspace that told of a loss leaves an outdated disk alone', () => {
    untouched(outdated().rebuild(`now${ABOUT_LOSSES}`))
  })

  it('leaves a machine alone that is not outdated, also when it is later', () => {
    untouched(outdated(new MachineWalk().deploy().rebuild()))
  })

  it.each([
    ['that the version before had seen', true],
    ['that nobody had seen', false],
  ])(
    'from before the upgrade destroys nothing, when the operator first looks at a machine: one %s',
    (_what, isSeen) => {
      const walk = outdated(isSeen ? new MachineWalk().deploy().rebuild('long ago') : new MachineWalk().deploy())
      const { resetRequest: _unknown, conditions = [], ...status } = walk.status
      const before = { ...status, conditions: conditions.filter(({ type }) => type !== 'UpToDate') }
      walk.change({ status: before }).rebuild('long ago')
      untouched(walk)
      expect(walk.status.rebuildRequest).toBeDefined()
      expect(walk.rebuild('today').status.replacement?.asked).toBe('Rebuild')
    },
  )

  it('that was meant for a loss is over when the disk is there again', () => {
    const walk = outdated(new MachineWalk().deploy())
    const { clone, claim } = walk.world
    walk.set({
      claim: claim && { ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    })
    walk.settle().rebuild()
    expect(walk.stand).toBe('Failed/DiskBeingDeleted')
    walk.set({ clone, claim }).settle()
    untouched(walk)
  })
})
