import fc from 'fast-check'
import { expect, it } from 'vitest'
import { HOUR, START } from '../../../../test/prepared/runtime/times.ts'
import { aMachine, anInstance } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { aRunningWorld } from '../../../../test/prepared/virtual-machine/machine-world.ts'
import { toTime } from '../../../base/time.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { viewInstance, viewKubeVirt } from '../kubevirt-views.ts'
import type { MachineWorld } from '../world.ts'
import { planMachine } from './plan.ts'

/** All values of printableStatus. */
const PRINTABLE = [
  '',
  'Stopped',
  'Provisioning',
  'Starting',
  'Running',
  'Paused',
  'Stopping',
  'Terminating',
  'CrashLoopBackOff',
  'Migrating',
  'Unknown',
  'ErrorUnschedulable',
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrorPvcNotFound',
  'DataVolumeError',
  'WaitingForVolumeBinding',
  'WaitingForReceiver',
]
const CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  Ready: ['', 'ReadinessGatesNotReady', 'GuestNotRunning', 'ContainersNotReady', 'PodTerminating'],
  Paused: ['PausedByUser', 'PausedIOError', 'PausedByMigrationMonitor'],
  Failure: ['FailedCreate', 'HotPlugCPUError', 'HotPlugMemoryError', 'FailedDelete', 'VolumesUpdateError', ''],
  Synchronized: ['FailedCreate', 'Synchronizing', 'ErrImagePull'],
  AgentConnected: [''],
  HotVCPUChange: [''],
  LiveMigratable: ['DisksNotLiveMigratable'],
  RestartRequired: ['RestartRequired'],
}
const EARLIER = toTime(START - 10 * HOUR)

const conditions = fc
  .record(
    Object.fromEntries(
      Object.entries(CONDITIONS).map(([type, reasons]) => [
        type,
        fc.record({
          status: fc.constantFrom('True', 'False', 'Unknown'),
          reason: fc.constantFrom(...reasons),
          message: fc.constantFrom('', 'exceeded quota: q', 'denied the request'),
        }),
      ]),
    ),
    { requiredKeys: [] },
  )
  .map((found) =>
    Object.entries(found).flatMap(([type, said]) =>
      said === undefined ? [] : [{ type, ...said, lastTransitionTime: EARLIER }],
    ),
  )
type Conditions = readonly { readonly type: string; readonly status: string }[]

const shown = fc.record({
  printableStatus: fc.constantFrom('Running', 'Paused', ...PRINTABLE),
  machine: conditions,
  phase: fc.constantFrom('Running', 'Running', 'Running', 'Pending', 'Scheduled', 'Succeeded', 'Failed', 'Unknown'),
  instance: conditions,
  kicks: fc.constantFrom(undefined, { count: 1, instanceUID: 'instance-1' }, { count: 3, instanceUID: 'other' }),
  isDue: fc.boolean(),
})
type Shown = typeof shown extends fc.Arbitrary<infer T> ? T : never

function worldOf({ printableStatus, machine, phase, instance, kicks, isDue }: Shown): MachineWorld {
  const base = anInstance()
  const { metadata } = base
  const started = [{ phase: 'Running', phaseTransitionTimestamp: EARLIER }]
  const status = { phase, conditions: instance, phaseTransitionTimestamps: started }
  return aRunningWorld({
    machine: aMachine({ printableStatus, conditions: machine }),
    instance: viewInstance({ ...base, metadata, status } as unknown as KubeObject),
    status: {
      observedGeneration: 1,
      bootedAt: EARLIER,
      provisioningSince: isDue ? EARLIER : toTime(START),
      ...(kicks && { kicks }),
    },
  })
}

const holds = (said: Conditions, type: string) => said.some((one) => one.type === type && one.status === 'True')

it('a guest that answers, or is paused, is never stopped, whatever KubeVirt shows beside', () => {
  let [isSeen, isKicked] = [false, false]
  fc.assert(
    fc.property(shown, (one) => {
      const { remove, status } = planMachine(worldOf(one), START)
      const isPaused = one.printableStatus === 'Paused' || holds(one.instance, 'Paused')
      const answers =
        [one.machine, one.instance].some((said) => holds(said, 'Ready')) || holds(one.instance, 'AgentConnected')
      if (!isPaused && !answers) {
        isKicked ||= remove.length > 0
        const alone = { ...worldOf(one), neighbours: { KubeVirt: { presence: 'away' } } } as const
        if (remove.length > 0) expect(planMachine(alone, START).remove).toEqual([])
        return
      }
      isSeen = true
      expect(remove).toEqual([])
      expect(status.kicks?.count ?? 0).toBeLessThanOrEqual(one.kicks?.count ?? 0)
    }),
    { numRuns: 1_500 },
  )
  expect([isSeen, isKicked]).toEqual([true, true])
}, 60_000)

it('a guest that is switched on is not said to be refused', () => {
  fc.assert(
    fc.property(shown, (one) => {
      if (!['Running', 'Paused', 'Migrating'].includes(one.printableStatus)) return
      const { status } = planMachine(worldOf(one), START)
      expect(status.conditions?.find(({ type }) => type === 'Ready')?.reason).not.toBe('StartFailed')
    }),
    { numRuns: 500 },
  )
}, 60_000)

it('what is judged is all that KubeVirt prints', () => {
  const reasons = PRINTABLE.map((printableStatus) => {
    const { status } = planMachine(
      aRunningWorld({ machine: viewKubeVirt({ ...aMachine(), status: { printableStatus } } as KubeObject) }),
      START,
    )
    return status.conditions?.find(({ type }) => type === 'Reconciling')?.reason
  })
  expect(reasons).not.toContain(undefined)
})
