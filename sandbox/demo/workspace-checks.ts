import { LABELS } from '@open-terrain/constructs'
import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import { POINT_NAME, WORKSPACE_NAME } from './cast.ts'
import { type Check, type Evidence, historyOf, judge, lastImage } from './evidence.ts'
import type { Entry, MachineFact, PodFact, PointFact, WorkspaceFact } from './facts.ts'
import { outOfOrder } from './steps.ts'

/** The workspace of the proposal has at least one of each, if its machine is deployed. */
const KINDS: readonly string[] = [
  'Namespace',
  'Image',
  'Network',
  'Volume',
  'Ansible',
  'ContainerCluster',
  'VirtualMachine',
]

/** One object creates a whole lab without any further action, and reports the state of each component. */
export function standsUpAsOne(evidence: Evidence): Check {
  const { workspaces, machines, image, imageName } = traces(evidence)
  const ready = workspaces.find(isReady)
  const until = workspaces.slice(0, workspaces.findIndex(isReady) + 1)
  const problems = outOfOrder([
    ['the workspace was created', workspaces[0]],
    ['its image was created', image[0]],
    ['the image was ready', image.find(({ fact }) => fact.isReady)],
    ['its machine was created', machines[0]],
    ['the machine was Ready', machines.find(({ fact }) => fact.status.phase === 'Ready')],
    ['the workspace was Ready', ready],
  ])
  const components = ready?.fact.status.components ?? []
  const kinds = new Set(components.map(({ kind }) => kind))
  for (const kind of KINDS) if (!kinds.has(kind)) problems.push(`it has no component of kind ${kind}`)
  for (const { kind, name, phase } of components) {
    if (phase !== 'Ready') problems.push(`it was Ready while ${kind} ${name} was ${phase}`)
  }
  if (until.some(({ fact }) => fact.status.phase === 'Failed')) problems.push('it was Failed on the way')
  const told = new Set(until.map(({ fact }) => fact.status.ready).filter((one) => one !== undefined))
  // At least while its image is downloaded, and at its end.
  if (told.size < 2) problems.push(`it told no more of its way than ${[...told].join(', ')}`)
  const ms = ready && workspaces[0] && Math.round(ready.at - workspaces[0].at)
  const detail = `${components.length} components of ${kinds.size} kinds, ${imageName} first; Ready ${ms} ms after it was created, told in ${told.size} steps`
  return judge('workspace from nothing to Ready', problems, detail)
}

/** A lab that is off runs nothing and keeps its machine; switched on, it is Ready again, with other pods. */
export function switchesOffAndOn(evidence: Evidence): Check {
  const { workspaces, machines, pods } = traces(evidence)
  const from = workspaces.findIndex(isReady)
  const off = workspaces.slice(from).find(isHalted)
  const after = workspaces.slice(off === undefined ? workspaces.length : workspaces.indexOf(off))
  const on = after.find((entry) => isReady(entry) && !isHalted(entry))
  const isBefore = (one: Entry, other: Entry | undefined) =>
    other !== undefined && compareResourceVersions(one.revision, other.revision) < 0
  const problems = outOfOrder([
    ['the workspace was Ready', workspaces[from]],
    ['its containers had stopped', pods.find(isGone)],
    ['the workspace was off', off],
    ['the workspace was on again', on],
  ])
  const runningAtOff = new Set(pods.filter((one) => isBefore(one, off)).map(({ fact }) => fact.metadata.uid))
  const stopped = runningAtOff.size
  for (const { fact } of pods.filter((one) => isGone(one) && isBefore(one, off))) runningAtOff.delete(fact.metadata.uid)
  if (runningAtOff.size > 0) problems.push(`${runningAtOff.size} of its pods ran while it was off`)
  if (machines.some((one) => isGone(one) && isBefore(one, on))) problems.push('its machine was deleted')
  const ms = off && on && Math.round(on.at - off.at)
  const detail = `pods stopped: ${stopped}; the machine and its disk stayed; Ready again ${ms} ms after it was off`
  return judge('workspace off and on', problems, detail)
}

