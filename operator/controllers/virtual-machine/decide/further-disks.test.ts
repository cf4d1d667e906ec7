import { ANNOTATIONS } from '@open-terrain/constructs'
import { diskClaimName } from '@open-terrain/constructs/operator'
import { describe, expect, it, vi } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { KUBEVIRT, PUBLISHED } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import type { ClaimFacts } from '../world.ts'
import type { MachinePlan } from './machine-plan.ts'

const DATA = diskClaimName('vm', 'data')
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const EMPTY = { disks: [{ name: 'data', size: '8Gi' }] }
const VOLUME = { disks: [{ name: 'data', volume: 'course', bus: 'sata' }] }

interface Guest {
  readonly domain: { readonly devices: { readonly disks: readonly { readonly name: string }[] } }
  readonly volumes: readonly {
    readonly name: string
    readonly persistentVolumeClaim?: { readonly claimName: string }
  }[]
}

const guestOf = ({ world: { machine } }: MachineWalk) => {
  if (machine === undefined) throw new Error('no machine')
  return (machine.spec as { readonly template: { readonly spec: Guest } }).template.spec
}
const diskNames = (walk: MachineWalk) => guestOf(walk).domain.devices.disks.map(({ name }) => name)
const claimIn = (walk: MachineWalk) =>
  guestOf(walk).volumes.find(({ name }) => name === 'data')?.persistentVolumeClaim?.claimName
const writes = (walk: MachineWalk, from = 0) => walk.log.slice(from).filter((line) => !line.startsWith('status'))
const warning = (walk: MachineWalk) => walk.condition('SpecWarning')
const off = (walk: MachineWalk) => walk.set({ instance: undefined }).kubevirt(KUBEVIRT.stopped)
const claim = (walk: MachineWalk, name = DATA): ClaimFacts => {
  const found = walk.claims.get(name)
  if (found === undefined) throw new Error(`no claim ${name}`)
  return found
}
const goes = (walk: MachineWalk, name = DATA) => {
  const one = claim(walk, name)
  walk.claims.set(name, { ...one, metadata: { ...one.metadata, ...GOING } })
  return walk.settle()
}
const gone = (walk: MachineWalk, name = DATA) => {
  walk.claims.delete(name)
  return walk.settle()
}
/** KubeVirt has restored the machine: it writes the claims that it has made into the spec. */
const restored = (walk: MachineWalk, name: string) =>
  walk
    .volume(name)
    .tamper({
      metadata: {
        annotations: { ...walk.world.machine?.metadata.annotations, 'restore.kubevirt.io/lastRestoreUID': 'r-1' },
      },
      template: {
        volumes: guestOf(walk).volumes.map((one) =>
          one.name === 'data' ? { name: 'data', persistentVolumeClaim: { claimName: name } } : one,
        ),
      },
    })
    .settle()

