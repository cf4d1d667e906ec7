import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { Mutant } from '../mutant.ts'
import { MACHINES, WORKSPACES } from '../mutants/product-modules.ts'
import { seam } from '../seam.ts'

type Draft = Parameters<
  typeof import('../../../operator/controllers/virtual-machine/decide/plan-replacement.ts').withReplacement
>[0]

/** Replacements are planned in another world than there is. */
const replacedIn = (worldOf: (world: Draft['world']) => Draft['world'], isChecked = true) =>
  seam(MACHINES.planReplacement, 'withReplacement', (withReplacement) => (draft, ...more) => {
    const step = withReplacement({ ...draft, world: worldOf(draft.world) }, ...more)
    return isChecked ? step : { ...step, onlyIf: [] }
  })

/** Deliberate defects in what the operator does when people ask for new root disks. */
export const RESET_MUTANTS: readonly Mutant[] = [
  {
    name: 'a root disk is replaced while its guest runs',
    invariant: 5,
    seam: replacedIn((world) => {
      const { machine, next } = world
      if (machine === undefined || next?.clone?.phase !== 'Succeeded') return world
      const off = { ...machine, runStrategy: 'Halted', printableStatus: 'Stopped', isStartAsked: false } as const
      return { ...world, machine: off, instance: undefined }
    }, false),
    kind: 'workspacesResetCalm',
    seed: 4,
  },
  {
    name: 'a machine gets its new root disk before that is complete',
    invariant: 5,
    seam: replacedIn((world) => {
      const { clone } = world.next ?? {}
      if (world.next === undefined || clone === undefined) return world
      return { ...world, next: { ...world.next, clone: { ...clone, phase: 'Succeeded' } } }
    }),
    kind: 'workspacesResetCalm',
    seed: 3,
  },
  {
    name: 'a root disk that was replaced is not kept',
    invariant: 5,
    seam: seam(MACHINES.planReplacement, 'recordOfSwap', (recordOfSwap) => (draft) => {
      const { world } = draft
      return recordOfSwap({ ...draft, world: { ...world, policy: { ...world.policy, resetGraceMs: 0 } } })
    }),
    kind: 'workspacesResetCalm',
    seed: 4,
  },
  {
    name: 'a root disk is deleted before the new one is made, and nobody has said so',
    invariant: 5,
    seam: seam(MACHINES.secondDisk, 'isToBeDeletedFirst', (isToBeDeletedFirst) => (draft, image, next) => {
      const word = wordToldBy(draft.world)
      if (word === undefined) return false
      const { vm } = draft.world
      const annotations = { ...vm.metadata.annotations, 'pelotech.ot/delete-disk-first': word }
      const said = { ...vm, metadata: { ...vm.metadata, annotations } }
      return isToBeDeletedFirst({ ...draft, world: { ...draft.world, vm: said } }, image, next)
    }),
    kind: 'workspacesResetFull',
    seed: 12,
  },
  {
    name: 'a request for a new root disk counts twice',
    invariant: 5,
    alsoCaughtAs: [7],
    seam: seam(MACHINES.diskRequests, 'answeredRequests', (answeredRequests) => ({ vm }) => {
      const { rebuildRequest, resetRequest = 'none' } = vm.status
      return { ...answeredRequests({ vm }), rebuildRequest, resetRequest }
    }),
    kind: 'workspacesResetCalm',
    seed: 4,
  },
  {
    name: 'a request for one machine gives way to the older one of its lab',
    invariant: 5,
    seam: seam(WORKSPACES.machineRequests, 'machineRequests', (requests) => (facts, rollout) => {
      const { passedReset: _reset, passedRebuild: _rebuild, ...status } = facts.workspace.status
      const children = new Map([...facts.children].map(([id, child]) => [id, withoutGiven(child)]))
      return requests({ ...facts, workspace: { ...facts.workspace, status }, children }, rollout)
    }),
    kind: 'workspacesResetCalm',
    seed: 8,
  },
]

function wordToldBy({ vm }: Draft['world']): string | undefined {
  const { message = '' } = vm.status.conditions?.find(({ type }) => type === 'Replacing') ?? {}
  return /delete-disk-first=([0-9a-f]+)$/.exec(message)?.[1]
}

/** Nobody knows what a machine was given. The package of constructs is not imported here: it would be loaded before it is mutated. */
function withoutGiven<T extends KubeObject>(child: T): T {
  const {
    'pelotech.ot/given-reset': _reset,
    'pelotech.ot/given-rebuild': _rebuild,
    ...annotations
  } = child.metadata.annotations ?? {}
  return { ...child, metadata: { ...child.metadata, annotations } }
}
