import { describe, expect, it } from 'vitest'
import { MINUTE } from '../../../../test/prepared/runtime/times.ts'
import {
  kubeVirtStatus,
  NO_ROOM,
  unscheduled,
  unsynchronized,
} from '../../../../test/prepared/virtual-machine/kubevirt-conditions.ts'
import { DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { KUBEVIRT, type KubeVirtStatus } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { CloneFacts } from '../world.ts'

const STALE = unscheduled('PVC team/vm-root does not exist, waiting for it to appear')

const NO_PVC = unsynchronized('FailedPvcNotFound', 'PVC team/vm-root does not exist, waiting for it to appear')

const UNBOUND = unscheduled('0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.')

/** What KubeVirt's controller was observed to show in a state of the disk, and what people should read then. */
type Row = readonly [
  situation: string,
  disk: Partial<CloneFacts>,
  kubevirt: KubeVirtStatus,
  reason: string,
  message: string,
]

describe('a machine whose disk is not complete', () => {
  it.each<Row>([
    [
      'no claim was there, and KubeVirt still says so',
      DISK.scheduled,
      kubeVirtStatus('ErrorPvcNotFound', NO_PVC, STALE),
      'Cloning',
      'the root disk is being cloned, CDI says CloneScheduled',
    ],
    [
      'the claim appeared, and the text is stale',
      DISK.cloning,
      kubeVirtStatus('ErrorUnschedulable', STALE),
      'Cloning',
      'the root disk is being cloned (42.0%), CDI says CloneInProgress',
    ],
    [
      'the disk is in progress',
      DISK.cloning,
      kubeVirtStatus('Provisioning', { type: 'DataVolumesReady', status: 'False', reason: 'NotAllDVsReady' }),
      'Cloning',
      'the root disk is being cloned (42.0%), CDI says CloneInProgress',
    ],
    ['CDI says nothing yet', DISK.new, KUBEVIRT.new, 'Cloning', 'the root disk is being cloned, CDI says nothing yet'],
    [
      'the disk waits for its first consumer',
      DISK.waiting,
      kubeVirtStatus('WaitingForVolumeBinding', { type: 'Provisioning', status: 'True' }),
      'WaitingForVolumeBinding',
      'the root disk waits for a node to be chosen (WaitForFirstConsumer)',
    ],
    [
      'the disk waits for its population',
      DISK.populating,
      kubeVirtStatus('WaitingForVolumeBinding'),
      'WaitingForVolumeBinding',
      'the root disk waits for a node to be chosen (PendingPopulation)',
    ],
    [
      'the disk waits for a consumer, and the text is stale',
      DISK.waiting,
      kubeVirtStatus('ErrorUnschedulable', STALE),
      'WaitingForVolumeBinding',
      'the root disk waits for a node to be chosen (WaitForFirstConsumer)',
    ],
    [
      'the disk waits for a consumer that finds no node',
      DISK.populating,
      kubeVirtStatus('ErrorUnschedulable', NO_ROOM),
      'WaitingForVolumeBinding',
      `the root disk waits for a node to be chosen (PendingPopulation): ${NO_ROOM.message}`,
    ],
    [
      'the scheduler marks the pod while the clone goes on',
      DISK.cloning,
      kubeVirtStatus('ErrorUnschedulable', UNBOUND),
      'Cloning',
      'the root disk is being cloned (42.0%), CDI says CloneInProgress',
    ],
    [
      'the clone meets an error, and goes on',
      DISK.erring,
      kubeVirtStatus('DataVolumeError'),
      'Cloning',
      'the root disk is being cloned (42.0%), CDI says CloneInProgress: Unable to clone: no space left on device',
    ],
    [
      'the claim is bound, and CDI has not finished',
      { ...DISK.cloning, bound: { reason: 'Bound', message: 'PVC vm-root Bound' } },
      kubeVirtStatus('Provisioning'),
      'Cloning',
      'the root disk is being cloned (42.0%), CDI says CloneInProgress',
    ],
    [
      'the instance failed meanwhile, and is tried again',
      DISK.cloning,
      kubeVirtStatus('CrashLoopBackOff'),
      'Cloning',
      'the root disk is being cloned (42.0%), CDI says CloneInProgress',
    ],
  ])('%s', (_situation, disk, status, reason, message) => {
    const walk = new MachineWalk().settle().disk(disk).kubevirt(status)
    expect([walk.stand, walk.message]).toEqual([`Provisioning/${reason}`, message])
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
  })

  it.each<[string, Partial<CloneFacts>, string]>([
    [
      'a quota refuses its claim',
      { ...DISK.new, phase: 'Pending', bound: { reason: 'ErrExceededQuota', message: 'exceeded quota: small' } },
      'a ResourceQuota of the namespace leaves no room for the root disk: exceeded quota: small; raise it, or delete what nobody needs',
    ],
    [
      'a quota refuses a pod of CDI',
      { ...DISK.scheduled, running: { reason: 'ErrExceededQuota', message: '' } },
      'a ResourceQuota of the namespace leaves no room for the root disk: CDI says ErrExceededQuota; raise it, or delete what nobody needs',
    ],
    [
      'CDI knows no access mode for its claim',
      { ...DISK.new, bound: { reason: 'ErrClaimNotValid', message: 'no accessMode specified in StorageProfile fast' } },
      'CDI cannot make a valid claim for the root disk: no accessMode specified in StorageProfile fast; give the StorageProfile of its storage class its claimPropertySets',
    ],
  ])('says what people can do where %s, once, and goes on by itself when they have', (_situation, disk, message) => {
    const walk = new MachineWalk().settle().disk(disk, false)
    expect([walk.stand, walk.message]).toEqual(['Provisioning/CloneFailed', message])
    const before = walk.log.length
    walk.after(29 * MINUTE)
    expect([walk.log.slice(before), walk.events.filter((line) => line.endsWith('CloneFailed'))]).toEqual([
      [],
      ['Warning CloneFailed'],
    ])
    expect(walk.after(MINUTE).message).toBe(`not ready after 30 min (policy key vmProvisionTimeout): ${message}`)
    walk.disk(DISK.new, false).disk(DISK.succeeded)
    expect(walk.start().stand).toBe('Ready/Running')
  })

  it('has failed where CDI gave up, whatever KubeVirt says, and goes on when CDI does', () => {
    const walk = new MachineWalk()
      .settle()
      .disk(DISK.cloning)
      .kubevirt(kubeVirtStatus('Provisioning'))
      .disk(DISK.failed)
    walk.kubevirt(kubeVirtStatus('DataVolumeError'))
    expect([walk.stand, walk.message]).toEqual([
      'Failed/CloneFailed',
      'DataVolume vm-root is Failed: PVC Lost; fix the cause, then delete the DataVolume: the disk is cloned again',
    ])
    walk.disk(DISK.succeeded).kubevirt(kubeVirtStatus('CrashLoopBackOff'))
    expect(walk.stand).toBe('Provisioning/CrashLoop')
    expect(walk.start().stand).toBe('Ready/Running')
  })
})
