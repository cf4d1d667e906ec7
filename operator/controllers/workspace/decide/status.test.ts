import { COMPONENT_MESSAGE_MAX } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import { childId } from '../../../runtime/child-refusals.ts'
import { NOW, PlannedWorld, parsed } from '../workspace-world.fixtures.ts'
import { planWorkspace } from './plan.ts'

it('what the API server says at length is told with its beginning and its end', () => {
  const planned = new PlannedWorld(parsed({ volumes: [{ name: 'zones', size: '1Gi' }] }))
  planned.take(planWorkspace(planned.world, NOW))
  const claim = planned.world.components
    .flatMap(({ objects }) => objects)
    .find(({ metadata }) => metadata.name === 'zones')
  if (claim === undefined) throw new Error('no claim is wanted')
  const refusal = { why: 'Refused', message: `"zones" is forbidden: ${'x'.repeat(400)} exceeded quota: small` } as const
  const { status } = planWorkspace({ ...planned.world, refusals: new Map([[childId(claim), refusal]]) }, NOW)
  const message = status.components?.find(({ kind }) => kind === 'Volume')?.message ?? ''
  expect(message).toMatch(
    /^the API server refuses PersistentVolumeClaim zones: "zones" is forbidden: x+ … x+ exceeded quota: small$/,
  )
  expect(message.length).toBeLessThanOrEqual(COMPONENT_MESSAGE_MAX)
})
