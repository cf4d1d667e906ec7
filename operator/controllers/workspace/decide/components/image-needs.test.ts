import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, settledWorld } from '../../../../../test/prepared/workspace/workspace-world.ts'
import type { ImageFacts } from '../../world.ts'
import { planWorkspace } from '../plan.ts'

const GOING = { deletionTimestamp: '2026-01-31T12:00:00Z' }
const RUNS = { observedGeneration: 1, phase: 'Ready', reason: 'Running', message: 'it runs' }
const BOOTED = { bootedAt: '2026-01-31T12:00:00Z' }

/** Returns the plan of a workspace whose machine has this status, and whose image is in this state. */
function planned(machine: object | undefined, change: (image: ImageFacts['image']) => ImageFacts['image']) {
  const world = settledWorld(DEPLOYED)
  const [name, facts] = [...world.images][0] ?? []
  world.images.set(name ?? '', { isShared: false, claims: [], image: change(facts?.image) })
  const child = world.children.get('VirtualMachine demo-vm')
  if (machine === undefined) world.children.delete('VirtualMachine demo-vm')
  else world.children.set('VirtualMachine demo-vm', { ...child, status: machine } as never)
  return planWorkspace(world.world, NOW)
}

const STATES: [string, (image: ImageFacts['image']) => ImageFacts['image'], string][] = [
  [
    'is being deleted',
    (image) =>
      image && {
        ...image,
        metadata: { ...image.metadata, ...GOING },
        status: { ...image.status, message: 'in use by VirtualMachine lab/demo-vm' },
      },
    'is being deleted: in use by VirtualMachine lab/demo-vm',
  ],
  ['is gone', () => undefined, 'is gone'],
  [
    'has failed, and lost its artifact',
    (image) => image && { ...image, status: { phase: 'Failed', message: 'no' } },
    'is Failed: no',
  ],
  ['waits, as it is suspended', (image) => image && { ...image, status: { phase: 'Queued' } }, 'is Queued'],
]

it.each<[string, object, string]>([
  ['is another one than its template asks for', { url: 'https://images.example/other.qcow2' }, 'ImageMismatch'],
  ['differs only in how it is kept', { suspend: true }, 'Ready'],
  ['says the same in other words', { name: 'other' }, 'Ready'],
])('an image that %s is the reason of a Ready workspace, or not', (_what, change, reason) => {
  const annotations = { 'pelotech.ot/creator': 'Workspace/squatter/uid generation 1' }
  const { status } = planned({ ...RUNS, ...BOOTED }, (image) => {
    return (
      image && {
        ...image,
        metadata: { ...image.metadata, annotations },
        spec: { ...(image.spec as object), ...change },
      }
    )
  })
  expect([status.phase, status.reason]).toEqual(['Ready', reason])
  if (reason === 'Ready') return
  expect(status.message).toMatch(
    /^Image demo-vmdi: VMDiskImage vmdi-farm\/demo-vmdi differs from its template in url, and Workspace squatter had it created; /,
  )
  expect(status.conditions?.find(({ type }) => type === 'UpToDate')).toMatchObject({ status: 'False', reason })
})

describe.each(STATES)('an image that %s', (_what, change, text) => {
  it.each<[string, object]>([
    ['has run', { ...RUNS, ...BOOTED }],
    ['has its disk complete', { ...RUNS, clone: { phase: 'Succeeded' } }],
    ['is off', { ...RUNS, ...BOOTED, reason: 'Halted' }],
  ])('is needed no more where its machine %s: the workspace is Ready, and says it', (_machine, status) => {
    const plan = planned(status, change)
    expect([plan.status.phase, plan.status.reason]).toEqual(['Ready', 'ImageNotNeeded'])
    expect(plan.status.message).toContain(`${text}; every machine of it has its disk`)
    // Nobody waits for a download.
    expect(plan.apply.map(({ kind }) => kind)).toEqual([])
    expect(plan.events.map((event) => `${event.type} ${event.reason}`)).toContain('Warning ImageNotNeeded')
  })

  it.each<[string, object | undefined]>([
    ['is not there yet', undefined],
    ['has no disk yet', { ...RUNS, phase: 'Provisioning', reason: 'WaitingForImage' }],
    ['is to get a new disk', { ...RUNS, ...BOOTED, phase: 'Provisioning', reason: 'ImageNotFound' }],
    ['is not deployed, and wants only the image', { ...RUNS, reason: 'IgnoredOnDeploy' }],
  ])('is waited for where its machine %s', (_machine, status) => {
    expect(planned(status, change).status.phase).not.toBe('Ready')
  })
})

describe('an image of a disk beside the root disk', () => {
  const TOOLS = { name: 'tools', backingVMDiskImage: 'tools' }
  const withTools = { ...DEPLOYED, vms: DEPLOYED.vms.map((vm) => ({ ...vm, disks: [TOOLS] })) }
  const planOf = (status?: object) => {
    const world = settledWorld(withTools)
    world.images.delete('tools')
    const child = world.children.get('VirtualMachine demo-vm')
    if (status === undefined) world.children.delete('VirtualMachine demo-vm')
    else world.children.set('VirtualMachine demo-vm', { ...child, status } as never)
    return planWorkspace(world.world, NOW)
  }

  it('is waited for by name, and not made', () => {
    const { status, apply } = planOf()
    expect([status.phase, status.reason]).toEqual(['Provisioning', 'ImageMissing'])
    expect(status.message).toContain('VMDiskImage vmdi-farm/tools does not exist, and only disks of machines name it')
    expect(apply.map(({ kind }) => kind)).not.toContain('VMDiskImage')
  })

  it('is needed until the machine has a disk of it, too', () => {
    const has = { ...RUNS, ...BOOTED }
    expect(planOf(has).status.reason).toBe('ImageMissing')
    expect(planOf({ ...has, disks: [{ image: 'vmdi-farm/tools' }] }).status.reason).toBe('ImageNotNeeded')
  })

  it('becomes the image of a disk of the machine', () => {
    expect(settledWorld(withTools).children.get('VirtualMachine demo-vm')).toHaveProperty('spec.disks', [
      { name: 'tools', vmDiskImageRef: { name: 'tools', namespace: 'vmdi-farm' } },
    ])
  })
})
