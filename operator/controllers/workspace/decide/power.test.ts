import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { randomWorkspace } from '../../../../test/prepared/children/random-workspaces.ts'
import { DEPLOYED, VM } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, podOf, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { viewContainerPod, viewDeployment } from '../child-views.ts'
import { idOfObject } from './component.ts'
import { planWorkspace } from './plan.ts'
import { isSwitchedOff } from './power.ts'

const HALTED = { powerState: 'Halted' } as const
const told = ({ status }: PlannedWorld, name: string) => {
  const found = status.components?.find((one) => one.name === name && one.kind !== 'Image')
  return [found?.phase, found?.reason, found?.message]
}
const runs = (planned: PlannedWorld) =>
  [...planned.children.values()]
    .filter(({ kind }) => kind === 'Deployment' || kind === 'VirtualMachine')
    .filter((one) => !isSwitchedOff(one))
    .map(({ metadata }) => metadata.name)
const applied = (planned: PlannedWorld) => planWorkspace(planned.world, NOW).apply.map(({ metadata }) => metadata.name)

/** Carries plans out until nothing is to be done. Returns what each of them writes. */
function rounds(planned: PlannedWorld): string[][] {
  const written: string[][] = []
  for (let round = 0; round < 9; round += 1) {
    const plan = planWorkspace(planned.world, NOW)
    if (plan.apply.length > 0) written.push(plan.apply.map(({ metadata }) => metadata.name))
    planned.take(plan)
  }
  return written
}

function halted(spec: WorkspaceSpecInput = DEPLOYED): PlannedWorld {
  const planned = settledWorld(spec)
  planned.spec = parsed({ ...spec, ...HALTED })
  rounds(planned)
  return planned
}

const cluster = (name: string, dependsOn: readonly string[] = []) => ({
  name,
  containers: [{ name: 'main', image: 'web:1' }],
  ...(dependsOn.length > 0 && { dependsOn: [...dependsOn] }),
})

describe('a workspace that is off', () => {
  it('has every member off and all else as it was, counts them, and is Ready', () => {
    const planned = settledWorld(DEPLOYED)
    const before = new Map(planned.children)
    planned.spec = parsed({ ...DEPLOYED, ...HALTED })
    expect(planWorkspace(planned.world, NOW).status).toMatchObject({ phase: 'Provisioning', reason: 'Halting' })
    expect(rounds(planned)).toEqual([['demo-app', 'ansible', VM.name]])
    expect(runs(planned)).toEqual([])
    const changed = [...planned.children].filter(([id, one]) => before.get(id) !== one).map(([id]) => id)
    expect(changed).toEqual(['Deployment demo-app', 'Deployment ansible', `VirtualMachine ${VM.name}`])
    const { phase, reason, message, ready, counts, conditions } = planned.status
    expect([phase, reason, ready, counts?.halted]).toEqual(['Ready', 'Halted', '14/14', 3])
    expect(message).toBe('switched off: spec.powerState is Halted; 14/14 components are ready; 3 of them are off')
    expect(conditions?.find(({ type }) => type === 'UpToDate')?.status).toBe('True')
  })

  it('keeps its members off whatever else changes: the spec, the policy, or what somebody does to them', () => {
    const planned = halted()
    const containers = [{ name: 'other', image: 'other:2' }]
    planned.spec = parsed({
      ...DEPLOYED,
      ...HALTED,
      names: 'hosts',
      vms: [
        { ...VM, resources: { cpu: '1', memory: '1Gi' } },
        { ...VM, name: 'new', interfaces: [] },
      ],
      containerClusters: [{ ...cluster('demo-app'), containers }, cluster('late')],
    })
    rounds(planned)
    planned.changePolicy({ workspaceQuota: { 'limits.cpu': '8' } })
    const [deployment, machine] = ['Deployment demo-app', 'VirtualMachine new'].map(
      (id) => planned.children.get(id) as KubeObject & { readonly spec: object },
    )
    planned.children.set('Deployment demo-app', {
      ...deployment,
      spec: { ...deployment?.spec, replicas: 1 },
    } as KubeObject)
    planned.children.set('VirtualMachine new', {
      ...machine,
      spec: { ...machine?.spec, powerState: undefined },
    } as KubeObject)
    rounds(planned)
    expect([runs(planned), planned.status.reason, planned.status.counts?.halted]).toEqual([[], 'Halted', 4])
  })

  it('that is created off has its disks and volumes made, and is Ready though storage waits for who uses it', () => {
    const planned = new PlannedWorld(parsed({ ...DEPLOYED, ...HALTED }))
    planned.allImagesReady()
    rounds(planned)
    const claim = [...planned.children.values()].find(({ kind }) => kind === 'PersistentVolumeClaim') as KubeObject
    planned.children.set(`PersistentVolumeClaim ${claim.metadata.name}`, { ...claim, phase: 'Pending' } as KubeObject)
    rounds(planned)
    expect([runs(planned), planned.status.phase, planned.status.reason]).toEqual([[], 'Ready', 'Halted'])
  })

  it('waits until its pods have ended, and says which one does not', () => {
    const planned = halted()
    const deployment = planned.children.get('Deployment demo-app') as KubeObject
    const pod = podOf(deployment as never)
    const left = (more: object, metadata: object = {}) => {
      const one = viewContainerPod({ ...pod, ...more, metadata: { ...pod.metadata, ...metadata } } as KubeObject)
      planned.take(planWorkspace({ ...planned.world, pods: new Map([['demo-app', [one]]]) }, NOW))
      return told(planned, 'demo-app')
    }
    expect(left({})).toEqual(['Provisioning', 'Halting', 'the containers of demo-app are being stopped'])
    expect(planned.status.reason).toBe('Halting')
    const ending = (secondsAgo: number) => ({ deletionTimestamp: new Date(NOW - secondsAgo * 1_000).toISOString() })
    expect(left({}, ending(1)).slice(1)).toEqual(['Halting', 'waits until pod demo-app-pod on node node-1 has ended'])
    expect(left({}, ending(120))).toMatchObject(['Failed', 'PodNotEnding', /^pod demo-app-pod has not ended/])
    expect(left({ status: { phase: 'Succeeded' } }).slice(0, 2)).toEqual(['Ready', 'Halted'])
  })

  it('does not take a Deployment for off before its controller has looked at it, or while it counts a pod', () => {
    const planned = halted()
    const deployment = planned.children.get('Deployment demo-app') as KubeObject
    for (const status of [{ observedGeneration: 0 }, { observedGeneration: 1, replicas: 1 }]) {
      planned.children.set('Deployment demo-app', viewDeployment({ ...deployment, status } as KubeObject))
      planned.take(planWorkspace(planned.world, NOW))
      expect(told(planned, 'demo-app').slice(0, 2)).toEqual(['Provisioning', 'Halting'])
    }
  })

  it('says of a machine that stops what the machine says, and does not hide that one has lost its disk', () => {
    const planned = halted()
    const machine = planned.children.get(`VirtualMachine ${VM.name}`) as KubeObject
    const says = (phase: string, reason: string) => {
      const status = { phase, reason, message: 'its words', observedGeneration: 1 }
      planned.children.set(`VirtualMachine ${VM.name}`, { ...machine, status } as KubeObject)
      planned.take(planWorkspace(planned.world, NOW))
      return [planned.status.phase, planned.status.reason, ...told(planned, VM.name)]
    }
    expect(says('Provisioning', 'Stopping')).toEqual([
      'Provisioning',
      'Halting',
      'Provisioning',
      'Stopping',
      'its words',
    ])
    expect(says('Failed', 'DiskLost')).toEqual(['Failed', 'DiskLost', 'Failed', 'DiskLost', 'its words'])
  })
})

