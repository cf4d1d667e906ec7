import { describe, expect, it } from 'vitest'
import { START } from '../../../../test/prepared/runtime/times.ts'
import { aDisk, DISK } from '../../../../test/prepared/virtual-machine/machine-disks.ts'
import { aMachine, anInstance, KUBEVIRT } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { aMachineWorld, type MachineWorldOverrides } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import type { KubeVirtView } from '../kubevirt-views.ts'
import type { CloneFacts, Obstacle } from '../world.ts'
import { isStarting, reportsHang, summaryOfDisk, summaryOfMachine } from './judge.ts'
import { failed, waiting } from './machine-plan.ts'
import { type MachineSummary, withMachineSummary } from './status.ts'

const machine = (more: Partial<KubeVirtView>) =>
  ({
    metadata: { name: 'vm', namespace: 'team' },
    runStrategy: 'Always',
    printableStatus: '',
    isReady: false,
    unready: '',
    trouble: '',
    failure: '',
    refusedPod: '',
    ...more,
  }) as KubeVirtView
const disk = (phase: string) =>
  ({ phase, progress: '', running: { reason: '', message: '' }, bound: { reason: '', message: '' } }) as CloneFacts

describe('what KubeVirt says', () => {
  it.each([
    ['Running', true, 'Ready', 'Running'],
    ['Migrating', true, 'Ready', 'Running'],
    ['Running', false, 'Provisioning', 'NotReady'],
    ['Migrating', false, 'Provisioning', 'NotReady'],
  ] as const)('%s, ready %s: %s, %s', (printableStatus, isReady, phase, reason) => {
    const instance = anInstance({ isReady })
    expect(summaryOfMachine(machine({ printableStatus, isReady }), undefined, instance)).toMatchObject({
      phase,
      reason,
    })
  })

  it.each(
    Object.entries({
      Paused: 'Paused',
      CrashLoopBackOff: 'CrashLoop',
      ErrorUnschedulable: 'Unschedulable',
      WaitingForVolumeBinding: 'WaitingForVolumeBinding',
      Stopped: 'GuestStopped',
      Stopping: 'Stopping',
      ImagePullBackOff: 'Starting',
      '': 'Starting',
    }),
  )('"%s" is Provisioning for the reason %s', (printableStatus, reason) => {
    expect(summaryOfMachine(machine({ printableStatus }))).toMatchObject({ phase: 'Provisioning', reason })
  })

  it('is not ready before its instance is, which has its addresses', () => {
    const ready = machine({ printableStatus: 'Running', isReady: true })
    const summaries = [true, false].map((isReady) => summaryOfMachine(ready, undefined, anInstance({ isReady })))
    expect(summaries.map(({ reason }) => reason)).toEqual(['Running', 'NotReady'])
  })

  it('of an instance that an admission rule refuses is an end, until that lets it in', () => {
    const refused = machine({ printableStatus: 'Stopped', failure: 'admission webhook "x" denied the request: no' })
    expect(summaryOfMachine(refused)).toMatchObject({ phase: 'Failed', reason: 'StartFailed' })
  })

  it('of a pod that is refused counts before a state that is stale', () => {
    const refused = machine({ printableStatus: 'ErrorUnschedulable', refusedPod: 'exceeded quota: small' })
    expect(summaryOfMachine(refused)).toMatchObject({
      phase: 'Provisioning',
      reason: 'StartFailed',
      message: expect.stringContaining('exceeded quota'),
    })
  })

  it('of a pod that was refused counts no more when its instance is gone', () => {
    const left = machine({ printableStatus: 'Stopped', refusedPod: 'exceeded quota: small' })
    expect(summaryOfMachine(left).reason).toBe('GuestStopped')
  })

  describe('of what was refused is told in the newest words', () => {
    const SAID = 'Failure while starting VMI: no such label'
    const machineRefused = machine({ printableStatus: 'Stopped', failure: SAID, refusedSince: START })
    const podRefused = machine({ printableStatus: 'Starting', refusedPod: SAID, refusedSince: START })
    const obstacle = (at: number): Obstacle => ({
      missingNetworks: [],
      hasMultus: true,
      warning: undefined,
      refusal: { text: 'Failure while starting VMI: is forbidden', at },
    })

    it.each([
      ['instance', machineRefused, 'Failed'],
      ['pod', podRefused, 'Provisioning'],
    ] as const)('of an %s: an Event has them, which is no older than the condition', (_what, refused, phase) => {
      expect(summaryOfMachine(refused).message).toContain(SAID)
      expect(summaryOfMachine(refused, obstacle(START - 1)).message).toContain(SAID)
      const now = summaryOfMachine(refused, obstacle(START))
      expect(now).toMatchObject({ phase, reason: 'StartFailed', message: expect.stringContaining('is forbidden') })
      expect(now.message).not.toContain('no such label')
    })
  })

  it('of an instance that was refused counts before its state', () => {
    const refused = machine({ printableStatus: 'Stopped', failure: 'no memory requested' })
    expect(summaryOfMachine(refused)).toMatchObject({
      reason: 'StartFailed',
      message: expect.stringContaining('no memory requested'),
    })
  })
})

