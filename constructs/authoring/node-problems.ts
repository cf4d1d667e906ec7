import type { IConstruct } from 'constructs'
import type { AuthorWarning } from './author-warning.ts'

/** Two copies of this package in one program know each other's objects by it. */
const MARK = Symbol.for('pelotech.ot/AuthoredObject')

/** What one object says that an image is. */
export interface AuthoredImage {
  /** Undefined: where the policy, or the chart of somebody else, says. */
  readonly namespace: string | undefined
  /** Its name. */
  readonly image: string
  /** The fields of the spec of the image. */
  readonly settings: object
}

/** What others ask of an object of an Open Terrain kind, and no author does. */
export interface AuthoredInside {
  /** What is wrong with it, as sentences. */
  readonly problems: () => readonly string[]
  /** What it says that images are. */
  readonly images: () => readonly AuthoredImage[]
  /** What may not work in it, or not as it was meant. */
  readonly warnings: () => readonly AuthorWarning[]
}

/** An object of an Open Terrain kind in the tree of an app, of this copy of the package or another one. */
export interface AuthoredNode extends IConstruct {
  /** Its kind in the API. */
  readonly kind: string
  /** Its name in the API. */
  readonly name: string
  /** Of the object. */
  readonly metadata: { readonly namespace?: string | undefined }
}

/** How often something was added to an app that the problems between its objects depend on. Every copy of this package counts there. */
const CHANGES = Symbol.for('pelotech.ot/changes')

export function markAuthored(node: IConstruct, inside: AuthoredInside): void {
  Object.defineProperty(node, MARK, { value: inside })
  noteChange(node)
}

/** Says that an object was added to an app, or a part that says something of an image. */
export function noteChange({ node: { root } }: IConstruct): void {
  Object.defineProperty(root, CHANGES, { value: changesIn(root) + 1, configurable: true })
}

export function changesIn(root: IConstruct & { readonly [CHANGES]?: number }): number {
  return root[CHANGES] ?? 0
}

/** Returns what others ask of an object. */
export function insideAuthored(node: AuthoredNode): AuthoredInside {
  return (node as AuthoredNode & { readonly [MARK]: AuthoredInside })[MARK]
}

function isAuthored(node: IConstruct): node is AuthoredNode {
  return MARK in node
}

export function authoredIn(root: IConstruct): readonly AuthoredNode[] {
  return root.node.findAll().filter((node) => isAuthored(node))
}

/** Returns what constructs of teams below a node say is wrong (`node.addValidation`), each under the path of its construct. */
export function teamProblems(root: IConstruct): readonly string[] {
  const others = root.node.findAll().filter((node) => !isAuthored(node))
  return others.flatMap(({ node }) => node.validate().map((problem) => `${node.path}: ${problem}`))
}

/** Reports whether a construct of a team around a node says that something is wrong. A tree is rendered by its root, and one of its objects may be rendered alone. */
export function problemsAround({ node }: IConstruct): boolean {
  return node.scopes.slice(0, -1).some((one) => !isAuthored(one) && one.node.validate().length > 0)
}

/** Returns all problems of an app as one text, each under the path of its construct. */
export function problemsOfApp(root: IConstruct): string {
  const own = authoredIn(root).flatMap((one) =>
    insideAuthored(one)
      .problems()
      .map((problem) => `${one.node.path}: ${problem}`),
  )
  return [...own, ...teamProblems(root)].join('\n')
}
