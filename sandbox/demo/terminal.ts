import type { WriteStream } from 'node:tty'
import type { Line, Size, Style } from './live-view.ts'

const ESCAPE = '\u001b['
const COLORS: Readonly<Record<Style, string>> = {
  plain: '',
  strong: '1',
  dim: '2',
  good: '32',
  bad: '31',
  busy: '36',
  waiting: '33',
}
const FRAME_MS = 100
const IDLE_FRAME_MS = 500

/** Where frames are drawn. */
export interface Screen {
  open(): void
  /** Draws what has changed, soon. */
  update(): void
  /** Draws the last frame. */
  close(): void
}

/** Draws frames over each other at the bottom of a terminal. What was printed before stays above them. */
export class Terminal implements Screen {
  readonly #stream: WriteStream
  readonly #render: (size: Size) => readonly Line[]
  readonly #hasColors: boolean
  readonly #onResize = () => this.#redrawAll()
  readonly #onExit = () => this.close()
  #drawn = 0
  #timer: NodeJS.Timeout | undefined
  #isOpen = false

  constructor(stream: WriteStream, render: (size: Size) => readonly Line[]) {
    this.#stream = stream
    this.#render = render
    this.#hasColors = !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb'
  }

  open(): void {
    this.#isOpen = true
    this.#stream.write(`${ESCAPE}?25l`)
    this.#stream.on('resize', this.#onResize)
    // Also when something throws: the cursor must come back.
    process.on('exit', this.#onExit)
    this.#draw()
  }

  /** Redraws after a change, at most once per `FRAME_MS`. */
  update(): void {
    if (this.#isOpen) this.#drawIn(FRAME_MS)
  }

  /** Leaves the last frame in place, and restores the cursor. */
  close(): void {
    if (!this.#isOpen) return
    this.#draw()
    this.#isOpen = false
    clearTimeout(this.#timer)
    this.#stream.off('resize', this.#onResize)
    process.off('exit', this.#onExit)
    this.#stream.write(`${ESCAPE}?25h`)
  }

  #pendingMs = Number.POSITIVE_INFINITY

  #drawIn(delayMs: number): void {
    if (this.#pendingMs <= delayMs) return
    clearTimeout(this.#timer)
    this.#pendingMs = delayMs
    this.#timer = setTimeout(() => this.#draw(), delayMs)
  }

  #draw(): void {
    this.#pendingMs = Number.POSITIVE_INFINITY
    const { columns = 80, rows = 24 } = this.#stream
    // One row stays free for the newline after the last line.
    const lines = this.#render({ columns: columns - 1, rows: rows - 1 })
    const up = this.#drawn > 0 ? `${ESCAPE}${this.#drawn}A` : ''
    const text = lines.map((line) => `${this.#paint(line)}${ESCAPE}K\n`).join('')
    this.#stream.write(`${up}\r${text}${ESCAPE}J`)
    this.#drawn = lines.length
    this.#drawIn(IDLE_FRAME_MS)
  }

  /** The terminal may have wrapped lines, so their positions are unknown. */
  #redrawAll(): void {
    this.#stream.write(`${ESCAPE}2J${ESCAPE}H`)
    this.#drawn = 0
    clearTimeout(this.#timer)
    this.#draw()
  }

  #paint(line: Line): string {
    return line
      .map(({ text, style }) => {
        const color = COLORS[style]
        return color === '' || !this.#hasColors ? text : `${ESCAPE}${color}m${text}${ESCAPE}0m`
      })
      .join('')
  }
}
