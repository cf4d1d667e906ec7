import { POLICY_DEFAULTS, type Policy, parseVMDiskImageSpec, type VMDiskImageStatus } from '@open-terrain/constructs'
import type { References } from '../../images/references.ts'
import { given, type ObjectOverrides } from '../../runtime/plan-walk.fixtures.ts'
import { anImage, SPEC } from './image-objects.fixtures.ts'
import { type ImageWorld, type Lookup, NOTHING_SEEN } from './world.ts'

export interface Missing {
  readonly secrets?: readonly string[]
  readonly configMaps?: readonly string[]
  readonly storageClasses?: readonly string[]
  readonly snapshotClasses?: readonly string[]
}

export function aLookup(missing: Missing = {}, more: Partial<Lookup> = {}): Lookup {
  return {
    secret: (name) => !missing.secrets?.includes(name),
    configMap: (name) => !missing.configMaps?.includes(name),
    storageClass: (name) => !missing.storageClasses?.includes(name),
    hasDefaultStorageClass: true,
    snapshotClass: (name) => !missing.snapshotClasses?.includes(name),
    hasEmptyProfile: () => false,
    lackOfRoom: () => undefined,
    foreignVolume: () => undefined,
    leftoverClaim: () => 'none',
    leftoverImporter: () => undefined,
    foreignSnapshot: () => false,
    ...more,
  }
}

export const NO_REFERENCES: References = { count: 0, names: [], users: [] }

export const ONE_USER: References = { count: 1, names: ['VirtualMachine/a/vm'], users: ['VirtualMachine/a/vm'] }

export function aPolicy(more: Partial<Policy> = {}): Policy {
  return { ...POLICY_DEFAULTS, ...more }
}

export type WorldOverrides = Omit<Partial<ImageWorld>, 'image' | 'policy' | 'spec'> & ObjectOverrides<VMDiskImageStatus>

/** Returns a world in which nothing blocks a new image. */
export function aWorld({ metadata, status = {}, spec = {}, policy, ...more }: WorldOverrides = {}): ImageWorld {
  const wanted = given({ ...SPEC, ...spec })
  return {
    image: anImage(metadata, { status, spec: wanted }),
    spec: parseVMDiskImageSpec(wanted),
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
