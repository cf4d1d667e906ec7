import { planMachine } from '../../../operator/controllers/virtual-machine/decide/plan.ts'
import { START } from '../runtime/times.ts'
import { VM_UID } from './machine-objects.ts'
import { aMachineWorld, type MachineWorldOverrides } from './machine-world.ts'

export const planOf = (overrides: MachineWorldOverrides) => planMachine(aMachineWorld(overrides), START)

/** Returns the object of one kind that a plan applies, for a test to read. */
// biome-ignore lint/suspicious/noExplicitAny: what is rendered is looked at field by field
export const wanted = (overrides: MachineWorldOverrides, kind: string): any =>
  planOf(overrides).apply.find((object) => object.kind === kind)

export const OWNER = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VirtualMachine',
  name: 'vm',
  uid: VM_UID,
  controller: true,
  blockOwnerDeletion: true,
}
