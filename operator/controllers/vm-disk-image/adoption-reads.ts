import {
  ADOPTION_POLICY,
  ADOPTION_RULE,
  type Adoptable,
  type AdoptableKind,
  shortHash,
} from '@open-terrain/constructs/operator'
import type { Clock } from '../../base/clock.ts'
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
import type { Unshared } from '../../runtime/preconditions.ts'
import { type AdoptionFacts, claimsOfMachine, claimsOfPod, viewAdopted } from './adoption-facts.ts'
import { ownedRefusal } from './decide/judge-adoption.ts'

export const ADOPTABLE_TYPES: Readonly<Record<AdoptableKind, ResourceType>> = {
  DataVolume: DATA_VOLUME,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  VolumeSnapshot: VOLUME_SNAPSHOT,
}

/** How soon a change is seen that no cache has: of the rule, of machines, of pods. */
const EVERY_MS = 60_000
/** Images that are looked at one after the other share the lists of a namespace. */
const ROUND_MS = 5_000
const RULE: AdmissionRule = { name: ADOPTION_RULE, spec: ADOPTION_POLICY, subjects: 'images' }

/** What is to be read for an image. */
export interface Wanted {
  /** Value of the annotation: in another spelling, it may have been set while the rule was away. */
  readonly value: string
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
  readonly #users: ClaimUsers

  constructor(options: Options) {
    super(options, 'vmdiskimage-adoption-reads', async (key, signal) => {
      await this.#read(key, signal)
      return undefined
    })
    this.#options = options
    this.#users = new ClaimUsers(options)
  }

  /** @param key `<namespace>/<name>` of the image */
  look(key: string, { value, adoptable, version }: Wanted): Sighted | undefined {
    const seen = this.#seen.get(key)
    if (seen === undefined || seen.value !== value || !isSame(seen.adoptable, adoptable)) return undefined
    return { facts: seen.facts, isFresh: seen.version === version }
  }

  /** Reads what an image is to adopt, soon and from then on; undefined: it waits for nothing. @param key `<namespace>/<name>` of the image */
  want(key: string, wanted: Wanted | undefined): void {
    if (wanted === undefined) {
      this.#seen.delete(key)
      if (this.#wanted.delete(key) && this.#wanted.size === 0) this.#users.forget()
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
    const facts = await this.#facts(namespace, wanted.adoptable, signal)
    // What changed meanwhile is read again.
    if (!isSame(this.#wanted.get(key), wanted)) return
    const before = this.#seen.get(key)
    this.#seen.set(key, { ...wanted, facts })
    this.readAfter(key, EVERY_MS)
    if (!isSame(before, { ...wanted, facts })) this.#options.onChange(key)
  }

  /** Users are not looked for where something else is wrong: a namespace may have thousands of pods. */
  async #facts(namespace: string, adoptable: Adoptable, signal: AbortSignal): Promise<AdoptionFacts> {
    const facts = await readWithoutUser(this.#options.client, namespace, adoptable, signal)
    const isRefused = facts.fault !== undefined || facts.object === undefined || facts.object.isTerminating
    if (isRefused || ownedRefusal(adoptable, facts) !== undefined) return facts
    return { ...facts, usedBy: await this.#users.of(namespace, adoptable, signal) }
  }
}

/** What uses claims, by live lists. Those who are looked at one after the other share the lists of a namespace. */
export class ClaimUsers {
  readonly #client: KubeClient
  readonly #clock: Clock
  /** By namespace. */
  readonly #users = new Map<string, { readonly users: Users; readonly atMs: number }>()

  constructor({ client, clock }: { readonly client: KubeClient; readonly clock: Clock }) {
    this.#client = client
    this.#clock = clock
  }

  /** Returns what has an object as a disk, or mounts it, as `VirtualMachine kali`; undefined if nothing does. Throws ApiError. */
  async of(namespace: string, adoptable: Adoptable, signal: AbortSignal): Promise<string | undefined> {
    const before = this.#users.get(namespace)
    if (before !== undefined && this.#clock.monotonic() - before.atMs < ROUND_MS) return userIn(before.users, adoptable)
    const users = await usersIn(this.#client, namespace, signal)
    this.#users.set(namespace, { users, atMs: this.#clock.monotonic() })
    return userIn(users, adoptable)
  }

  forget(): void {
    this.#users.clear()
  }
}

/** Returns whether somebody checks who may have a disk adopted, by a live read. Throws ApiError. */
export async function readAdoptionRule(
  client: KubeClient,
  signal: AbortSignal,
): Promise<Pick<AdoptionFacts, 'fault' | 'checkedSince' | 'rule'>> {
  const rule = await readAdmissionRule(client, RULE, signal)
  return 'identity' in rule
    ? { fault: undefined, checkedSince: rule.since, rule: shortHash([rule.identity]) }
    : { fault: rule, checkedSince: undefined, rule: undefined }
}

/** Returns a live read that tells whether anything owns an object, or uses it. It throws ApiError. */
export function isSharedBy(client: KubeClient) {
  return async ({ kind, namespace, name }: Unshared['unshared'], signal: AbortSignal): Promise<boolean> => {
    const adoptable = { kind: kind as AdoptableKind, name }
    const objects = await readObjects(client, namespace, adoptable, signal)
    if (ownedRefusal(adoptable, objects) !== undefined) return true
    return userIn(await usersIn(client, namespace, signal), adoptable) !== undefined
  }
}

async function readWithoutUser(
  client: KubeClient,
  namespace: string,
  adoptable: Adoptable,
  signal: AbortSignal,
): Promise<AdoptionFacts> {
  return {
    ...(await readAdoptionRule(client, signal)),
    ...(await readObjects(client, namespace, adoptable, signal)),
    usedBy: undefined,
  }
}

async function readObjects(
  client: KubeClient,
  namespace: string,
  { kind, name }: Adoptable,
  signal: AbortSignal,
): Promise<Pick<AdoptionFacts, 'object' | 'claim'>> {
  const key = { namespace, name }
  const object = await find(client, ADOPTABLE_TYPES[kind], key, { signal })
  const claim = kind === 'DataVolume' ? await find(client, PERSISTENT_VOLUME_CLAIM, key, { signal }) : undefined
  return {
    object: object && viewAdopted(object, kind),
    claim: claim && viewAdopted(claim, 'PersistentVolumeClaim'),
  }
}

/** By claim: what has it as a disk, or mounts it. */
type Users = ReadonlyMap<string, string>

function userIn(users: Users, { kind, name }: Adoptable): string | undefined {
  return kind === 'VolumeSnapshot' ? undefined : users.get(name)
}

async function usersIn(client: KubeClient, namespace: string, signal: AbortSignal): Promise<Users> {
  const users = new Map<string, string>()
  const reads = [
    [POD, claimsOfPod],
    [KUBEVIRT_VIRTUAL_MACHINE, claimsOfMachine],
  ] as const
  for (const [type, claimsOf] of reads) {
    const project = (object: KubeObject) => claimsOf(object).map((claim) => [claim, titleOf(object, type)] as const)
    for await (const used of listAll(client, type, { namespace, signal, project }))
      for (const [claim, user] of used) users.set(claim, user)
  }
  return users
}

/** Lists do not name the kind of each object. */
function titleOf({ metadata }: KubeObject, { kind }: ResourceType): string {
  return `${kind} ${metadata.name}`
}
