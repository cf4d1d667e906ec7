import type { MachineFault, Simulators, WorkloadFault } from '../../../sandbox/simulators/index.ts'
import { pick } from '../data-syncs/vms.ts'
import type { Actor } from '../kind.ts'
import type { Action } from '../schedule.ts'
import type { World } from '../world.ts'
import type { Lab } from './labs.ts'
import type { LabGuestFault, PodFault } from './workspace-schedule.ts'

/** Containers and machines of workspaces that do not run as they should. */
export class LabFaults implements Actor {
  readonly #world: World
  readonly #labs: readonly Lab[]

  constructor(world: World, labs: readonly Lab[]) {
    this.#world = world
    this.#labs = labs
  }

  carryOut(action: Action): boolean {
    const { scripts } = this.#world
    switch (action.do) {
      case 'podFault': {
        const { name: namespace } = pick(this.#labs, action.workspace)
        const start = ({ workloads }: Simulators) => workloads.script({ namespace }, podFault(action.fault))
        scripts.add(start, action.forMs)
        return true
      }
      case 'labGuestFault': {
        const { name: namespace } = pick(this.#labs, action.workspace)
        const start = ({ kubevirt }: Simulators) =>
          kubevirt.script({ namespace }, guestFault(action.fault), { times: 2 })
        scripts.add(start, action.forMs)
        return true
      }
      default:
        return false
    }
  }
}

function podFault(type: PodFault): WorkloadFault {
  return type === 'notCreated' ? { type, message: 'the network of <id> is not ready' } : { type }
}

function guestFault(type: LabGuestFault): MachineFault {
  switch (type) {
    case 'slowStart':
      return { type, delayMs: 20_000 }
    case 'podRefused':
      return { type, message: 'somebody forbids it' }
    case 'guestCrash':
      return { type, afterMs: 3_000 }
    default:
      return { type }
  }
}
