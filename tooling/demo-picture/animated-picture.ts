import type { Line, Span, Style } from '../../sandbox/demo/live-view.ts'
import type { Recording } from '../../sandbox/demo/recorder.ts'

/** How a recording is shown. */
export interface Pace {
  /** How much faster than it happened. */
  readonly speed: number
  /** Real time between two frames, in milliseconds. */
  readonly frameMs: number
  /** How long the summary stays, in milliseconds. */
  readonly summaryMs: number
  /** What is shown to those who want nothing to move: the first frame after which a line has this text. */
  readonly still: string
}

const CHARACTER = 8.4
const ROW = 18
const MARGIN = 14
const FONT = 14
/** From the top of a row to the line that letters stand on. */
const BASE = ROW - 5
/** Colours of the styles, on white and on black, each with a contrast of 4.5 or more. */
const COLOURS: Readonly<Record<Style, { readonly light: string; readonly dark: string }>> = {
  plain: { light: '#1f2937', dark: '#e5e7eb' },
  strong: { light: '#111827', dark: '#ffffff' },
  dim: { light: '#6b7280', dark: '#9ca3af' },
  good: { light: '#15803d', dark: '#4ade80' },
  bad: { light: '#b91c1c', dark: '#f87171' },
  busy: { light: '#0e7490', dark: '#22d3ee' },
  waiting: { light: '#a16207', dark: '#facc15' },
}
const BACKGROUND = { light: '#ffffff', dark: '#0d1117' }
const BORDER = { light: '#d0d7de', dark: '#30363d' }
/** Of the rectangle that hides what a row had before. */
const GROUND_ID = 'o'
const CLASSES: Readonly<Record<Style, string>> = {
  plain: 'p',
  strong: 's',
  dim: 'd',
  good: 'g',
  bad: 'r',
  busy: 'b',
  waiting: 'w',
}
/** Characters of a bar, which fonts draw with gaps. */
const BAR = /^[█░]+$/

interface Cell {
  readonly column: number
  readonly span: Span
}

/**
 * Draws a recording as SVG with CSS animations and no script, so that it plays in a README. Each frame paints what has changed over the
 * frames before. Who asks the system for less motion sees one still.
 */
