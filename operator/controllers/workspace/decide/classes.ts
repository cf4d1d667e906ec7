import type { VirtualMachineReason, WorkspaceReason, WorkspaceStatus } from '@open-terrain/constructs/operator'
import { compareTexts } from '../../../base/messages.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'

/** What is known of a lab that may belong to a class. */
interface ClassMember extends Pick<KubeObject, 'metadata'> {
  readonly status: WorkspaceStatus
}

/** What becomes of a lab, or of a machine, as metrics report it. Each is in one of these. */
export const LAB_STATES = ['Ready', 'Halted', 'NotReady', 'Failed'] as const
type LabState = (typeof LAB_STATES)[number]
export const MACHINE_STATES = ['Ready', 'NotReady'] as const
type MachineState = (typeof MACHINE_STATES)[number]

/** The labs that have the same value of a label. */
export interface LabClass {
  readonly value: string
  readonly labs: Readonly<Record<LabState, number>>
  /** Machines that are deployed. One that is off because that is wanted is ready. */
  readonly machines: Readonly<Record<MachineState, number>>
  /** Members whose disk is of an earlier spec. Undefined: no lab has any, or says so. */
  readonly outdated?: number
}

/** Classes that are told apart. A label may have any number of values, and each one is a series for ever. */
export const CLASSES_MAX = 100
/** What all other classes count as. No label can have this value. */
export const OTHER_CLASSES = '(others)'

const OFF: ReadonlySet<string | undefined> = new Set<WorkspaceReason>(['Halted', 'Expired'])
/** Reasons of machines that nobody has deployed. */
const IGNORED: ReadonlySet<string> = new Set<VirtualMachineReason>(['IgnoredOnDeploy', 'NotDeployedAnyMore'])

/** Returns the classes of these labs, the largest ones first. A lab without the label, or with an empty value, is in none. */
export function labClasses(labs: Iterable<ClassMember>, label: string): readonly LabClass[] {
  const byValue = Map.groupBy(labs, ({ metadata }) => metadata.labels?.[label] ?? '')
  byValue.delete('')
  const all = [...byValue].toSorted(([a, those], [b, others]) => others.length - those.length || compareTexts(a, b))
  const told = all.slice(0, CLASSES_MAX)
  const rest = all.slice(CLASSES_MAX).flatMap(([, those]) => those)
  const classes = told.map(([value, those]) => classOf(value, those))
  return rest.length === 0 ? classes : [...classes, classOf(OTHER_CLASSES, rest)]
}

function classOf(value: string, labs: readonly ClassMember[]): LabClass {
  const machines = labs.flatMap(({ status }) => machineStates(status))
  const outdated = labs.map(({ status }) => outdatedIn(status)).filter((count) => count !== undefined)
  return {
    value,
    labs: countedBy(LAB_STATES, labs.map(stateOf)),
    machines: countedBy(MACHINE_STATES, machines),
    ...(outdated.length > 0 && { outdated: outdated.reduce((sum, count) => sum + count) }),
  }
}

/** A lab that is being deleted is not ready. */
function stateOf({ metadata, status: { phase, reason } }: ClassMember): LabState {
  if (phase === 'Failed') return 'Failed'
  if (phase !== 'Ready' || metadata.deletionTimestamp !== undefined) return 'NotReady'
  return OFF.has(reason) ? 'Halted' : 'Ready'
}

function machineStates({ components = [] }: WorkspaceStatus): MachineState[] {
  return components
    .filter(({ kind, phase, reason }) => kind === 'VirtualMachine' && !(phase === 'Ready' && IGNORED.has(reason)))
    .map(({ phase }) => (phase === 'Ready' ? 'Ready' : 'NotReady'))
}

/** An operator that knows nothing of outdated members does not say how many there are. */
function outdatedIn({ counts }: WorkspaceStatus): number | undefined {
  return counts?.outdated
}

function countedBy<State extends string>(all: readonly State[], found: readonly State[]): Record<State, number> {
  const countOf = (state: State) => found.filter((one) => one === state).length
  return Object.fromEntries(all.map((state) => [state, countOf(state)])) as Record<State, number>
}
