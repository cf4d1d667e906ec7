import type { CelRule } from './cel.ts'

/**
 * One list to walk: a name for its items, and a CEL expression of it, in which items further out may stand. The API server counts the cost of a rule before
 * it takes it, and knows how long a list and its texts can be where it is a path of fields.
 */
export interface CelLoop {
  readonly item: string
  readonly list: string
  /** It may be left out, and is a path of fields. */
  readonly isOptional?: boolean
  /** Part of the sentence, with CEL in braces that may name this item, but none further out: `machine "{vm.name}" `. Default: nothing. */
  readonly says?: string
}

/** Something that must not be found, told once for the API server and once in TypeScript, with one sentence about what was found. */
export interface Search<T> {
  /** Said where the sentence cannot be: a value in it has a line break. */
  readonly message: string
  /** Field below `self` that the message is about. Default: the value itself. */
  readonly field?: string
  /** The lists to walk, from the outside in. Together they say the sentence. */
  readonly among: readonly CelLoop[]
  /** CEL: whether this item is what is looked for. It must not fail, whatever the items are. */
  readonly isWrong: string
  /** The same in TypeScript: what stands in the braces of the sentence for the first that is found, in the order of the lists. */
  readonly find: (value: T) => readonly string[] | undefined
}

/** A rule that is broken where something is found, and says what was found first. */
export function searchRule<T>({ message, field, among, isWrong, find }: Search<T>): CelRule<T> {
  const sentence = among.map(({ says = '' }) => says).join('')
  return {
    rule: among.reduceRight(celAll, `!(${isWrong})`),
    message,
    ...(field !== undefined && { field }),
    holds: (value) => find(value) === undefined,
    offender: {
      rule: `${celTexts(among, isWrong)}[0]`,
      of: (value) => {
        const found = find(value)?.values()
        return found && sentence.replaceAll(IN_BRACES, () => String(found.next().value))
      },
    },
  }
}

/** CEL for a text with values in place of CEL in braces. The API server knows the cost of `format`, and that of `+` only for texts of known length. */
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
 * CEL for the sentences about all that is wrong. What a list says is put before what those further in say once these are walked: a field of an
 * item that is read while a list of the same item is walked has the API server mistake the length of that list.
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
