import { COMPONENT_MESSAGE_MAX } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { childId } from '../../../runtime/child-refusals.ts'
import type { MachineFacts } from '../world.ts'
import { planWorkspace } from './plan.ts'

it('what the API server says at length is told with its beginning and its end', () => {
  const planned = new PlannedWorld(parsed({ volumes: [{ name: 'zones', size: '1Gi' }] }))
  planned.take(planWorkspace(planned.world, NOW))
  const claim = planned.world.components
    .flatMap(({ objects }) => objects)
    .find(({ metadata }) => metadata.name === 'zones')
  if (claim === undefined) throw new Error('no claim is wanted')
  const refusal = {
    why: 'Refused',
    message: `"zones" is forbidden: ${'x'.repeat(1_100)} exceeded quota: small`,
  } as const
  const { status } = planWorkspace({ ...planned.world, refusals: new Map([[childId(claim), refusal]]) }, NOW)
  const message = status.components?.find(({ kind }) => kind === 'Volume')?.message ?? ''
  expect(message).toMatch(
    /^the API server refuses PersistentVolumeClaim zones: "zones" is forbidden: x+ … x+ exceeded quota: small$/,
  )
  expect(message.length).toBeLessThanOrEqual(COMPONENT_MESSAGE_MAX)
})

it.each(['DiskLost', 'DiskBeingDeleted'])(
  'of a workspace whose machine says %s tells that before all else',
  (reason) => {
    const planned = settledWorld(DEPLOYED)
    const of = (name: string, status: object) => {
      const child = planned.children.get(`VirtualMachine ${name}`)
      planned.children.set(`VirtualMachine ${name}`, {
        ...child,
        status: { observedGeneration: 1, ...status },
      } as never)
    }
    planned.children.delete('Deployment ansible')
    of('demo-vm', { phase: 'Failed', reason, message: 'the root disk is gone' })
    const { status, events } = planWorkspace(planned.world, NOW)
    expect([status.phase, status.reason, status.waitingFor]).toEqual([
      'Failed',
      reason,
      `VirtualMachine demo-vm (${reason}) and 1 more`,
    ])
    expect(status.message).toContain('VirtualMachine demo-vm: the root disk is gone')
    expect(events).toContainEqual({ type: 'Warning', reason, message: 'VirtualMachine demo-vm: the root disk is gone' })
  },
)

it('of a workspace that has lost a volume tells that before what failed, which it does not hide', () => {
  const planned = settledWorld(DEPLOYED)
  const machine = planned.children.get('VirtualMachine demo-vm')
  const status = { observedGeneration: 1, phase: 'Failed', reason: 'CloneFailed', message: 'no room' }
  planned.children.set('VirtualMachine demo-vm', { ...machine, status } as never)
  planned.children.delete('PersistentVolumeClaim dnsconfig')
  const plan = planWorkspace(planned.world, NOW)
  expect([plan.status.phase, plan.status.reason, plan.status.waitingFor]).toEqual([
    'Failed',
    'VolumeLost',
    'Volume dnsconfig (VolumeLost) and 1 more',
  ])
})

it('counts what is not deployed neither as ready nor as waiting, and says so', () => {
  const [vm] = DEPLOYED.vms
  const spec = { ...DEPLOYED, vms: [vm, { ...vm, name: 'later', interfaces: [], ignoreOnDeploy: true }] }
  const { status } = planWorkspace(settledWorld(spec).world, NOW)
  expect([status.phase, status.ready, status.counts]).toEqual([
    'Ready',
    '14/14',
    { total: 14, ready: 14, provisioning: 0, failed: 0, ignored: 1 },
  ])
  expect(status.message).toBe('14/14 components are ready; not deployed: VirtualMachine later')
  const before = settledWorld(DEPLOYED)
  before.spec = parsed({ ...DEPLOYED, vms: [{ ...vm, ignoreOnDeploy: true }] })
  const after = planWorkspace(before.world, NOW).status
  expect([after.ready, after.counts?.ignored]).toEqual(['13/13', 1])
})