it('a member that must not be changed is switched off and on all the same', () => {
  const networks = [{ name: 'own', cidr: '10.70.0.0/24' }]
  const at = (host: string) => ({ network: 'own', ipAddress: `${host}/24` })
  const web = { ...cluster('web'), interfaces: [at('10.70.0.2')] }
  const spec = { networks, vms: [{ ...VM, interfaces: [at('10.70.0.1')] }], containerClusters: [web] }
  const planned = settledWorld(spec)
  planned.ranges = [{ cidr: '10.96.0.0/16', what: 'Services' }]
  const moved = {
    networks: [{ name: 'own', cidr: '10.96.0.0/24' }],
    vms: [{ ...VM, interfaces: [at('10.96.0.1')] }],
    containerClusters: [{ ...web, interfaces: [at('10.96.0.2')] }],
  }
  const switched = (more: object) => {
    planned.spec = parsed({ ...moved, ...more })
    const { touch = [], apply } = planWorkspace(planned.world, NOW)
    for (const { kind, name, spec: change } of touch) {
      const child = planned.children.get(`${kind} ${name}`) as KubeObject & { readonly spec: object }
      planned.children.set(`${kind} ${name}`, { ...child, spec: { ...child.spec, ...change } } as KubeObject)
    }
    const members = apply.filter(({ kind }) => kind === 'Deployment' || kind === 'VirtualMachine')
    return [members, touch.map(({ name, spec: change }) => [name, change])]
  }
  expect(switched(HALTED)).toEqual([
    [],
    [
      ['web', { replicas: 0 }],
      [VM.name, { powerState: 'Halted' }],
    ],
  ])
  expect(switched(HALTED)).toEqual([[], []])
  expect(switched({})).toEqual([
    [],
    [
      ['web', { replicas: 1 }],
      [VM.name, { powerState: null }],
    ],
  ])
})

