import { ANNOTATIONS } from '@open-terrain/constructs'
import { PLACEMENT_GATE } from '@open-terrain/constructs/operator'
import { compareTexts } from '../../../base/messages.ts'
import { fromTime } from '../../../base/time.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DEPLOYMENT } from '../../../kube/resource-types.ts'
import { type ObjectPlan, referTo, removalOf, type Touch } from '../../../runtime/plan.ts'
import type { ContainerPodView, DeploymentView } from '../child-views.ts'
import type { WorkspaceWorld } from '../world.ts'
import { type ComponentSummary, componentFailed, componentWaiting, idOf } from './component.ts'
import type { Judgement } from './component-kind.ts'
import { isHostsAwaited, startingHosts } from './host-names.ts'
import {
  constraintOf,
  type GroupMember,
  groupLabelOf,
  isHolding,
  isLive,
  memberOf,
  type NodeGroup,
  nodeGroupOf,
  volumeRequirements,
} from './node-group.ts'
import { createdAt, isNewSince, patienceMs, troubledSince } from './patience.ts'
import { outOfService } from './pod-trouble.ts'

/** How long the pod of the most constrained cluster is waited for before another pod of the group is placed first. */
const FIRST_MS = 30_000
/** How long a pod that found no node is left alone before another one is tried in its place. */
const RETRY_MS = 10_000
/** How long a pod may take to end after its grace period. */
const END_MS = 60_000
/** When to look again at what was written just now. */
const SOON_MS = 1_000

/** What to do about the pod of a cluster that has no node yet. Without a summary, the pod itself shows why. */
export interface Placement extends Pick<ObjectPlan, 'touch' | 'requeue'> {
  readonly summary?: ComponentSummary
  readonly remove?: Judgement['remove']
  /** What to add to what the scheduler says. */
  readonly note?: string
}

/**
 * Decides when the pod of a cluster may be scheduled, and what happens if it finds no node. A pod has a gate at first. The gate goes when
 *
 * - no other pod holds its addresses and volumes. A pod on a node that is lost holds them until somebody says that it has ended;
 * - its group has a node, to which its affinity binds it; or it is the first of its group, the one that fits the fewest nodes.
 *
 * If another one then does not fit on that node, the group is tried on others.
 */
export function judgePlacement(world: WorkspaceWorld, cluster: string, now: number): Placement | undefined {
  const member = memberOf(world, cluster)
  const [pod] = (member?.pods ?? [])
    .filter((one) => isLive(one) && one.node === '')
    .toSorted((a, b) => createdAt(a, now) - createdAt(b, now) || compare(a, b))
  if (member === undefined || pod === undefined) return undefined
  const label = groupLabelOf(member)
  const group = label === undefined ? undefined : nodeGroupOf(world, label)
  if (pod.gates.includes(PLACEMENT_GATE)) return judgeGated(world, { member, pod, group }, now)
  return pod.unschedulable === '' || group === undefined ? undefined : judgeUnplaced(world, { member, pod, group }, now)
}

function compare(a: KubeObject, b: KubeObject): number {
  return compareTexts(a.metadata.uid ?? '', b.metadata.uid ?? '')
}

interface Case<G> {
  readonly member: GroupMember
  readonly pod: ContainerPodView
  readonly group: G
}

function judgeGated(
  world: WorkspaceWorld,
  { member, pod, group }: Case<NodeGroup | undefined>,
  now: number,
): Placement {
  const holder = member.pods.find(isHolding)
  if (holder !== undefined) return heldBy(holder, now)
  const awaited = group && awaitedBy(world, { member, pod, group }, now)
  if (awaited !== undefined) return awaited
  const summary = componentWaiting('ContainersPending', `the pod of ${member.name} is being placed on a node`)
  if (isHostsAwaited(world, member.name)) return { summary }
  return { summary, touch: [ungated(world, member.name, { pod, group })] }
}

/** Only one pod at a time has an address. A pod that nobody can ask is not known to have ended. */
function heldBy(holder: ContainerPodView, now: number): Placement {
  const { name } = holder.metadata
  const message = `waits until pod ${name} on node ${holder.node}, which has the same addresses, has ended`
  return withEnd(holder, componentWaiting('ContainersPending', message), now)
}

