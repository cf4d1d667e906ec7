import type { VirtualMachineStatus, WorkspaceStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import { planWorkspace } from './plan.ts'
import { workspaceThrottleOf } from './status.ts'

const conditionOf = ({ conditions = [] }: WorkspaceStatus) => conditions.find(({ type }) => type === 'SpecWarning')
const statusOf = (planned: PlannedWorld) => planWorkspace(planned.world, NOW).status
const QUIET = {
  vms: DEPLOYED.vms.map(({ ansible: _roles, ...vm }) => ({ ...vm, interfaces: [] })),
}
const VOLUME =
  'has no effect, since the policy key localVolumeRoot is not set: the volume comes from the default StorageClass'

function withMachine(planned: PlannedWorld, status: VirtualMachineStatus) {
  const child = planned.children.get('VirtualMachine demo-vm')
  const ready = { observedGeneration: 1, phase: 'Ready', reason: 'Running', message: 'it runs' }
  planned.children.set('VirtualMachine demo-vm', { ...child, status: { ...ready, ...status } } as never)
  return planned
}
const warned = (message: string, warnings?: number): VirtualMachineStatus => ({
  conditions: [{ type: 'SpecWarning', status: 'True', reason: 'LoginRenamed', message, lastTransitionTime: '' }],
  ...(warnings !== undefined && { warnings }),
})

describe('the condition SpecWarning', () => {
  it('is not there, nor a number, where there is nothing to be warned of', () => {
    const { conditions = [], ...status } = statusOf(settledWorld(QUIET))
    expect([conditionOf({ conditions }), 'warnings' in status]).toEqual([undefined, false])
  })

  it('has every warning of the members, each with its member, and their number', () => {
    const status = statusOf(settledWorld(DEPLOYED))
    expect(conditionOf(status)).toMatchObject({ status: 'True', reason: 'SpecWarning' })
    const message = conditionOf(status)?.message ?? ''
    expect(message.split(/: |; /).slice(0, 3)).toEqual([
      '7 warnings',
      'Network bridge-inet',
      'no member has the address 4.29.163.14, so the route to 0.0.0.0/0 leads nowhere',
    ])
    expect(message).toContain(`; Volume monitorconfigs: localPath /config ${VOLUME}`)
    expect(message).toContain('; ContainerCluster demo-app: because of its hostPort ')
    expect(message).toContain('; Ansible lab-ansible: nobody plays the roles of the machines: ')
    expect([status.warnings, status.phase]).toEqual([7, 'Ready'])
  })

  it('has what the spec of a machine says before the machine has looked, and then what the machine says', () => {
    const [vm] = QUIET.vms
    const users = [{ name: 'demo user', ssh_authorized_keys: ['ssh-ed25519 AAAAa a'] }]
    const spec = { ...QUIET, vms: [{ ...vm, users }] }
    const planned = new PlannedWorld(parsed(spec))
    const first = statusOf(planned)
    expect([first.warnings, conditionOf(first)?.message]).toEqual([
      1,
      expect.stringMatching(/^1 warning: VirtualMachine demo-vm: user "demo user" logs in as demo-user, since /),
    ])
    const settled = withMachine(settledWorld(spec), warned('a login and a disk', 2))
    expect([statusOf(settled).warnings, conditionOf(statusOf(settled))?.message]).toEqual([
      2,
      '2 warnings: VirtualMachine demo-vm: a login and a disk',
    ])
    // As earlier versions of the operator left it.
    expect(statusOf(withMachine(settled, warned('a login'))).warnings).toBe(1)
    expect(conditionOf(statusOf(withMachine(settled, {})))).toBeUndefined()
  })

  it('goes with the last warning, and is written at once when it comes or goes', () => {
    const planned = withMachine(settledWorld(QUIET), warned('a login', 1))
    const quiet = planned.status
    planned.status = statusOf(planned)
    expect(conditionOf(planned.status)?.message).toBe('1 warning: VirtualMachine demo-vm: a login')
    expect(workspaceThrottleOf(quiet, planned.status, 0).isStatusDue).toBe(true)
    withMachine(planned, {})
    expect(statusOf(planned)).toEqual(quiet)
    expect(workspaceThrottleOf(planned.status, quiet, 0).isStatusDue).toBe(true)
  })

  it('has at most 4,000 characters, with the first warnings and the number of the others', () => {
    const volumes = Array.from({ length: 40 }, (_, at) => ({ name: `v${at}`, size: '1Gi', localPath: `/v${at}` }))
    const planned = settledWorld({ ...QUIET, volumes })
    const { message = '' } = conditionOf(statusOf(planned)) ?? {}
    const shown = message.split('Volume v').length - 1
    expect(message.startsWith(`80 warnings: Volume v0: localPath /v0 ${VOLUME}; nobody uses it: `)).toBe(true)
    expect([message.endsWith(`; and ${80 - 2 * shown} more`), message.length <= 4_000, shown > 10]).toEqual([
      true,
      true,
      true,
    ])
    const long = statusOf(withMachine(settledWorld(QUIET), warned('x'.repeat(4_000), 3)))
    expect([conditionOf(long)?.message.length, long.warnings]).toEqual([4_000, 3])
  })
})
