import type { WatchEvent } from '../../operator/kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import type { Fate, Passage, RequestInfo, ServerView } from '../../sandbox/memory-cluster/index.ts'
import type { Disturbances } from './disturbances.ts'
import type { NetworkAction, RequestFault, WatchFault } from './schedule.ts'

type Window = Extract<NetworkAction, { readonly percent: number }>

export interface Strikes {
  readonly all: number
  /** Requests that were carried out after their caller stopped waiting, by verb and kind. */
  readonly late: Readonly<Record<string, number>>
}

/** The invariants about slots assume that a request is carried out within this time after it is sent. */
const LATEST_MS = 10_000
/** Longer than any watch that the operator asks for. */
const LONGEST_WATCH_MS = 60_000
/** The key of an image, at the start of its own key or that of a child, which has its name as a prefix. */
const IMAGE_KEY = /^[^/]+\/image-\d+/

/**
 * The link between the operator and the API server: fast and reliable, except for the faults that a schedule enables for
 * a time. Which requests and events they hit is random.
 */
export class Network {
  /** How often each fault struck. */
  readonly struck = new Map<string, number>()
  /** The same for requests and watch events of one image and its children, by `namespace/name`. */
  readonly struckImages = new Map<string, Strikes>()
  readonly #windows = new Set<Window>()
  readonly #random: () => number
  readonly #disturbances: Disturbances
  readonly #compactLater: (delayMs: number) => void

  constructor(random: () => number, disturbances: Disturbances, compactLater: (delayMs: number) => void) {
    this.#random = random
    this.#disturbances = disturbances
    this.#compactLater = compactLater
  }

  open(window: Window): void {
    this.#windows.add(window)
  }

  close(window: Window): void {
    this.#windows.delete(window)
  }

  closeAll(): void {
    this.#windows.clear()
  }

  fateOf(request: RequestInfo): Fate {
    const fault = this.#strikes<RequestFault>('requestFaults', request)
    if (fault === undefined) return { kind: 'deliver', requestMs: this.#between(1, 4), answerMs: this.#between(1, 4) }
    const fate = this.#faulty(fault)
    this.#disturbances.mark('api', fate.answerMs + LATEST_MS)
    return fate
  }

  passageOf(event: WatchEvent<KubeObject>, request: RequestInfo): Passage {
    const key = event.type === 'BOOKMARK' ? undefined : keyOf(event.object.metadata)
    const fault = this.#strikes<WatchFault>('watchFaults', request, key)
    if (fault === undefined) return { delayMs: this.#between(1, 6) }
    const passage = this.#disturbed(fault)
    this.#disturbances.mark('watch', passage.delayMs)
    return passage
  }

  viewOf(): ServerView | undefined {
    for (const window of this.#windows) {
      if (window.do !== 'laggingServer' || this.#random() * 100 >= window.percent) continue
      this.struck.set('lagging', (this.struck.get('lagging') ?? 0) + 1)
      this.#disturbances.mark('watch', LONGEST_WATCH_MS + window.lagMs)
      return window
    }
    return undefined
  }

  #strikes<F extends RequestFault | WatchFault>(
    which: Exclude<Window['do'], 'laggingServer'>,
    { verb, resource: { group, kind }, key: named }: RequestInfo,
    key = named,
  ): F | undefined {
    if (this.#windows.size === 0) return undefined
    for (const window of this.#windows) {
      if (window.do === 'laggingServer') continue
      const isMeant = window.do === which && [undefined, kind, `${kind}.${group}`].includes(window.kind)
      if (!isMeant || this.#random() * 100 >= window.percent) continue
      this.struck.set(window.fault, (this.struck.get(window.fault) ?? 0) + 1)
      this.#note(window.fault, key, `${verb} ${kind}`)
      return window.fault as F
    }
    return undefined
  }

  #note(fault: RequestFault | WatchFault, key: string | undefined, request: string): void {
    const [image] = IMAGE_KEY.exec(key ?? '') ?? []
    if (image === undefined) return
    const { all = 0, late = {} } = this.struckImages.get(image) ?? {}
    const isLate = fault === 'late' && !request.startsWith('watch')
    this.struckImages.set(image, {
      all: all + 1,
      late: isLate ? { ...late, [request]: (late[request] ?? 0) + 1 } : late,
    })
  }

  #faulty(fault: RequestFault): Fate {
    const answerMs = this.#between(1, 200)
    switch (fault) {
      case 'conflict':
        return { kind: 'refuse', status: 409, answerMs }
      case 'tooManyRequests':
        return { kind: 'refuse', status: 429, answerMs, retryAfterMs: this.#between(1, 8) * 1_000 }
      case 'internalError':
        return { kind: 'refuse', status: 500, answerMs }
      case 'unavailable':
        return { kind: 'refuse', status: 503, answerMs }
      case 'gatewayTimeout':
        return { kind: 'refuse', status: 504, answerMs: this.#between(1, 5_000) }
      case 'loseRequest':
        return { kind: 'loseRequest', answerMs: this.#between(1, 5_000) }
      case 'loseAnswer':
        return { kind: 'loseAnswer', requestMs: this.#between(1, 1_000), answerMs: this.#between(1, 4_000) }
      case 'late': {
        const silentMs = this.#between(1, 5_000)
        return { kind: 'late', answerMs: silentMs, requestMs: this.#between(silentMs + 1, LATEST_MS) }
      }
    }
  }

  #disturbed(fault: WatchFault): Passage {
    switch (fault) {
      case 'late':
        return { delayMs: this.#between(100, 5_000) }
      case 'held':
        return { delayMs: this.#between(5_000, 30_000) }
      case 'frozen':
        return { delayMs: this.#between(60_000, 120_000) }
      case 'duplicated':
        return { delayMs: this.#between(1, 50), times: 2 }
      case 'replayed':
        return { delayMs: this.#between(1, 50), againAfter: this.#between(1, 3) }
      case 'lost':
        // The watch cannot resume from its last version: only the next list contains what it missed.
        this.#compactLater(1)
        return { delayMs: 0, times: 0, breakAfter: true }
      case 'broken':
        return { delayMs: this.#between(1, 50), breakAfter: true }
    }
  }

  #between(min: number, max: number): number {
    return Math.round(min + (max - min) * this.#random())
  }
}
