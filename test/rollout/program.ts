import type { PulumiFn } from '@pulumi/pulumi/automation/index.js'
import { vi } from 'vitest'

/** What `pulumi up` runs in this repository. It makes its resources when it is loaded, so each command loads it afresh. */
export const program: PulumiFn = async () => {
  vi.resetModules()
  return { ...(await import('../../infra/program.ts')) }
}