describe('an empty disk', () => {
  it('is made before the machine, like the root disk, and the machine comes to rest with it', () => {
    const walk = new MachineWalk({ spec: EMPTY }).deploy()
    expect(walk.stand).toBe('Ready/Running')
    expect(claim(walk)).toMatchObject({
      spec: {
        storageClassName: 'fast',
        volumeMode: 'Block',
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '8Gi' } },
      },
      metadata: { ownerReferences: [{ kind: 'VirtualMachine', name: 'vm', controller: true }] },
    })
    expect(writes(walk).slice(-2)).toEqual([`apply PersistentVolumeClaim ${DATA}`, 'apply VirtualMachine vm'])
    expect(diskNames(walk)).toEqual(['rootdisk', 'cloudinit', 'data'])
    expect(guestOf(walk).domain.devices.disks[2]).toEqual({ name: 'data', serial: 'data', disk: { bus: 'virtio' } })
    expect(claimIn(walk)).toBe(DATA)
    expect(walk.status.disks).toEqual([{ name: 'data', claim: DATA, size: '8Gi', claimUID: claim(walk).metadata.uid }])
  })

  it('that is added to a running machine is made, and KubeVirt says what it needs', () => {
    const walk = new MachineWalk().deploy().edit(EMPTY).settle()
    expect(diskNames(walk)).toContain('data')
    walk.kubevirt({
      ...KUBEVIRT.running,
      conditions: [
        ...KUBEVIRT.running.conditions,
        { type: 'RestartRequired', status: 'True', message: 'a non-live-updatable field was changed' },
      ],
    })
    expect(walk.stand).toBe('Ready/RestartRequired')
  })

  it('keeps its size, and says so', () => {
    const walk = new MachineWalk({ spec: EMPTY }).deploy()
    const before = walk.log.length
    walk.edit({ disks: [{ name: 'data', size: '9Gi' }] }).settle()
    expect(writes(walk, before)).toEqual([])
    expect(warning(walk)).toMatchObject({ reason: 'DiskSizeKept', message: expect.stringContaining('size of 8Gi') })
    expect(warning(walk.edit(EMPTY).settle())).toBeUndefined()
  })

  it('that the spec does not name any more stays with its data, and is used again', () => {
    const walk = new MachineWalk({ spec: EMPTY }).deploy()
    const { uid } = claim(walk).metadata
    walk.tamper({
      template: { volumes: [...guestOf(walk).volumes, { name: 'theirs', persistentVolumeClaim: { claimName: 'x' } }] },
    })
    const before = walk.log.length
    walk.edit({ disks: undefined }).settle()
    expect(writes(walk, before)).toEqual(['apply VirtualMachine vm'])
    expect(diskNames(walk)).toEqual(['rootdisk', 'cloudinit'])
    expect(guestOf(walk).volumes.map(({ name }) => name)).toEqual(['rootdisk', 'cloudinit', 'theirs'])
    expect(warning(walk)).toMatchObject({
      reason: 'DiskKept',
      message: expect.stringContaining(`kubectl -n team delete pvc ${DATA}`),
    })
    walk.edit(EMPTY).settle()
    expect([claimIn(walk), claim(walk).metadata.uid, warning(walk)]).toEqual([DATA, uid, undefined])
  })

  it('is deleted after the machine and the root disk, and before the Secret', () => {
    const walk = new MachineWalk({ spec: EMPTY }).deploy()
    const before = walk.log.length
    walk.markDeleted().settle().reap().settle().reap().settle()
    expect(writes(walk, before).filter((line) => line.startsWith('delete'))).toEqual([
      'delete VirtualMachine vm',
      'delete DataVolume vm-root',
      `delete PersistentVolumeClaim ${DATA}`,
      'delete Secret vm-cloudinit',
    ])
  })
})

