import type { Construct, IConstruct } from 'constructs'

/** Two copies of this package in one program know each other's places by it. */
const PLACE = Symbol.for('pelotech.ot/madeAt')

interface Place {
  readonly stack?: string
}

interface Placed {
  readonly [PLACE]?: Place
}

/** Only engines of Node and Chrome have it. */
type Capture = (holder: object, hidden: unknown) => void

/**
 * Notes where a construct is made, for messages. The text is only made when somebody reads it.
 * @param hidden the function that authors call. What it calls is not theirs
 */
export function notePlace(construct: IConstruct, hidden: unknown): void {
  Object.defineProperty(construct, PLACE, { value: stackBehind(hidden), configurable: true })
}

/**
 * Returns the id of a construct, if it is free.
 * @param what as in "a machine"
 * @param hidden the function that authors call
 * @throws Error with the name, both places and what to do, if it is taken
 */
export function freeId(scope: Construct, id: string, wanted: WantedId): string {
  refuseTaken(scope, scope?.node?.tryFindChild(id), wanted)
  return id
}

/** @throws Error as `freeId`, if there is something of this name already */
export function refuseTaken(scope: IConstruct, taken: IConstruct | undefined, wanted: WantedId): void {
  if (taken !== undefined) throw alreadyThere(scope, wanted, (taken as Placed)[PLACE])
}

/** Names of things in a construct that are no constructs themselves. */
export class TakenNames {
  readonly #places = new Map<string, Place>()

  /** Notes a name. Throws as {@link freeId} does, if it is taken. */
  take(scope: IConstruct, name: string, { what, hidden }: Omit<WantedId, 'name'>): void {
    const there = this.#places.get(name)
    if (there !== undefined) throw alreadyThere(scope, { what, name, hidden }, there)
    this.#places.set(name, stackBehind(hidden))
  }
}

function alreadyThere(scope: IConstruct, { what, name, hidden }: WantedId, before: Place | undefined): Error {
  const there = placeIn(before?.stack)
  const here = placeIn(stackBehind(hidden).stack)
  const places = [there && `made at ${there}`, here && `and again at ${here}`].filter((one) => one !== undefined)
  const told = places.length === 0 ? '' : ` (${places.join(', ')})`
  return new Error(
    `${scope.node.path}: there is ${what} ${JSON.stringify(name)} already${told}: give one of them another name, or remove one`,
  )
}

interface WantedId {
  readonly what: string
  /** As the author wrote it. */
  readonly name: string
  readonly hidden: unknown
}

function stackBehind(hidden: unknown): Place {
  const holder: Place = {}
  const { captureStackTrace } = Error as { captureStackTrace?: Capture }
  captureStackTrace?.(holder, hidden)
  return holder
}

/** Returns file, line and column of the first frame of a stack. */
function placeIn(stack: string | undefined): string | undefined {
  const [, frame = ''] = stack?.match(/\n\s+at (.+)/) ?? []
  const place = frame.replace(/^.*\((.*)\)$/, '$1').replace(/^(?:async )?(?:file:\/\/)?/, '')
  return /:\d+:\d+$/.test(place) ? place : undefined
}
