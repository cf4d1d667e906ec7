import type { Mutant } from '../mutant.ts'
import { IMAGES } from '../mutants/product-modules.ts'
import { seam } from '../seam.ts'

/** Deliberate defects in what is decided for images that adopt. */
export const ADOPTION_MUTANTS: readonly Mutant[] = [
  {
    name: 'an image adopts what somebody else owns',
    invariant: 6,
    seam: seam(IMAGES.judgeAdoption, 'judgeAdoptable', (judgeAdoptable) => (...given) => {
      const judged = judgeAdoptable(...given)
      return judged.refusal?.reason === 'AdoptionOwned' ? { ...judged, refusal: undefined } : judged
    }),
    kind: 'adoptions',
    seed: 3,
  },
  {
    name: 'what is to be adopted is downloaded all the same',
    invariant: 4,
    seam: seam(IMAGES.adoption, 'adoptionOf', (adoptionOf) => (...given) => {
      return { ...adoptionOf(...given), adoption: undefined }
    }),
    kind: 'adoptions',
  },
  {
    name: 'an adopted disk goes with its image, though nobody has asked for that',
    invariant: 6,
    seam: seam(IMAGES.adoption, 'disposableOf', (disposableOf) => (world) => {
      const { spec } = world
      return disposableOf(
        spec.ok ? { ...world, spec: { ...spec, spec: { ...spec.spec, reclaimPolicy: 'Delete' } } } : world,
      )
    }),
    kind: 'adoptions',
  },
]
