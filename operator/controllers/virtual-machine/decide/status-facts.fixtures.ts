import type { VirtualMachineReason } from '@open-terrain/constructs'
import type { withMachineStanding } from './status.ts'

export type Facts = Parameters<typeof withMachineStanding>[1]

/** The input of a status while the disk is cloned. */
export const facts = (more: Partial<Facts> = {}): Facts => ({
  standing: { phase: 'Provisioning', reason: 'Cloning', message: 'it is cloned' },
  image: { namespace: 'farm', name: 'golden' },
  imageReady: { holds: true, reason: 'ImageReady', message: 'it can be cloned' },
  remarks: [],
  generation: 3,
  ...more,
})

export const at = (phase: Facts['standing']['phase'], reason: VirtualMachineReason, message = 'm'): Partial<Facts> => ({
  standing: { phase, reason, message },
})
