import {
  VIRTUAL_MACHINE_CONDITIONS as MACHINE,
  type WORKSPACE_CONDITION_RULES,
  type WorkspaceReason,
  wholeLabWarnings,
} from '@open-terrain/constructs/operator'
import { cutTo } from '../../../base/messages.ts'
import { type SayingOf, saying } from '../../../runtime/conditions.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import type { ComponentWarning } from './component.ts'
import { warningOnLimit } from './expiry.ts'
import { idOfComponent, type Judged } from './judge.ts'

/** Characters of the message of the condition. */
const MESSAGE_MAX = 4_000
/** Characters for the numbers at the beginning and at the end. */
const FRAME = 60

export interface SpecWarnings {
  readonly condition: SayingOf<typeof WORKSPACE_CONDITION_RULES.SpecWarning, WorkspaceReason>
  readonly count: number
}

/** Returns what a workspace and its members are warned of, or undefined if nothing is wrong with any. */
export function specWarningsOf(world: WorkspaceWorld, judged: readonly Judged[]): SpecWarnings | undefined {
  const ofLimit = warningOnLimit(world)
  const ofLab = world.spec.ok ? wholeLabWarnings(world.spec.spec) : []
  const ofAll = [...ofLab, ...(ofLimit === undefined ? [] : [ofLimit])].map((text) => ({ text, count: 1 }))
  const ofMembers = judged.flatMap(({ component }) => {
    const warnings = warningsOfComponent(world, component)
    if (warnings.length === 0) return []
    const texts = warnings.map(({ message }) => message)
    return [{ text: `${idOfComponent(component)}: ${texts.join('; ')}`, count: total(warnings) }]
  })
  const told = [...ofAll, ...ofMembers]
  const count = total(told)
  if (count === 0) return undefined
  let length = FRAME
  const over = told.findIndex(({ text }) => {
    length += text.length + 2
    return length > MESSAGE_MAX
  })
  const shown = over === -1 ? told : told.slice(0, Math.max(over, 1))
  const more = count - total(shown)
  const texts = shown.map(({ text }) => text).join('; ')
  const head = `${count} ${count === 1 ? 'warning' : 'warnings'}: `
  const end = more > 0 ? `; and ${more} more` : ''
  const message = `${head}${cutTo(MESSAGE_MAX - head.length - end.length, texts)}${end}`
  return { condition: saying(true, { reason: 'SpecWarning', message }), count }
}

/** A machine knows more than its spec says, such as the size of its image. Before it has looked, the spec alone counts. */
function warningsOfComponent(
  { children }: WorkspaceWorld,
  component: Judged['component'],
): readonly ComponentWarning[] {
  const { kind, warnings = [] } = component
  const child =
    kind === 'VirtualMachine' ? (children.get(idOfComponent(component)) as MachineFacts | undefined) : undefined
  if (child?.status.phase === undefined) return warnings
  const own = warningOfMachine(child)
  return [...(own === undefined ? [] : [own]), ...warnings.filter(({ isOfChild }) => isOfChild !== true)]
}

/** Returns what the status of a machine warns of. */
export function warningOfMachine({ status }: MachineFacts): ComponentWarning | undefined {
  const condition = status.conditions?.find(
    ({ type, status: holds }) => type === MACHINE.SpecWarning && holds === 'True',
  )
  return condition && { message: condition.message, count: status.warnings ?? 1 }
}

function total(warnings: readonly { readonly count?: number }[]): number {
  return warnings.reduce((sum, { count = 1 }) => sum + count, 0)
}
