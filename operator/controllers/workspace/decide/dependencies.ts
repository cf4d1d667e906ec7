import {
  memoized,
  type NetworkDriver,
  type WorkspaceContainerCluster,
  type WorkspaceSpec,
  wrongDependency,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../../base/equality.ts'
import type { WorkspaceWorld } from '../world.ts'
import { componentFailed, idOf } from './component.ts'
import { heldBack, isToBegin, type Judged, waitingFor } from './judge.ts'

/** A member of a workspace that is created, or switched on, after others. */
interface Dependent {
  /** `idOf` its component. */
  readonly id: string
  /** `idOf` the object that it mainly is: while that exists and is on, it waits for nobody. */
  readonly object: string
  readonly name: string
  /** `idOf` the components that must be Ready before. */
  readonly needs: readonly string[]
  /** Why it can never be created, as a sentence without its end. */
  readonly wrong?: string | undefined
  /** Names of members that it does not wait for, since they are not deployed. */
  readonly ignored: readonly string[]
}

interface Member {
  readonly id: string
  readonly object: string
  readonly name: string
  readonly dependsOn: readonly string[]
  readonly ignoreOnDeploy?: boolean | undefined
}

type Members = ReadonlyMap<string, Member>

/** Returns the members of a workspace that wait for others, each after all that it waits for. */
const dependentsIn = memoized((spec: WorkspaceSpec): readonly Dependent[] => {
  const members = membersIn(spec)
  return inOrder(members)
    .filter(({ dependsOn }) => dependsOn.length > 0)
    .map(({ id, object, name, dependsOn }): Dependent => {
      const others = dependsOn.flatMap((one) => members.get(one) ?? [])
      const [ignored, deployed] = [true, false].map((isIgnored) =>
        others.filter(({ ignoreOnDeploy }) => (ignoreOnDeploy === true) === isIgnored),
      ) as [Member[], Member[]]
      return {
        id,
        object,
        name,
        needs: deployed.map((one) => one.id),
        wrong: wrongDependency(members, name),
        ignored: ignored.map((one) => one.name),
      }
    })
})

function membersIn({ vms = [], containerClusters = [] }: WorkspaceSpec): Members {
  const of = (kind: string, object: string, all: NonNullable<WorkspaceSpec['vms' | 'containerClusters']>) =>
    all.map(({ name, dependsOn = [], ignoreOnDeploy }): [string, Member] => [
      name,
      { id: idOf(kind, name), object: idOf(object, name), name, dependsOn, ignoreOnDeploy },
    ])
  return new Map([
    ...of('ContainerCluster', 'Deployment', containerClusters),
    ...of('VirtualMachine', 'VirtualMachine', vms),
  ])
}

/** Returns all members, each after those that it depends on. In a circle somebody is first. */
function inOrder(members: Members): Member[] {
  const ordered = new Set<Member>()
  const begun = new Set<Member>()
  const visit = (member: Member): void => {
    if (begun.has(member)) return
    begun.add(member)
    for (const name of member.dependsOn) {
      const other = members.get(name)
      if (other !== undefined) visit(other)
    }
    ordered.add(member)
  }
  for (const member of members.values()) visit(member)
  return [...ordered]
}

/** Returns what an author should know about `dependsOn` of a member. */
export function dependencyWarnings(spec: WorkspaceSpec, name: string): string[] {
  const own = dependentsIn(spec).find((one) => one.name === name)
  if (own === undefined) return []
  const ignored = own.ignored.map(
    (one) => `it does not wait for ${one}, which is not deployed because of its ignoreOnDeploy`,
  )
  return own.wrong === undefined ? ignored : [own.wrong, ...ignored]
}

/**
 * Returns what an author should know who has a container cluster wait for a machine: KubeVirt places the machine alone, and on a Linux bridge the cluster has to be
 * on the same node.
 */
export function placementWarnings(
  { vms = [] }: WorkspaceSpec,
  { dependsOn = [], nodeSelector }: WorkspaceContainerCluster,
  driver: NetworkDriver,
): string[] {
  if (driver !== 'bridge' || nodeSelector === undefined) return []
  return vms
    .filter(({ name, nodeSelector: other }) => dependsOn.includes(name) && !isSame(other, nodeSelector))
    .map(
      ({ name }) =>
        `it is created after machine ${name}, and has to be on the node of that one, which may not be one of its nodeSelector: give ${name} the same nodeSelector`,
    )
}

/** Holds back the members that would be created, or switched on, before others that must be Ready first. What runs is left as it is judged. */
export function inTurn({ spec, children }: WorkspaceWorld, judged: Map<string, Judged>): void {
  if (!spec.ok) return
  for (const { id, object, needs, wrong } of dependentsIn(spec.spec)) {
    const own = judged.get(id)
    if (own === undefined || !isToBegin(own, object, children)) continue
    const awaited = needs.flatMap((one) => judged.get(one) ?? []).find(({ summary }) => summary.phase !== 'Ready')
    if (wrong !== undefined) judged.set(id, heldBack(own, componentFailed('DependencyInvalid', wrong)))
    else if (awaited !== undefined) judged.set(id, heldBack(own, waitingFor(awaited)))
  }
}
