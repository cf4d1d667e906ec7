import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type CopiedSecret,
  type CopiedWorkspaceSecret,
  copiedUidOf,
  copiedVersionOf,
  isCopiedSecret,
  type Policy,
  type WorkspaceSecret,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import { BY_OWNER, familyKey } from '../../cluster/ownership.ts'
import { ApiError } from '../../kube/api-error.ts'
import { find } from '../../kube/find.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type ObjectMeta, objectKeyOf } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadLoopOptions } from '../../runtime/live-read-loop.ts'
import type { Readable, Store, Stored } from '../../runtime/store.ts'
import {
  isCopiedType,
  isMadeByUs,
  isShared,
  refusedByRule,
  refusedNamespace,
  refusedSource,
  refusedType,
  refusedUnchecked,
  type SecretSource,
} from './decide/secret-sources.ts'
import type { CopyVerdict, SecretCopyRule } from './secret-copy-rule.ts'

interface SecretContent extends KubeObject {
  readonly type?: string
  readonly data?: Readonly<Record<string, string>>
}

interface SecretCopiesOptions extends LiveReadLoopOptions {
  /** Their metadata alone, with versions. */
  readonly secrets: Readable<Stored>
}

/** What to look at: the type of a source, or whether a copy has what its source has. */
type Question = { readonly source: Stored } | { readonly source: CopiedSecret; readonly copy: Stored }

/**
 * Reads Secrets that workspaces copy, for what their metadata does not show: their types, and whether a copy still has what its source has, once for every
 * version of it. Only the type and that answer are kept: never a value.
 */
export class SecretCopies extends LiveReadLoop {
  readonly #questions = new Map<string, Question>()
  /** By uid: the API server changes no type of a Secret. */
  readonly #types = new Map<string, string>()
  /** Whether a version of a copy differs from its source. */
  readonly #differs = new WeakMap<Stored, boolean>()
  readonly #secrets: Readable<Stored>

  /** `onChange` is called with the key of a source whose type is known now, or of a copy. */
  constructor(options: SecretCopiesOptions) {
    super(options, 'workspace-secret-copies', async (id, signal) => {
      const question = this.#questions.get(id)
      if (question === undefined) return undefined
      const key =
        'copy' in question
          ? await this.#compare(options.client, question, signal)
          : await this.#typeOf(options.client, question.source, signal)
      if (this.#questions.get(id) === question) this.#questions.delete(id)
      if (key !== undefined) options.onChange(key)
      return undefined
    })
    this.#secrets = options.secrets
  }

  /** Forgets the types of Secrets that are gone. Returns a function that stops this. */
  listen(): () => void {
    return this.#secrets.onChange(({ before, after }) => {
      const uid = before?.metadata.uid
      if (uid !== undefined && uid !== after?.metadata.uid) this.#types.delete(uid)
    })
  }

  /** Returns the type of a Secret. Undefined: it is not known yet, and is soon. */
  typeOf(source: Stored): string | undefined {
    const type = this.#types.get(source.metadata.uid ?? '')
    if (type === undefined) this.#ask(`type ${keyOf(source.metadata)}`, { source })
    return type
  }

  /** Reports whether a copy has other values than its source, as far as this version of it has been looked at. */
  differs(copy: Stored, source: CopiedSecret): boolean {
    const differs = this.#differs.get(copy)
    // One of another version of the source is written in any case.
    const isCurrent = copy.metadata.annotations?.[ANNOTATIONS.copiedVersion] === copiedVersionOf(source)
    if (differs === undefined && isCurrent) this.#ask(`copy ${keyOf(copy.metadata)}`, { source, copy })
    return differs === true
  }

  #ask(id: string, question: Question): void {
    this.#questions.set(id, question)
    this.readAfter(id, 0)
  }

  async #typeOf(client: KubeClient, { metadata }: Stored, signal: AbortSignal): Promise<string | undefined> {
    const found = await find<SecretContent>(client, SECRET, metadata, { signal })
    // The watch reports what is gone.
    if (found === undefined || found.metadata.uid !== metadata.uid) return undefined
    this.#types.set(found.metadata.uid ?? '', found.type ?? 'Opaque')
    return keyOf(metadata)
  }

  async #compare(
    client: KubeClient,
    { source, copy }: Extract<Question, { copy: unknown }>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const [theirs, ours] = [
      await find<SecretContent>(client, SECRET, source, { signal }),
      await find<SecretContent>(client, SECRET, copy.metadata, { signal }),
    ]
    // The watch reports what is gone, and a new version of the source.
    if (theirs?.metadata.resourceVersion !== source.resourceVersion || ours?.metadata.uid !== copy.metadata.uid)
      return undefined
    const differs = !isSame(ours?.data ?? {}, theirs.data ?? {})
    this.#differs.set(copy, differs)
    return differs ? keyOf(copy.metadata) : undefined
  }
}

interface SourceFacts {
  readonly policy: Policy
  readonly secrets: Pick<Store<KubeObject>, 'get' | 'find'>
  readonly copies: Pick<SecretCopies, 'typeOf'>
  readonly rule: Pick<SecretCopyRule, 'look' | 'verdicts' | 'forget'>
}

