import { describe, expect, it } from 'vitest'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK, NO_DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { aMachine, anInstance, KUBEVIRT } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import {
  aRunningWorld,
  type MachineWorldOverrides,
  NO_PASSWORD,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { planMachine } from './plan.ts'

const CLAIM = 'PersistentVolumeClaim vm-root'
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const WHY =
  'VirtualMachine vm of KubeVirt has no disk from the operator, and is removed: it would start from any claim of that name'
const planOf = (more: MachineWorldOverrides) => {
  const gone = { clone: undefined, claim: undefined, instance: undefined, machine: aMachine(KUBEVIRT.stopped) }
  const status = { observedGeneration: 1 }
  return planMachine(aRunningWorld({ ...gone, status, ...more }), START)
}

describe('KubeVirt’s machine that has never run, and has neither a DataVolume nor a claim of ours', () => {
  it.each<[string, MachineWorldOverrides, string, string]>([
    ['as people have deleted both', {}, 'Cloning', 'the root disk is gone, and is recreated'],
    ['as CDI is gone', { hasDataVolumes: false }, 'CDIMissing', 'install CDI'],
    ['and neither an image', { image: undefined }, 'Cloning', 'the root disk is gone'],
    ['nor its Secret', { secret: undefined, cloudInit: NO_PASSWORD }, 'MissingPasswordSecret', NO_PASSWORD.message],
    ['and whose Secret is somebody else’s', { conflict: 'Secret vm-cloudinit' }, 'NameConflict', 'Secret vm-cloudinit'],
    ['and whose Secret lost its owner', { orphan: 'Secret vm-cloudinit' }, 'NameConflict', 'Secret vm-cloudinit'],
    ['but a claim of a stranger', { conflict: CLAIM, foreignClaim: CLAIM }, 'NameConflict', CLAIM],
    [
      'and runs from that of a stranger',
      { conflict: CLAIM, foreignClaim: CLAIM, instance: anInstance() },
      'NameConflict',
      CLAIM,
    ],
    [
      'and holds that of a stranger, which is being deleted',
      { leaving: CLAIM, foreignClaim: CLAIM, instance: anInstance() },
      'NamesakeTerminating',
      CLAIM,
    ],
    [
      'and whose DataVolume waits for that of a stranger to go',
      { clone: aDisk(DISK.new), foreignClaim: CLAIM, instance: anInstance() },
      'Cloning',
      `${CLAIM} has the name of its claim and belongs to somebody else`,
    ],
  ])('is removed before anything else, if a live look agrees: %s', (_what, more, reason, text) => {
    const { apply, remove, status, onlyIf } = planOf(more)
    expect(remove).toMatchObject([
      { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', namespace: 'team', name: 'vm', uid: 'uid of vm' },
    ])
    expect(onlyIf).toEqual(NO_DISK)
    expect(apply).toEqual([])
    expect(status.conditions?.find(({ type }) => type === 'Reconciling')?.reason).toBe(reason)
    expect(status.message).toContain(text)
    expect(status.message).toContain(WHY)
    expect(status.addresses).toBeUndefined()
  })

  it.each<[string, MachineWorldOverrides]>([
    ['is going already', { machine: aMachine(KUBEVIRT.stopped, GOING) }],
    ['is not to be deployed any more', { spec: { ignoreOnDeploy: true } }],
    ['cannot get another, as its namespace goes', { namespaceTerminating: true }],
  ])('is left alone, and gets no disk meanwhile, where it %s', (_what, more) => {
    const { apply, remove } = planOf(more)
    expect([apply, remove]).toEqual([[], []])
  })
})

describe('KubeVirt’s machine that has a disk', () => {
  it.each<[string, MachineWorldOverrides]>([
    ['whose DataVolume is gone', { claim: aClaim() }],
    ['that is being deleted', { claim: aClaim(GOING) }],
    ['whose claim is made again by CDI', { clone: aDisk(DISK.cloning) }],
    ['while CDI is gone', { claim: aClaim(), hasDataVolumes: false }],
    ['while something of somebody else is in the way', { claim: aClaim(), conflict: 'Secret vm-cloudinit' }],
  ])('is not removed: one %s', (_what, more) => {
    expect(planOf(more).remove).toEqual([])
  })
})

describe('a disk whose claim cannot be made', () => {
  it('says which claim of somebody else has its name, where CDI does not', () => {
    const walk = new MachineWalk().settle().disk(DISK.new, false).set({ foreignClaim: CLAIM }).settle()
    expect([walk.stand, walk.message]).toEqual([
      'Provisioning/Cloning',
      `the root disk is being cloned, CDI says nothing yet; ${CLAIM} has the name of its claim and belongs to somebody else: CDI continues when that is deleted; if it is not deleted, check its finalizers`,
    ])
    walk.set({ foreignClaim: undefined })
    expect(walk.disk(DISK.succeeded).start().stand).toBe('Ready/Running')
  })
})
