import { setTimeout } from 'node:timers/promises'
import type { Performer } from './cast.ts'
import { type Line, type LiveImage, type LiveObject, type LiveState, renderFrame, type Size } from './live-view.ts'
import type { Observer } from './observer.ts'
import { describe, plainLine } from './plain-lines.ts'
import type { Recorder } from './recorder.ts'
import { waitingImages } from './scenes.ts'
import { type Screen, Terminal } from './terminal.ts'

const KEPT_EVENTS = 50
/** Long enough to be read. */
const LOOK_MS = 5_000

/** Shows people what happens. */
export interface Display {
  /** Shows an action of the demo, as opposed to an observed event. */
  say(text: string): void
  /** Leaves people the time to look at what is there. Where nobody watches, that is none. */
  readonly pause: (signal: AbortSignal) => Promise<void>
  /** Stops drawing. Later output appears below. */
  close(): void
}

/** A live view in a terminal, or for a recorder; plain lines everywhere else. */
export function openDisplay(observer: Observer, cast: readonly Performer[], recorder?: Recorder): Display {
  // Lines that scroll make a picture large, and say what its rows say.
  if (recorder !== undefined) return openLive(observer, cast, (render) => recorder.recording(render), 0)
  if (!process.stdout.isTTY) return openPlain(observer)
  return openLive(observer, cast, (render) => new Terminal(process.stdout, render))
}

function openPlain(observer: Observer): Display {
  let isOpen = true
  const write = (text: string) => {
    if (isOpen) process.stdout.write(`${plainLine(new Date(), text)}\n`)
  }
  observer.onEntry((entry, before) => {
    const text = describe(entry, before)
    if (text !== undefined) write(text)
  })
  return {
    say: (text) => write(`> ${text}`),
    pause: async () => undefined,
    close: () => {
      isOpen = false
    },
  }
}

function openLive(
  observer: Observer,
  cast: readonly Performer[],
  screenOf: (render: (size: Size) => readonly Line[]) => Screen,
  keptEvents = KEPT_EVENTS,
): Display {
  const startedAt = performance.now()
  const events: string[] = []
  let title = ''
  const note = (text: string) => {
    events.push(plainLine(new Date(), text))
    if (events.length > keptEvents) events.shift()
  }
  const state = (): LiveState => ({
    seconds: (performance.now() - startedAt) / 1_000,
    title,
    slots: { used: observer.ledger.holders.length, limit: observer.ledger.limit },
    users: [...liveWorkspaces(observer), ...liveMachines(observer), ...liveDataSyncs(observer)],
    images: liveImages(observer, cast),
    events,
  })
  const screen = screenOf((size) => renderFrame(state(), size))
  observer.onEntry((entry, before) => {
    const text = describe(entry, before)
    if (text !== undefined) note(text)
  })
  observer.onChange(() => screen.update())
  screen.open()
  return {
    say: (text) => {
      title = text
      note(`> ${text}`)
      screen.update()
    },
    // A signal ends the look, and with it the tour.
    pause: async (signal) => await setTimeout(LOOK_MS, undefined, { signal }).catch(() => signal.throwIfAborted()),
    close: () => screen.close(),
  }
}

/** Returns the lines of each workspace, with its components below it. */
function liveWorkspaces(observer: Observer): LiveObject[] {
  return [...observer.workspaces.values()].flatMap(({ metadata: { name }, status }) => [
    { name, phase: status.phase, message: withShare(status) },
    ...(status.components ?? []).map((one) => {
      return { name: `  ${one.kind} ${one.name}`, phase: one.phase, message: one.message ?? '' }
    }),
  ])
}

function liveMachines(observer: Observer): LiveObject[] {
  return [...observer.machines.values()].map(({ metadata: { name }, status: { phase, message = '' } }) => {
    return { name: `VM ${name}`, phase, message }
  })
}

function liveDataSyncs(observer: Observer): LiveObject[] {
  return [...observer.dataSyncs.values()].map(({ metadata: { name }, status }) => {
    return { name: `DataSync ${name}`, phase: status.phase, message: withShare(status) }
  })
}

/** The message, which says how many are ready only when nothing is more important. */
function withShare({ ready = '', message = '' }: { readonly ready?: string; readonly message?: string }): string {
  return message.startsWith(ready) ? message : `${ready} ${message}`
}

function liveImages(observer: Observer, cast: readonly Performer[]): LiveImage[] {
  const waiting = waitingImages(observer)
  return cast.flatMap(({ name }) => {
    const image = observer.image(name)
    if (image === undefined) return []
    const { phase, message = '' } = image.status
    const place = waiting.indexOf(image)
    const download = observer.downloadOf(image)
    return {
      name,
      phase: image.blocked === undefined ? phase : 'Terminating',
      reason: image.reason,
      message,
      position: place < 0 ? undefined : place + 1,
      progress: phase === 'Syncing' ? (download?.progress ?? 0) : undefined,
    }
  })
}
