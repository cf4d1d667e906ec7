import { isDeepStrictEqual } from 'node:util'
import type { WorkspaceSpec } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { Blueprint, Component, EarlierRendering } from './decide/component.ts'
import { asItStands, renderComponents, renderEarlier } from './decide/render.ts'

interface Rendering {
  /** A rendering can be much smaller than its spec, which its cache may not keep. */
  readonly spec: WeakRef<WorkspaceSpec>
  readonly more: Omit<Blueprint, 'spec'>
  readonly components: readonly Component[]
  /** Of components that do not stand as they are rendered now. */
  readonly earlier: Map<Component, readonly EarlierRendering[]>
  /** Of all of that, as JSON. */
  characters: number
}

/**
 * What is rendered for workspaces. Rendering takes longer than everything else, and its result is the same until the spec or the policy changes. It can be
 * many times as large as the spec, so the results that were not used for the longest time are not kept where all are too many.
 */
export class Renderings {
  /** By uid of the workspace, the one that was used last at the end. */
  readonly #known = new Map<string, Rendering>()
  readonly #max: number
  #characters = 0

  /** @param max characters of all results that are kept */
  constructor(max: number) {
    this.#max = max
  }

  /**
   * Returns the components of a workspace as they are to be kept.
   * @param isKept whether the spec can be the same object the next time
   */
  componentsOf(blueprint: Blueprint, children: ReadonlyMap<string, KubeObject>, isKept: boolean): readonly Component[] {
    const { uid } = blueprint.workspace
    const known = this.#known.get(uid)
    this.forget(uid)
    const rendering = known !== undefined && isOf(known, blueprint) ? known : rendered(blueprint)
    const standing = rendering.components.map((one) =>
      asItStands(one, children, (component) => earlierIn(rendering, blueprint, component)),
    )
    if (isKept) this.#keep(uid, rendering)
    return standing
  }

  #keep(uid: string, rendering: Rendering): void {
    this.#known.set(uid, rendering)
    this.#characters += rendering.characters
    for (const eldest of this.#known.keys()) {
      if (this.#characters <= this.#max) break
      this.forget(eldest)
    }
  }

  forget(uid: string): void {
    this.#characters -= this.#known.get(uid)?.characters ?? 0
    this.#known.delete(uid)
  }
}

function isOf({ spec: ref, more }: Rendering, { spec, ...other }: Blueprint): boolean {
  return ref.deref() === spec && isDeepStrictEqual(more, other)
}

function rendered(blueprint: Blueprint): Rendering {
  const { spec, ...more } = blueprint
  const components = renderComponents(blueprint)
  const characters = JSON.stringify(components).length
  return { spec: new WeakRef(spec), more, components, earlier: new Map(), characters }
}

/** Renders what an earlier version may have made only for what it has made: a component can have a dozen such renderings. */
function earlierIn(rendering: Rendering, blueprint: Blueprint, component: Component): readonly EarlierRendering[] {
  const known = rendering.earlier.get(component)
  if (known !== undefined) return known
  const earlier = renderEarlier(blueprint, component)
  rendering.earlier.set(component, earlier)
  rendering.characters += JSON.stringify(earlier).length
  return earlier
}
