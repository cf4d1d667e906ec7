import { expect, it } from 'vitest'
import { z } from 'zod'
import { specExamples } from './spec-props.ts'

it('examples are values that their schemas accept', () => {
  const examples = specExamples()
  expect(examples.length).toBeGreaterThan(100)
  const refused = examples.filter(([, schema, example]) => !z.safeParse(schema, example).success)
  expect(refused.map(([path, , example]) => [path, example])).toEqual([])
})
