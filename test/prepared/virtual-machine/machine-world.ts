import { POLICY_DEFAULTS, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { toTime } from '../../../operator/base/time.ts'
import { parsedMachineSpec } from '../../../operator/controllers/virtual-machine/caches.ts'
import type { CloudInit, MachineWorld } from '../../../operator/controllers/virtual-machine/world.ts'
import { given, type ObjectOverrides } from '../runtime/plan-walk.ts'
import { START } from '../runtime/times.ts'
import { aClaim, aDisk, aStorageClass } from './machine-disks.ts'
import { aMachine, anImage, anInstance, aSecret, aVM, cloudInitOf, SPEC } from './machine-objects.ts'

export const NO_PASSWORD = {
  kind: 'missing',
  reason: 'MissingPasswordSecret',
  message: 'the password of user "demo" is not there',
  keys: [{ name: 'login', key: 'password' }],
} as const satisfies CloudInit

export type MachineWorldOverrides = Omit<Partial<MachineWorld>, 'vm' | 'policy' | 'spec'> &
  ObjectOverrides<VirtualMachineStatus> &
  Pick<MachineWorld['vm'], 'isCut'>

/** The machine has no children, and no other object has the name of one. */
export const WITHOUT_CHILDREN = {
  rootName: 'vm-root',
  next: undefined,
  old: undefined,
  otherRoots: [],
  clone: undefined,
  claim: undefined,
  foreignClaim: undefined,
  disks: [],
  diskClaims: [],
  diskClones: [],
  strayClones: [],
  secret: undefined,
  machine: undefined,
  instance: undefined,
  restoring: undefined,
  restoredClaim: undefined,
  isDiskElsewhere: false,
  isRestoredClaimLost: false,
  restoredAside: undefined,
  conflict: undefined,
  orphan: undefined,
  leaving: undefined,
} as const satisfies Partial<MachineWorld>

/** A world with a ready image, in which the machine has no children yet and nothing blocks it. */
export function aMachineWorld({
  metadata,
  status = {},
  spec = {},
  policy,
  isCut,
  ...more
}: MachineWorldOverrides = {}): MachineWorld {
  const vm = aVM(metadata, { status, spec: given({ ...SPEC, ...spec }), ...(isCut && { isCut }) })
  return {
    vm,
    spec: parsedMachineSpec(vm),
    policy: { ...POLICY_DEFAULTS, ...policy },
    namespaceTerminating: false,
    hasDataVolumes: true,
    hasKubeVirt: true,
    image: anImage(),
    isImageShared: false,
    imageClaims: [],
    imageNamespace: 'there',
    storageClass: aStorageClass(),
    hasCloneSource: true,
    ...WITHOUT_CHILDREN,
    cloudInit: cloudInitOf(vm),
    refusal: undefined,
    obstacle: undefined,
    neighbours: {},
    serverNow: START,
    ...more,
  }
}

/** A world in which the machine runs. */
export function aRunningWorld(more: MachineWorldOverrides = {}): MachineWorld {
  const children = { clone: aDisk(), claim: aClaim(), machine: aMachine(), instance: anInstance() }
  const world = aMachineWorld({ ...children, status: { observedGeneration: 1, bootedAt: toTime(START) }, ...more })
  return 'secret' in more ? world : { ...world, secret: aSecret(world.cloudInit) }
}
