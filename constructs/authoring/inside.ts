import type { IConstruct } from 'constructs'
import type { NetworkAddresses } from './network-addresses.ts'
import type { WorkspaceNetworkProps } from './spec-props.ts'

/** Every copy of this package in a program reads it. Editors offer authors what a class declares: this is none of it. */
const INSIDE = Symbol.for('pelotech.ot/inside/1')

/** What a lab asks of each of its parts, and no author does. */
export interface PartInside {
  /** Returns the part as the spec has it. */
  readonly toSpec: () => unknown
}

/** What a lab asks of a network. */
export interface NetworkInside {
  readonly addresses: Pick<NetworkAddresses, keyof NetworkAddresses>
  /** Whether somebody who is not in the lab may be on it. */
  readonly isAttached: boolean
  /**
   * Returns the network as the spec has it.
   * @param all the networks of the lab
   * @param wrong told what is wrong, without the place
   */
  readonly toSpec: (all: readonly IConstruct[], wrong: (problem: string) => void) => WorkspaceNetworkProps
}

/** What a lab asks of a machine. */
export interface VmInside extends PartInside {
  /**
   * Whether one of these fields was laid over what its words say.
   * @param fields of the machine in the spec; none: any
   */
  readonly isPatched: (...fields: string[]) => boolean
  /** Returns what it says of its image; undefined if nothing. */
  readonly imageTemplate: () => { readonly image: string; readonly settings: object } | undefined
  /** Returns the images that it names by a text. A reference is a word for an image that somebody makes. */
  readonly imageTexts: () => readonly string[]
  /** Returns the images that it names by an object that makes them. */
  readonly imagesOfApp: () => readonly { readonly imageName: string; readonly imageNamespace: string | undefined }[]
}

/** Keeps what a lab asks of a part. */
export function keepInside<Inside extends object>(part: IConstruct, inside: Inside): void {
  Object.defineProperty(part, INSIDE, { value: inside })
}

/**
 * Returns what a lab asks of a part.
 * @throws Error if another version of this package has made it, which keeps it elsewhere
 */
export function insideOf<Inside extends object>(part: object): Inside {
  const { [INSIDE]: inside } = part as { readonly [INSIDE]?: Inside }
  if (inside === undefined)
    throw new Error(
      `${(part as Partial<IConstruct>).node?.path ?? 'it'}: no part of a lab, or another version of @open-terrain/constructs has made it: install one version of the package, see npm ls @open-terrain/constructs`,
    )
  return inside
}
