import type { MachineFault, Simulators } from '../../../sandbox/simulators/index.ts'
import type { Actor } from '../kind.ts'
import type { World } from '../world.ts'
import type { MachinePeople } from './machine-people.ts'
import type { GuestFault } from './machine-schedule.ts'
import { TEAM } from './sources.ts'

/** Guests that do not run as they should, and disks that are not filled. */
export function guests({ scripts }: World, people: MachinePeople): Actor {
  return {
    carryOut(action) {
      switch (action.do) {
        case 'guestFault': {
          const { machine, fault, times, forMs } = action
          const target = machine === undefined ? {} : { name: people.nameOf(machine) }
          const start = ({ kubevirt }: Simulators) =>
            kubevirt.script({ namespace: TEAM, ...target }, guestFault(fault), { times })
          scripts.add(start, forMs)
          return true
        }
        case 'cloneFault': {
          const fault = action.fault === 'slowClone' ? { type: action.fault, delayMs: 30_000 } : { type: action.fault }
          scripts.add(({ cdi }) => cdi.script({ namespace: TEAM }, fault), action.forMs)
          return true
        }
        default:
          return false
      }
    },
  }
}

export function guestFault(type: GuestFault): MachineFault {
  switch (type) {
    case 'slowStart':
      return { type, delayMs: 20_000 }
    case 'PausedByUser':
    case 'PausedIOError':
    case 'PausedByMigrationMonitor':
      return { type: 'paused', reason: type }
    case 'podRefused':
    case 'instanceRefused':
      return { type, message: 'somebody forbids it' }
    case 'guestShutdown':
    case 'guestCrash':
      return { type, afterMs: 3_000 }
    default:
      return { type }
  }
}
