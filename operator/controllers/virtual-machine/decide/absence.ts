import { type Neighbour, neighbourUnreached } from '../../../cluster/neighbour-facts.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { reasonOf, withMore } from '../../../runtime/summary.ts'
import type { MachineWorld } from '../world.ts'
import { unfinishedDisk } from './further-disks.ts'
import { hasEnded, isPausedByChoice, waitsForConsumer } from './judge.ts'
import { runStrategyOf, waiting } from './machine-plan.ts'
import type { MachineSummary } from './status.ts'

type Seen = Pick<
  MachineWorld,
  | 'vm'
  | 'spec'
  | 'clone'
  | 'claim'
  | 'next'
  | 'otherRoots'
  | 'disks'
  | 'diskClones'
  | 'machine'
  | 'instance'
  | 'restoring'
>

/** Reasons that say that a neighbour is away. */
export const ABSENT = { CDI: 'CDINotResponding', KubeVirt: 'KubeVirtNotResponding' } as const satisfies Readonly<
  Record<Neighbour, MachineSummary['reason']>
>
const CONTROLLERS = { CDI: 'cdi-deployment', KubeVirt: 'virt-controller' } as const
const WEBHOOKS = { CDI: 'cdi-apiserver', KubeVirt: 'virt-api' } as const

/**
 * Returns the neighbours that must act before anything changes for the machine, the first one first. None if it is as it should be, or if people or
 * images must act: then nothing is asked.
 */
export function awaitedNeighbours(world: Seen): readonly Neighbour[] {
  const { vm, spec, restoring } = world
  if (isTerminating(vm)) return awaitedInDeletion(world)
  if (!spec.ok || spec.spec.ignoreOnDeploy === true) return []
  if (restoring !== undefined) return ['KubeVirt']
  return vm.status.replacement === undefined ? awaitedForDisk(world) : ['KubeVirt', 'CDI']
}

function awaitedForDisk(world: Seen): readonly Neighbour[] {
  const { clone, claim, machine } = world
  const isRootUnfinished = clone !== undefined && clone.phase !== 'Succeeded'
  const unfinished = isRootUnfinished ? clone : unfinishedDisk(world)?.ofImage.clone
  if (unfinished !== undefined && machine?.isReady !== true) {
    if (unfinished.phase === 'Failed') return []
    return waitsForConsumer(unfinished) && machine !== undefined ? ['KubeVirt', 'CDI'] : ['CDI']
  }
  const isDeployed = [clone, claim, machine].some((child) => child !== undefined)
  return !isDeployed || isAtRest(world) ? [] : ['KubeVirt']
}

function awaitedInDeletion({ clone, next, otherRoots, diskClones, machine, instance }: Seen): readonly Neighbour[] {
  if (machine !== undefined || instance !== undefined) return ['KubeVirt']
  const isAny = [clone, next?.clone, ...otherRoots, ...diskClones].some((one) => one !== undefined)
  return isAny ? ['CDI'] : []
}

/** Reports whether the guest runs, is off or is paused as people want it. */
function isAtRest({ spec, machine, instance }: Seen): boolean {
  if (machine === undefined || isTerminating(machine) || isTerminating(instance)) return false
  if (hasEnded(instance)) return false
  const strategy = runStrategyOf({ spec })
  if (strategy !== 'Always' && instance === undefined && machine.printableStatus === 'Stopped') return true
  const isRunning = machine.isReady && instance?.isReady === true
  return strategy === 'Halted' ? false : isRunning || isPausedByChoice(machine)
}

/** Returns the neighbour that keeps a machine from getting further, and how that is known. */
function absentIn(
  world: MachineWorld,
): { readonly neighbour: Neighbour; readonly by: 'lease' | 'webhook' } | undefined {
  const { vm, neighbours, refusal, machine } = world
  // KubeVirt's own controller reports that it cannot reach the webhook.
  const unreached = neighbourUnreached(refusal) ?? neighbourUnreached(machine?.failure || machine?.refusedPod)
  if (unreached !== undefined) return { neighbour: unreached, by: 'webhook' }
  const said = reasonOf(vm.status)
  const absent = awaitedNeighbours(world).find((one) => {
    const presence = neighbours[one]?.presence
    // Another process has found that it is away, and this one does not know better yet.
    return presence === 'away' || (presence === 'unsure' && said === ABSENT[one])
  })
  return absent && { neighbour: absent, by: 'lease' }
}

/** Returns the summary of a machine that waits for a neighbour that is away; undefined if none is. */
export function summaryInAbsence(world: MachineWorld, summary: MachineSummary): MachineSummary | undefined {
  const absent = absentIn(world)
  if (absent === undefined || summary.phase !== 'Provisioning') return undefined
  const { neighbour, by } = absent
  const [what, how] =
    by === 'lease'
      ? [CONTROLLERS[neighbour], 'does not renew its Lease']
      : [WEBHOOKS[neighbour], 'cannot be called by the API server']
  const last = hasEnded(world.instance) ? summary.message : `last reported: ${summary.reason}`
  return waiting(
    ABSENT[neighbour],
    `${neighbour} does not respond: ${what} ${how}, so what it reported may not be true any more (${last}); see whether Deployment ${what} runs: the machine goes on by itself when it is back, and until then no time limit runs and nothing is restarted`,
  )
}

/** Adds who is away to the summary of something that waits in another way, such as a deletion or a restore. */
export function withAbsence(world: MachineWorld, summary: MachineSummary): MachineSummary {
  const absent = summaryInAbsence(world, summary)
  return absent === undefined ? summary : withMore(absent, `; ${summary.message}`)
}

/** Reports whether what a neighbour reports may be used to destroy something: it works, or nothing can be known about it. */
export function isTrusted({ neighbours }: Pick<MachineWorld, 'neighbours'>, neighbour: Neighbour): boolean {
  const presence = neighbours[neighbour]?.presence ?? 'unknown'
  return presence === 'works' || presence === 'unknown'
}
