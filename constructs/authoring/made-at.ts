import type { Construct, IConstruct } from 'constructs'

/** Two copies of this package in one program know each other's places by it. */
const PLACE = Symbol.for('pelotech.ot/madeAt')

interface Placed {
  readonly [PLACE]?: { readonly stack?: string }
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
export function refuseTaken(scope: IConstruct, taken: IConstruct | undefined, { what, name, hidden }: WantedId): void {
  if (taken === undefined) return
  const there = placeIn((taken as Placed)[PLACE]?.stack)
  const here = placeIn(stackBehind(hidden).stack)
  const places = [there && `made at ${there}`, here && `and again at ${here}`].filter((one) => one !== undefined)
  const told = places.length === 0 ? '' : ` (${places.join(', ')})`
  throw new Error(
    `${scope.node.path}: there is ${what} ${JSON.stringify(name)} already${told}: give one of them another name, or remove one`,
  )
}

interface WantedId {
  readonly what: string
  /** As the author wrote it. */
  readonly name: string
  readonly hidden: unknown
}

function stackBehind(hidden: unknown): { readonly stack?: string } {
  const holder: { readonly stack?: string } = {}
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
