import type { VirtualMachineReason } from '@open-terrain/constructs/operator'
import type { withMachineSummary } from '../../../operator/controllers/virtual-machine/decide/status.ts'

export type Facts = Parameters<typeof withMachineSummary>[1]

/** The input of a status while the disk is cloned. */
export const facts = (more: Partial<Facts> = {}): Facts => ({
  summary: { phase: 'Provisioning', reason: 'Cloning', message: 'it is cloned' },
  image: { namespace: 'farm', name: 'golden' },
  imageReady: { holds: true, reason: 'ImageReady', message: 'it can be cloned' },
  remarks: [],
  generation: 3,
  ...more,
})

export const at = (phase: Facts['summary']['phase'], reason: VirtualMachineReason, message = 'm'): Partial<Facts> => ({
  summary: { phase, reason, message },
})
