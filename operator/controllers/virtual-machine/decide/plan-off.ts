import type { RunStrategy } from '@open-terrain/constructs'
import { IS_ON, type KubeVirtView } from '../../../cluster/kubevirt-views.ts'
import type { MachineWorld } from '../world.ts'
import { waitsForConsumer } from './judge.ts'
import { waiting } from './machine-plan.ts'
import type { MachineStanding } from './status.ts'

/** Returns the run strategy of the spec; `Always` if it sets none, or is invalid. */
export function runStrategyOf({ spec }: Pick<MachineWorld, 'spec'>): RunStrategy {
  return (spec.ok && spec.spec.runStrategy) || 'Always'
}

/**
 * Returns the standing of a machine that is off or stopping, as its spec requires or allows; undefined if it is to run, runs, or starts.
 * A disk that waits for its first consumer waits for the first start: a machine that is off has all that it can have until then.
 */
export function standingOff(world: MachineWorld): MachineStanding | undefined {
  const { machine, clone } = world
  const strategy = runStrategyOf(world)
  const hasDisk = clone === undefined || clone.phase === 'Succeeded' || waitsForConsumer(clone)
  if (strategy === 'Always' || machine === undefined || !hasDisk) return undefined
  return strategy === 'Halted' ? halted(world, machine) : leftOff(world, machine)
}

function halted({ instance }: MachineWorld, machine: KubeVirtView): MachineStanding {
  if (machine.runStrategy !== 'Halted')
    return waiting('Stopping', 'spec.runStrategy is Halted: the machine is switched off')
  if (instance !== undefined || isOn(machine)) {
    const where = instance?.nodeName === undefined ? '' : ` on node ${instance.nodeName}`
    const message = `spec.runStrategy is Halted: the guest is being stopped${where}; if this lasts, see whether that node is lost`
    return waiting('Stopping', message)
  }
  return off('the machine is off, as spec.runStrategy says (Halted); its disk stays')
}

/** Under `Manual` people start and stop the guest, and KubeVirt does nothing by itself. */
function leftOff({ instance }: MachineWorld, machine: KubeVirtView): MachineStanding | undefined {
  const isOver = instance === undefined || instance.phase === 'Succeeded' || instance.phase === 'Failed'
  const isBusy = isOn(machine) || machine.isStartAsked
  if (machine.runStrategy !== 'Manual' || !isOver || isBusy || machine.failure !== '') return undefined
  const end = instance?.phase === 'Failed' ? 'the guest has failed, and is off' : 'the machine is off'
  return off(`${end}: virtctl start ${machine.metadata.name} starts it (spec.runStrategy is Manual); its disk stays`)
}

function isOn({ printableStatus }: KubeVirtView): boolean {
  return IS_ON.has(printableStatus) || printableStatus === 'Stopping'
}

function off(message: string): MachineStanding {
  return { phase: 'Ready', reason: 'Halted', message }
}