/** Judges a pod that ends and that no other one follows. */
export function judgeEnding(holder: ContainerPodView, now: number): Placement & Judgement {
  const { name } = holder.metadata
  const message = `waits until pod ${name} on node ${holder.node} has ended`
  return withEnd(holder, componentWaiting('Halting', message), now)
}

/** Returns a summary as long as a pod may be ending. After that people have to look at its node. */
function withEnd(holder: ContainerPodView, summary: ComponentSummary, now: number): Placement & Judgement {
  const { name, deletionTimestamp } = holder.metadata
  const endBy = (fromTime(deletionTimestamp) ?? now) + END_MS
  if (now < endBy && !holder.isSilent)
    return { summary, requeue: { afterMs: endBy - now, because: 'a pod that ends has ended by then' } }
  const message = `pod ${name} has not ended, and its addresses are not free; ${outOfService(holder.node)}`
  return { summary: { ...componentFailed('ContainersFailed', message), reason: 'PodNotEnding' } }
}

/** Returns what the first pod of a group waits for, and the others for it. */
function awaitedBy(world: WorkspaceWorld, { member, pod, group }: Case<NodeGroup>, now: number): Placement | undefined {
  const { placed, ending, tried, machines } = group
  if (placed.length + machines.length > 0) return undefined
  const waiting = (text: string): ComponentSummary => componentWaiting('ContainersPending', `waits ${text}`)
  const [last] = ending
  if (last !== undefined) {
    return {
      summary: waiting(`until pod ${last.metadata.name} on node ${last.node} has ended: both have to be on one node`),
    }
  }
  const [ahead] = tried
  const clusterOf = (one: KubeObject) => group.members.find(({ pods }) => pods.some((each) => each === one))?.name
  if (ahead !== undefined)
    return {
      summary: waiting(`until container cluster ${clusterOf(ahead)} has a node, which is to be the node of both`),
    }
  const first = firstOf(world, group, now)
  if (first === member.name) return undefined
  const leftMs = createdAt(pod, now) + FIRST_MS - now
  const requeue = { afterMs: Math.max(SOON_MS, leftMs), because: 'the first pod of the group is there by then' }
  return { summary: waiting(`for container cluster ${first}, whose node is to be the node of both`), requeue }
}

/** Returns the cluster whose pod is placed first: the most constrained one, unless its pod does not come. */
function firstOf(world: WorkspaceWorld, { members }: NodeGroup, now: number): string | undefined {
  const gated = (member: GroupMember) => member.pods.filter((pod) => isLive(pod) && pod.gates.includes(PLACEMENT_GATE))
  const oldest = Math.min(now, ...members.flatMap(gated).map((pod) => createdAt(pod, now)))
  const byConstraint = members
    .map((member) => ({ member, constraint: constraintOf(world, member) }))
    .toSorted((a, b) => b.constraint - a.constraint)
  const isLate = now - oldest >= FIRST_MS
  const found = byConstraint.find(({ member, constraint }) => {
    return gated(member).length > 0 || (constraint > 0 && !isLate && !member.pods.some(isLive))
  })
  return found?.member.name
}

/** What is not known to be mounted elsewhere may be anywhere. The scheduler knows only of the volumes of this pod. */
function ungated(
  world: WorkspaceWorld,
  cluster: string,
  { pod, group }: Pick<Case<NodeGroup | undefined>, 'pod' | 'group'>,
): Touch {
  const isFirst = group !== undefined && group.placed.length + group.machines.length === 0
  const matchExpressions = isFirst ? volumeRequirements(world, group) : []
  // A node field takes one value.
  const matchFields = (isFirst ? group.avoided : []).map((node) => {
    return { key: 'metadata.name', operator: 'NotIn', values: [node] }
  })
  const term = {
    ...(matchExpressions.length > 0 && { matchExpressions }),
    ...(matchFields.length > 0 && { matchFields }),
  }
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } }
  const others = pod.gates.filter((gate) => gate !== PLACEMENT_GATE)
  const { resourceVersion } = pod.metadata
  return {
    ...referTo(pod),
    ...(resourceVersion !== undefined && { resourceVersion }),
    annotations: startingHosts(world, cluster),
    spec: {
      schedulingGates: others.length === 0 ? null : others.map((name) => ({ name })),
      ...(Object.keys(term).length > 0 && { affinity: { nodeAffinity: required } }),
    },
  }
}

