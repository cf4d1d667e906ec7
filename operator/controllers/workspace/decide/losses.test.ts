import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, type PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { childId } from '../../../runtime/child-refusals.ts'
import type { MachineFacts } from '../world.ts'
import { planWorkspace } from './plan.ts'

const [VM] = DEPLOYED.vms as [NonNullable<WorkspaceSpecInput['vms']>[number]]
const ID = `VirtualMachine ${VM.name}`

/** What may be to say of a machine beside its loss. */
const SITUATIONS: Readonly<Record<string, (planned: PlannedWorld) => void>> = {
  'it is deployed': () => {},
  'it is not deployed any more': (planned) => {
    planned.spec = parsed(withMachines({ ignoreOnDeploy: true }))
  },
  'it asks for what the policy does not allow': (planned) => {
    planned.spec = parsed(withMachines({ overrides: { spec: { template: { spec: { hostname: 'other' } } } } }))
  },
  'its spec has just changed': (planned) =>
    change(planned, ({ metadata }) => ({ metadata: { ...metadata, generation: 9 } })),
  'its change is refused': (planned) => {
    change(planned, ({ spec }) => ({ spec: { ...(spec as object), resources: { cpu: '64' } } }))
  },
  'the spec of the workspace is not valid': (planned) => {
    planned.unusable = 'InvalidSpec'
  },
  'the workspace is too large': (planned) => {
    planned.unusable = 'TooLarge'
  },
}

function withMachines(more: object): WorkspaceSpecInput {
  return { ...DEPLOYED, vms: [{ ...VM, ...more }] }
}

function change({ children }: PlannedWorld, by: (machine: MachineFacts) => object): void {
  const machine = children.get(ID) as MachineFacts
  children.set(ID, { ...machine, ...by(machine) } as KubeObject)
}

const CASES = Object.entries(SITUATIONS).flatMap(([situation, come]) =>
  ['DiskLost', 'DiskBeingDeleted'].map((reason) => [reason, situation, come] as const),
)

it.each(CASES)(
  'a workspace is never Ready while its machine is %s, and quotes it where %s',
  (reason, situation, come) => {
    const planned = settledWorld(DEPLOYED)
    expect(planWorkspace(planned.world, NOW).status.phase).toBe('Ready')
    change(planned, ({ status }) => ({
      status: { ...status, phase: 'Failed', reason, message: 'the root disk is gone' },
    }))
    come(planned)
    const answer = { why: 'Refused', message: 'no' } as const
    const refusals = new Map(
      situation.includes('refused') ? [...planned.children.values()].map((one) => [childId(one), answer]) : [],
    )
    const { status } = planWorkspace({ ...planned.world, refusals }, NOW)
    expect(status.phase).toBe('Failed')
    if (planned.unusable === undefined) {
      expect(status.reason).toBe(reason)
      expect(status.message?.startsWith(`${ID}: the root disk is gone`)).toBe(true)
    } else {
      expect(status.message).toMatch(new RegExp(`data is lost, or about to be: that of ${ID}$`))
    }
  },
)
