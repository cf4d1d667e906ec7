import { shortHash } from './names.ts'

/** What an image of a DataSync is for: one machine of a workspace, in one version of it. */
export interface ImageTriple {
  readonly workspaceId: string
  readonly version?: string | undefined
  readonly vm: string
}

/** A spec that was not checked: it may break any rule. */
interface LooseSpec {
  readonly workspaceId?: unknown
  readonly version?: unknown
  readonly vms?: readonly ({ readonly name?: unknown } | null)[] | null
}

/** What the images are for that the stored spec of a DataSync names, whatever else is wrong with it: a rule that it breaks must take no image out of use. */
export function triplesIn(spec: unknown): ImageTriple[] {
  const { workspaceId, version, vms } = (spec ?? {}) as LooseSpec
  if (typeof workspaceId !== 'string' || !Array.isArray(vms)) return []
  const names: unknown[] = vms.map((vm) => vm?.name)
  const of = typeof version === 'string' ? version : undefined
  return names.filter((vm) => typeof vm === 'string').map((vm) => ({ workspaceId, version: of, vm }))
}

const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
/** `<workspaceId>-<vm>` or `<workspaceId>-<version>-<vm>`. What begins like a number is a version: 2, 1.0.0, v3. */
const READING = /^([^-]+)-(?:(v?[0-9][^-]*)-)?(.+)$/
/** As the other names end. */
const HASHED = /-[0-9a-f]{8}$/

/**
 * Name of the image of one vm of a DataSync: `<workspaceId>[-<version>]-<vm>` where that is the name of an object, and where it can be read
 * in one way only, such as `035-attacker` or `035-1.0.0-web-server`. Else it is made safe, and ends in a hash of the three: `1` with `2-3` and `1-2` with `3`
 * are different images. At most 200 characters.
 */
export function dataSyncImageName(triple: ImageTriple): string {
  const { workspaceId, version, vm } = triple
  const parts = version === undefined ? [workspaceId, vm] : [workspaceId, version, vm]
  const plain = parts.join('-')
  const isPlain = DNS_SUBDOMAIN.test(plain) && !HASHED.test(plain) && isReadAs(plain, triple)
  return isPlain ? plain : `${safe(plain)}-${shortHash([workspaceId, version, vm])}`
}

function isReadAs(name: string, { workspaceId, version, vm }: ImageTriple): boolean {
  const [, one, two, three] = READING.exec(name) ?? []
  return one === workspaceId && two === version && three === vm
}

function safe(text: string): string {
  const name = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, (run) => (run === '.' ? '.' : '-'))
  return name.replaceAll(/^[-.]+|[-.]+$/g, '') || 'image'
}
