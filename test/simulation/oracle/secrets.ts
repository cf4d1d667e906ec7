import { ANNOTATIONS } from '@open-terrain/constructs'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { DATA_SYNC, IMAGE, MACHINE, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { isEnd, isOperator } from '../chronicle.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

/** In the query of every URL, and in every Secret of images. */
export const CANARY = 'canary-7d1f'
/** Password of every guest, also in user data of machines of labs: it may be in what people wrote and in Secrets, and nowhere else. */
export const PASSWORD = 'canary-Kx7-password'

/** Invariant 9: nothing that the operator reports contains a secret. The source of a DataVolume has to name its URL. */
export class SecretsOracle extends WitnessOracle<Witness> {
  /** By uid of a Secret: the values that the operator made for it by key, in base64. They may be in Secrets, and nowhere else. */
  readonly #generated = new Map<string, ReadonlyMap<string, string>>()

  /** Values of Secrets that labs have copies of, in base64: the same holds for them. */
  readonly #copied = new Set<string>()
  /** By uid of such a Secret: all keys that it has had. */
  readonly #had = new Map<string, Set<string>>()
  /** By name of a Workspace: the Secrets whose loss its status tells. */
  readonly #told = new Map<string, ReadonlySet<string>>()

  onCommit(commit: Commit): void {
    const { actor, resource, object, type, revision } = commit
    if (isOf(resource, WORKSPACE)) this.#told.set(object.metadata.name, lossesIn(object as Workspace))
    this.#noteGenerated(commit)
    this.#noteCopied(commit)
    // A deletion writes nothing into an object.
    if (!isOperator(actor) || type === 'DELETED' || isEnd(commit) || resource.kind === 'Lease') return
    const own = withoutTheirs(resource, object)
    const hasSource = resource.kind === 'DataVolume'
    const isSecretShown = JSON.stringify(hasSource ? object.metadata : own).includes(CANARY)
    // People write it there, and for the machines of labs the operator does.
    const isWritten = isOf(resource, MACHINE) || isOf(resource, WORKSPACE)
    const isPasswordShown = resource.kind !== 'Secret' && JSON.stringify(isWritten ? own : object).includes(PASSWORD)
    const isGeneratedShown = resource.kind !== 'Secret' && this.#generatedIn(JSON.stringify(object)) !== undefined
    if (isSecretShown || isPasswordShown || isGeneratedShown)
      this.witness.report(9, `revision ${revision}: ${resource.kind} ${object.metadata.name} has a secret in it`)
  }

  /** Values are made once, and nothing but their Secret has them. */
  #noteGenerated({ actor, resource, object, type, revision }: Commit): void {
    const { uid = '', name, annotations } = object.metadata
    if (resource.kind !== 'Secret' || annotations?.[ANNOTATIONS.generatedKeys] === undefined) return
    const { data = {} } = object as KubeObject & { readonly data?: Readonly<Record<string, string>> }
    for (const [key, value] of this.#generated.get(uid) ?? [])
      if (data[key] !== value && type !== 'DELETED' && isOperator(actor))
        this.witness.report(9, `revision ${revision}: key ${key} of Secret ${name} has another value`)
    const had = this.#had.get(uid) ?? new Set()
    for (const key of Object.keys(data)) {
      const isMadeAgain = had.has(key) && this.#generated.get(uid)?.has(key) === false && isOperator(actor)
      if (isMadeAgain && this.#told.get(object.metadata.namespace ?? '')?.has(name) !== true)
        this.witness.report(9, `revision ${revision}: key ${key} of Secret ${name} is made again, and nobody is told`)
      had.add(key)
    }
    this.#had.set(uid, had)
    this.#generated.set(uid, new Map(Object.entries(data)))
  }

  #noteCopied({ resource, object }: Commit): void {
    if (resource.kind !== 'Secret' || object.metadata.annotations?.[ANNOTATIONS.copiedFrom] === undefined) return
    const { data = {} } = object as KubeObject & { readonly data?: Readonly<Record<string, string>> }
    for (const value of Object.values(data)) this.#copied.add(value)
  }

  #generatedIn(text: string): string | undefined {
    for (const values of [...this.#generated.values(), this.#copied])
      for (const value of values.values())
        for (const form of [value, Buffer.from(value, 'base64').toString()]) if (text.includes(form)) return form
    return undefined
  }

  checkText(what: string, text: string): void {
    const generated = this.#generatedIn(text)
    for (const secret of [CANARY, PASSWORD, ...(generated === undefined ? [] : [generated])])
      if (text.includes(secret)) this.witness.report(9, `a secret is in ${what}: ${around(text, secret)}`)
  }
}

function lossesIn({ status }: Workspace): ReadonlySet<string> {
  const { components = [] } = status ?? {}
  return new Set(
    components.flatMap(({ kind, name, reason }) => (kind === 'Secret' && reason === 'SecretLost' ? [name] : [])),
  )
}

/** Returns the object without what others wrote into it. */
function withoutTheirs(resource: ResourceType, object: KubeObject): unknown {
  if (![IMAGE, DATA_SYNC, MACHINE, WORKSPACE].some((type) => isOf(resource, type))) return object
  const { spec: _spec, ...withoutSpec } = object as KubeObject & { readonly spec?: unknown }
  const { annotations: _annotations, labels: _labels, ...metadata } = object.metadata
  return { ...withoutSpec, metadata }
}

function isOf({ group, kind }: ResourceType, type: ResourceType): boolean {
  return type.group === group && type.kind === kind
}

function around(text: string, secret: string): string {
  const at = text.indexOf(secret)
  return text.slice(Math.max(0, at - 120), at + secret.length)
}
