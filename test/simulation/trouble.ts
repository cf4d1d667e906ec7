import type { MemoryCluster, VirtualTime } from '../../sandbox/memory-cluster/index.ts'
import type { Disturbances } from './disturbances.ts'
import type { Actor } from './kind.ts'
import type { Network } from './network.ts'
import type { Replica } from './replica.ts'
import type { Action, ProcessAction } from './schedule.ts'

export interface TroubleOptions {
  readonly time: VirtualTime
  readonly cluster: MemoryCluster
  readonly network: Network
  readonly disturbances: Disturbances
  readonly replicas: readonly Replica[]
}

/** Disturbs the operator and its link to the API server, and ends what disturbs them. */
export class Trouble implements Actor {
  readonly #options: TroubleOptions
  readonly #endings = new Set<() => void>()

  constructor(options: TroubleOptions) {
    this.#options = options
  }

  carryOut(action: Action): boolean {
    const { cluster, disturbances, network } = this.#options
    switch (action.do) {
      case 'crash':
      case 'stop':
      case 'freeze':
        this.#harmProcess(action)
        return true
      case 'requestFaults':
      case 'watchFaults':
        network.open(action)
        this.later(action.forMs, () => network.close(action))
        return true
      case 'laggingServer':
        network.open(action)
        disturbances.mark('watch')
        cluster.breakWatches()
        this.later(action.forMs, () => network.close(action))
        return true
      case 'compact':
        cluster.compact()
        return true
      case 'breakWatches':
        disturbances.mark('watch')
        cluster.breakWatches()
        return true
      default:
        return false
    }
  }

  /** Calls `end` after `delayMs` or at `calm`, whichever comes first. */
  later(delayMs: number, end: () => void): void {
    const once = () => {
      if (this.#endings.delete(once)) end()
    }
    this.#endings.add(once)
    this.#options.time.schedule(delayMs, once)
  }

  /** Ends everything that was to last for a time. */
  calm(): void {
    const { network, replicas } = this.#options
    for (const end of [...this.#endings]) end()
    network.closeAll()
    for (const replica of replicas) {
      replica.thaw()
      replica.start()
    }
  }

  #harmProcess(action: ProcessAction): void {
    const { replicas, disturbances } = this.#options
    const replica = replicas[action.replica % replicas.length]
    if (replica === undefined) return
    if (action.do === 'freeze') {
      disturbances.mark('freeze', action.forMs + 5_000)
      replica.freeze()
      this.later(action.forMs, () => replica.thaw())
      return
    }
    disturbances.mark('crash', action.downMs + 30_000)
    if (action.do === 'crash') replica.crash()
    else replica.stop()
    this.later(action.downMs, () => replica.start())
  }
}
