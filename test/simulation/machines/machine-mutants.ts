import type { BY_IMAGE_NAMESPACE, BY_NAMED_SECRET } from '../../../operator/controllers/virtual-machine/caches.ts'
import type { Mutant } from '../mutant.ts'
import { MACHINES, SHARED } from '../mutants/product-modules.ts'
import { countingNothing } from '../mutants/reference-breaks.ts'
import { altered, seam } from '../seam.ts'

/** Machines that this index finds are not looked at again. */
const notFoundBy = (index: typeof BY_NAMED_SECRET | typeof BY_IMAGE_NAMESPACE) =>
  seam(MACHINES.triggers, 'listenForMachineTriggers', (listenForMachineTriggers) => (caches, enqueue) => {
    const { machines } = caches
    const find: typeof machines.find = (name, value) => (name === index ? [] : machines.find(name, value))
    return listenForMachineTriggers(altered(caches, { machines: altered(machines, { find }) }), enqueue)
  })

/** Kicks are limited by another value than that of the policy. */
const kickedWithin = (limitOf: (kickLimit: number) => number) =>
  seam(MACHINES.plan, 'planMachine', (planMachine) => ({ policy, ...world }, now) => {
    return planMachine({ ...world, policy: { ...policy, kickLimit: limitOf(policy.kickLimit) } }, now)
  })

