import { withoutControls } from './plain-lines.ts'

/** What the live view shows, at one moment. */
export interface LiveState {
  readonly seconds: number
  /** The current scene, in a few words. */
  readonly title: string
  readonly slots: { readonly used: number; readonly limit: number }
  /** What is made of images, or asks for them: labs with their components, machines and DataSyncs. */
  readonly users: readonly LiveObject[]
  readonly images: readonly LiveImage[]
  /** Latest event last. */
  readonly events: readonly string[]
}

export interface LiveObject {
  readonly name: string
  /** Undefined before the operator has seen it. */
  readonly phase: string | undefined
  readonly message: string
}

export interface LiveImage extends LiveObject {
  /** The phase of its status, or `Terminating` if its deletion is blocked. */
  readonly phase: string | undefined
  readonly reason: string
  /** Place in the queue, from 1. */
  readonly position: number | undefined
  /** 0 to 1, while it downloads. */
  readonly progress: number | undefined
}

export type Style = 'plain' | 'strong' | 'dim' | 'good' | 'bad' | 'busy' | 'waiting'

export interface Span {
  readonly text: string
  readonly style: Style
}

export type Line = readonly Span[]

export interface Size {
  readonly columns: number
  readonly rows: number
}

const PHASE_STYLES: Readonly<Record<string, Style>> = {
  Queued: 'waiting',
  Syncing: 'busy',
  Snapshotting: 'busy',
  Succeeded: 'good',
  Failed: 'bad',
}
const PHASES = Object.keys(PHASE_STYLES)
/** Phases that the header does not count. */
const OTHER_STYLES: Readonly<Record<string, Style>> = { Provisioning: 'busy', Ready: 'good', Terminating: 'waiting' }
const PHASE_WIDTH = 'Snapshotting'.length + 1
const BAR_WIDTH = 20
/** Minimum number of events, if the terminal is tall enough. */
const EVENTS = 6
/** What matters most comes first, and is left out last if the terminal is short. */
const SHOWN_FIRST = ['Terminating', 'Syncing', 'Snapshotting', 'Queued', 'Failed', 'Succeeded']

/** Returns the frame, with no more lines and columns than the terminal has. */
export function renderFrame(state: LiveState, { columns, rows }: Size): Line[] {
  const head = [header(state), counts(state), [span(withoutControls(state.title), 'strong')]]
  // Two empty lines separate the parts, if there is room for them.
  const room = rows - head.length - 2
  if (room < 4) return [...head, ...objectLines(state, columns, rows - head.length)].slice(0, rows).map(cutTo(columns))
  const fewest = Math.min(EVENTS, Math.floor(room / 3), state.events.length)
  const objects = objectLines(state, columns, room - fewest)
  const events = state.events.slice(objects.length - room).map((text): Line => [span(withoutControls(text), 'dim')])
  return [...head, [], ...objects, [], ...events].map(cutTo(columns))
}

function header({ seconds, slots }: LiveState): Line {
  const used = '■'.repeat(Math.min(slots.used, 20))
  const free = '□'.repeat(Math.min(Math.max(0, slots.limit - slots.used), 20))
  return [
    span('Open Terrain ', 'strong'),
    span(`${clock(seconds)}  slots `, 'plain'),
    span(used, slots.used > slots.limit ? 'waiting' : 'busy'),
    span(free, 'dim'),
    span(` ${slots.used}/${slots.limit}`, 'plain'),
  ]
}

function counts({ images }: LiveState): Line {
  return PHASES.flatMap((phase) => {
    const count = images.filter((image) => image.phase === phase).length
    return [span(`${phase} `, 'dim'), span(`${count}   `, count === 0 ? 'dim' : (PHASE_STYLES[phase] ?? 'plain'))]
  })
}

/** What uses images, and then the images. */
function objectLines(state: LiveState, columns: number, room: number): Line[] {
  const longest = Math.max(...[...state.users, ...state.images].map(({ name }) => name.length))
  const nameWidth = Math.min(longest + 2, Math.floor(columns / 3))
  const lines = [
    ...state.users.map((user) => userRow(user, nameWidth)),
    ...inOrder(state).map((image) => imageRow(image, nameWidth)),
  ]
  if (lines.length <= room) return lines
  const shown = lines.slice(0, room - 1)
  return [...shown, [span(`… and ${lines.length - shown.length} more`, 'dim')]]
}

function inOrder({ images }: LiveState): LiveImage[] {
  const rank = ({ phase }: LiveImage) => (phase === undefined ? SHOWN_FIRST.length : SHOWN_FIRST.indexOf(phase))
  const place = ({ position }: LiveImage) => position ?? Number.MAX_SAFE_INTEGER
  return images.toSorted((a, b) => rank(a) - rank(b) || place(a) - place(b))
}

function userRow(user: LiveObject, nameWidth: number): Line {
  const text = user.phase === undefined ? 'just created' : user.message
  return [...rowStart(user, nameWidth), span(withoutControls(text), 'dim')]
}

function rowStart({ name, phase = '' }: LiveObject, nameWidth: number): Line {
  const style = PHASE_STYLES[phase] ?? OTHER_STYLES[phase] ?? 'dim'
  return [span(fit(name, nameWidth), 'plain'), span(fit(phase, PHASE_WIDTH), style)]
}

function imageRow(image: LiveImage, nameWidth: number): Line {
  const { phase, position, progress } = image
  const start = rowStart(image, nameWidth)
  const text = withoutControls(detailOf(image))
  if (phase === 'Syncing' && progress !== undefined) return [...start, ...bar(progress), span(` ${text}`, 'dim')]
  if (position !== undefined) return [...start, span(fit(`${position}.`, 5), 'waiting'), span(text, 'dim')]
  return [...start, span(text, 'dim')]
}

function detailOf({ phase, reason, message, position }: LiveImage): string {
  if (phase === undefined) return 'just created'
  if (position !== undefined) return 'in the queue'
  if (phase === 'Syncing') return reason === 'Syncing' ? message.replace(/^downloading, /, '') : message
  return phase === 'Queued' ? `${reason}: ${message}` : message
}

function bar(progress: number): Span[] {
  const full = Math.round(Math.min(1, Math.max(0, progress)) * BAR_WIDTH)
  const percent = `${Math.floor(progress * 100)} %`.padStart(6)
  return [span('█'.repeat(full), 'busy'), span('░'.repeat(BAR_WIDTH - full), 'dim'), span(percent, 'plain')]
}

function clock(seconds: number): string {
  const whole = Math.floor(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

function span(text: string, style: Style): Span {
  return { text, style }
}

function fit(text: string, width: number): string {
  return text.length < width ? text.padEnd(width) : `${text.slice(0, Math.max(0, width - 2))}… `
}

function cutTo(columns: number): (line: Line) => Line {
  return (line) => {
    let left = columns
    return line.flatMap(({ text, style }) => {
      const shown = text.length > left ? `${text.slice(0, Math.max(0, left - 1))}${left > 0 ? '…' : ''}` : text
      left -= shown.length
      return shown === '' ? [] : [{ text: shown, style }]
    })
  }
}
