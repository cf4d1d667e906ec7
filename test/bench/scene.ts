import type { BundledOperator, Requests } from './bundled-operator.ts'
import type { Observer } from './observer.ts'
import { difference, untilQuiet, withoutRenewals } from './requests.ts'
import type { Stage } from './stage.ts'
import { stopwatch } from './stopwatch.ts'

/** Limit and duration of downloads. They take almost no time, because something else is measured. */
export const LIMIT = 10
export const IMPORT_MS = 100

export interface Memory {
  readonly residentMb: number
  /** Peak of the resident memory. */
  readonly peakMb: number
}

export async function memoryOf(operator: BundledOperator): Promise<Memory> {
  const { resident, peak } = await operator.memory()
  return { residentMb: resident / 1e6, peakMb: peak / 1e6 }
}

/** What an action took, until the operator was idle again. */
export interface Span {
  readonly requests: Requests
  readonly seconds: number
  /** Processor time of the operator, and of the simulators beside it. */
  readonly cpu: number
  readonly simulatorsCpu: number
}

/** What is on a stage beside quick simulators: an observer, and an operator that leads. */
export interface Scene {
  readonly observer: Observer
  readonly operator: BundledOperator
  /** Measures from a quiet moment, over `begin` and `end`, to the next quiet moment. */
  readonly span: (begin: () => Promise<void>, end: () => Promise<unknown>) => Promise<Span>
}

/** @param images number of Succeeded images before it begins */
export async function sceneOn(stage: Stage, images = 0): Promise<Scene> {
  const simulators = await stage.startSimulators({ durationMs: IMPORT_MS })
  const observer = await stage.observe()
  const operator = await stage.startLeader()
  await stage.createImages('image', images)
  await observer.until('every image is there', () => observer.countIn('Succeeded') === images)
  const cpuSeconds = async () => ({
    operator: await operator.cpuSeconds(),
    simulators: await simulators.cpuSeconds(),
  })
  const span: Scene['span'] = async (begin, end) => {
    const before = await untilQuiet(operator)
    const cpuBefore = await cpuSeconds()
    const passed = stopwatch()
    await Promise.all([begin(), end()])
    const seconds = passed()
    const requests = withoutRenewals(difference(await untilQuiet(operator), before))
    const cpu = await cpuSeconds()
    return {
      requests,
      seconds,
      cpu: cpu.operator - cpuBefore.operator,
      simulatorsCpu: cpu.simulators - cpuBefore.simulators,
    }
  }
  return { observer, operator, span }
}