/** Deliberate defects in what the operator does for machines. */
export const MACHINE_MUTANTS: readonly Mutant[] = [
  {
    name: 'machines are no references to images',
    invariant: 7,
    seam: seam(MACHINES.references, 'MachineReferences', countingNothing),
    kind: 'sharedCalm',
    alsoCaughtAs: [5],
  },
  {
    name: 'a disk that has booted is cloned again when its source is gone',
    invariant: 5,
    seam: seam(MACHINES.planDisk, 'planDisk', (planDisk) => (draft, image) => {
      const { vm, clone } = draft.world
      const { bootedAt: _booted, ...status } = vm.status
      const unbooted = {
        ...draft.world,
        vm: { ...vm, status },
        instance: undefined,
        clone: clone && { ...clone, phase: 'CloneInProgress' },
      }
      const step = planDisk({ ...draft, world: unbooted }, image)
      const isAnew = clone?.phase !== 'CloneInProgress' && step?.remove !== undefined && step.remove.length > 0
      return isAnew ? step : planDisk(draft, image)
    }),
    kind: 'machinesRefreshed',
  },
  {
    name: 'a disk is cloned from an image that is being deleted',
    invariant: 5,
    seam: seam(MACHINES.planImage, 'imageState', (imageState) => (draft) => {
      const { image } = draft.world
      if (image?.status.artifact === undefined) return imageState(draft)
      const { deletionTimestamp: _going, ...metadata } = image.metadata
      return imageState({ ...draft, world: { ...draft.world, image: { ...image, metadata } } })
    }),
    kind: 'machinesLate',
  },
  {
    name: 'a guest has no network interfaces',
    invariant: 7,
    seam: seam(SHARED.constructs, 'renderKubeVirtVirtualMachine', (renderMachine) => (props) => {
      const { interfaces: _interfaces, ...others } = props
      return renderMachine(others)
    }),
    kind: 'machinesCalm',
  },
  {
    name: 'a machine that hangs is kicked without end',
    invariant: 4,
    seam: kickedWithin(() => Number.POSITIVE_INFINITY),
    kind: 'machinesHanging',
    seed: 15,
  },
  {
    name: 'an instance that has never run is kicked',
    invariant: 4,
    seam: seam(MACHINES.planHung, 'hungPart', (hungPart) => (world, step, now) => {
      const { instance, machine } = world
      const hung = hungPart(world, step, now)
      if (hung !== undefined || instance === undefined || machine === undefined) return hung
      const running = {
        instance: { ...instance, phase: 'Running', unreadySince: instance.unreadySince ?? 0 },
        machine: { ...machine, printableStatus: 'Running', isReady: false },
      }
      return hungPart({ ...world, ...running }, step, now)
    }),
    kind: 'machinesHanging',
    seed: 25,
  },
  {
    name: 'a guest whose agent answers is kicked',
    invariant: 4,
    seam: seam(MACHINES.judge, 'answers', (answers) => ({ machine, instance }) => {
      return answers({ machine, instance: instance && { ...instance, hasAgent: false } })
    }),
    kind: 'machinesStill',
    seed: 8,
  },
  {
    name: 'a paused guest is kicked',
    invariant: 4,
    // Its pod is ready, so what a live look at that would prevent is left out too.
    seam: seam(MACHINES.deadline, 'judged', (judged) => ({ world, ...draft }, summary, work) => {
      const { machine, instance } = world
      const awake = {
        ...world,
        machine: machine && { ...machine, pause: undefined, printableStatus: 'Running' },
        instance: instance && { ...instance, isPaused: false, hasAgent: false },
      }
      const { onlyIf = [], ...step } = judged({ ...draft, world: awake }, summary, work)
      return { ...step, onlyIf: onlyIf.filter((one) => !('noneReady' in one)) }
    }),
    kind: 'machinesStill',
  },
  {
    name: 'what was reported before KubeVirt went away is believed',
    invariant: 4,
    seam: seam(MACHINES.plan, 'planMachine', (planMachine) => (world, now) => {
      const { onlyIf = [], ...plan } = planMachine({ ...world, neighbours: {} }, now)
      return { ...plan, onlyIf: onlyIf.filter((one) => !('noneReady' in one)) }
    }),
    kind: 'machinesFrozen',
  },
  {
    name: 'a clone that gets further is deleted',
    invariant: 4,
    seam: seam(MACHINES.planHung, 'hungPart', (hungPart) => (world, step, now) => {
      const hung = hungPart(world, step, now)
      if (hung?.noted !== 'dataVolumeUID') return hung
      const isUnfinished = hung.object.metadata.uid === world.vm.status.kicks?.dataVolumeUID
      return { ...hung, since: 0, isUnfinished }
    }),
    kind: 'machinesHanging',
    seed: 25,
  },
  {
    name: 'a kick is forgotten',
    invariant: 4,
    seam: seam(MACHINES.deadline, 'judged', (judged) => (draft, summary, planned) => {
      const step = judged(draft, summary, planned)
      if (step.summary.reason !== 'Kicked') return step
      const { kicks: _kicks, ...status } = step.status ?? {}
      return { ...step, status }
    }),
    kind: 'machinesHanging',
    seed: 15,
  },
  {
    name: 'a limit of kicks that was lowered is not looked at',
    invariant: 4,
    seam: kickedWithin((kickLimit) => Math.max(kickLimit, 3)),
    kind: 'machinesLowered',
  },
  {
    name: 'a namesake is taken over',
    invariant: 6,
    seam: seam(MACHINES.observe, 'observeMachine', (observeMachine) => (...given) => {
      return { ...observeMachine(...given), conflict: undefined, leaving: undefined, orphan: undefined }
    }),
    kind: 'machinesCalm',
    seed: 12,
  },
  {
    name: 'an image that differs from the template is overwritten',
    invariant: 6,
    seam: seam(
      SHARED.ensureImage,
      'ensureImage',
      (ensureImage, { differences }) =>
        (wish, found, referrers, policy) => {
          const ensured = ensureImage(wish, found, referrers, policy)
          const created = ensureImage(wish, undefined, referrers, policy)
          const { template } = wish
          if (found === undefined || referrers.hasOthers || template === undefined || created.kind !== 'created')
            return ensured
          const { uid, resourceVersion } = found.metadata
          const image = { ...created.image, metadata: { ...created.image.metadata, uid, resourceVersion } }
          const fields = differences(template, found)
          return fields.length === 0 ? ensured : { kind: 'corrected', image, fields, agreeing: [] }
        },
    ),
    kind: 'machinesCalm',
  },
  {
    name: 'an image that somebody else refers to is corrected all the same',
    invariant: 6,
    seam: seam(MACHINES.plan, 'planMachine', (planMachine) => (world, now) => {
      const { onlyIf: _unshared, ...plan } = planMachine({ ...world, isImageShared: false, imageClaims: [] }, now)
      return plan
    }),
    kind: 'machinesCorrected',
  },
  {
    name: 'a MAC address changes when KubeVirt has the machine',
    invariant: 7,
    seam: seam(MACHINES.planChildren, 'wantedMachine', (wantedMachine) => (draft) => {
      const { vm, machine } = draft.world
      const { uid = vm.metadata.uid } = machine?.metadata ?? {}
      const other = { ...vm, metadata: { ...vm.metadata, ...(uid !== undefined && { uid }) } }
      const { spec } = wantedMachine({ ...draft, world: { ...draft.world, vm: other } })
      return { ...wantedMachine(draft), spec }
    }),
    kind: 'machinesCalm',
  },
  {
    name: 'the disk goes before the guest',
    invariant: 7,
    seam: seam(MACHINES.planDeletion, 'planMachineDeletion', (planMachineDeletion) => (world, now) => {
      return planMachineDeletion(world.clone ? { ...world, machine: undefined, instance: undefined } : world, now)
    }),
    kind: 'machinesCalm',
  },
  {
    name: 'the finalizer goes before the Secret',
    invariant: 7,
    seam: seam(MACHINES.planDeletion, 'planMachineDeletion', (planMachineDeletion) => (world, now) => {
      return planMachineDeletion({ ...world, secret: undefined }, now)
    }),
    kind: 'machinesCalm',
  },
  {
    name: 'nobody looks again when the Secret with a password comes',
    invariant: 7,
    seam: notFoundBy('named secret'),
    kind: 'machinesLocked',
  },
  {
    name: 'nobody looks again when the namespace of an image comes back',
    invariant: 7,
    seam: notFoundBy('image namespace'),
    kind: 'machinesOutcast',
  },
  {
    name: 'nobody looks again when a child of a machine changes',
    invariant: 7,
    seam: seam(MACHINES.triggers, 'listenForMachineTriggers', (listenForMachineTriggers) => (caches, enqueue) => {
      const kubevirt = altered(caches.kubevirt, { onChange: () => () => undefined })
      return listenForMachineTriggers(altered(caches, { kubevirt }), enqueue)
    }),
    kind: 'machinesOff',
  },
  {
    name: 'a restore of KubeVirt is taken for drift',
    invariant: 5,
    seam: seam(MACHINES.observe, 'observeMachine', (observeMachine) => (vm, caches, more) => {
      const { restoredClaim: _restored, ...status } = vm.status
      const world = observeMachine({ ...vm, status }, caches, more)
      return { ...world, vm, restoring: undefined, restoredClaim: undefined }
    }),
    kind: 'machinesRestored',
  },
  {
    name: 'ignoreOnDeploy is ignored',
    invariant: 7,
    seam: seam(MACHINES.plan, 'planMachine', (planMachine) => (world, now) => {
      if (!world.spec.ok) return planMachine(world, now)
      const spec = { ...world.spec, spec: { ...world.spec.spec, ignoreOnDeploy: false } }
      return planMachine({ ...world, spec }, now)
    }),
    kind: 'machinesCalm',
    seed: 4,
  },
]
