import { revisionOf, type VMDiskImageSpec } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { FakeClock } from '../../../test/prepared/kube/fake-clock.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { anImage, REFRESH, SPEC } from '../../../test/prepared/vm-disk-image/image-objects.ts'
import type { ImageView } from '../../images/image-view.ts'
import { Store } from '../../runtime/store.ts'
import { WorkQueue } from '../../runtime/work-queue.ts'
import { primeQueue } from './prime-queue.ts'

const PARSED = SPEC as unknown as VMDiskImageSpec

const image = (name: string, resourceVersion: string, status: ImageView['status'], generation = 1) =>
  anImage({ name, uid: name, resourceVersion, generation }, { status })

const prime = async (...all: readonly ImageView[]) => {
  const clock = new FakeClock()
  const images = new Store<ImageView>()
  images.replaceAll(all, '1000')
  const queue = new WorkQueue(clock)
  const planned: string[] = []
  await primeQueue(queue, images, {
    plan: ({ metadata }) => planned.push(metadata.name),
    hasSlot: (uid) => uid.startsWith('holder'),
    clock,
    log: fakeLog(),
    signal: new AbortController().signal,
  })
  return { planned, queued: queue.depth }
}

it('plans nothing that is gone, and what has changed as it is, by the time of its turn', async () => {
  const clock = new FakeClock()
  const images = new Store<ImageView>()
  const all = Array.from({ length: 203 }, (_, at) => image(`image-${at}`, String(100 + at), {}))
  images.replaceAll(all, '1000')
  const planned: string[] = []
  const priming = primeQueue(new WorkQueue(clock), images, {
    plan: ({ metadata }) => planned.push(`${metadata.name} ${metadata.resourceVersion}`),
    hasSlot: () => false,
    clock,
    log: fakeLog(),
    signal: new AbortController().signal,
  })
  // The first 200 are planned at once.
  images.remove(image('image-201', '1001', {}))
  images.put(image('image-202', '1002', {}))
  await clock.advance(0)
  await priming
  expect(planned.slice(199)).toEqual(['image-199 299', 'image-200 300', 'image-202 1002'])
})

const FINISHED = { phase: 'Succeeded', observedGeneration: 1, ticket: '1' } as const

it('plans who may wait, in ticket order, and looks at all of them later', async () => {
  const primed = await prime(
    image('new', '30', {}),
    image('finished', '5', FINISHED),
    image('waiting', '40', { phase: 'Queued', observedGeneration: 1, ticket: '20' }),
    image('failed', '35', { phase: 'Failed', observedGeneration: 1 }),
  )
  expect(primed).toEqual({ planned: ['waiting', 'new', 'failed'], queued: 4 })
})

it('plans a finished one whose spec has changed since, one that is to be refreshed, and one that has a slot', async () => {
  const changed = image('changed', '50', { ...FINISHED, ticket: '10' }, 2)
  const holder = image('holder', '60', { ...FINISHED, ticket: '12' })
  const { metadata, ...more } = image('refresh', '70', { ...FINISHED, ticket: '14', revision: revisionOf(PARSED) })
  const refresh = anImage({ ...metadata, annotations: { [REFRESH]: 'now' } }, more)
  const refreshed = anImage(
    { ...metadata, name: 'refreshed', uid: 'refreshed', annotations: { [REFRESH]: 'now' } },
    { ...more, status: { ...more.status, revision: revisionOf(PARSED, 'now') } },
  )
  const primed = await prime(holder, changed, refresh, refreshed, image('finished', '7', FINISHED))
  expect(primed).toEqual({ planned: ['changed', 'holder', 'refresh'], queued: 5 })
})
