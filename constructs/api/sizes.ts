import { celMatches } from '../schema/cel.ts'
import { parseQuantity, QUANTITY_PATTERN } from './quantity.ts'
import { cel, intOrString } from './shared.ts'

/** CDI refuses less than 1 MiB. More than 1 PiB is a mistake in the suffix. @param name of the field, for its message */
export function diskSizeField(description: string, name = 'diskSize') {
  return sizeField({ name, description, example: '24Gi or 500M', min: ['1Mi', 20], max: ['1Pi', 50] })
}

/** KubeVirt has no minimum and would start a machine with one byte. Nothing boots with less than 64 MiB. */
export function memoryField(description: string) {
  return sizeField({ name: 'memory', description, example: '2Gi or 512M', min: ['64Mi', 26], max: ['16Ti', 44] })
}

/** No runtime starts a process with less than 4 MiB. */
export function containerMemoryField(description: string) {
  return sizeField({ name: 'memory', description, example: '256Mi or 2G', min: ['4Mi', 22], max: ['16Ti', 44] })
}

const FORM = new RegExp(QUANTITY_PATTERN)

/** A bound as people write it, and its exponent of two. */
type Bound = readonly [text: string, power: number]

/** Size in bytes as a quantity or an integer, read as a string. */
function sizeField(field: {
  readonly name: string
  readonly description: string
  readonly example: string
  readonly min: Bound
  readonly max: Bound
}) {
  const { name, description, example, min, max } = field
  const [least, most] = [BigInt(2) ** BigInt(min[1]), BigInt(2) ** BigInt(max[1])]
  const size = intOrString({
    description,
    pattern: QUANTITY_PATTERN,
    maxLength: 32,
    error: `must be a quantity such as ${example}`,
  })
  return cel(size, {
    // More than the minimum less one byte: fractions of a byte are rounded up, as in the size of a claim.
    rule:
      `type(self) == int ? self >= ${least} && self <= ${most} : !${celMatches('self', QUANTITY_PATTERN)} || ` +
      `isQuantity(self) && quantity(self).compareTo(quantity('${least - 1n}')) > 0 && quantity(self).compareTo(quantity('${max[0]}')) <= 0`,
    message: `${name} must be between ${min[0]} and ${max[0]}`,
    holds: (value: string | number) => {
      if (!FORM.test(String(value))) return true
      const bytes = parseQuantity(String(value))
      return bytes !== undefined && bytes >= least && bytes <= most
    },
  }).transform(String)
}
