import type { IConstruct } from 'constructs'

/** What may not work, or not as it was meant. */
export interface AuthorWarning {
  /** Where it is. */
  readonly at: IConstruct
  /** Never changes: authors acknowledge what they have read by it. */
  readonly id: string
  /** A sentence with the remedy. Contains no password. */
  readonly message: string
}

/** Types of the metadata of constructs: every copy of this package in a program reads them. */
const ADDED = 'pelotech.ot/warning'
const ACKNOWLEDGED = 'pelotech.ot/acknowledged'
const ALL = '*'
/** What an app has been told. Every copy of this package keeps it at the root. */
const TOLD = Symbol.for('pelotech.ot/ToldWarnings')

/**
 * The warnings of a construct: what may not work, or not as it was meant. They are printed to stderr when its objects are rendered, each one once for an
 * app. A warning never fails a synth.
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
   * Says that warnings are known, and meant: those with this id are not printed any more, of the construct and of all that is below it.
   * @param id the word in brackets at the end of the warning
   */
  acknowledge(id: string): void {
    this.#scope.node.addMetadata(ACKNOWLEDGED, id)
  }

  /** Says that all warnings of the construct, and of all that is below it, are known and meant: of what somebody else has written, for example. */
  acknowledgeAll(): void {
    this.#scope.node.addMetadata(ACKNOWLEDGED, ALL)
  }
}

/** Prints the warnings of an object that is rendered, with those that teams added in it and around it, unless they were printed or acknowledged. */
export function tellWarnings(object: IConstruct, own: readonly AuthorWarning[]): void {
  const around = object.node.scopes.slice(0, -1)
  const added = [...around, ...object.node.findAll()].flatMap((at) => addedTo(at))
  const told = toldIn(object.node.root)
  for (const { at, id, message } of [...own, ...added]) {
    const text = `${at.node.path}: warning: ${message} [${id}]`
    if (told.has(text) || isAcknowledged(at, id)) continue
    told.add(text)
    console.warn(text)
  }
}

function addedTo(at: IConstruct): AuthorWarning[] {
  return at.node.metadata.flatMap(({ type, data }) => (type === ADDED ? [{ at, ...data }] : []))
}

function isAcknowledged(at: IConstruct, id: string): boolean {
  return at.node.scopes.some(({ node }) =>
    node.metadata.some(({ type, data }) => type === ACKNOWLEDGED && (data === id || data === ALL)),
  )
}

function toldIn(root: IConstruct & { [TOLD]?: Set<string> }): Set<string> {
  root[TOLD] ??= new Set()
  return root[TOLD]
}
