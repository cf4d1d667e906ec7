import { expect, it } from 'vitest'
import { FaultScript } from './faults.ts'
import type { DataVolume } from './models.ts'

const volume = (name: string, url = 'http://h/i'): DataVolume => ({
  apiVersion: 'cdi.kubevirt.io/v1beta1',
  kind: 'DataVolume',
  metadata: { namespace: 'ns', name },
  spec: { source: { http: { url } } },
})

it('strikes the first runs of each DataVolume name, also when the object is a new one', () => {
  const script = new FaultScript(() => undefined)
  script.add({ image: 'http://h/i' }, { type: 'error', message: 'no' }, { times: 2 })
  const strikes = (name: string) => script.takeRun(volume(name))?.type
  expect([strikes('a'), strikes('a'), strikes('a'), strikes('b')]).toEqual(['error', 'error', undefined, 'error'])
  expect(script.takeRun(volume('c', 'http://h/other'))).toBeUndefined()
})

it('asks for scratch space once only', () => {
  const script = new FaultScript(() => undefined)
  script.add({}, { type: 'scratchSpaceRequired' })
  expect([script.takeRun(volume('a'))?.type, script.takeRun(volume('a'))]).toEqual(['scratchSpaceRequired', undefined])
})

it('lets the latest script win, and says so when one ends', () => {
  let changes = 0
  const script = new FaultScript(() => {
    changes += 1
  })
  script.add({}, { type: 'slowEnd', delayMs: 1 })
  const end = script.add((one) => one.metadata.name === 'a', { type: 'slowEnd', delayMs: 2 })
  expect(script.state('slowEnd', volume('a'))?.delayMs).toBe(2)
  expect(script.state('slowEnd', volume('b'))?.delayMs).toBe(1)
  end()
  expect(script.state('slowEnd', volume('a'))?.delayMs).toBe(1)
  expect(changes).toBe(3)
})
