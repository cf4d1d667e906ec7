import { POLICY_DEFAULTS, parsePolicy } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { POLICY_EXAMPLES } from './policy-keys.ts'
import { specExamples } from './spec-props.ts'

it('examples are values that their schemas accept', () => {
  const examples = specExamples()
  expect(examples.length).toBeGreaterThan(100)
  const refused = examples.filter(([, schema, example]) => !z.safeParse(schema, example).success)
  expect(refused.map(([path, , example]) => [path, example])).toEqual([])
})

it('examples of the policy are values that the operator accepts', () => {
  expect(parsePolicy(POLICY_EXAMPLES, POLICY_DEFAULTS).problems).toEqual([])
})
