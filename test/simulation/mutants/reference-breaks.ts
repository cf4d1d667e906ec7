import type { isChildOf } from '../../../operator/cluster/ownership.ts'
import type { ReferenceSource } from '../../../operator/images/references.ts'
import { altered, seam } from '../seam.ts'
import { SHARED } from './product-modules.ts'

type References = new (...args: never[]) => ReferenceSource

/** Objects of a kind name images, and count for nothing. */
export function countingNothing<C extends References>(Counted: C): C {
  const none = { count: 0, names: [], users: [] }
  return altering(Counted, () => ({ cached: () => none, live: async () => none }))
}

/** What is asked for live comes from caches. */
export function countingFromCaches<C extends References>(Counted: C): C {
  return altering(Counted, (references) => ({ live: async (image) => references.cached(image) }))
}

function altering<C extends References>(Counted: C, change: (made: ReferenceSource) => Partial<ReferenceSource>): C {
  return new Proxy(Counted, {
    construct(target, args) {
      const made: ReferenceSource = Reflect.construct(target, args)
      return altered(made, change(made))
    },
  })
}

/** What is no child counts as one, where it is such an object of such an owner. */
export const takingOver = (isTaken: typeof isChildOf) =>
  seam(SHARED.ownership, 'isChildOf', (isChildOf) => (object, owner) => {
    return isTaken(object, owner) || isChildOf(object, owner)
  })
