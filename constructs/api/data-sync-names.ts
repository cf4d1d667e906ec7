import { shortHash } from './names.ts'
import { DNS_SUBDOMAIN } from './shared.ts'

/** What an image of a DataSync is for: one machine in one version of a workspace. */
export interface ImageTriple {
  readonly workspaceId: string
  readonly version?: string | undefined
  readonly vm: string
}

/** A spec that was not validated: it may break any rule. */
interface LooseSpec {
  readonly workspaceId?: unknown
  readonly version?: unknown
  readonly vms?: readonly ({ readonly name?: unknown } | null)[] | null
}

/** Returns a triple for each image that a stored spec names, even if the spec is invalid: a broken rule must not make an image unused. */
export function triplesIn(spec: unknown): ImageTriple[] {
  const { workspaceId, version, vms } = (spec ?? {}) as LooseSpec
  if (typeof workspaceId !== 'string' || !Array.isArray(vms)) return []
  const names: unknown[] = vms.map((vm) => vm?.name)
  const of = typeof version === 'string' ? version : undefined
  return names.filter((vm) => typeof vm === 'string').map((vm) => ({ workspaceId, version: of, vm }))
}

const OBJECT_NAME = new RegExp(DNS_SUBDOMAIN)
/** `<workspaceId>-<vm>` or `<workspaceId>-<version>-<vm>`. A part that begins like a number is a version: 2, 1.0.0, v3. */
const READING = /^([^-]+)-(?:(v?[0-9][^-]*)-)?(.+)$/
/** Three parts of at most 63 characters. A character can have more than one in lower case. */
const SAFE_MAX = 191
/** The suffix of names with a hash. */
const HASHED = /-[0-9a-f]{8}$/

/**
 * Returns the name of the image of one vm: `<workspaceId>[-<version>]-<vm>`, such as `035-attacker` or `035-1.0.0-web-server`, if that is a valid
 * object name that can be parsed in only one way. Otherwise the name is made valid and gets a hash of the three parts as suffix: `1` with `2-3` and
 * `1-2` with `3` are different images. At most 200 characters.
 */
export function dataSyncImageName(triple: ImageTriple): string {
  const { workspaceId, version, vm } = triple
  const parts = version === undefined ? [workspaceId, vm] : [workspaceId, version, vm]
  const plain = parts.join('-')
  const isPlain = OBJECT_NAME.test(plain) && !HASHED.test(plain) && isReadAs(plain, triple)
  return isPlain ? plain : `${safe(plain)}-${shortHash([workspaceId, version, vm])}`
}

/**
 * Reports whether a name is a shorter one with a hash: people who know the three parts write `lab-033-2.0.0-dc1`, and the image is
 * `lab-033-2.0.0-dc1-9cef6943`.
 */
export function isWithHash(name: string, shorter: string): boolean {
  return withoutHash(name) === shorter.toLowerCase()
}

/** Returns a name, or a key that ends in one, without its hash; undefined if it has none. */
export function withoutHash(name: string): string | undefined {
  return HASHED.test(name) ? name.replace(HASHED, '') : undefined
}

function isReadAs(name: string, { workspaceId, version, vm }: ImageTriple): boolean {
  const [, one, two, three] = READING.exec(name) ?? []
  return one === workspaceId && two === version && three === vm
}

function safe(text: string): string {
  const name = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, (run) => (run === '.' ? '.' : '-'))
  return name.slice(0, SAFE_MAX).replaceAll(/^[-.]+|[-.]+$/g, '') || 'image'
}
