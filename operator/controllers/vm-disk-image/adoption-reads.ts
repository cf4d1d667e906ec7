import { ADOPTION_POLICY, ADOPTION_RULE, type Adoptable, type AdoptableKind } from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import { type AdmissionRule, readAdmissionRule } from '../../cluster/admission-rule.ts'
import { find } from '../../kube/find.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  VOLUME_SNAPSHOT,
} from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from '../../runtime/live-read-loop.ts'
import { type AdoptionFacts, claimsOfMachine, claimsOfPod, viewAdopted } from './adoption-facts.ts'

export const ADOPTABLE_TYPES: Readonly<Record<AdoptableKind, ResourceType>> = {
  DataVolume: DATA_VOLUME,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  VolumeSnapshot: VOLUME_SNAPSHOT,
}

/** How soon a change is seen that no cache has: of the rule, of machines, of pods. */
const EVERY_MS = 60_000
const RULE: AdmissionRule = { name: ADOPTION_RULE, spec: ADOPTION_POLICY, subjects: 'images' }

/** What is to be read for an image. */
export interface Wanted {
  readonly adoptable: Adoptable
  /** Another text whenever what the caches have of the object is another version. */
  readonly version: string
}

/** The last findings, and whether they are of the present version. */
export interface Sighted {
  readonly facts: AdoptionFacts
  readonly isFresh: boolean
}

interface Options extends LiveReadServices {
  /** Whether there is an image of this key. */
  readonly isThere: (key: string) => boolean
  /** Called with the `<namespace>/<name>` of an image of which something else was found. */
  readonly onChange: (key: string) => void
}

interface Seen extends Wanted {
  readonly facts: AdoptionFacts
}

/**
 * Reads what images are to adopt, by name, and what uses it: the caches keep too little of objects that are not ours. It reads as long as an image waits for
 * a verdict, and forgets what it found after that.
 */
export class AdoptionReads extends LiveReadLoop {
  readonly #options: Options
  readonly #wanted = new Map<string, Wanted>()
  readonly #seen = new Map<string, Seen>()

  constructor(options: Options) {
    super(options, 'vmdiskimage-adoption-reads', async (key, signal) => {
      await this.#read(key, signal)
      return undefined
    })
    this.#options = options
  }

  /** @param key `<namespace>/<name>` of the image */
  look(key: string, { adoptable, version }: Wanted): Sighted | undefined {
    const seen = this.#seen.get(key)
    if (seen === undefined || !isSame(seen.adoptable, adoptable)) return undefined
    return { facts: seen.facts, isFresh: seen.version === version }
  }

  /** Reads what an image is to adopt, soon and from then on; undefined: it waits for nothing. @param key `<namespace>/<name>` of the image */
  want(key: string, wanted: Wanted | undefined): void {
    if (wanted === undefined) {
      this.#wanted.delete(key)
      this.#seen.delete(key)
      return
    }
    const before = this.#wanted.get(key)
    if (isSame(before, wanted)) return
    this.#wanted.set(key, wanted)
    this.readAfter(key, 0)
  }

  async #read(key: string, signal: AbortSignal): Promise<void> {
    if (!this.#options.isThere(key)) this.want(key, undefined)
    const wanted = this.#wanted.get(key)
    if (wanted === undefined) return
    const [namespace = ''] = key.split('/')
    const facts = await readAdoptionFacts(this.#options.client, namespace, wanted.adoptable, signal)
    // What changed meanwhile is read again.
    if (!isSame(this.#wanted.get(key), wanted)) return
    const before = this.#seen.get(key)
    this.#seen.set(key, { ...wanted, facts })
    this.readAfter(key, EVERY_MS)
    if (before?.version !== wanted.version || !isSame(before.facts, facts)) this.#options.onChange(key)
  }
}

/** Returns what live reads find of an object that is to be adopted. Throws ApiError. */
export async function readAdoptionFacts(
  client: KubeClient,
  namespace: string,
  { kind, name }: Adoptable,
  signal: AbortSignal,
): Promise<AdoptionFacts> {
  const key = { namespace, name }
  const found = await readAdmissionRule(client, RULE, signal)
  const object = await find(client, ADOPTABLE_TYPES[kind], key, { signal })
  const claim = kind === 'DataVolume' ? await find(client, PERSISTENT_VOLUME_CLAIM, key, { signal }) : undefined
  const machine = async () =>
    await firstOf(
      listAll(client, KUBEVIRT_VIRTUAL_MACHINE, { namespace, signal, project: using(name, claimsOfMachine) }),
    )
  const pod = async () => await firstOf(listAll(client, POD, { namespace, signal, project: using(name, claimsOfPod) }))
  return {
    fault: typeof found === 'string' ? undefined : found,
    object: object && viewAdopted(object, kind),
    claim: claim && viewAdopted(claim, 'PersistentVolumeClaim'),
    usedBy: kind === 'VolumeSnapshot' ? undefined : ((await machine()) ?? (await pod())),
  }
}

function using(claim: string, claimsOf: (object: KubeObject) => readonly string[]) {
  return (object: KubeObject): string | undefined =>
    claimsOf(object).includes(claim) ? `${object.kind} ${object.metadata.name}` : undefined
}

async function firstOf(found: AsyncIterable<string | undefined>): Promise<string | undefined> {
  for await (const one of found) if (one !== undefined) return one
  return undefined
}
