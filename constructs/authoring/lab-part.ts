import { Construct, type IConstruct } from 'constructs'
import { freeId, notePlace, refuseTaken } from './made-at.ts'

/** Two copies of this package in one program know each other's labs by it. */
const LAB = Symbol.for('pelotech.ot/Workspace')
/** The parts of a lab, which every copy of this package adds to. */
const PARTS = Symbol.for('pelotech.ot/parts')
/** Which part of a lab an object that is no construct was taken from. */
const ORIGIN = Symbol.for('pelotech.ot/origin')

/** The lists of a lab whose items are constructs, with what an item is called. */
const LISTS = {
  networks: 'a network',
  vms: 'a machine',
  containerClusters: 'a member with containers',
  volumes: 'a volume',
  secrets: 'a Secret',
  services: 'a Service',
} as const
export type PartList = keyof typeof LISTS

/** Where a lab keeps its parts, whichever construct in it has made them. */
export interface LabParts {
  find(list: PartList, name: string): IConstruct | undefined
  add(list: PartList, part: IConstruct): void
}

interface Lab extends IConstruct {
  readonly [PARTS]?: LabParts
}

interface Origin {
  readonly lab: IConstruct
  /** Path of the part. */
  readonly path: string
}

/** Says that a construct is a lab. */
export function markLab(lab: IConstruct, parts: LabParts): void {
  Object.defineProperty(lab, LAB, { value: true })
  Object.defineProperty(lab, PARTS, { value: parts })
}

/** Returns the lab that a construct is in, or is; undefined if it is in none. */
export function labAround(construct: IConstruct): IConstruct | undefined {
  return construct.node.scopes.findLast((scope) => LAB in scope)
}

/**
 * Returns the lab that a construct is in, or is.
 * @throws Error if it is in none
 */
export function requireLab(construct: IConstruct): IConstruct {
  const found = labAround(construct)
  if (found === undefined) throw new Error(`${construct.node.path}: is in no Workspace: make it below one`)
  return found
}

/**
 * Returns the id of a part of a lab.
 * @param hidden the function that authors call
 * @throws Error if the scope is in no lab, or the lab has a part of this name in the list
 */
export function idOfPart(scope: Construct, list: PartList, name: string, hidden: unknown): string {
  const lab = requireLab(scope)
  const wanted = { what: LISTS[list], name, hidden }
  refuseTaken(lab, partsOf(lab).find(list, name), wanted)
  return freeId(scope, `${list}.${name}`, wanted)
}

/** Adds a part to the lab that it is in. @param hidden the function that authors call */
export function joinLab(part: IConstruct, list: PartList, hidden: unknown): void {
  notePlace(part, hidden)
  partsOf(requireLab(part)).add(list, part)
}

function partsOf(lab: Lab): LabParts {
  const parts = lab[PARTS]
  if (parts === undefined)
    throw new Error(
      `${lab.node.path}: another version of @open-terrain/constructs has made it: add its parts by its own methods, such as Workspace.of(this).addVm(...)`,
    )
  return parts
}

/** Notes which part an object is taken from, such as a key of a Secret. Specs do not have it. */
export function takenFrom<Taken extends object>(part: IConstruct, taken: Taken): Taken {
  const origin: Origin = { lab: requireLab(part), path: part.node.path }
  return Object.defineProperty(taken, ORIGIN, { value: origin })
}

/**
 * Checks that objects that are named by their names are of the same lab: another lab may have something of that name, or nothing.
 * @param what as in "volume"
 * @throws Error if one of them is known to be of another lab
 */
export function requireOwn(part: IConstruct, what: string, ...given: readonly unknown[]): void {
  for (const one of given) {
    const origin = originOf(one)
    if (origin !== undefined && origin.lab !== labAround(part))
      throw new Error(`${part.node.path}: ${what} ${origin.path} is of another lab: add one to this lab`)
  }
}

function originOf(given: unknown): Origin | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  if (ORIGIN in given) return given[ORIGIN] as Origin
  if (!Construct.isConstruct(given)) return undefined
  const lab = labAround(given)
  return lab && { lab, path: given.node.path }
}
