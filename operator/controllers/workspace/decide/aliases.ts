import {
  memberNamesIn,
  memoized,
  type WorkspaceContainerCluster,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs/operator'
import type { WorkspaceWorld } from '../world.ts'
import { componentFailed, idOf } from './component.ts'
import { heldBack, isToBegin, type Judged } from './judge.ts'

/** A member with an alias that it cannot have. */
interface WrongMember {
  /** `idOf` its component. */
  readonly id: string
  /** `idOf` the object that it mainly is. */
  readonly object: string
  readonly wrong: string
}

const wrongMembersIn = memoized((spec: WorkspaceSpec): readonly WrongMember[] => {
  const { vms = [], containerClusters = [] } = spec
  const names = memberNamesIn(spec)
  const wrongOf = (kind: string, object: string, members: readonly (WorkspaceVm | WorkspaceContainerCluster)[]) =>
    members.flatMap((one): WrongMember[] => {
      const wrong = names.wrongIn(one)
      return wrong === undefined ? [] : [{ id: idOf(kind, one.name), object: idOf(object, one.name), wrong }]
    })
  return [
    ...wrongOf('VirtualMachine', 'VirtualMachine', vms),
    ...wrongOf('ContainerCluster', 'Deployment', containerClusters),
  ]
})

/** Holds back the members with an alias that they cannot have. What exists goes on without that alias, and its warnings say so. */
export function withoutWrongAliases({ spec, children }: WorkspaceWorld, judged: Map<string, Judged>): void {
  if (!spec.ok) return
  for (const { id, object, wrong } of wrongMembersIn(spec.spec)) {
    const own = judged.get(id)
    if (own !== undefined && !children.has(object) && isToBegin(own, object, children))
      judged.set(id, heldBack(own, componentFailed('AliasNotPossible', wrong)))
  }
}