/** A lab that is off is restored to a point in time: switched on, its machine runs from the disk of then. */
export function isRestored(evidence: Evidence): Check {
  const { workspaces, machines } = traces(evidence)
  const off = workspaces.find(isHalted)
  const after = workspaces.slice(off === undefined ? workspaces.length : workspaces.indexOf(off))
  const points = historyOf(evidence, 'point', POINT_NAME)
  const switched = points.find(({ fact }) => ['WaitForFirstConsumer', 'Succeeded'].includes(phaseOfRestore(fact)))
  const done = points.find(({ fact }) => phaseOfRestore(fact) === 'Succeeded')
  const problems = outOfOrder([
    ['the workspace was off', off],
    ['its machine was restored', switched],
    ['the workspace was on again', after.find((entry) => isReady(entry) && !isHalted(entry))],
  ])
  if (done === undefined) problems.push(`the restore is ${points.map(({ fact }) => phaseOfRestore(fact)).at(-1)}`)
  const disk = machines.map(({ fact }) => fact.status.restoredClaim).findLast((claim) => claim !== undefined)
  if (disk === undefined) problems.push('its machine does not tell that its disk is from a restore')
  const phases = [...new Set(points.map(({ fact }) => phaseOfRestore(fact)).filter((phase) => phase !== ''))]
  return judge('workspace restored', problems, `${phases.join(', ')}; the machine starts from the disk of then`)
}

function phaseOfRestore({ status }: PointFact): string {
  return status.restore?.phase ?? ''
}

/** What was created for it is deleted, and what uses other things is deleted before those. Images have their own rule. */
export function goesWithAll(evidence: Evidence): Check {
  const { workspaces, machines, pods, imageName } = traces(evidence)
  const asked = workspaces.find(({ fact }) => fact.metadata.deletionTimestamp !== undefined)
  const lastPod = pods.filter(isGone).at(-1)
  const gone = workspaces.find(isGone)
  const problems = outOfOrder([
    ['the workspace was deleted', asked],
    ['its machine was gone', machines.find(isGone)],
    ['its containers were gone', lastPod],
    ['the workspace was gone', gone],
  ])
  const alive = new Set(pods.map(({ fact }) => fact.metadata.uid))
  for (const { fact } of pods.filter(isGone)) alive.delete(fact.metadata.uid)
  if (alive.size > 0) problems.push(`${alive.size} of its pods are still there`)
  problems.push(...evidence.acts.workspace.left.map((one) => `${one} is left of it`))
  const kept = historyOf(evidence, 'image', imageName).at(-1)
  if (kept === undefined || kept.isDeleted || lastImage(evidence, imageName)?.status.phase !== 'Succeeded')
    problems.push(`image ${imageName} is not there any more, though the policy retains it`)
  const ms = gone && asked && Math.round(gone.at - asked.at)
  const detail = `machine, containers, networks, namespace: gone in ${ms} ms, with nothing left but image ${imageName}, which the policy retains`
  return judge('workspace deleted', problems, detail)
}

/** Returns everything that was observed of the workspace and of what was created for it. */
function traces(evidence: Evidence) {
  const { journal, cast } = evidence
  const imageName = cast.find(({ role }) => role === 'workspace')?.name ?? ''
  const isMine = ({ fact }: Entry) => fact.metadata.namespace === WORKSPACE_NAME
  const isMachine = (entry: Entry): entry is Entry<MachineFact> => entry.fact.kind === 'machine'
  const isPod = (entry: Entry): entry is Entry<PodFact> => entry.fact.kind === 'pod'
  return {
    imageName,
    workspaces: historyOf(evidence, 'workspace', WORKSPACE_NAME),
    image: historyOf(evidence, 'image', imageName),
    machines: journal.filter(isMachine).filter(isMine),
    pods: journal
      .filter(isPod)
      .filter(isMine)
      .filter(({ fact }) => fact.metadata.labels?.[LABELS.containerCluster] !== undefined)
      .sort((a, b) => compareResourceVersions(a.revision, b.revision)),
  }
}

function isReady({ fact }: Entry<WorkspaceFact>): boolean {
  return fact.status.phase === 'Ready'
}

function isHalted(entry: Entry<WorkspaceFact>): boolean {
  return isReady(entry) && entry.fact.status.reason === 'Halted'
}

function isGone({ isDeleted }: Entry): boolean {
  return isDeleted
}