it('tells the cause first, and whole', () => {
  const planned = settledWorld(DEPLOYED)
  const cause = `the root disk could not be cloned: ${'a long answer of the API server, '.repeat(20)}and this is why`
  const child = planned.children.get('VirtualMachine demo-vm')
  const status = { observedGeneration: 1, phase: 'Failed', reason: 'CloneFailed', message: cause }
  planned.children.set('VirtualMachine demo-vm', { ...child, status } as never)
  const plan = planWorkspace(planned.world, NOW)
  expect(plan.status.message?.startsWith(`VirtualMachine demo-vm: ${cause}; 13/14 components are ready; `)).toBe(true)
  expect(plan.status.components?.find(({ name }) => name === 'demo-vm')?.message).toBe(cause)
})

it.each(['RestartRequired', 'RebuildRequired'])(
  'of a workspace that is Ready says that a machine waits: %s',
  (reason) => {
    const planned = settledWorld(DEPLOYED)
    const before = planWorkspace(planned.world, NOW).status
    const conditionOf = ({ conditions = [] }: typeof before) => conditions.find(({ type }) => type === 'UpToDate')
    expect([before.reason, conditionOf(before)?.status, conditionOf(before)?.reason]).toEqual([
      'Ready',
      'True',
      'UpToDate',
    ])
    const child = planned.children.get('VirtualMachine demo-vm')
    const told = { observedGeneration: 1, phase: 'Ready', reason, message: 'the machine runs; a change waits' }
    planned.children.set('VirtualMachine demo-vm', { ...child, status: told } as never)
    const { status, events } = planWorkspace(planned.world, NOW)
    expect([status.phase, status.reason, status.message]).toEqual([
      'Ready',
      reason,
      'VirtualMachine demo-vm: the machine runs; a change waits; 14/14 components are ready',
    ])
    expect(conditionOf(status)).toMatchObject({ status: 'False', reason })
    expect(events.map((event) => `${event.type} ${event.reason}`)).toEqual([`Warning ${reason}`])
  },
)

describe('a request for new root disks', () => {
  const reset = 'pelotech.ot/reset-requested-at'
  const passed = (planned: PlannedWorld) => {
    planned.spec = planned.world.workspace.spec as never
    return planWorkspace(planned.world, NOW).apply.map(({ kind, metadata }) => [kind, metadata.annotations?.[reset]])
  }

  it('reaches the machines, and changes nothing else', () => {
    const planned = settledWorld(DEPLOYED)
    planned.resetRequestedAt = '2026-01-31T12:00:00Z'
    expect(passed(planned)).toEqual([['VirtualMachine', planned.resetRequestedAt]])
  })

  it('that was there before resets were known reaches nobody, which is said, and the next one does', () => {
    const planned = settledWorld(DEPLOYED)
    const { uncountedReset, ...before } = planned.status
    expect(uncountedReset).toBe('none')
    planned.status = before
    // It is noted once that there is none.
    expect(planWorkspace(planned.world, NOW).status).toEqual({ ...before, uncountedReset })
    planned.resetRequestedAt = 'long ago'
    expect(passed(planned)).toEqual([])
    const { status, events } = planWorkspace(planned.world, NOW)
    expect(events.map((event) => `${event.type} ${event.reason}`)).toEqual(['Warning ResetNotCounted'])
    planned.status = status
    expect([passed(planned), planWorkspace(planned.world, NOW).events]).toEqual([[], []])
    planned.resetRequestedAt = 'today'
    expect(passed(planned)).toEqual([['VirtualMachine', 'today']])
  })
})

it('a request for new disks reaches the machines, and changes nothing else', () => {
  const planned = settledWorld(DEPLOYED)
  const { spec } = planned.world.workspace
  planned.rebuildRequestedAt = '2026-01-31T12:00:00Z'
  planned.spec = spec as never
  const { apply } = planWorkspace(planned.world, NOW)
  expect(apply.map(({ kind, metadata }) => [kind, metadata.annotations?.['pelotech.ot/rebuild-requested-at']])).toEqual(
    [['VirtualMachine', planned.rebuildRequestedAt]],
  )
  const [wanted] = apply
  expect(wanted).toMatchObject({ spec: (planned.children.get('VirtualMachine demo-vm') as MachineFacts).spec })
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
