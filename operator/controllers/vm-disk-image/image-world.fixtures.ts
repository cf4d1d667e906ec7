import { POLICY_DEFAULTS, type Policy, type VMDiskImageStatus } from '@open-terrain/constructs'
import { NOTHING_SEEN } from '../../cluster/import-facts.ts'
import { parsedImageSpec } from '../../images/image-view.ts'
import type { References } from '../../images/references.ts'
import { given, type ObjectOverrides } from '../../runtime/plan-walk.fixtures.ts'
import { anImage, SPEC } from './image-objects.fixtures.ts'
import type { SecretContent } from './source-contents.ts'
import type { ImageWorld, Lookup } from './world.ts'

export interface Missing {
  readonly secrets?: readonly string[]
  readonly configMaps?: readonly string[]
  readonly storageClasses?: readonly string[]
  readonly snapshotClasses?: readonly string[]
}

/** A Secret that any source can use. */
const A_SECRET: SecretContent = {
  isPullSecret: false,
  keys: { accessKeyId: 'text', secretKey: 'text', 'credentials.json': 'JSON' },
}

export function aLookup(missing: Missing = {}, more: Partial<Lookup> = {}): Lookup {
  return {
    secret: (name) => !missing.secrets?.includes(name),
    secretContent: () => A_SECRET,
    configMap: (name) => !missing.configMaps?.includes(name),
    certificates: () => 'named',
    droppedFields: new Set(),
    storageClass: (name) => !missing.storageClasses?.includes(name),
    hasDefaultStorageClass: true,
    snapshotClass: (name) => !missing.snapshotClasses?.includes(name),
    driversApart: () => undefined,
    hasEmptyProfile: () => false,
    lackOfRoom: () => undefined,
    lackAfter: () => undefined,
    podQuotas: () => [],
    foreignVolume: () => undefined,
    leftoverClaim: () => 'none',
    leftoverImporter: () => undefined,
    foreignSnapshot: () => false,
    ...more,
  }
}

/** Returns a lookup in which one Secret has this content. */
export function withSecret(secret: string, content: SecretContent | undefined): Lookup {
  return aLookup({}, { secretContent: (name) => (name === secret ? content : A_SECRET) })
}

export const NO_REFERENCES: References = { count: 0, names: [], users: [] }

export const ONE_USER: References = { count: 1, names: ['VirtualMachine/a/vm'], users: ['VirtualMachine/a/vm'] }

export function aPolicy(more: Partial<Policy> = {}): Policy {
  return { ...POLICY_DEFAULTS, ...more }
}

export type WorldOverrides = Omit<Partial<ImageWorld>, 'image' | 'policy' | 'spec'> &
  ObjectOverrides<VMDiskImageStatus> &
  Pick<ImageWorld['image'], 'isCut'>

/** Returns a world in which nothing blocks a new image. */
export function aWorld({ metadata, status = {}, spec = {}, policy, isCut, ...more }: WorldOverrides = {}): ImageWorld {
  const image = anImage(metadata, { status, spec: given({ ...SPEC, ...spec }), ...(isCut && { isCut }) })
  return {
    image,
    spec: parsedImageSpec(image),
    policy: aPolicy(policy),
    namespaceTerminating: false,
    surroundings: { hasDataVolumes: true, hasSnapshots: true, hasDataSources: true },
    lookup: aLookup(),
    slot: undefined,
    isSlotKnown: true,
    limit: 4,
    queuePosition: 1,
    refusal: undefined,
    isCreateFailing: false,
    slotWaitsFor: undefined,
    dataVolumes: [],
    snapshots: [],
    claims: [],
    dataSource: undefined,
    observation: NOTHING_SEEN,
    isCdiAway: false,
    references: NO_REFERENCES,
    ...more,
  }
}
