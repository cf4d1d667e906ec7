import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient, WatchEvent, WatchOptions } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'

/** Milliseconds. Most watches are in time, so that others are late beside them. */
const DELAYS = [0, 0, 0, 400, 900, 1_800]
const LATE = new Set(process.env['LATE_WATCHES']?.split(','))

/** Whose watches can be late: those in which a test waits, those of etcd, and those of an operator in the same process. */
type Whose = 'mirror' | 'history' | 'operator'

/** Returns how late a watch is. Watches are late only if `LATE_WATCHES` names whose they are. */
export function lateness(whose: Whose): number {
  return (LATE.has(whose) && DELAYS[Math.floor(Math.random() * DELAYS.length)]) || 0
}

/**
 * Returns a client whose watches are late, each kind by a time of its own. This finds tests that wait for what one watch shows, and assert on what another
 * one shows: `LATE_WATCHES=mirror,history npm test -- --project scenario`. What fails then may fail on a busy machine.
 */
export function withLateWatches<C extends KubeClient>(client: C, whose: Whose): C {
  if (!LATE.has(whose)) return client
  const delays = new Map<ResourceType, number>()
  function watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const delayMs = delays.get(type) ?? lateness(whose)
    delays.set(type, delayMs)
    // The list that a watch may begin with is in time.
    let isList = options.resourceVersion === undefined
    const isInTime = ({ type: event }: WatchEvent<T>) => {
      const was = isList
      isList &&= event !== 'BOOKMARK'
      return was
    }
    return late(client.watch<T>(type, options), delayMs, isInTime)
  }
  return new Proxy(client, {
    get: (target, name) => {
      const member = name === 'watch' ? watch : Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Returns the same events, each of them this late, unless it is to be in time. */
export function late<T>(events: AsyncIterable<T>, delayMs: number, isInTime = (_event: T) => false): AsyncIterable<T> {
  return delayMs === 0 ? events : delayed(events, delayMs, isInTime)
}

async function* delayed<T>(events: AsyncIterable<T>, delayMs: number, isInTime: (event: T) => boolean) {
  // Reads on while it waits: what is behind stays behind by the same time.
  const due = new ReadableStream<{ readonly event: T; readonly at: number }>({
    start: async (stream) => {
      try {
        for await (const event of events)
          stream.enqueue({ event, at: performance.now() + (isInTime(event) ? 0 : delayMs) })
        stream.close()
      } catch (error) {
        stream.error(error)
      }
    },
  })
  for await (const { event, at } of due) {
    await sleep(Math.max(0, at - performance.now()))
    yield event
  }
}
