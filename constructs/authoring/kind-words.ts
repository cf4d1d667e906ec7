import type { SpecProblem } from '../api/spec-problem.ts'
import type { AuthorWarning } from './author-warning.ts'
import type { AuthoredImage } from './node-problems.ts'

/** What a kind that people write knows of its objects beside its schema. */
export interface KindWords {
  /** Returns the fields of the spec as they are to be checked. @param written as somebody gave them */
  readonly givenSpec?: (written: unknown) => unknown
  /** What is wrong beside what the spec itself shows, as sentences without a place. Asked for after `givenSpec`. */
  readonly furtherProblems?: () => readonly string[]
  /** What is wrong with a spec that its schema accepts, and that cannot work. @param spec as it was parsed */
  readonly specProblems?: (spec: unknown) => readonly SpecProblem[]
  /** What may not work. @param spec as it was parsed */
  readonly specWarnings?: (spec: unknown) => readonly AuthorWarning[]
  /** What it says that images are. */
  readonly authoredImages?: () => readonly AuthoredImage[]
  /**
   * Returns the place of a field, such as spec.vms[3].cpu, for a reader who knows the constructs.
   * @param names of the items that it is in, outermost first, such as machine kali
   */
  readonly placeOf?: (field: string, names: readonly string[]) => string
  /** Returns what is wrong with a field, for a reader who knows the constructs. @param field its place, such as spec.vms[3].cpu */
  readonly sentenceOf?: (field: string, message: string) => string
  /** Returns what is wrong with the metadata, for a reader who did not write all of them. */
  readonly metadataSentence?: (sentence: string) => string
}

/** Of the objects that this copy of the package has made. Editors offer authors what a class declares: this is none of it. */
const WORDS = new WeakMap<object, KindWords>()

/** Adds what the kind of an object knows. */
export function addKindWords(object: object, words: KindWords): void {
  WORDS.set(object, { ...WORDS.get(object), ...words })
}

export function kindWordsOf(object: object): KindWords {
  return WORDS.get(object) ?? {}
}
