import {
  POLICY_DEFAULTS,
  type Policy,
  parseVirtualMachineSpec,
  type VirtualMachineStatus,
} from '@open-terrain/constructs'
import type { ObjectMeta } from '../../kube/kube-object.ts'
import { toTime } from '../../runtime/conditions.ts'
import { START } from '../../runtime/times.fixtures.ts'
import { aClaim, aDisk, aStorageClass } from './machine-disks.fixtures.ts'
import { aMachine, anImage, anInstance, aSecret, aVM, cloudInitOf, SPEC } from './machine-objects.fixtures.ts'
import type { CloudInit, MachineWorld } from './world.ts'

export const NO_PASSWORD = {
  kind: 'missing',
  message: 'the password of user "demo" is not there',
} as const satisfies CloudInit

export interface WorldOverrides extends Omit<Partial<MachineWorld>, 'vm' | 'policy' | 'spec'> {
  readonly metadata?: Partial<ObjectMeta>
  readonly status?: VirtualMachineStatus
  /** Laid over {@link SPEC}; undefined members are left out. */
  readonly spec?: Readonly<Record<string, unknown>>
  readonly policy?: Partial<Policy>
}

/** A world with an image that is ready, in which nothing exists yet of a machine, and nothing stands in its way. */
export function aWorld({ metadata, status = {}, spec = {}, policy, ...more }: WorldOverrides = {}): MachineWorld {
  const vm = aVM(metadata, { status, spec: given({ ...SPEC, ...spec }) })
  return {
    vm,
    spec: parseVirtualMachineSpec(vm.spec),
    policy: { ...POLICY_DEFAULTS, ...policy },
    namespaceTerminating: false,
    hasDataVolumes: true,
    hasKubeVirt: true,
    image: anImage(),
    isImageShared: false,
    imageNamespace: 'there',
    clone: undefined,
    storageClass: aStorageClass(),
    hasCloneSource: true,
    claim: undefined,
    foreignClaim: undefined,
    secret: undefined,
    machine: undefined,
    instance: undefined,
    conflict: undefined,
    orphan: undefined,
    leaving: undefined,
    cloudInit: cloudInitOf(vm),
    refusal: undefined,
    obstacle: undefined,
    ...more,
  }
}

/** Without the members that are undefined. */
export function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** A world in which the machine runs. */
export function aRunningWorld(more: WorldOverrides = {}): MachineWorld {
  const children = { clone: aDisk(), claim: aClaim(), machine: aMachine(), instance: anInstance() }
  const world = aWorld({ ...children, status: { observedGeneration: 1, bootedAt: toTime(START) }, ...more })
  return 'secret' in more ? world : { ...world, secret: aSecret(world.cloudInit) }
}