type Wanted = Pick<CopiedWorkspaceSecret, 'name' | 'from'>

/**
 * Returns what each Secret that is a copy is to be copied from, by its name.
 * @param wanted those that the spec asks for; undefined if it cannot be read: then those that are there
 */
export function secretSourcesOf(
  { metadata }: Pick<KubeObject, 'metadata'>,
  wanted: readonly WorkspaceSecret[] | undefined,
  facts: SourceFacts,
): ReadonlyMap<string, SecretSource> {
  const { name: key, uid = '' } = metadata
  const copied = wanted?.filter(isCopiedSecret) ?? copiesIn(metadata, facts.secrets)
  if (copied.length === 0) {
    if (wanted !== undefined) facts.rule.forget(uid)
    return new Map()
  }
  const isThere = ({ name, from }: Wanted) => {
    const { annotations = {} } = facts.secrets.get(keyOf({ namespace: key, name }))?.metadata ?? {}
    return annotations[ANNOTATIONS.copiedFrom] === keyOf(from)
  }
  const sources = copied.map(({ from }) => keyOf(from))
  const verdictOn = wanted === undefined ? () => undefined : facts.rule.verdicts({ key, uid }, sources)
  const verdict = (one: Wanted) => (isThere(one) ? 'checked' : verdictOn(keyOf(one.from)))
  return new Map(copied.map((one) => [one.name, sourceOf(one.from, facts, () => verdict(one))]))
}

/** Returns the copies that a workspace has, as they say themselves. */
function copiesIn(workspace: ObjectMeta, secrets: SourceFacts['secrets']): Wanted[] {
  const { name, uid = '' } = workspace
  return secrets.find(BY_OWNER, familyKey(name, uid)).flatMap(({ metadata }) => {
    const from = metadata.annotations?.[ANNOTATIONS.copiedFrom]
    if (from === undefined || metadata.namespace !== name) return []
    return [{ name: metadata.name, from: objectKeyOf(from) }]
  })
}

function sourceOf(
  from: Wanted['from'],
  { policy, secrets, copies, rule: rules }: SourceFacts,
  verdict: () => CopyVerdict,
): SecretSource {
  const unlisted = refusedNamespace(from, policy)
  if (unlisted !== undefined) return { obstacle: unlisted }
  const rule = rules.look()
  const unruled = rule && refusedByRule(from, rule)
  if (unruled !== undefined && rule?.isSeen === false && rule.isSure) return { obstacle: unruled }
  const seen = secrets.get(keyOf(from))
  // Whoever shares a Secret no more need not wait for anything else.
  const refused = refusedSource(from, seen)
  if (refused !== undefined) return { obstacle: refused }
  if (unruled !== undefined) return { obstacle: unruled, isKept: true }
  const { uid = '', resourceVersion = '' } = seen?.metadata ?? {}
  const known = { ...from, uid, resourceVersion }
  const checked = rule && verdict()
  if (checked === undefined)
    return { pending: pendingText(from, 'whether the cluster checks who may read it'), seen: known }
  if (checked === 'unchecked') return { obstacle: refusedUnchecked(from), isKept: true }
  const type = seen && copies.typeOf(seen)
  if (type === undefined) return { pending: pendingText(from, 'of which type that is'), seen: known }
  return isCopiedType(type) ? { source: { ...known, type } } : { obstacle: refusedType(from, type) ?? '' }
}

function pendingText({ namespace, name }: Wanted['from'], what: string): string {
  return `it is to be a copy of Secret ${namespace}/${name}, and it is not known yet ${what}: the operator looks`
}

/**
 * Returns a child as it is to be written: a Secret that is a copy with the values that its source has now, any other child as it is. Keys that the source
 * does not have go. The values are neither returned elsewhere nor kept. Throws ApiError, also if the source may not be copied any more: its watch reports that.
 * @param existing the child as it was observed. The caller writes only to this version of it
 */
export async function withCopiedValues(
  wanted: KubeObject,
  existing: KubeObject | undefined,
  client: KubeClient,
  signal: AbortSignal,
): Promise<KubeObject> {
  const { annotations = {} } = wanted.metadata
  const from = annotations[ANNOTATIONS.copiedFrom]
  if (wanted.kind !== SECRET.kind || from === undefined) return wanted
  const source = await find<SecretContent>(client, SECRET, objectKeyOf(from), { signal })
  const isSameSource = source !== undefined && copiedUidOf(annotations) === source.metadata.uid
  if (
    !isSameSource ||
    isTerminating(source) ||
    !isShared(source) ||
    isMadeByUs(source) ||
    source.type !== (wanted as SecretContent).type
  )
    throw new ApiError({
      reason: 'Conflict',
      status: 409,
      message: `Secret ${from} is not the one to copy any more`,
    })
  const { data = {} } = source
  const has = existing && (await find<SecretContent>(client, SECRET, wanted.metadata, { signal }))
  const gone = Object.keys(has?.data ?? {}).filter((key) => !Object.hasOwn(data, key))
  // Entries, because a key may have any name.
  const entries = [...Object.entries(data), ...gone.map((key) => [key, null] as const)]
  return { ...wanted, data: Object.fromEntries(entries) } as KubeObject
}
