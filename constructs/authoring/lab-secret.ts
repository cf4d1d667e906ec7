import { Construct } from 'constructs'
import { isGiven, requireProps } from './given-values.ts'
import { keepInside, type PartInside } from './inside.ts'
import { idOfPart, joinLab, takenFrom } from './lab-part.ts'

/** A key of a Secret in the namespace of a lab. */
export interface SecretKey {
  /** Name of the Secret, such as students. */
  readonly secretName: string
  /** Key of the Secret, such as alice. */
  readonly key: string
}

/** A password that everybody can read who may read the lab. */
export interface PlainTextPassword {
  /** The password, such as Summer-2026. */
  readonly plainText: string
}

/** Says that a password may be read by everybody who may read the lab. Prefer a key of a Secret. */
export function plainText(password: string): PlainTextPassword {
  return { plainText: password }
}

/** What a Secret of a lab consists of: keys that are made, or those of another Secret. */
export interface LabSecretProps {
  /** Keys whose values the operator makes: random texts, made once and never changed. A name, or a name and a length in characters, from 8 to 128, such as 'alice'. Default: none. */
  readonly generate?: readonly (string | { readonly key: string; readonly length?: number })[]
  /** A Secret that this one is a copy of. Its owner labels it pelotech.ot/shared: "true", and the policy lists its namespace. Default: none. */
  readonly from?: { readonly namespace: string; readonly name: string }
}

/**
 * A Secret that the operator makes in the namespace of a lab. Made by `Workspace.addSecret`, or in a construct below the lab.
 * @example
 * ```ts
 * import { Workspace } from '@open-terrain/constructs'
 *
 * const lab = new Workspace(chart, 'redblue')
 * const logins = lab.addSecret('logins', { generate: ['alice', { key: 'bob', length: 12 }] })
 * const env = { ADMIN_PASSWORD: logins.key('alice') }
 * lab.addContainers('wiki').add('wiki', { image: 'registry.example.com/wiki:3', env })
 * ```
 */
export class LabSecret extends Construct {
  /** Name of the Secret in the namespace of the lab. */
  readonly secretName: string
  readonly #props: LabSecretProps

  constructor(scope: Construct, secretName: string, props: LabSecretProps) {
    super(scope, idOfPart(scope, 'secrets', secretName, new.target))
    this.secretName = secretName
    requireProps(this, props, "{ generate: ['alice'] }")
    this.#props = props
    const inside: PartInside = { toSpec: () => this.#toSpec() }
    keepInside(this, inside)
    joinLab(this, 'secrets', new.target)
  }

  /** Returns a Secret that people make in the namespace of the lab. */
  static fromName(secretName: string): { key(key: string): SecretKey } {
    return { key: (key) => ({ secretName, key }) }
  }

  /**
   * Returns one of its keys.
   * @throws Error if its values are made, and this key is none of them
   */
  key(key: string): SecretKey {
    const generated = this.#generated()
    if (generated !== undefined && !generated.some((one) => one?.key === key))
      throw new Error(
        `${this.node.path}: has no key "${key}": add it to generate, beside ${generated.map((one) => one?.key).join(', ')}`,
      )
    return takenFrom(this, { secretName: this.secretName, key })
  }

  #toSpec(): object {
    const { from } = this.#props
    const generate = this.#generated() ?? this.#props.generate
    return { name: this.secretName, ...(isGiven(generate) && { generate }), ...(isGiven(from) && { from }) }
  }

  #generated() {
    const { generate } = this.#props
    return Array.isArray(generate) ? generate.map((one) => (typeof one === 'string' ? { key: one } : one)) : undefined
  }
}

/** Returns a reference to the key as specs have it. */
export function secretKeyRef({ secretName, key }: SecretKey): { name: string; key: string } {
  return { name: secretName, key }
}
