import { isDeepStrictEqual } from 'node:util'
import type { WorkspaceSpec } from '@open-terrain/constructs/operator'
import type { Blueprint, Component } from './decide/component.ts'
import { renderComponents } from './decide/render.ts'

interface Rendering {
  /** A rendering can be much smaller than its spec, which its cache may not keep. */
  readonly spec: WeakRef<WorkspaceSpec>
  readonly more: Omit<Blueprint, 'spec'>
  readonly components: readonly Component[]
  readonly characters: number
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

  /** @param isKept whether the spec can be the same object the next time */
  componentsOf(blueprint: Blueprint, isKept: boolean): readonly Component[] {
    const { uid } = blueprint.workspace
    const known = this.#known.get(uid)
    this.forget(uid)
    if (!isKept) return renderComponents(blueprint)
    const rendering = known !== undefined && isOf(known, blueprint) ? known : rendered(blueprint)
    this.#known.set(uid, rendering)
    this.#characters += rendering.characters
    for (const eldest of this.#known.keys()) {
      if (this.#characters <= this.#max) break
      this.forget(eldest)
    }
    return rendering.components
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
  return { spec: new WeakRef(spec), more, components, characters: JSON.stringify(components).length }
}
