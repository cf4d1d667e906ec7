import type { IConstruct } from 'constructs'
import type { AuthorWarning } from './author-warning.ts'
import { nearestTo } from './nearest-name.ts'
import { authoredIn, insideAuthored } from './node-problems.ts'
import { isWarningId, WARNING_IDS, type WarningId } from './warning-ids.ts'

/** Types of the metadata of constructs: every copy of this package in a program reads them. */
const ADDED = 'pelotech.ot/warning'
const ACKNOWLEDGED = 'pelotech.ot/acknowledged'
const ALL = '*'
/** What an app has been told. Every copy of this package keeps it at the root. */
const TOLD = Symbol.for('pelotech.ot/ToldWarnings')

/**
 * The warnings of a construct: what may not work, or not as it was meant. They are printed to stderr when its objects are rendered, each one once for an
 * app. A warning never fails a synth.
 * @example
 * ```ts
 * import { Warnings, Workspace } from '@open-terrain/constructs'
 *
 * const lab = new Workspace(chart, 'redblue')
 * const spare = lab.addVolume('spare', { size: '1Gi' })
 * Warnings.of(spare).acknowledge('VolumeUnused')
 * Warnings.of(lab).all() // what is left, for a test
 * ```
 */
export class Warnings {
  readonly #scope: IConstruct

  private constructor(scope: IConstruct) {
    this.#scope = scope
  }

  /** Returns the warnings of a construct, and of all that is below it. */
  static of(construct: IConstruct): Warnings {
    return new Warnings(construct)
  }

  /**
   * Adds a warning of a construct of your own. It must be in a lab, or around one.
   * @param id what it is about, in one word that never changes, such as RouterWithoutUplink
   * @param message what may not work, and what to do, without a dot at the end
   */
  add(id: string, message: string): void {
    this.#scope.node.addMetadata(ADDED, { id, message })
  }

  /**
   * Says that warnings are known, and meant: those with this id are not printed any more, of the construct and of all that is below it. An id that no warning
   * has is a warning itself.
   * @param id the word in brackets at the end of the warning
   */
  acknowledge(id: WarningId | (string & {})): void {
    this.#scope.node.addMetadata(ACKNOWLEDGED, id)
  }

  /** Says that all warnings of the construct, and of all that is below it, are known and meant: of what somebody else has written, for example. */
  acknowledgeAll(): void {
    this.#scope.node.addMetadata(ACKNOWLEDGED, ALL)
  }

  /**
   * Returns the warnings of the construct, and of all that is below it, that nobody acknowledged, in the order in which they are printed: for tests. Nothing is
   * printed. An object that is not valid has no warnings of its own yet.
   */
  all(): readonly AuthorWarning[] {
    const { node } = this.#scope
    const objects = authoredIn(node.root).filter((one) => isBelow(one, this.#scope) || isBelow(this.#scope, one))
    const found = objects.flatMap((one) => warningsAround(one, insideAuthored(one).warnings()))
    const others = node.findAll().flatMap((at) => [...addedTo(at), ...unknownIdsOf(at)])
    const unique = new Map([...found, ...others].map((one) => [textOf(one), one]))
    return [...unique.values()].filter(({ at, id }) => isBelow(at, this.#scope) && !isAcknowledged(at, id))
  }
}

/** When an app is rendered. Only warnings depend on it, and nothing that is written. */
export function timeOfSynth(): Date {
  return new Date()
}

/** Prints the warnings of an object that is rendered, with those that teams added in it and around it, unless they were printed or acknowledged. */
export function tellWarnings(object: IConstruct, own: readonly AuthorWarning[]): void {
  const told = toldIn(object.node.root)
  for (const warning of warningsAround(object, own)) {
    const text = textOf(warning)
    if (told.has(text) || isAcknowledged(warning.at, warning.id)) continue
    told.add(text)
    console.warn(text)
  }
}

function textOf({ at, id, message }: AuthorWarning): string {
  return `${at.node.path}: warning: ${message} [${id}]`
}

/** Returns the warnings of an object with those of the constructs in it and around it. */
function warningsAround(object: IConstruct, own: readonly AuthorWarning[]): AuthorWarning[] {
  const places = [...object.node.scopes.slice(0, -1), ...object.node.findAll()]
  return [...own, ...places.flatMap(addedTo), ...places.flatMap(unknownIdsOf)]
}

/** Reports whether a construct is another one, or below it. */
function isBelow(one: IConstruct, other: IConstruct): boolean {
  return one.node.scopes.includes(other)
}

function addedTo(at: IConstruct): AuthorWarning[] {
  return at.node.metadata.flatMap(({ type, data }) => (type === ADDED ? [{ at, ...data }] : []))
}

/** Somebody would wait in vain for the silence. */
function unknownIdsOf(at: IConstruct): AuthorWarning[] {
  const unknown = acknowledgedAt(at).filter((id) => id !== ALL && !isWarningId(id))
  if (unknown.length === 0) return []
  const added = new Set(at.node.root.node.findAll().flatMap((one) => addedTo(one).map(({ id }) => id)))
  return unknown
    .filter((id) => !added.has(id))
    .map((id) => {
      const near = nearestTo(id, [...WARNING_IDS, ...added])
      const meant = near === undefined ? 'take the word in brackets at the end of the warning' : `did you mean ${near}?`
      return {
        at,
        id: 'UnknownWarning',
        message: `no warning has the id ${JSON.stringify(id)} that it acknowledges: ${meant}`,
      }
    })
}

function acknowledgedAt({ node }: IConstruct): string[] {
  return node.metadata.flatMap(({ type, data }) => (type === ACKNOWLEDGED ? [String(data)] : []))
}

function isAcknowledged(at: IConstruct, id: string): boolean {
  return at.node.scopes.some((scope) => acknowledgedAt(scope).some((one) => one === id || one === ALL))
}

function toldIn(root: IConstruct & { [TOLD]?: Set<string> }): Set<string> {
  root[TOLD] ??= new Set()
  return root[TOLD]
}
