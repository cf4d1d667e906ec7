import { keyOf } from '../../../operator/kube/kube-object.ts'
import { WORKSPACE_SNAPSHOT, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import type { Ends, Rest } from '../kind.ts'
import type { World } from '../world.ts'
import { contradictionsOf } from './point-oracle.ts'
import type { PointRestoreOracle } from './restore-oracle.ts'
import type { UnfilledOracle } from './unfilled-oracle.ts'

/** Where a point in time that has not begun may stay. */
const WAITS: ReadonlySet<string> = new Set(['LimitReached', 'NothingToSnapshot', 'WorkspaceMissing'])

/** Each point in time ends, or waits for somebody. How it ends depends on when it was taken. */
export class PointRest implements Rest {
  readonly #world: World
  readonly #restores: PointRestoreOracle
  readonly #unfilled: UnfilledOracle

  constructor(world: World, restores: PointRestoreOracle, unfilled: UnfilledOracle) {
    this.#world = world
    this.#restores = restores
    this.#unfilled = unfilled
  }

  restless(): string[] {
    return [...this.#world.chronicle.traces.of<WorkspaceSnapshot>(WORKSPACE_SNAPSHOT).values()].flatMap(
      ({ object }) => {
        const { phase = '', reason = '', members, message } = object.status ?? {}
        const isAtRest = members === undefined ? WAITS.has(reason) : phase === 'Succeeded' || phase === 'Failed'
        const wrong = [
          ...(isAtRest ? [] : [`is ${phase} ${reason}: ${message}`]),
          ...contradictionsOf(object),
          ...this.#restores.restless(object),
          ...this.#unfilled.restless(object),
        ]
        return wrong.map((text) => `WorkspaceSnapshot ${keyOf(object.metadata)} ${text}`)
      },
    )
  }

  ends(): Ends {
    return { whole: {}, decided: {} }
  }
}
