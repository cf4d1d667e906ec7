import { afterEach, expect, it, vi } from 'vitest'
import { settled } from '../../../../test/prepared/kube/fake-clock.ts'
import { bench, renewBench } from '../../../../test/prepared/vm-disk-image/admission.ts'

afterEach(renewBench)

/** Downloads these images one after another, and leaves their finished DataVolumes in place. */
async function finish(names: readonly string[]): Promise<void> {
  for (const [at, name] of names.entries()) {
    bench.want(name, String(10 + at))
    await settled()
    await bench.succeed(name)
  }
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`)

function looksOfOneChange(): number {
  const running = bench.dataVolumeOf('running')
  bench.admission.downloadsChanged(running)
  const looks = vi.spyOn(bench.dataVolumes, 'get')
  bench.admission.downloadsChanged(running)
  const { length } = looks.mock.calls
  looks.mockRestore()
  return length
}

it('a change of one download costs as much after 40 finished images as after 4: a fleet has thousands', async () => {
  await bench.start()
  await finish(names('early', 4))
  bench.want('running', '100')
  await settled()
  const few = looksOfOneChange()
  expect(few).toBeGreaterThan(0)
  await finish(names('late', 36))
  expect(looksOfOneChange()).toBe(few)
})

it('a plan that wants what the one before it wanted costs nothing: most plans do', async () => {
  const [running, waiting] = await bench.begin(1, 'running', 'waiting')
  const looks = vi.spyOn(bench.dataVolumes, 'get')
  bench.admission.want(running.uid, undefined)
  bench.admission.want(waiting.uid, { ...waiting, target: { ...waiting.target } })
  await settled()
  expect(looks).not.toHaveBeenCalled()
  bench.admission.want(waiting.uid, { ...waiting, generation: 2 })
  await settled()
  expect(looks).toHaveBeenCalled()
  bench.admission.setStuck(waiting.uid)
  await settled()
  looks.mockClear()
  bench.admission.want(waiting.uid, { ...waiting, generation: 2 })
  await settled()
  // It is not stuck any more, so it may be next.
  expect(looks).toHaveBeenCalled()
})