export function animatedPicture(recording: Recording, pace: Pace): string {
  const frames = framesOf(recording, pace)
  const rows = Math.max(...frames.map(({ lines }) => lines.length))
  const [width, height] = [Math.ceil(recording.columns * CHARACTER + 2 * MARGIN), rows * ROW + 2 * MARGIN]
  const totalMs = (frames.at(-1)?.atMs ?? 0) + pace.summaryMs
  const still = stillOf(frames, pace.still)
  const parts = new Parts()
  const paintings = frames.map(({ lines }, at) => paint(lines, frames[at - 1]?.lines ?? [], rows, parts))
  const starts = frames.flatMap(({ atMs }, at) => {
    const percent = ((atMs / totalMs) * 100).toFixed(2)
    return at === 0
      ? []
      : [`@keyframes k${at}{0%{visibility:hidden}${percent}%{visibility:visible}}#f${at}{animation-name:k${at}}`]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    '<title>npm run demo, in a terminal</title>',
    `<desc>Images wait in a queue for slots, download, and are ready. A machine and a lab start when theirs are. At the end: ${escaped(recording.summary.at(-1) ?? '')}</desc>`,
    `<style>${styles(totalMs, starts)}</style>`,
    `<defs><rect id="${GROUND_ID}" class="o" width="${width}" height="${ROW}"/>${parts.definitions}</defs>`,
    `<rect class="o" width="${width}" height="${height}" rx="6"/>`,
    ...paintings.map((painting, at) => `<g id="f${at}"${at > still ? ' class="later"' : ''}>${painting}</g>`),
    `<rect class="f" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="6"/>`,
    '</svg>',
    '',
  ].join('\n')
}

function styles(totalMs: number, starts: readonly string[]): string {
  const colours = (ground: 'light' | 'dark') => [
    ...Object.entries(COLOURS).map(([style, colour]) => `.${CLASSES[style as Style]}{fill:${colour[ground]}}`),
    `.o{fill:${BACKGROUND[ground]}}.f{fill:none;stroke:${BORDER[ground]}}`,
  ]
  return [
    `text{font:${FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}`,
    ...colours('light'),
    '.s{font-weight:bold}.later{visibility:hidden}.rest{opacity:.35}',
    `@media(prefers-color-scheme:dark){${colours('dark').join('')}}`,
    `@media(prefers-reduced-motion:no-preference){svg>g{animation:${(totalMs / 1_000).toFixed(1)}s step-end infinite}${starts.join('')}}`,
  ].join('')
}

interface PlayedFrame {
  /** Of the picture's time. */
  readonly atMs: number
  readonly lines: readonly Line[]
}

function framesOf({ frames, summary }: Recording, { speed, frameMs }: Pace): readonly PlayedFrame[] {
  const kept: PlayedFrame[] = []
  let next = 0
  for (const { atMs, lines } of frames) {
    if (atMs < next) continue
    next = atMs + frameMs
    kept.push({ atMs: Math.round(atMs / speed), lines })
  }
  const endMs = (frames.at(-1)?.atMs ?? 0) / speed + 1_000
  return [...kept, { atMs: Math.round(endMs), lines: summary.map(summaryLine) }]
}

function summaryLine(text: string): Line {
  const [, result = '', rest = text] = /^(ok|FAILED)( .*)$/.exec(text) ?? []
  const style = result === 'ok' ? 'good' : 'bad'
  return [...(result === '' ? [] : [{ text: result, style } as const]), { text: rest, style: 'plain' }]
}

function stillOf(frames: readonly PlayedFrame[], text: string): number {
  const found = frames.findIndex(({ lines }) => lines.some((line) => textOf(line).includes(text)))
  if (found < 0) throw new Error(`no frame of the recording has "${text}"`)
  return found
}

function textOf(line: Line): string {
  return line.map(({ text }) => text).join('')
}

/** Paints the rows that differ from those before, from the first text that does. */
function paint(lines: readonly Line[], before: readonly Line[], rows: number, parts: Parts): string {
  return Array.from({ length: rows }, (_, row) => {
    const [now, then] = [cellsOf(lines[row] ?? []), cellsOf(before[row] ?? [])]
    const same = now.findIndex((cell, at) => !isSame(cell, then[at]))
    const first = same < 0 ? now.length : same
    if (first === now.length && then.length === now.length) return ''
    const y = MARGIN + row * ROW
    const left = Math.min(...[now[first], then[first]].map((cell) => cell?.column ?? Number.POSITIVE_INFINITY))
    const ground = then.length > first ? `<use href="#${GROUND_ID}" x="${xOf(left)}" y="${y}"/>` : ''
    return first === now.length
      ? ground
      : `${ground}<use href="#${parts.idOf(drawn(now.slice(first)))}" y="${y + BASE}"/>`
  }).join('')
}

/** What is drawn more than once, as rows that move are, is said once. */
class Parts {
  readonly #ids = new Map<string, string>()

  idOf(drawing: string): string {
    const id = this.#ids.get(drawing) ?? `p${this.#ids.size}`
    this.#ids.set(drawing, id)
    return id
  }

  get definitions(): string {
    return Array.from(this.#ids, ([drawing, id]) => drawing.replace(/^<\w+/, `$& id="${id}"`)).join('')
  }
}

/** Texts with the column at which each begins; without blanks, which are the ground. */
function cellsOf(line: Line): Cell[] {
  let column = 0
  return line.flatMap((span) => {
    const start = column + span.text.length - span.text.trimStart().length
    column += span.text.length
    const text = span.text.trim()
    return text === '' ? [] : [{ column: start, span: { text, style: span.style } }]
  })
}

function isSame(one: Cell, other: Cell | undefined): boolean {
  return one.column === other?.column && one.span.text === other.span.text && one.span.style === other.span.style
}

/** Returns one element, whose text stands on y = 0. */
function drawn(cells: readonly Cell[]): string {
  const [first, ...others] = cells.filter(({ span }) => !BAR.test(span.text))
  const spans = others.map((cell) => `<tspan ${placeOf(cell)}>${escaped(cell.span.text)}</tspan>`)
  const words = first && `<text ${placeOf(first)}>${escaped(first.span.text)}${spans.join('')}</text>`
  const bars = cells.filter(({ span }) => BAR.test(span.text)).map(barOf)
  return bars.length === 0 && words !== undefined ? words : `<g>${words ?? ''}${bars.join('')}</g>`
}

function placeOf({ column, span: { style } }: Cell): string {
  return `class="${CLASSES[style]}" x="${xOf(column)}"`
}

function barOf({ column, span: { text } }: Cell): string {
  const rest = text.startsWith('░') ? ' rest' : ''
  const size = `width="${Math.round(text.length * CHARACTER)}" height="${ROW - 8}"`
  return `<rect class="${CLASSES.busy}${rest}" x="${xOf(column)}" y="${4 - BASE}" ${size}/>`
}

function xOf(column: number): number {
  return Math.round(MARGIN + column * CHARACTER)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
