import type { ImageEgress } from '../../sandbox/simulators/index.ts'
import { Child } from './child.ts'

export interface SimulatorPlan {
  readonly kubeconfig: string
  /** Duration of each download. Bytes are only counted, not moved. */
  readonly durationMs: number
  readonly sizeBytes: number
  /** Every download into a DataVolume whose name has this prefix ends with an error. */
  readonly failing?: { readonly namePrefix: string; readonly afterBytes: number }
}

export interface EgressReport {
  readonly bytes: number
  /** The most downloads that ran at once. */
  readonly maxImporting: number
  /** By URL. */
  readonly images: Readonly<Record<string, ImageEgress>>
}

/** Runs the simulators in their own process, so that their work does not delay the observer. */
export class SimulatorsProcess implements AsyncDisposable {
  readonly #child: Child

  private constructor(child: Child) {
    this.#child = child
  }

  static async start(plan: SimulatorPlan): Promise<SimulatorsProcess> {
    return new SimulatorsProcess(await Child.start('simulators-child.ts', plan))
  }

  egress(): Promise<EgressReport> {
    return this.#child.ask()
  }

  cpuSeconds(): Promise<number> {
    return this.#child.cpuSeconds()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]()
  }
}