describe('an empty disk that the guest has had', () => {
  it.each<[string, (walk: MachineWalk) => MachineWalk]>([
    ['is gone', (walk) => gone(walk)],
    ['is gone, and nothing runs', (walk) => gone(off(walk))],
    ['is gone, and so is all of the machine', (walk) => gone(walk.machineGone())],
    [
      'is gone, and the status knows nothing of it',
      (walk) => gone(walk.change({ status: { ...walk.status, disks: undefined } })),
    ],
    ['has lost its volume', (walk) => walk.volume(DATA, { ...claim(walk), phase: 'Lost' }).settle()],
  ])('is never made again silently: it %s', (_what, loses) => {
    const walk = loses(new MachineWalk({ spec: EMPTY }).deploy())
    const before = walk.log.length
    for (const hours of [1, 1000]) {
      walk.after(hours * HOUR)
      expect(walk.stand).toBe('Failed/DiskLost')
      expect(walk.message).toContain(`disk data, PersistentVolumeClaim ${DATA}, `)
      expect(walk.condition('DiskLost')).toMatchObject({ status: 'True', reason: 'DiskLost' })
    }
    expect(writes(walk, before)).toEqual([])
    // Only a request that is made now counts, and it counts once.
    stopped(walk).rebuild()
    expect(walk.log.filter((line) => line === `apply PersistentVolumeClaim ${DATA}`)).toHaveLength(2)
    expect(walk.log.filter((line) => line.includes('DataVolume'))).toHaveLength(1)
    expect(walk.condition('DiskLost')).toBeUndefined()
    walk.start()
    expect(walk.stand).toBe('Ready/Running')
    expect(gone(walk).stand).toBe('Failed/DiskLost')
  })

  it('is made again after a process that died between the record of that and the claim', () => {
    const walk = stopped(gone(new MachineWalk({ spec: EMPTY }).deploy()))
    const plan = vi.spyOn(walk, 'plan')
    walk.rebuild()
    const plans = plan.mock.results.map(({ value }) => value as MachinePlan)
    const asked = plans.find(({ apply }) => apply.some(({ metadata }) => metadata.name === DATA))
    plan.mockRestore()
    walk.claims.delete(DATA)
    const status = { ...walk.status, ...asked?.status }
    gone(walk.change({ status }))
    expect(walk.log.filter((line) => line === `apply PersistentVolumeClaim ${DATA}`)).toHaveLength(3)
    walk.start()
    expect([walk.stand, walk.condition('DiskLost')]).toEqual(['Ready/Running', undefined])
    expect(gone(stopped(walk)).stand).toBe('Failed/DiskLost')
  })

  it('and that is being deleted is told of while the guest has it', () => {
    const walk = goes(new MachineWalk({ spec: EMPTY }).deploy())
    expect(walk.stand).toBe('Failed/DiskBeingDeleted')
    expect(walk.message).toContain('is gone when the guest stops: save what is needed')
    expect(walk.rebuild().stand).toBe('Failed/DiskBeingDeleted')
    expect(walk.removed).toEqual([])
  })

  it('and the root disk are made again by one request', () => {
    const walk = off(new MachineWalk({ spec: EMPTY }).deploy())
    gone(walk.diskGone()).machineGone()
    expect(walk.settle().condition('DiskLost')?.message).toMatch(/root disk.*disk data/)
    walk.rebuild()
    walk.disk({ phase: 'Succeeded' }).start()
    expect(walk.stand).toBe('Ready/Running')
    expect(walk.log.filter((line) => line === `apply PersistentVolumeClaim ${DATA}`)).toHaveLength(2)
  })

  it('stays when the root disk is lost and made again', () => {
    const walk = off(new MachineWalk({ spec: EMPTY }).deploy())
    walk.diskGone().settle().machineGone().rebuild()
    walk.disk({ phase: 'Succeeded' }).start()
    expect(walk.log.filter((line) => line === `apply PersistentVolumeClaim ${DATA}`)).toHaveLength(1)
    expect(gone(walk).stand).toBe('Failed/DiskLost')
  })
})

/** Nothing runs any more, if anything did. */
function stopped(walk: MachineWalk): MachineWalk {
  return walk.world.machine === undefined ? walk.set({ instance: undefined }) : off(walk)
}

