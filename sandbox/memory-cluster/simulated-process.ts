import type { Clock } from '../../operator/base/clock.ts'
import type { Time } from './virtual-time.ts'

/**
 * Can be killed or frozen like a Unix process: its timers and the responses to its requests go through it. What arrives
 * while it is frozen is handled when it thaws, one at a time and in order of arrival. Its clocks never stop.
 */
export class SimulatedProcess {
  readonly name: string
  readonly clock: Clock
  readonly #time: Time
  readonly #held: (() => void)[] = []
  #state: 'running' | 'frozen' | 'killed' = 'running'

  /** @param clockOffsetMs how far its wall clock is ahead of the API server's; negative when it is behind */
  constructor(time: Time, name: string, clockOffsetMs = 0) {
    this.name = name
    this.#time = time
    this.clock = {
      now: () => time.epochMs + time.elapsedMs + clockOffsetMs,
      monotonic: () => time.elapsedMs,
      setTimer: (callback, delayMs) => this.#setTimer(callback, delayMs),
    }
  }

  get state(): 'running' | 'frozen' | 'killed' {
    return this.#state
  }

  /** Runs `callback` now, or when the process thaws, or never if it is killed. */
  deliver(callback: () => void): void {
    if (this.#state === 'killed') return
    if (this.#state === 'frozen' || this.#held.length > 0) this.#held.push(callback)
    else callback()
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen'
  }

  thaw(): void {
    if (this.#state !== 'frozen') return
    this.#state = 'running'
    this.#catchUp()
  }

  /** Kills the process for good: pending timers and responses are dropped. Requests that it sent are still carried out. */
  kill(): void {
    this.#state = 'killed'
    this.#held.length = 0
  }

  #setTimer(callback: () => void, delayMs: number): () => void {
    let isCancelled = false
    const fire = () => {
      if (!isCancelled) callback()
    }
    const cancel = this.#time.schedule(delayMs, () => this.deliver(fire))
    return () => {
      isCancelled = true
      cancel()
    }
  }

  /** Runs each callback in a step of its own, as an event loop drains microtasks after every callback. */
  #catchUp(): void {
    if (this.#held.length === 0) return
    this.#time.schedule(0, () => {
      if (this.#state !== 'running') return
      this.#held.shift()?.()
      this.#catchUp()
    })
  }
}