describe('a workspace that is switched on again', () => {
  it('has every member on, and is Ready, although its images are gone', () => {
    const planned = settledWorld(DEPLOYED)
    const machine = planned.children.get(`VirtualMachine ${VM.name}`) as KubeObject & { readonly status: object }
    const status = { ...machine.status, bootedAt: new Date(NOW).toISOString() }
    planned.children.set(`VirtualMachine ${VM.name}`, { ...machine, status } as KubeObject)
    planned.spec = parsed({ ...DEPLOYED, ...HALTED })
    rounds(planned)
    planned.images.clear()
    planned.spec = parsed(DEPLOYED)
    expect(planWorkspace(planned.world, NOW).status).toMatchObject({ phase: 'Provisioning', reason: 'Provisioning' })
    // A machine comes after a cluster that fits fewer nodes, as at the first start.
    expect(rounds(planned)).toEqual([['demo-app', 'ansible'], [VM.name]])
    expect(runs(planned)).toEqual(['demo-app', 'ansible', VM.name])
    expect([planned.status.phase, planned.status.counts?.halted]).toEqual(['Ready', undefined])
  })

  it('is switched on in the order in which it was created', () => {
    const spec: WorkspaceSpecInput = {
      vms: [{ ...VM, name: 'vm', interfaces: [], dependsOn: ['db'] }],
      containerClusters: [cluster('web', ['vm']), cluster('db')],
    }
    const planned = halted(spec)
    planned.spec = parsed(spec)
    planned.take(planWorkspace(planned.world, NOW))
    expect(told(planned, 'web')).toEqual([
      'Provisioning',
      'Provisioning',
      'waits for VirtualMachine vm, which is not ready (Provisioning)',
    ])
    expect(rounds(planned)).toEqual([['vm'], ['web']])
    expect(planned.status.phase).toBe('Ready')
  })

  it('does not switch a container on whose Secret is gone, and does so when it is back', () => {
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } }]
    const spec: WorkspaceSpecInput = {
      containerClusters: [{ ...cluster('web'), containers: [{ name: 'main', image: 'web:1', env }] }],
    }
    const planned = halted(spec)
    planned.missingSecrets.add('keys')
    planned.spec = parsed(spec)
    const { status, apply, requeue } = planWorkspace(planned.world, NOW)
    expect([status.reason, apply, requeue?.afterMs]).toEqual(['SecretMissing', [], 30_000])
    planned.missingSecrets.clear()
    expect(rounds(planned)).toEqual([['web']])
  })
})

describe('the run strategy of a machine', () => {
  const withStrategy = (runStrategy: 'Always' | 'Halted' | 'Manual', more: object = {}): WorkspaceSpecInput => ({
    ...DEPLOYED,
    ...more,
    vms: [{ ...VM, runStrategy }],
  })
  const machineIn = (planned: PlannedWorld) =>
    planned.children.get(`VirtualMachine ${VM.name}`) as KubeObject & { readonly spec: object }

  it('is that of its workspace while the workspace is on, and waits while it is off', () => {
    const planned = settledWorld(withStrategy('Halted'))
    expect(planned.status).toMatchObject({ phase: 'Ready', reason: 'Ready', counts: { halted: 1 } })
    expect(planned.status.message).toContain('1 of them is off')
    planned.spec = parsed(withStrategy('Manual', HALTED))
    rounds(planned)
    expect(machineIn(planned).spec).toMatchObject({ runStrategy: 'Manual', powerState: 'Halted' })
    planned.spec = parsed(withStrategy('Manual'))
    rounds(planned)
    expect(machineIn(planned).spec).toMatchObject({ runStrategy: 'Manual' })
    expect(machineIn(planned).spec).not.toHaveProperty('powerState')
    expect(applied(planned)).toEqual([])
  })
})

describe('any workspace', () => {
  const spec = randomWorkspace.map((one) => one.spec)
  /** What is allowed to be changed. */
  const free = ({ world }: PlannedWorld) =>
    new Set(world.components.flatMap(({ held, objects }) => (held === undefined ? objects.map(idOfObject) : [])))
  const isMember = ({ kind }: KubeObject) => kind === 'Deployment' || kind === 'VirtualMachine'

  it('that is off starts nothing, whatever it was before and is changed to, and has all on when it is on again', () => {
    fc.assert(
      fc.property(spec, spec, (before, after) => {
        const planned = new PlannedWorld({ ...before, powerState: undefined })
        planned.allImagesReady()
        rounds(planned)
        for (const next of [before, after]) {
          planned.spec = { ...next, ...HALTED }
          planned.allImagesReady()
          for (let round = 0; round < 9; round += 1) {
            const plan = planWorkspace(planned.world, NOW)
            expect(plan.apply.filter((one) => isMember(one) && !isSwitchedOff(one))).toEqual([])
            planned.take(plan)
          }
          const own = free(planned)
          const left = [...planned.children.values()].filter((one) => isMember(one) && own.has(idOfObject(one)))
          expect(left.filter((one) => !isSwitchedOff(one))).toEqual([])
          if (planned.status.phase === 'Ready') expect(planned.status.reason).toBe('Halted')
        }
        planned.spec = { ...after, powerState: undefined }
        rounds(planned)
        const own = free(planned)
        expect([...planned.children.values()].filter((one) => own.has(idOfObject(one)) && isSwitchedOff(one))).toEqual(
          [],
        )
      }),
      { numRuns: 40 },
    )
  })
})
