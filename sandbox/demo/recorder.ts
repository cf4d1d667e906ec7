import { writeFileSync } from 'node:fs'
import type { Line, Size } from './live-view.ts'
import type { Screen } from './terminal.ts'

/** What the live view has shown, for a picture of it. */
export interface Recording extends Size {
  readonly frames: readonly { readonly atMs: number; readonly lines: readonly Line[] }[]
  /** What was printed after the last frame. */
  readonly summary: readonly string[]
}

const SIZE: Size = { columns: 100, rows: 26 }
const FRAME_MS = 250

/** Keeps the frames of a live view, as a terminal of 100 columns and 26 rows would show them. */
export class Recorder {
  readonly #frames: { readonly atMs: number; readonly lines: readonly Line[] }[] = []

  /** Returns a screen that is this recorder. */
  recording(render: (size: Size) => readonly Line[]): Screen {
    const startedAt = performance.now()
    const draw = () => this.#frames.push({ atMs: performance.now() - startedAt, lines: render(SIZE) })
    let timer: NodeJS.Timeout | undefined
    return {
      open: () => {
        timer = setInterval(draw, FRAME_MS)
      },
      update: () => undefined,
      close: () => {
        if (timer === undefined) return
        clearInterval(timer)
        timer = undefined
        draw()
      },
    }
  }

  /** Writes what was recorded, as JSON. */
  write(path: string, summary: readonly string[]): void {
    const cut = (line: string) => (line.length > SIZE.columns ? `${line.slice(0, SIZE.columns - 1)}…` : line)
    const recording: Recording = { ...SIZE, frames: this.#frames, summary: summary.map(cut) }
    writeFileSync(path, JSON.stringify(recording))
  }
}
