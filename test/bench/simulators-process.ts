import type { ImageEgress } from '../../sandbox/simulators/index.ts'
import { Child } from './child.ts'

export interface SimulatorPlan {
  readonly kubeconfig: string
  /** How long each download takes. Nothing is moved, only counted. */
  readonly durationMs: number
  readonly sizeBytes: number
  /** Downloads into DataVolumes whose name begins so end with an error, each time. */
  readonly failing?: { readonly namePrefix: string; readonly afterBytes: number }
}

export interface EgressReport {
  readonly bytes: number
  /** The most downloads that ran at once. */
  readonly maxImporting: number
  /** By URL. */
  readonly images: Readonly<Record<string, ImageEgress>>
}

/** The simulators in a process of their own, so that their work does not delay what the observer sees. */
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
