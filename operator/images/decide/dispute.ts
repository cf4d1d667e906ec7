import type { Policy, VMDiskImageSpec } from '@open-terrain/constructs/operator'
import { cutMessage } from '../../runtime/conditions.ts'
import type { ImageClaim } from '../references.ts'
import type { Ensured } from './ensure-image.ts'
import { contentDifferences } from './image-meaning.ts'

type Disputed = Extract<Ensured, { readonly kind: 'disputed' }>

/** Further ones are only counted. */
const SHOWN_MAX = 3

/** Says who wants what of an image that would follow its templates if they agreed. Queries of URLs are left out, as in every message. */
export function disputeText(
  which: string,
  own: VMDiskImageSpec,
  { dissenters, fields }: Disputed,
  policy: Partial<Policy>,
): string {
  const fieldsOf = ({ wants = own }: ImageClaim) => contentDifferences(own, { spec: wants }, policy)
  const all = [...new Set(dissenters.flatMap(fieldsOf))]
  const sides = dissenters.map((one) => {
    const [kind = '', ...name] = one.by.split('/')
    const title = `${kind} ${name.join('/')}`
    if (one.isKeeper === true) return `${title} relies on it as it is`
    const isReadable = Object.keys(one.wants ?? {}).length > 0
    return `${title} wants ${isReadable ? valuesOf(one.wants ?? {}, fieldsOf(one)) : 'something that cannot be read'}`
  })
  const more = sides.length > SHOWN_MAX ? [`${sides.length - SHOWN_MAX} more want something else`] : []
  const clauses = [
    `this template wants ${valuesOf(own, all.length > 0 ? all : fields)}`,
    ...sides.slice(0, SHOWN_MAX),
    ...more,
  ].join('; ')
  return cutMessage(
    `${clauses}: ${which}, which has no artifact yet, is corrected as soon as all that refer to it want the same`,
  )
}

function valuesOf(spec: VMDiskImageSpec, fields: readonly string[]): string {
  const texts = fields.map((field) => {
    const value = spec[field as keyof VMDiskImageSpec]
    return value === undefined ? `no ${field}` : `${field} "${value}"`
  })
  return texts.join(', ')
}
