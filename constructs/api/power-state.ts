import { z } from 'zod'

/** Whether a lab or a machine is switched on. */
export const POWER_STATES = ['Running', 'Halted'] as const
export type PowerState = (typeof POWER_STATES)[number]

/** As KubeVirt names them. */
export const RUN_STRATEGIES = ['Always', 'Halted', 'Manual'] as const
export type RunStrategy = (typeof RUN_STRATEGIES)[number]

/** A field that switches something on and off. Absent means Running. */
export function powerStateField(description: string) {
  return z.enum(POWER_STATES).describe(description).optional()
}

/** A field that says when a guest runs. Absent means Always. */
export function runStrategyField(description: string) {
  return z.enum(RUN_STRATEGIES).describe(description).optional()
}

/** Reports whether a spec says that it is switched off. */
export function isHalted({ powerState }: { readonly powerState?: PowerState | undefined }): boolean {
  return powerState === 'Halted'
}

/** Returns when the guest of a machine runs: as `runStrategy` says, unless `powerState` has switched it off. */
export function effectiveRunStrategy({
  powerState,
  runStrategy = 'Always',
}: {
  readonly powerState?: PowerState | undefined
  readonly runStrategy?: RunStrategy | undefined
}): RunStrategy {
  return isHalted({ powerState }) ? 'Halted' : runStrategy
}