describe('a guest whose node may be lost', () => {
  it.each([
    ['its instance is being deleted', machine({ printableStatus: 'Stopping' }), anInstance()],
    [
      'its pod is',
      machine({
        printableStatus: 'Running',
        runStrategy: 'Always',
        unready: 'virt-launcher pod is terminating',
      }),
      anInstance({ isReady: false, unreadyReason: 'PodTerminating' }),
    ],
  ])('is told where it is, and not that it starts again before that is over: %s', (_what, shown, instance) => {
    expect(summaryOfMachine(shown, undefined, instance)).toEqual({
      phase: 'Provisioning',
      reason: 'Stopping',
      message:
        'the guest is being stopped on node node-1, and is started again once that is over; if this lasts, see whether the node is lost: VirtualMachineInstance vm ends only when its pod does',
    })
  })

  it('is not started by virt-handler, which is told with the node', () => {
    const instance = anInstance({ phase: 'Scheduled', isReady: false })
    expect(summaryOfMachine(machine({ printableStatus: 'Starting' }), undefined, instance).message).toBe(
      'the pod of the machine runs on node node-1, and virt-handler there starts the guest; if this lasts, see the virt-handler pod of that node',
    )
  })
})

describe('a disk that waits for a node', () => {
  it('says why there is none, but nothing stale', () => {
    const full = machine({ trouble: '0/3 nodes are available: insufficient memory' })
    expect(summaryOfDisk(disk('PendingPopulation'), full).message).toContain('insufficient memory')
    const stale = machine({ trouble: 'PVC team/x does not exist, waiting for it to appear' })
    expect(summaryOfDisk(disk('WaitForFirstConsumer'), stale).message).not.toContain('does not exist')
  })
})

