import { shortHash } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, type PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { MachineFacts } from '../world.ts'
import { planWorkspace } from './plan.ts'

const [VM] = DEPLOYED.vms
const LAB = {
  ...DEPLOYED,
  vms: [VM, { ...VM, name: 'second', interfaces: [] }, { ...VM, name: 'third', interfaces: [] }],
}

/** A machine of the lab says something of itself. */
function says(planned: PlannedWorld, name: string, upToDate: string, status: object = {}): void {
  const child = planned.children.get(`VirtualMachine ${name}`) as MachineFacts
  const [holds, reason] = upToDate.split('/')
  const conditions = [{ type: 'UpToDate', status: holds, reason, message: `${name} says ${reason}` }]
  planned.children.set(`VirtualMachine ${name}`, {
    ...child,
    status: { ...child.status, conditions, ...status },
  } as MachineFacts)
}
const planOf = (planned: PlannedWorld) => planWorkspace(planned.world, NOW)
const toldOf = ({ status }: ReturnType<typeof planOf>) => {
  const found = status.conditions?.find(({ type }) => type === 'UpToDate')
  return {
    ready: `${status.phase}/${status.reason}`,
    counts: [status.outdated, status.counts?.outdated],
    upToDate: `${found?.status}/${found?.reason}`,
    text: found?.message ?? '',
    message: status.message ?? '',
  }
}

describe('a lab', () => {
  it('counts the machines that are outdated, and says so, the costliest first', () => {
    const planned = settledWorld(LAB)
    expect(toldOf(planOf(planned))).toMatchObject({
      ready: 'Ready/Ready',
      counts: [undefined, undefined],
      upToDate: 'True/UpToDate',
    })
    says(planned, 'second', 'False/ImageRefreshed')
    expect(toldOf(planOf(planned))).toMatchObject({
      ready: 'Ready/ImageRefreshed',
      counts: ['1/3', 1],
      upToDate: 'False/ImageRefreshed',
      text: 'VirtualMachine second: second says ImageRefreshed',
      message: '16/16 components are ready; 1 of 3 machines is outdated: second (ImageRefreshed)',
    })
    says(planned, 'third', 'False/SpecChanged', { reason: 'RebuildRequired', message: 'a change needs a new disk' })
    expect(toldOf(planOf(planned))).toMatchObject({
      ready: 'Ready/RebuildRequired',
      counts: ['2/3', 2],
      upToDate: 'False/SpecChanged',
      text: 'VirtualMachine third: third says SpecChanged; so is 1 more component, see status.components',
    })
    expect(toldOf(planOf(planned)).message).toContain(
      '2 of 3 machines are outdated: second (ImageRefreshed), third (SpecChanged)',
    )
  })

  it('hides nothing that is worse', () => {
    const planned = settledWorld(LAB)
    says(planned, 'second', 'False/ImageRefreshed')
    says(planned, 'third', 'True/UpToDate', { phase: 'Failed', reason: 'CrashLoop', message: 'it crashes' })
    expect(toldOf(planOf(planned))).toMatchObject({
      ready: 'Failed/VirtualMachineFailed',
      counts: ['1/3', 1],
      upToDate: 'False/ImageRefreshed',
      message: expect.stringMatching(/^VirtualMachine third: it crashes/),
    })
  })

  it('does not know whether machines from before are outdated', () => {
    const planned = settledWorld(LAB)
    says(planned, 'second', 'Unknown/NotRecorded')
    expect(toldOf(planOf(planned))).toMatchObject({
      ready: 'Ready/Ready',
      counts: [undefined, undefined],
      upToDate: 'Unknown/NotRecorded',
      text: 'VirtualMachine second: second says NotRecorded',
    })
  })

  it('is up to date where only a password has changed since the first start', () => {
    const planned = settledWorld(LAB)
    says(planned, 'second', 'True/UpToDate', { reason: 'RebuildRequired', message: 'a password needs a new disk' })
    expect(toldOf(planOf(planned))).toMatchObject({ ready: 'Ready/RebuildRequired', upToDate: 'True/UpToDate' })
  })

  it('takes no word of a machine that is about another spec, or is not deployed', () => {
    const planned = settledWorld({ ...LAB, vms: LAB.vms.map((vm, at) => ({ ...vm, ignoreOnDeploy: at === 2 })) })
    says(planned, 'second', 'False/SpecChanged', { observedGeneration: 0 })
    expect(toldOf(planOf(planned)).counts).toEqual([undefined, undefined])
    says(planned, 'second', 'False/SpecChanged', { observedGeneration: 1 })
    expect(toldOf(planOf(planned)).counts).toEqual(['1/2', 1])
  })

  it('is not up to date right after an edit, before its members have answered', () => {
    const planned = settledWorld(LAB)
    for (const name of ['demo-vm', 'second', 'third']) says(planned, name, 'True/UpToDate')
    planned.take(planOf(planned))
    planned.generation = 2
    planned.spec = parsed({ ...LAB, vms: LAB.vms.map((vm) => ({ ...vm, version: '9.9.9' })) })
    const plan = planOf(planned)
    expect(plan.status.observedGeneration).toBe(2)
    expect(toldOf(plan)).toMatchObject({
      upToDate: 'False/Provisioning',
      text: expect.stringContaining('being changed'),
    })
    // The status is stored, and what it says was not written yet.
    planned.status = plan.status
    expect(toldOf(planOf(planned)).upToDate).toBe('False/Provisioning')
    planned.takeChildren(plan)
    expect(toldOf(planOf(planned)).upToDate).toBe('True/UpToDate')
  })

  it('that is up to date stays so while what somebody has changed is put back', () => {
    const planned = settledWorld(LAB)
    planned.take(planOf(planned))
    const child =
      planned.children.get('NetworkPolicy isolation') ??
      [...planned.children.values()].find(({ kind }) => kind === 'NetworkPolicy')
    if (child === undefined) throw new Error('no policy')
    planned.children.set(`${child.kind} ${child.metadata.name}`, { ...child, spec: {} } as never)
    const plan = planOf(planned)
    expect(plan.apply).toHaveLength(1)
    expect(toldOf(plan).upToDate).toBe('True/UpToDate')
  })
})