/** A pod that the scheduler has tried in vain. */
function judgeUnplaced(world: WorkspaceWorld, one: Case<NodeGroup>, now: number): Placement | undefined {
  const { member, pod, group } = one
  const { placed, ending, machines } = group
  const since = troubledSince(world, now)
  const leftMs = createdAt(pod, now) + patienceMs(pod, since, RETRY_MS) - now
  const after = (what: Placement, because: string): Placement => {
    return leftMs > 0
      ? { ...(what.note !== undefined && { note: what.note }), requeue: { afterMs: leftMs, because } }
      : what
  }
  const [neighbour] = placed
  if (neighbour === undefined) {
    if (ending.length > 0) return undefined
    const [guest] = machines
    const note = guest === undefined ? triedOn(group.avoided) : restOn(guest)
    const noted = note === undefined ? {} : { note }
    const isAlone = pod.unschedulable.includes('pod affinity')
    // The process may have died after it had forgotten the nodes, and before it deleted the pod.
    if (!isAlone && !pod.isKeptOff && group.avoided.length === 0) return noted
    // The scheduler tries the pod again only after minutes, although its reason has gone.
    const again = {
      ...noted,
      remove: removalOf(pod),
      touch: group.members.flatMap((each) => avoiding(world, each, [])),
    }
    return after(again, 'a pod that found no node is then tried again')
  }
  const node = neighbour.node
  const note = restOn(node)
  // What has worked there stays. So do guests.
  const isNew = placed.every((each) => isNewSince(each, since))
  if (machines.length > 0 || !isNew) return { note }
  if (!isTold(world, member.name)) return { note, requeue: { afterMs: SOON_MS, because: 'people are told by then' } }
  const everywhere = avoiding(world, member, [...new Set([...group.avoided, node])])
  const move = { note, remove: [pod, ...placed].flatMap((each) => removalOf(each)), touch: everywhere }
  return after(move, 'the workspace is then tried on another node')
}

function restOn(node: string): string {
  return `the rest of the workspace is on node ${node}`
}

function triedOn(nodes: readonly string[]): string | undefined {
  return nodes.length === 0 ? undefined : `the workspace was tried on ${nodes.join(', ')}`
}

/** What people see changes before anything is deleted. */
function isTold({ workspace }: WorkspaceWorld, cluster: string): boolean {
  const { components = [] } = workspace.status
  return components.some(({ name, reason }) => name === cluster && reason === 'Unschedulable')
}

/** Once all of a group have their node, it may be on any node the next time. */
export function forgotten(world: WorkspaceWorld, cluster: string): Touch[] {
  const member = memberOf(world, cluster)
  const label = member && groupLabelOf(member)
  if (member === undefined || label === undefined || member.avoided.length === 0) return []
  const isWhole = nodeGroupOf(world, label).members.every(({ pods }) => pods.some((pod) => isLive(pod) && pod.isReady))
  return isWhole ? avoiding(world, member, []) : []
}

/** Returns the record of nodes on which the group of a cluster was tried, if it differs. */
function avoiding(world: WorkspaceWorld, { name, avoided }: GroupMember, nodes: readonly string[]): Touch[] {
  const deployment = world.children.get(idOf(DEPLOYMENT.kind, name))
  if (deployment === undefined || isTerminating(deployment) || avoided.join() === nodes.join()) return []
  return [{ ...referTo(deployment), annotations: { [ANNOTATIONS.avoidedNodes]: nodes.join(',') } }]
}

/**
 * Returns what a machine waits for before it is created: a cluster that fits fewer nodes, and has none yet. KubeVirt places the machine anywhere
 * otherwise, and the cluster then has to be there too.
 */
export function placedBefore(world: WorkspaceWorld, label: string, now: number): string | undefined {
  const group = nodeGroupOf(world, label)
  if (group.placed.length + group.machines.length > 0) return undefined
  const isComing = (member: GroupMember) => {
    const deployment = world.children.get(idOf(DEPLOYMENT.kind, member.name)) as DeploymentView | undefined
    if (member.pods.some(isLive)) return true
    if (deployment === undefined) return false
    // One that is switched on has no pod of before either.
    const begun = deployment.replicas === 0 ? troubledSince(world, now) : 0
    return now - Math.max(begun, createdAt(deployment, now)) < FIRST_MS
  }
  return group.members.find((member) => constraintOf(world, member) > 0 && isComing(member))?.name
}
