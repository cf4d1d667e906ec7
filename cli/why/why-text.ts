import { fromTime } from '../../operator/base/time.ts'
import { shortDuration, shown } from '../table.ts'
import type { Cause, Warning } from './causes.ts'
import type { ToldEvents } from './neighbour-events.ts'
import { isUnseen } from './reader.ts'
import type { StoryLink, Subject } from './story.ts'

/** All that `ot why` has found. `-o json` prints it. */
export interface Explanation extends ToldEvents {
  readonly chain: StoryLink
  readonly causes: readonly Cause[]
  readonly warnings: readonly Warning[]
}

/** Characters of a message in the chain. The causes have them whole. */
const MESSAGE_MAX = 300

/** Returns an explanation for people. @param now milliseconds since the epoch */
export function whyText({ chain, causes, warnings, ...told }: Explanation, now: number): string {
  if (chain.isWell)
    return `${subjectTitle(chain.about)} is well: ${stateText(chain, now)}${ending(chain.message)}\n${warningsText(warnings)}`
  const parts = [
    chainText(chain, now, '', ''),
    causes.map(causeText).join('\n'),
    eventsText(told, now),
    warningsText(warnings),
  ]
  return parts.filter((part) => part !== '').join('\n')
}

export function subjectTitle({ kind, group, namespace, name }: Subject): string {
  const title = group === 'kubevirt.io' && kind === 'VirtualMachine' ? `${kind}.${group}` : kind
  return `${title} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

function chainText(link: StoryLink, now: number, lead: string, indent: string): string {
  const { message, because, more, unseen } = link
  const lines = [`${lead}${headOf(link, now)}`]
  const bar = because.length > 0 || more !== undefined ? '│ ' : '  '
  if (unseen !== undefined && message !== undefined) lines.push(`${indent}${bar}${cut(message)}`)
  else if (unseen === undefined && message !== undefined && message !== '' && link.isRepeated !== true)
    lines.push(`${indent}${bar}${cut(message)}`)
  const own = lines.map((line) => `${shown(line)}\n`).join('')
  const last = more === undefined ? because.length - 1 : because.length
  const below = because.map((one, at) =>
    at === last
      ? chainText(one, now, `${indent}└─ `, `${indent}   `)
      : chainText(one, now, `${indent}├─ `, `${indent}│  `),
  )
  return own + below.join('') + (more === undefined ? '' : `${indent}└─ ${shown(more)}\n`)
}

function headOf(link: StoryLink, now: number): string {
  const title = subjectTitle(link.about)
  if (link.isRepeated === true) return `${title}: see above`
  if (link.unseen !== undefined) return `${title}: ${link.unseen}`
  const state = stateText(link, now)
  return state === '' ? title : `${title}: ${state}`
}

function stateText({ phase, reason, since, condition }: StoryLink, now: number): string {
  const words = [phase, reason === phase ? undefined : reason].filter((one) => one !== undefined && one !== '')
  const at = fromTime(since)
  const age = at === undefined ? '' : ` for ${shortDuration(now - at)}`
  return `${words.join(', ')}${age}${condition === undefined ? '' : ` (${condition})`}`
}

function causeText({ about, phase, reason, message, meaning, remedy, commands }: Cause): string {
  const state = [phase, reason === phase ? undefined : reason].filter((one) => one !== undefined && one !== '')
  const lines = [
    `Cause: ${subjectTitle(about)}${state.length === 0 ? '' : `: ${state.join(', ')}`}`,
    ...(message === undefined || message === '' ? [] : [`  ${message}`]),
    ...(meaning === undefined ? [] : [`What it means: ${meaning}`]),
    ...(remedy === undefined ? [] : [`What to do: ${remedy}`]),
    ...commands.map((command) => `  ${command}`),
  ]
  return lines.map((line) => `${shown(line)}\n`).join('')
}

function eventsText({ events, eventsUnseen }: ToldEvents, now: number): string {
  if (isUnseen(events)) return `Events: ${events.unseen}\n`
  const others = eventsUnseen === undefined ? [] : [`  others: ${eventsUnseen}`]
  if (events.length + others.length === 0) return ''
  const lines = events.map(({ about, reason, message, last }) => {
    const at = fromTime(last)
    const age = at === undefined ? '' : ` ${shortDuration(now - at)} ago`
    return `  ${subjectTitle(about)}${age}: ${reason}: ${message}`
  })
  return ['Events:', ...lines, ...others].map((line) => `${shown(line)}\n`).join('')
}

function warningsText(warnings: readonly Warning[]): string {
  return warnings
    .flatMap(({ about, condition, status, reason, message, remedy, isQuiet, commands }) => [
      `Note: ${subjectTitle(about)}: ${condition} is ${status}: ${reason}: ${cut(message)}`,
      ...(remedy === undefined || isQuiet ? [] : [`  ${remedy}`]),
      ...(isQuiet ? [] : commands.map((command) => `  ${command}`)),
    ])
    .map((line) => `${shown(line)}\n`)
    .join('')
}

function ending(message: string | undefined): string {
  return message === undefined || message === '' ? '' : `: ${cut(message)}`
}

function cut(message: string): string {
  return message.length <= MESSAGE_MAX ? message : `${message.slice(0, MESSAGE_MAX - 1)}…`
}
