import type { CelBreach, CelRule } from './cel.ts'

/**
 * A loop over one list: a name for its items, and a CEL expression for the list, which may use items of outer loops. The API server estimates the
 * cost of a rule before it accepts it. It knows how long a list and its strings can be if the list is a path of fields.
 */
export interface CelLoop {
  readonly item: string
  readonly list: string
  /** The list may be absent. It is a path of fields. */
  readonly isOptional?: boolean
  /** Part of the sentence. CEL in braces may use this item, but none of an outer loop: `machine "{vm.name}" `. Default: nothing. */
  readonly says?: string
}

/** Something that was found. */
export interface Find {
  /** Where it is, below the value that is searched. */
  readonly at: readonly PropertyKey[]
  /** For the braces of the sentence. */
  readonly values: readonly string[]
  /** Who else has it, as a sentence for authors. Default: the sentence of the search. */
  readonly says?: string
}

/** Something that must not be found, defined in CEL and in TypeScript, with one sentence about what was found. */
export interface Search<T> {
  /** Used when the sentence cannot be, because a value in it has a line break. */
  readonly message: string
  /** Field below `self` that the message is about. Default: the value itself. */
  readonly field?: string
  /** The loops, outermost first. Their parts form the sentence. */
  readonly among: readonly CelLoop[]
  /** CEL: whether this item is what the search looks for. Must not fail, whatever the items are. */
  readonly isWrong: string
  /** The same in TypeScript: returns all that is found, in the order of the lists. Only the first is asked for, but by authors. */
  readonly finds: (value: T) => Iterable<Find>
}

/** Returns a rule that is broken if something is found, and that reports the first find. */
export function searchRule<T>({ message, field, among, isWrong, finds }: Search<T>): CelRule<T> {
  const sentence = among.map(({ says = '' }) => says).join('')
  const first = (value: T) => {
    for (const one of finds(value)) return one
    return undefined
  }
  const told = ({ values, says }: Find) => {
    const rest = values.values()
    return says ?? sentence.replaceAll(IN_BRACES, () => String(rest.next().value))
  }
  return {
    rule: among.reduceRight(celAll, `!(${isWrong})`),
    message,
    ...(field !== undefined && { field }),
    holds: (value) => first(value) === undefined,
    finds: (value) => Array.from(finds(value), (one): CelBreach => ({ path: one.at, message: told(one) })),
    offender: {
      rule: `${celTexts(among, isWrong)}[0]`,
      of: (value) => {
        const found = first(value)
        return found && told({ at: found.at, values: found.values })
      },
    },
  }
}

/** CEL for a text with values in place of CEL in braces. The API server knows the cost of `format`, but of `+` only for texts of known length. */
export function celText(template: string): string {
  const values = [...template.matchAll(IN_BRACES)].map(([, cel]) => cel)
  const literal = `'${template.replaceAll('%', '%%').replaceAll(IN_BRACES, '%s').replaceAll(/['\\]/g, '\\$&')}'`
  return values.length === 0 ? literal : `${literal}.format([${values.join(', ')}])`
}

const IN_BRACES = /\{([^{}]+)\}/g

function celAll(inner: string, { item, list, isOptional }: CelLoop): string {
  const all = `${list}.all(${item}, ${inner})`
  return isOptional ? `(!has(${list}) || ${all})` : all
}

/**
 * Returns CEL for the sentences about everything that is wrong. The text of a list is put before that of the inner lists only after these were
 * walked: if a field of an item is read inside a loop over a list of the same item, the API server misjudges the length of that list.
 */
function celTexts([loop, ...further]: readonly CelLoop[], isWrong: string): string {
  if (loop === undefined) throw new Error('a search needs a list to walk')
  const { item, list, says = '' } = loop
  const [next] = further
  if (next === undefined) return `${list}.map(${item}, ${isWrong}, ${celText(says)})`
  const inner = celTexts(further, isWrong)
  const given = next.isOptional ? `has(${next.list}), ` : ''
  const texts = says === '' ? inner : `${inner}.map(rest, ${celText(`${says}{rest}`)})`
  return `${list}.map(${item}, ${given}${texts}).flatten()`
}
