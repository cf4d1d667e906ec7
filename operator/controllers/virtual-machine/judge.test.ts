import { describe, expect, it } from 'vitest'
import { standingOfDisk, standingOfMachine } from './judge.ts'
import type { CloneFacts, KubeVirtView } from './views.ts'

const machine = (more: Partial<KubeVirtView>) =>
  ({ printableStatus: '', isReady: false, trouble: '', failure: '', refusedPod: '', ...more }) as KubeVirtView
const disk = (phase: string) =>
  ({ phase, progress: '', running: { reason: '', message: '' }, bound: { reason: '', message: '' } }) as CloneFacts

describe('what KubeVirt says', () => {
  it.each([
    ['Running', true, 'Ready', 'Running'],
    ['Migrating', true, 'Ready', 'Running'],
    ['Running', false, 'Provisioning', 'Starting'],
    ['Paused', false, 'Provisioning', 'Paused'],
    ['CrashLoopBackOff', false, 'Provisioning', 'CrashLoop'],
    ['ErrorUnschedulable', false, 'Provisioning', 'Unschedulable'],
    ['WaitingForVolumeBinding', false, 'Provisioning', 'WaitingForVolumeBinding'],
    ['Stopped', false, 'Provisioning', 'GuestStopped'],
    ['Stopping', false, 'Provisioning', 'GuestStopped'],
    ['ImagePullBackOff', false, 'Provisioning', 'Starting'],
    ['', false, 'Provisioning', 'Starting'],
  ] as const)('%s, ready %s: %s, %s', (printableStatus, isReady, phase, reason) => {
    expect(standingOfMachine(machine({ printableStatus, isReady }))).toMatchObject({ phase, reason })
  })

  it('of an instance that an admission rule refuses is an end, until that lets it in', () => {
    const refused = machine({ printableStatus: 'Stopped', failure: 'admission webhook "x" denied the request: no' })
    expect(standingOfMachine(refused)).toMatchObject({ phase: 'Failed', reason: 'StartFailed' })
  })

  it('of a pod that is refused counts before a state that is stale', () => {
    const refused = machine({ printableStatus: 'ErrorUnschedulable', refusedPod: 'exceeded quota: small' })
    expect(standingOfMachine(refused)).toMatchObject({
      phase: 'Provisioning',
      reason: 'StartFailed',
      message: expect.stringContaining('exceeded quota'),
    })
  })

  it('of an instance that was refused counts before its state', () => {
    const refused = machine({ printableStatus: 'Stopped', failure: 'no memory requested' })
    expect(standingOfMachine(refused)).toMatchObject({
      reason: 'StartFailed',
      message: expect.stringContaining('no memory requested'),
    })
  })
})

describe('a disk that waits for a node', () => {
  it('says why there is none, but nothing stale', () => {
    const full = machine({ trouble: '0/3 nodes are available: insufficient memory' })
    expect(standingOfDisk(disk('PendingPopulation'), full).message).toContain('insufficient memory')
    const stale = machine({ trouble: 'PVC team/x does not exist, waiting for it to appear' })
    expect(standingOfDisk(disk('WaitForFirstConsumer'), stale).message).not.toContain('does not exist')
  })
})