describe('a volume as a disk', () => {
  it('is waited for without a limit, and never made', () => {
    const walk = new MachineWalk({ spec: VOLUME }).image(PUBLISHED).disk({ phase: 'Succeeded' })
    for (const hours of [0, 100]) {
      walk.after(hours * HOUR)
      expect(walk.stand).toBe('Provisioning/DiskMissing')
      expect(walk.message).toContain('PersistentVolumeClaim course, does not exist in namespace team')
      expect(walk.world.machine).toBeUndefined()
    }
    walk.volume('course').settle().start()
    expect(walk.stand).toBe('Ready/Running')
    expect(guestOf(walk).domain.devices.disks[2]).toEqual({ name: 'data', serial: 'data', disk: { bus: 'sata' } })
    expect(writes(walk)).not.toContain('apply PersistentVolumeClaim course')
  })

  it('that is not there yet is not given to a machine that runs', () => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    walk.edit(VOLUME).settle()
    expect(writes(walk, before)).toEqual([])
    expect(walk.stand).toBe('Ready/Running')
    expect(warning(walk)).toMatchObject({ reason: 'DiskMissing' })
    walk.volume('course').settle()
    expect([claimIn(walk), warning(walk)]).toEqual(['course', undefined])
  })

  it('that goes is not taken from the machine, which waits for it without being kicked', () => {
    const walk = off(new MachineWalk({ spec: VOLUME }).volume('course').deploy())
    gone(walk, 'course').after(100 * HOUR)
    expect([walk.stand, claimIn(walk), walk.removed]).toEqual(['Provisioning/DiskMissing', 'course', []])
  })

  it('can be exchanged, and the old one is left alone', () => {
    const walk = new MachineWalk({ spec: VOLUME }).volume('course').deploy()
    walk.edit({ disks: [{ name: 'data', volume: 'other' }] }).settle()
    expect(claimIn(walk)).toBe('course')
    walk.volume('other').settle()
    expect([claimIn(walk), walk.claims.has('course'), warning(walk)]).toEqual(['other', true, undefined])
  })

  it('cannot be the root disk, or another disk, of the same machine', () => {
    for (const volume of ['vm-root', DATA]) {
      const walk = new MachineWalk({ spec: { disks: [...EMPTY.disks, { name: 'b', volume }] } })
        .volume('vm-root')
        .image(PUBLISHED)
      expect([walk.stand, walk.world.machine]).toEqual(['Failed/InvalidSpec', undefined])
      expect(walk.message).toContain('name another volume')
    }
  })
})

describe('a restore of KubeVirt', () => {
  const CLAIM = 'restore-8d1f2c-data'

  it.each([
    ['an empty disk', EMPTY],
    ['a volume', VOLUME],
  ])('makes the claim that it has made the disk: %s', (_what, spec) => {
    const walk = new MachineWalk({ spec }).volume('course').deploy()
    const before = walk.log.length
    restored(walk, CLAIM)
    expect([claimIn(walk), writes(walk, before)]).toEqual([CLAIM, []])
    expect(walk.status.disks).toMatchObject([{ claim: CLAIM, claimUID: `uid of ${CLAIM}` }])
    expect(walk.stand).toBe('Ready/Running')
    // What was restored is gone with KubeVirt's machine, and the disk from before has other data.
    off(walk).machineGone()
    expect(gone(walk, CLAIM).stand).toBe('Failed/DiskLost')
    expect(walk.message).toContain(`${CLAIM} of a restore, is gone`)
    walk.rebuild().start()
    expect(walk.stand).toBe('Ready/Running')
    expect(claimIn(walk)).toBe(spec === EMPTY ? DATA : 'course')
  })

  it('counts until the spec names another volume', () => {
    const walk = restored(new MachineWalk({ spec: VOLUME }).volume('course').deploy(), CLAIM)
    walk
      .volume('other')
      .edit({ disks: [{ name: 'data', volume: 'other' }] })
      .settle()
    expect(claimIn(walk)).toBe('other')
    expect(walk.after(HOUR).step()).toBe(false)
  })

  it('is needed: what somebody else writes there is undone', () => {
    const walk = new MachineWalk({ spec: EMPTY }).deploy().volume('theirs')
    const { annotations = {} } = walk.world.machine?.metadata ?? {}
    expect(annotations[ANNOTATIONS.disks]).toBe(`data=${DATA}`)
    walk
      .tamper({
        template: {
          volumes: guestOf(walk).volumes.map((one) =>
            one.name === 'data' ? { name: 'data', persistentVolumeClaim: { claimName: 'theirs' } } : one,
          ),
        },
      })
      .settle()
    expect([claimIn(walk), reasonOf(walk.status)]).toEqual([DATA, 'Running'])
  })
})
