import { type VirtualMachineSpec, type VirtualMachineStatus, warningsOf } from '@open-terrain/constructs'
import { withoutUndefined } from '../../runtime/conditions.ts'
import { type Draft, FINALIZER, failed, type MachinePlan, type Step, waiting } from './machine-plan.ts'
import { planDeletion } from './plan-deletion.ts'
import { planDeploy } from './plan-deploy.ts'
import { type ImageState, imageState, mismatches } from './plan-image.ts'
import { eventsBetween, type Remark, type Standing, withStanding } from './status.ts'
import type { World } from './world.ts'

/**
 * ```
 * image missing ─▶ made from the template ─▶ image syncs ─▶ clone (and Secret) ─▶ its claim exists ─▶ KubeVirt's machine ─▶ Ready
 *       │                                        │                  ▲ source gone: made anew                │
 *       └─▶ no template: waits, or Failed        └─▶ Failed, left by itself                                 └─▶ kicked, within a budget
 * ```
 * What exists is taken as it is: an image trumps the template, and a disk that has booted is never touched again.
 */
export function planMachine(world: World, now: number): MachinePlan {
  const plan = decide(world, now)
  return { ...plan, events: [...plan.events, ...eventsBetween(world.vm.status, plan.status)] }
}

function decide(world: World, now: number): MachinePlan {
  if (world.vm.metadata.deletionTimestamp !== undefined) return planDeletion(world, now)
  if (!world.spec.ok) {
    const message = world.spec.problems.map(({ path, message: text }) => `${path}: ${text}`).join('; ')
    return finish(world, undefined, { standing: failed('InvalidSpec', message) }, now)
  }
  const draft: Draft = { world, spec: world.spec.spec, now }
  const image = imageState(draft)
  return finish(world, { spec: draft.spec, image }, stepOf(draft, image), now)
}

function stepOf(draft: Draft, image: ImageState): Step {
  const { world, spec } = draft
  if (world.namespaceTerminating) {
    const message = 'the namespace of the virtual machine is being deleted: nothing can be created in it'
    return { standing: waiting('NamespaceTerminating', message) }
  }
  // A disk that exists, or is being made, is looked after whatever becomes of its image.
  const isDeployed = world.clone !== undefined || world.machine !== undefined
  if (image.kind !== 'ready' && !(isDeployed && spec.ignoreOnDeploy !== true)) return image.step
  if (spec.ignoreOnDeploy === true) return ignored(world)
  return planDeploy(draft, image)
}

function ignored({ clone, machine }: World): Step {
  const isThere = clone !== undefined || machine !== undefined
  return {
    standing: isThere
      ? {
          phase: 'Ready',
          reason: 'NotDeployedAnyMore',
          message: 'the machine was deployed before ignoreOnDeploy became true: it is left as it is',
        }
      : { phase: 'Ready', reason: 'IgnoredOnDeploy', message: 'the image is ready; no machine is created' },
  }
}

/** What is planned is tried again and again; until it works, people should read why it does not. */
function refused(standing: Standing, { refusal }: World): Standing {
  if (refusal === undefined) return standing
  const reason = standing.phase === 'Provisioning' ? 'Refused' : standing.reason
  return { ...standing, reason, message: `${standing.message}; the API server refuses what is to be done: ${refusal}` }
}

/** Puts status, finalizer and work together. */
function finish(
  world: World,
  known: { readonly spec: VirtualMachineSpec; readonly image: ImageState } | undefined,
  step: Step,
  now: number,
): MachinePlan {
  const { vm } = world
  const { apply = [], remove = [], events = [], wake } = step
  const standing = refused(step.standing, world)
  const remarks = known === undefined ? [] : [...remarksOn(world, known.spec), ...(step.remarks ?? [])]
  const status = withStanding(
    withoutUndefined({ ...vm.status, ...step.status }) as VirtualMachineStatus,
    {
      standing,
      image: known?.image.shown ?? vm.status.image,
      imageReady: known?.image.condition ?? { holds: false, reason: standing.reason, message: standing.message },
      remarks,
      generation: vm.metadata.generation,
    },
    now,
  )
  return {
    status,
    finalizer: vm.metadata.finalizers?.includes(FINALIZER) ? 'keep' : 'add',
    apply,
    remove,
    events,
    ...(wake !== undefined && { wake }),
  }
}

function remarksOn({ image }: World, spec: VirtualMachineSpec): Remark[] {
  const warnings = warningsOf(spec)
  const differing = mismatches(spec, image)
  const remarks: Remark[] = []
  const [first] = warnings
  if (first !== undefined) {
    const message = warnings.map((one) => one.message).join('; ')
    remarks.push({ type: 'SpecWarning', reason: first.reason, message })
  }
  if (differing.length > 0) {
    const message = `the image differs from the template in ${differing.join(', ')}; the image counts`
    remarks.push({ type: 'ImageMismatch', reason: 'ImageMismatch', message })
  }
  return remarks
}
