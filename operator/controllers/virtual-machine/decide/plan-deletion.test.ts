import { FINALIZERS } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, START } from '../../../../test/prepared/runtime/times.ts'
import { aClaim, aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { aMachine, anInstance, aSecret } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import {
  aMachineWorld,
  type MachineWorldOverrides,
  NO_PASSWORD,
} from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import { planMachine } from './plan.ts'

const DELETED = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [FINALIZERS.virtualMachine] }
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const planOf = (overrides: MachineWorldOverrides) =>
  planMachine(aMachineWorld({ metadata: DELETED, ...overrides }), START)
const since = (walk: MachineWalk, from: number) => walk.log.slice(from).filter((line) => !line.startsWith('status'))

describe('deleting a machine', () => {
  it('removes the machine, the disk when nothing runs from it, the Secret last, and lets it go', () => {
    const walk = new MachineWalk().deploy()
    const before = walk.log.length
    walk.markDeleted().settle()
    expect(walk.log.slice(before)).toEqual(['status Provisioning/Deleting', 'delete VirtualMachine vm'])
    expect(walk.message).toBe('being deleted: waiting for VirtualMachine vm of KubeVirt')
    expect([walk.status.addresses, walk.condition('Ready')?.status]).toEqual([undefined, 'False'])
    walk.machineGone().settle()
    expect(walk.message).toBe('being deleted: waiting for DataVolume vm-root')
    walk.diskGone().settle()
    expect(since(walk, before)).toEqual([
      'delete VirtualMachine vm',
      'delete DataVolume vm-root',
      'delete Secret vm-cloudinit',
      'finalizer released',
    ])
    expect(walk.isGone).toBe(true)
    expect(walk.events.at(-1)).toBe('Normal Deleting')
  })

  it.each<[string, MachineWorldOverrides, string[]]>([
    ['the machine', { machine: aMachine(), instance: anInstance() }, ['VirtualMachine']],
    ['the machine that has no instance', { machine: aMachine() }, ['VirtualMachine']],
    ['the machine that goes already', { machine: aMachine(undefined, GOING) }, []],
    ['an instance without a machine', { machine: undefined, instance: anInstance() }, ['VirtualMachineInstance']],
    ['the disk', {}, ['DataVolume']],
    ['a disk that is being made', { clone: aDisk(DISK.cloning) }, ['DataVolume']],
    ['a disk that has failed', { clone: aDisk(DISK.failed) }, ['DataVolume']],
    ['a disk that goes already', { clone: aDisk({}, GOING) }, []],
    ['the Secret', { clone: undefined }, ['Secret']],
    ['a Secret that goes already', { clone: undefined, secret: aSecret(undefined, GOING) }, []],
  ])('waits for %s, one after the other, and keeps the finalizer', (_what, change, kinds) => {
    const plan = planOf({ clone: aDisk(), claim: aClaim(), secret: aSecret(), ...change })
    expect(plan.remove.map(({ kind }) => kind)).toEqual(kinds)
    expect(plan).toMatchObject({ finalizer: 'keep', apply: [], requeue: { afterMs: MINUTE } })
  })

  it('removes what was seen alone', () => {
    const seen = { kind: 'DataVolume', name: 'vm-root', uid: 'uid of vm-root', resourceVersion: '7' }
    expect(planOf({ clone: aDisk({}, { resourceVersion: '7' }) }).remove).toMatchObject([seen])
  })

  it('with --cascade=orphan removes nothing, and waits until all is without an owner', () => {
    const metadata = { ...DELETED, finalizers: [FINALIZERS.virtualMachine, 'orphan'] }
    const world = aMachineWorld({ metadata, machine: aMachine(), clone: aDisk(), secret: aSecret() })
    expect(planMachine(world, START)).toMatchObject({ remove: [], finalizer: 'keep' })
  })

  it.each<[string, MachineWorldOverrides]>([
    ['has nothing yet', {}],
    ['waits for its image', { image: undefined }],
    ['has a spec that cannot be read', { spec: { resources: undefined } }],
    ['meets a foreign object with the name of its disk', { conflict: 'DataVolume vm-root' }],
    ['is in a namespace that is being deleted', { namespaceTerminating: true }],
    ['cannot be deployed', { hasKubeVirt: false, hasDataVolumes: false, cloudInit: NO_PASSWORD }],
  ])('that %s lets it go at once, and makes nothing', (_what, overrides) => {
    expect(planOf(overrides)).toEqual({ status: {}, finalizer: 'release', apply: [], remove: [], events: [] })
  })

  it.each<[string, MachineWorldOverrides]>([
    ['has a spec that cannot be read', { spec: { resources: undefined } }],
    ['is in a namespace that is being deleted', { namespaceTerminating: true }],
    ['has lost its password', { cloudInit: NO_PASSWORD }],
    ['is not to be deployed any more', { spec: { ignoreOnDeploy: true } }],
    ['has an image that is gone', { image: undefined }],
  ])('that %s still removes what it has', (_what, overrides) => {
    expect(planOf({ machine: aMachine(), ...overrides }).remove).toHaveLength(1)
  })

  it('never adds a finalizer, nor makes anything again', () => {
    const plan = planOf({ metadata: { ...DELETED, finalizers: [] }, clone: aDisk() })
    expect([plan.finalizer, plan.apply]).toEqual(['keep', []])
  })

  it('does not touch the image', () => {
    const walk = new MachineWalk({ image: undefined }).settle().deploy().markDeleted().settle()
    walk.machineGone().settle().diskGone().settle()
    expect(walk.isGone).toBe(true)
    expect(walk.log.filter((line) => line.includes('VMDiskImage'))).toEqual(['apply VMDiskImage golden'])
    expect(walk.world.image).toBeDefined()
  })

  it.each<[string, (walk: MachineWalk) => MachineWalk, string]>([
    ['that was ready', (walk) => walk.deploy(), 'Provisioning/Deleting'],
    ['that was on its way', (walk) => walk.settle(), 'Provisioning/Deleting'],
    ['that had failed', (walk) => walk.settle().disk(DISK.failed), 'Failed/Deleting'],
    ['that was never looked at', (walk) => walk.set({ clone: aDisk() }), 'Provisioning/Deleting'],
  ])('%s has no phase of its own', (_what, act, stand) => {
    expect(act(new MachineWalk()).markDeleted().settle().stand).toBe(stand)
  })

  it('drops what was remarked, and keeps what is known of the image', () => {
    const walk = new MachineWalk({ spec: { users: [{ name: 'demo user' }] } }).deploy()
    expect(walk.condition('SpecWarning')).toBeDefined()
    walk.markDeleted().settle()
    expect(walk.condition('SpecWarning')).toBeUndefined()
    expect(walk.status.image).toMatchObject({ namespace: 'farm', name: 'golden' })
  })

  it('says once what to look at when it lasts, and then nothing new', () => {
    const walk = new MachineWalk().deploy().markDeleted().settle()
    const machine = walk.world.machine
    if (machine === undefined) throw new Error('no machine')
    const going = { ...machine, metadata: { ...machine.metadata, deletionTimestamp: toTime(walk.now) } }
    walk.set({ machine: going }).settle()
    const before = walk.log.length
    expect(walk.after(10 * HOUR).log).toHaveLength(before + 1)
    expect(walk.message).toContain('see which finalizers it has')
    expect(walk.after(10 * HOUR).log).toHaveLength(before + 1)
  })

  it('tells what the API server refuses', () => {
    const { status } = planOf({ machine: aMachine(), refusal: 'admission webhook denied the request' })
    expect(status.message).toContain('admission webhook denied the request')
  })
})

it('a disk that was started to be cloned when the machine was deleted is removed with it', () => {
  const walk = new MachineWalk().settle().disk(DISK.cloning, false).markDeleted().settle()
  expect(walk.log.at(-1)).toBe('delete DataVolume vm-root')
  walk.diskGone().settle()
  expect(walk.isGone).toBe(true)
  expect(walk.status.provisioningSince).toBe(toTime(START))
})
