import { POLICY_DEFAULTS, type Policy, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { NOTHING_SEEN } from '../../../operator/cluster/import-facts.ts'
import type { QuotaView } from '../../../operator/cluster/quotas.ts'
import { resolveSpec } from '../../../operator/controllers/vm-disk-image/decide/target.ts'
import type { SecretContent } from '../../../operator/controllers/vm-disk-image/source-contents.ts'
import type { ImageWorld, Lookup } from '../../../operator/controllers/vm-disk-image/world.ts'
import type { References } from '../../../operator/images/references.ts'
import { given, type ObjectOverrides } from '../runtime/plan-walk.ts'
import { anImage, SPEC } from './image-objects.ts'

/** A Secret that any source can use. */
const A_SECRET: SecretContent = {
  isPullSecret: false,
  keys: { accessKeyId: 'text', secretKey: 'text', 'credentials.json': 'JSON' },
}

/** Returns what is known of what an image names: all of it is there. */
export function aLookup(more: Partial<Lookup> = {}): Lookup {
  return {
    secret: A_SECRET,
    certificates: 'named',
    droppedFields: new Set(),
    hasStorageClass: true,
    hasEmptyProfile: false,
    hasSnapshotClass: true,
    driversApart: undefined,
    quotas: [],
    foreignVolume: undefined,
    foreignSlotVolume: undefined,
    leftoverClaim: 'none',
    leftoverImporter: undefined,
    hasForeignSnapshot: false,
    ...more,
  }
}

/** A quota that is used up, in the namespace of the image. */
export const FULL_QUOTA: QuotaView = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'q', namespace: 'team' },
  hard: { persistentvolumeclaims: '2' },
  used: { persistentvolumeclaims: '2' },
  spec: undefined,
}

export const NO_REFERENCES: References = { count: 0, names: [], users: [] }

export const ONE_USER: References = { count: 1, names: ['VirtualMachine/a/vm'], users: ['VirtualMachine/a/vm'] }

export function aPolicy(more: Partial<Policy> = {}): Policy {
  return { ...POLICY_DEFAULTS, ...more }
}

export type ImageWorldOverrides = Omit<Partial<ImageWorld>, 'image' | 'policy' | 'spec'> &
  ObjectOverrides<VMDiskImageStatus> &
  Pick<ImageWorld['image'], 'isCut'>

/** Returns a world in which nothing blocks a new image. */
export function anImageWorld({
  metadata,
  status = {},
  spec = {},
  policy,
  isCut,
  ...more
}: ImageWorldOverrides = {}): ImageWorld {
  const image = anImage(metadata, { status, spec: given({ ...SPEC, ...spec }), ...(isCut && { isCut }) })
  return {
    image,
    spec: resolveSpec(image, aPolicy(policy)),
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
    needless: new Map(),
    isCdiAway: false,
    references: NO_REFERENCES,
    ...more,
  }
}