describe('with updateStrategy Recreate', () => {
  const strategy = { updateStrategy: { type: 'Recreate' } }
  const due = (planned: PlannedWorld, ...names: string[]) => {
    for (const name of names) says(planned, name, 'False/SpecChanged', { reason: 'RebuildRequired' })
  }
  const requestOf = (planned: PlannedWorld, name: string) =>
    planned.children.get(`VirtualMachine ${name}`)?.metadata.annotations?.['pelotech.ot/rebuild-requested-at']

  it('one machine after the other is asked, which is told, and each once', () => {
    const planned = settledWorld({ ...LAB, ...strategy })
    due(planned, 'second', 'third')
    const plan = planOf(planned)
    expect(plan.apply.map(({ metadata }) => metadata.name)).toEqual(['second'])
    expect(plan.events.filter(({ reason }) => reason === 'Recreating')).toEqual([
      {
        type: 'Normal',
        reason: 'Recreating',
        message:
          'VirtualMachine second gets a new disk, and what is on the old one is lost, because updateStrategy is Recreate: second says SpecChanged',
      },
    ])
    expect(toldOf(plan).message).toContain(
      'updateStrategy is Recreate: those with SpecChanged get new disks one after the other; the next one waits for VirtualMachine second',
    )
    planned.take(plan)
    expect(requestOf(planned, 'second')).toMatch(/^rollout-[0-9a-f]{8}$/)
    due(planned, 'second', 'third')
    expect(planOf(planned).apply).toEqual([])
    // It has its new disk.
    says(planned, 'second', 'True/UpToDate', { rebuildRequest: shortHash([requestOf(planned, 'second')]) })
    expect(planOf(planned).apply.map(({ metadata }) => metadata.name)).toEqual(['third'])
  })

  it('nothing changes for a machine that was asked when the strategy goes, or the value of the lab', () => {
    const planned = settledWorld({ ...LAB, ...strategy })
    planned.rebuildRequestedAt = 'then'
    planned.spec = parsed({ ...LAB, ...strategy })
    planned.take(planOf(planned))
    due(planned, 'second')
    planned.take(planOf(planned))
    const value = requestOf(planned, 'second')
    expect(value).toMatch(/^rollout-/)
    planned.rebuildRequestedAt = undefined
    planned.spec = parsed(LAB)
    planned.take(planOf(planned))
    expect([requestOf(planned, 'second'), requestOf(planned, 'third')]).toEqual([value, undefined])
  })
})
