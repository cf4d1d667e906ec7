import { expect, it } from 'vitest'
import { fakeLog } from '../../test/prepared/runtime/fake-log.ts'
import { warnedOnce } from './log.ts'

const report = (warning?: string) => ({
  verb: 'create',
  resource: 'secrets',
  code: '201',
  seconds: 1,
  ...(warning && { warning }),
})

it('logs what the API server warns of, each text once', () => {
  const log = fakeLog()
  const requested = warnedOnce(log)
  for (const warning of ['a', undefined, 'b', 'a']) requested(report(warning))
  expect(log.lines).toEqual(
    ['a', 'b'].map((warning) => ({
      level: 'warn',
      facts: { verb: 'create', resource: 'secrets', warning },
      text: 'the API server took a request with a warning',
    })),
  )
})

it('logs and remembers a limited number of texts', () => {
  const log = fakeLog()
  const requested = warnedOnce(log)
  for (let count = 0; count < 1_000; count += 1) requested(report(String(count)))
  expect(log.lines).toHaveLength(100)
})
