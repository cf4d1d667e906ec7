import type { isChildOf } from '../../../operator/cluster/ownership.ts'
import type { ReferenceSource } from '../../../operator/images/references.ts'
import { altered, seam } from '../seam.ts'
import { SHARED } from './product-modules.ts'

type References = new (...args: never[]) => ReferenceSource

/** Objects of a kind name images, but do not count as references. */
export function countingNothing<C extends References>(Counted: C): C {
  const none = { count: 0, names: [], users: [] }
  return altering(Counted, () => ({ cached: () => none, live: async () => none }))
}

/** Live reads are answered from caches. */
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

/** An object that is no child counts as one if `isTaken` holds for it and the owner. */
export const takingOver = (isTaken: typeof isChildOf) =>
  seam(SHARED.ownership, 'isChildOf', (isChildOf) => (object, owner) => {
    return isTaken(object, owner) || isChildOf(object, owner)
  })
