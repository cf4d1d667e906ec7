import { describe, expect, it, onTestFinished } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { aLiveReadBench } from '../../test/prepared/runtime/look-bench.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { DATA_VOLUME } from '../kube/resource-types.ts'
import { EventRecorder } from './event-recorder.ts'
import { ObjectController } from './object-controller.ts'
import type { ObjectPlan } from './plan.ts'
import { Refusals } from './refusals.ts'
import { Store } from './store.ts'

const NOTHING: ObjectPlan = { status: {}, finalizer: 'keep', apply: [], remove: [], events: [] }

/** Starts a controller whose plans do nothing, with the object `n/old` in its store from the start. */
async function start(refused?: string) {
  const { basics } = aLiveReadBench()
  const { clock } = basics
  const store = new Store<KubeObject>()
  const seen: string[] = []
  const gone: string[] = []
  const shown: (number | undefined)[] = []
  const loops: string[] = []
  const steps: string[] = []
  let stopped = 0
  put(store, 'old', '1')
  const events = new EventRecorder({ ...basics, component: 'test', instance: 'me' })
  const caches = { get: () => undefined, observeWrite: () => undefined }
  const controller = new ObjectController({ ...basics, events }, caches, {
    type: DATA_VOLUME,
    children: [],
    store,
    listen: () => [() => (stopped += 1)],
    onGone: ({ metadata }) => gone.push(metadata.name),
    quietReasons: [],
    states: { reasons: { Refused: '' }, conditions: {} },
    refusals: new Refusals(),
    prepare: ({ metadata }) =>
      metadata.name === refused ? Promise.reject(apiError('Rejected', { status: 403 })) : Promise.resolve(),
    gauges: { readFrom: (objects) => shown.push(objects && [...objects()].length) },
    loops: [
      {
        run: (signal) => {
          loops.push('runs')
          return new Promise((resolve) =>
            signal.addEventListener('abort', () => {
              loops.push('ends')
              resolve()
            }),
          )
        },
      },
    ],
    plan: ({ metadata }) => {
      seen.push(metadata.name)
      steps.push(`${metadata.name} is planned`)
      return NOTHING
    },
    onBegin: ({ metadata: { name } }) => {
      steps.push(`${name} begins`)
      return () => {
        steps.push(`${name} ends`)
      }
    },
    throttle: () => ({ isStatusDue: false, requeue: undefined }),
    factsBetween: () => ({}),
  })
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const running = controller.run(stop.signal)
  const end = async () => {
    stop.abort()
    await clock.advance(1)
    await running
  }
  const taken = async () => {
    await clock.advance(1)
    return seen.splice(0)
  }
  const gauges = () => basics.runtimeMetrics.render()
  return { store, taken, end, gone, shown, loops, steps, gauges, clock, stopped: () => stopped }
}

function put(store: Store<KubeObject>, name: string, resourceVersion: string): KubeObject {
  const metadata = { name, namespace: 'n', uid: name, resourceVersion }
  const object = { apiVersion: 'v1', kind: DATA_VOLUME.kind, metadata }
  store.put(object)
  return object
}

describe('an object is looked at', () => {
  it('when its controller begins to serve, and when it comes or changes', async () => {
    const { store, taken } = await start()
    expect(await taken()).toEqual(['old'])
    put(store, 'new', '2')
    expect(await taken()).toEqual(['new'])
    put(store, 'new', '3')
    expect(await taken()).toEqual(['new'])
  })

  it('no more when it is gone: it is forgotten', async () => {
    const { store, taken, gone } = await start()
    const object = put(store, 'new', '2')
    await taken()
    store.remove({ ...object, metadata: { ...object.metadata, resourceVersion: '3' } })
    expect([await taken(), gone]).toEqual([[], ['new']])
  })

  it('no more when the term is over', async () => {
    const { store, taken, end, stopped } = await start()
    await taken()
    await end()
    put(store, 'old', '2')
    expect([await taken(), stopped()]).toEqual([[], 1])
  })
})

it('a plan begins before another object is planned', async () => {
  const { store, taken, steps } = await start()
  put(store, 'new', '2')
  await taken()
  const [first, second, ...rest] = steps
  expect([first, second]).toEqual(['old is planned', 'old begins'])
  expect(rest).toHaveLength(4)
  expect(rest.indexOf('new begins')).toBe(rest.indexOf('new is planned') + 1)
})

it('gauges show the objects, and loops run, as long as it serves', async () => {
  const { end, shown, loops } = await start()
  expect([shown, loops]).toEqual([[1], ['runs']])
  await end()
  expect([shown, loops]).toEqual([
    [1, undefined],
    ['runs', 'ends'],
  ])
})

it('gauges show what is refused, and since when, though the status of the object cannot say so', async () => {
  const { store, gauges, clock, taken } = await start('new')
  put(store, 'new', '2')
  await clock.advance(60_000)
  expect(await gauges()).toContain('ot_state_objects{kind="DataVolume",phase="Unknown",reason="Refused"} 1')
  expect(await gauges()).toMatch(/ot_state_longest_seconds\{kind="DataVolume",phase="Unknown",reason="Refused"\} 60\b/)
  store.remove(put(store, 'new', '3'))
  await taken()
  expect(await gauges()).not.toContain('Refused')
})
