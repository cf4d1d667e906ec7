import { COMPONENT_MESSAGE_MAX } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { childId } from '../../../runtime/child-refusals.ts'
import { DEPLOYED } from '../workspace-bench.fixtures.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../workspace-world.fixtures.ts'
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

it('of a workspace that is being deleted says which components are still there', () => {
  const planned = settledWorld(DEPLOYED)
  planned.deletionTimestamp = '2026-01-31T12:00:00Z'
  const seen = () => {
    const plan = planWorkspace(planned.world, NOW)
    const { components = [], waitingFor, counts } = plan.status
    return { plan, kinds: [...new Set(components.map(({ kind }) => kind))], waitingFor, counts }
  }
  const { plan, ...first } = seen()
  expect(first).toEqual({
    kinds: ['Namespace', 'Network', 'Volume', 'Ansible', 'ContainerCluster', 'VirtualMachine'],
    waitingFor: 'deletion of VirtualMachine demo-vm',
    counts: undefined,
  })
  planned.take(plan)
  const going = planned.children.get('Deployment ansible') as KubeObject
  const metadata = { ...going.metadata, deletionTimestamp: '2026-01-31T12:00:00Z' }
  planned.children.set('Deployment ansible', { ...going, metadata })
  expect(seen()).toMatchObject({ kinds: ['Namespace', 'Network', 'Volume', 'Ansible', 'ContainerCluster'] })
  const told = seen().plan.status.components?.map(({ name, phase, reason, message }) => [name, phase, reason, message])
  expect(told).toContainEqual(['ansible', 'Provisioning', 'Deleting', 'it is being deleted'])
  expect(told).toContainEqual([
    'control-net',
    'Provisioning',
    'Deleting',
    'it is deleted once nothing uses it any more',
  ])
})
