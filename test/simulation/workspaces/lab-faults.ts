import type { Simulators, WorkloadFault } from '../../../sandbox/simulators/index.ts'
import { pick } from '../data-syncs/vms.ts'
import type { Actor } from '../kind.ts'
import { guestFault } from '../machines/guests.ts'
import type { World } from '../world.ts'
import type { Lab } from './labs.ts'
import type { PlayFault, PodFault } from './workspace-schedule.ts'

/** Containers and machines of workspaces that do not run as they should. */
export function labFaults({ scripts }: World, labs: readonly Lab[]): Actor {
  return {
    carryOut(action) {
      switch (action.do) {
        case 'podFault':
        case 'labGuestFault': {
          const { name: namespace } = pick(labs, action.workspace)
          const start = ({ workloads, kubevirt }: Simulators) =>
            action.do === 'podFault'
              ? workloads.script({ namespace }, podFault(action.fault))
              : kubevirt.script({ namespace }, guestFault(action.fault), { times: 2 })
          scripts.add(start, action.forMs)
          return true
        }
        case 'playFault': {
          const { name: namespace } = pick(labs, action.workspace)
          scripts.add(({ workloads }) => workloads.script({ namespace }, playFault(action.fault)), action.forMs)
          return true
        }
        default:
          return false
      }
    },
  }
}

/** As report.py writes it, and as Ansible does without it. */
const REPORT = JSON.stringify({
  what: 'failed',
  play: 'web',
  task: 'log in',
  host: 'web',
  message: 'refused: <secret>',
})
const LOG = 'TASK [log in] ***\nfatal: [web]: FAILED! => {"changed": false, "msg": "refused: <secret>"}'

function playFault(fault: PlayFault): WorkloadFault {
  if (fault === 'fails') return { type: 'exit', exitCode: 2 }
  if (fault === 'tells') return { type: 'exit', exitCode: 2, message: REPORT }
  return fault === 'tellsAsLog' ? { type: 'exit', exitCode: 2, message: LOG } : { type: fault }
}

function podFault(type: PodFault): WorkloadFault {
  return type === 'notCreated' ? { type, message: 'the network of <id> is not ready' } : { type }
}