describe('a machine that KubeVirt says is starting', () => {
  const nothing: Obstacle = { missingNetworks: [], hasMultus: true, warning: undefined }
  const found = (more: Partial<Obstacle>): Obstacle => ({ ...nothing, ...more })
  const starting = machine({ printableStatus: 'Starting', metadata: { name: 'vm', namespace: 'team' } })

  it.each<[string, Obstacle, string, string]>([
    [
      'a warning about its pod',
      found({ warning: 'FailedMount: no such volume' }),
      'PodNotStarting',
      'the pod of the machine does not start: FailedMount: no such volume',
    ],
    [
      'networks that are not there, which count before their consequences',
      found({ missingNetworks: ['lan', 'wan'], warning: 'FailedCreatePodSandBox: no such network' }),
      'NetworkMissing',
      'NetworkAttachmentDefinition lan, wan, which spec.interfaces names, does not exist in namespace team: create it, or correct the name',
    ],
    [
      'no Multus',
      found({ missingNetworks: ['lan'], hasMultus: false }),
      'NetworkMissing',
      'spec.interfaces names NetworkAttachmentDefinition lan, and the cluster does not serve that kind: install Multus',
    ],
  ])('says what is in its way: %s', (_what, obstacle, reason, message) => {
    expect(summaryOfMachine(starting, obstacle)).toEqual({ phase: 'Provisioning', reason, message })
  })

  it.each([
    ['ErrImagePull', 'PodNotStarting'],
    ['ImagePullBackOff', 'PodNotStarting'],
    ['Stopping', 'Stopping'],
    ['CrashLoopBackOff', 'CrashLoop'],
    ['ErrorUnschedulable', 'Unschedulable'],
    ['Paused', 'Paused'],
  ])('as long as it is: %s is %s', (printableStatus, reason) => {
    const other = machine({ printableStatus, trouble: 'in the words of KubeVirt' })
    expect(summaryOfMachine(other, found({ warning: 'Failed: from before' })).reason).toBe(reason)
  })

  it('and runs meanwhile has nothing in its way', () => {
    const running = machine({ printableStatus: 'Running', isReady: true })
    expect(summaryOfMachine(running, found({ missingNetworks: ['lan'] }), anInstance()).phase).toBe('Ready')
  })

  it('and whose pod is refused says that', () => {
    const refused = machine({ printableStatus: 'Starting', refusedPod: 'exceeded quota: small' })
    expect(summaryOfMachine(refused, found({ warning: 'Failed: from before' })).reason).toBe('StartFailed')
  })

  const world = (more: MachineWorldOverrides = {}) =>
    aMachineWorld({ machine: aMachine(KUBEVIRT.starting), clone: aDisk(), ...more })
  const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
  const failure = [{ type: 'Failure', status: 'True', reason: 'FailedCreate', message: 'no' }]
  const refusal = [{ type: 'Synchronized', status: 'False', reason: 'FailedCreate', message: 'no' }]

  it.each<[string, MachineWorldOverrides, boolean]>([
    ['one that starts', {}, true],
    ['one whose DataVolume is gone', { clone: undefined }, true],
    ['one whose image is pulled in vain', { machine: aMachine({ printableStatus: 'ErrImagePull' }) }, true],
    ['one that is tried again', { machine: aMachine({ printableStatus: 'ImagePullBackOff' }) }, true],
    ['none', { machine: undefined }, false],
    ['one that runs', { machine: aMachine(KUBEVIRT.running) }, false],
    ['one that KubeVirt has not seen', { machine: aMachine(KUBEVIRT.new) }, false],
    ['one that no node can take', { machine: aMachine({ printableStatus: 'ErrorUnschedulable' }) }, false],
    ['one whose disk is not complete', { clone: aDisk(DISK.populating) }, false],
    ['one that is refused', { machine: aMachine({ ...KUBEVIRT.starting, conditions: failure }) }, false],
    ['one whose pod is refused', { machine: aMachine({ ...KUBEVIRT.starting, conditions: refusal }) }, false],
    ['one that goes', { machine: aMachine(KUBEVIRT.starting, GOING) }, false],
    ['one whose owner goes', { metadata: GOING }, false],
    ['one that is left as it is', { spec: { ignoreOnDeploy: true } }, false],
    ['one whose spec cannot be read', { spec: { resources: undefined } }, false],
  ])('is worth a look: %s', (_what, more, expected) => {
    expect(isStarting(world(more))).toBe(expected)
  })

  it.each<[MachineSummary, string, boolean]>([
    [waiting('NetworkMissing', 'no lan'), 'Starting', true],
    [waiting('PodNotStarting', 'no disk'), 'Starting', true],
    [failed('Timeout', 'not ready: no disk'), 'Starting', true],
    [failed('Timeout', 'not ready: no image'), 'ImagePullBackOff', true],
    [failed('Timeout', 'not ready: no node'), 'ErrorUnschedulable', false],
    [waiting('Starting', 'KubeVirt says Starting'), 'Starting', false],
    [waiting('CrashLoop', 'the machine fails'), 'Starting', false],
  ])('has been told of, or not: $reason', (summary, printableStatus, expected) => {
    const imageReady = { holds: true, reason: 'ImageReady', message: '' } as const
    const facts = { summary, image: undefined, imageReady, remarks: [], generation: 1 }
    const status = withMachineSummary({ kubevirt: { name: 'vm', printableStatus } }, facts, 0)
    expect(reportsHang(status)).toBe(expected)
  })
})
