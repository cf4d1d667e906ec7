import { sleep } from '../../operator/base/clock.ts'
import type { Surroundings } from '../surroundings.ts'

/** At most so often is a terminal drawn anew, or a block printed, however much changes. */
const APART_MS = 500
/** A terminal is drawn anew at least so often: what it says of times goes on. */
const TICK_MS = 5_000

const HOME = '\u001b[H'
const TO_END_OF_LINE = '\u001b[K'
const TO_END_OF_SCREEN = '\u001b[J'
const CLEAR = `\u001b[2J${HOME}`

/** What there is to show. */
export interface Frame {
  readonly text: string
  /** Where this is the same, nothing has changed but times. */
  readonly content: string
}

/** What may have changed since it was shown. Nothing is computed while it has not: there may be ten thousand objects. */
interface Watched {
  /** Returns how often it has changed. */
  readonly version: () => number
  /** Returns what there is to show now; undefined while nothing is known. */
  readonly take: () => Frame | undefined
}

/**
 * Shows frames until it is aborted: on a terminal in one place, otherwise one after another, each one when something has changed.
 */
export async function redraw(
  { clock, print, screen }: Pick<Surroundings, 'clock' | 'print' | 'screen'>,
  { version, take }: Watched,
  signal: AbortSignal,
): Promise<void> {
  let shown: string | undefined
  let drawnAt = Number.NEGATIVE_INFINITY
  let taken: number | undefined
  const draw = (frame: Frame, isTick: boolean): void => {
    if (frame.content === shown && !isTick) return
    const isFirst = shown === undefined
    if (screen === undefined) print(`${isFirst ? '' : '\n'}${frame.text}`)
    else print(`${isFirst ? CLEAR : ''}${fitted(frame.text, screen())}`)
    shown = frame.content
    drawnAt = clock.monotonic()
  }
  while (!signal.aborted) {
    const isTick = screen !== undefined && clock.monotonic() - drawnAt >= TICK_MS
    const now = version()
    const frame = isTick || now !== taken ? take() : undefined
    taken = now
    if (frame !== undefined) draw(frame, isTick)
    await sleep(clock, APART_MS, signal).catch(() => undefined)
  }
}

/** Writes over what was there before: a terminal that is cleared each time flickers. Lines that wrap would push others out. */
function fitted(text: string, { columns, rows }: { readonly columns: number; readonly rows: number }): string {
  const lines = text.trimEnd().split('\n')
  const shown = lines.length < rows ? lines : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more lines`]
  return `${HOME}${shown.map((line) => `${line.slice(0, columns - 1)}${TO_END_OF_LINE}\n`).join('')}${TO_END_OF_SCREEN}`
}
