import type { Performer } from './cast.ts'
import { type LiveImage, type LiveMachine, type LiveState, renderFrame } from './live-view.ts'
import type { Observer } from './observer.ts'
import { describe, plainLine } from './plain-lines.ts'
import { waitingImages } from './scenes.ts'
import { Terminal } from './terminal.ts'

const KEPT_EVENTS = 50

/** Shows people what happens. */
export interface Display {
  /** Shows an action of the demo, as opposed to an observed event. */
  say(text: string): void
  /** Stops drawing. Later output appears below. */
  close(): void
}

/** A live view in a terminal, plain lines everywhere else. */
export function openDisplay(observer: Observer, cast: readonly Performer[]): Display {
  return process.stdout.isTTY ? openLive(observer, cast) : openPlain(observer)
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
    close: () => {
      isOpen = false
    },
  }
}

function openLive(observer: Observer, cast: readonly Performer[]): Display {
  const startedAt = performance.now()
  const events: string[] = []
  let title = ''
  const note = (text: string) => {
    events.push(plainLine(new Date(), text))
    if (events.length > KEPT_EVENTS) events.shift()
  }
  const state = (): LiveState => ({
    seconds: (performance.now() - startedAt) / 1_000,
    title,
    slots: { used: observer.ledger.holders.length, limit: observer.ledger.limit },
    machines: [...liveWorkspaces(observer), ...liveMachines(observer)],
    images: liveImages(observer, cast),
    events,
  })
  const terminal = new Terminal(process.stdout, (size) => renderFrame(state(), size))
  observer.onEntry((entry, before) => {
    const text = describe(entry, before)
    if (text !== undefined) note(text)
  })
  observer.onChange(() => terminal.update())
  terminal.open()
  return {
    say: (text) => {
      title = text
      note(`> ${text}`)
      terminal.update()
    },
    close: () => terminal.close(),
  }
}

/** Returns the lines of each workspace, with its components below it. */
function liveWorkspaces(observer: Observer): LiveMachine[] {
  return [...observer.workspaces.values()].flatMap(({ metadata: { name }, status }) => [
    { name, phase: status.phase, message: `${status.ready ?? ''} ${status.message ?? ''}` },
    ...(status.components ?? []).map((one) => {
      return { name: `  ${one.kind} ${one.name}`, phase: one.phase, message: one.message ?? '' }
    }),
  ])
}

function liveMachines(observer: Observer): LiveMachine[] {
  return [...observer.machines.values()].map(({ metadata: { name }, status: { phase, message = '' } }) => {
    return { name: `VM ${name}`, phase, message }
  })
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
