import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'

/** Heap of the memory limit that is installed by default: `--max-old-space-size`. */
const HEAP_MEBIBYTES = 192

it('an operator among large objects of every kind stays within the heap that is installed, and tells of each', {
  timeout: 300_000,
}, async () => {
  const worker = new Worker(new URL('../test/prepared/operator/crowded-operator.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEBIBYTES, maxYoungGenerationSizeMb: 6 },
  })
  const [told] = await once(worker, 'message')
  await worker.terminate()
  expect(told).toEqual({ untold: [], made: true })
})
