import { type IpPrefix, prefixText } from '../api/ip-address.ts'
import type { AnyLabNetwork } from './lab-network.ts'
import { type SpecPatch, withPatch } from './merge-patch.ts'

interface Connection {
  readonly networkName: string
  /** Undefined: it is no network of the lab. */
  readonly network: AnyLabNetwork | undefined
  readonly prefixes: readonly IpPrefix[]
  /** What else is said of the interface. */
  readonly words: object
}

/** What was said of a member of a lab after it was made. */
export class MemberWords {
  readonly connections: Connection[] = []
  readonly #patches: SpecPatch[] = []

  /** Lays fields over what the spec says of the member. */
  patch(fields: SpecPatch): void {
    this.#patches.push(fields)
  }

  /** Whether one of these fields was laid over what its words say, or any, if none is named. */
  isPatched(fields: readonly string[]): boolean {
    return this.#patches.some((patch) => fields.length === 0 || fields.some((field) => field in patch))
  }

  /** Returns what it is in the spec, with all that was patched. @param spec what its words say */
  patched(spec: object): unknown {
    return this.#patches.reduce<unknown>(withPatch, spec)
  }

  /** The interfaces as the spec has them. */
  interfaces(): readonly object[] {
    return this.connections.map(({ networkName, prefixes, words }) => {
      const texts = prefixes.map((prefix) => prefixText(prefix))
      return {
        network: networkName,
        ...(texts.length === 1 && { ipAddress: texts[0] as string }),
        ...(texts.length > 1 && { ipAddresses: texts }),
        ...words,
      }
    })
  }
}

/** Of the members that this copy of the package has made. */
const WORDS = new WeakMap<object, MemberWords>()

export function wordsOfMember(member: object): MemberWords {
  const words = WORDS.get(member) ?? new MemberWords()
  WORDS.set(member, words)
  return words
}
