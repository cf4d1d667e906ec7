import type { Duration, Size } from 'cdk8s'
import { expect, it } from 'vitest'
import type { z } from 'zod'
import type { dataSync } from '../api/data-sync.ts'
import type { Policy, PolicyKeyName, PolicyValues } from '../api/policy.ts'
import type { POLICY_SCHEMA } from '../api/policy-schema.ts'
import type { virtualMachine } from '../api/virtual-machine.ts'
import type { vmDiskImage } from '../api/vm-disk-image.ts'
import type { workspace } from '../api/workspace.ts'
import type { workspaceSnapshot } from '../api/workspace-snapshot.ts'
import type {
  DataSyncSpecInput,
  VirtualMachineSpecInput,
  VMDiskImageSpecInput,
  WorkspaceSnapshotSpecInput,
  WorkspaceSpecInput,
} from './spec-props.ts'
import type { WorkspaceProps } from './workspace.ts'

/** A type whose lists and fields cannot be changed. */
type Fixed<T> = T extends readonly (infer Item)[]
  ? readonly Fixed<Item>[]
  : T extends object
    ? { readonly [Field in keyof T]: Fixed<T[Field]> }
    : T
/** A type without the classes that authors may give in the place of a text. */
type Plain<T> = T extends Size | Duration | Date
  ? never
  : T extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Plain<T[Field]> }
      : T
/** True for the same type alone: nothing optional, readonly or wider differs. Both are written out, since a name is not compared with its fields. */
type Same<A, B> =
  (<T>() => T extends Fixed<Plain<A>> ? 1 : 2) extends <T>() => T extends Fixed<B> ? 1 : 2 ? true : false
type Written<Resource extends { readonly spec: z.ZodType }> = z.input<Resource['spec']>

/** Durations are written as texts, all other values in their own type. */
type ValueOf<Field extends keyof Policy> = Field extends `${string}Ms` ? string : NonNullable<Policy[Field]>
type SchemaValues = { readonly [Key in PolicyKeyName]?: ValueOf<(typeof POLICY_SCHEMA)[Key]['field']> }

it('generated interfaces are what their schemas take, and stay so', () => {
  // The compiler is what checks here.
  const same: [
    Same<VMDiskImageSpecInput, Written<typeof vmDiskImage>>,
    Same<VirtualMachineSpecInput, Written<typeof virtualMachine>>,
    Same<DataSyncSpecInput, Written<typeof dataSync>>,
    Same<WorkspaceSpecInput, Written<typeof workspace>>,
    Same<WorkspaceSnapshotSpecInput, Written<typeof workspaceSnapshot>>,
    Same<PolicyValues, SchemaValues>,
  ] = [true, true, true, true, true, true]
  expect(same).not.toContain(false)
})

it('take lists that nobody can change', () => {
  const lab = {
    metadata: { name: 'lab' },
    networks: [{ name: 'mgmt', cidrs: ['10.10.0.0/24', 'fd00:10::/64'] }],
  } as const
  const props: WorkspaceProps = lab
  expect(props).toBe(lab)
})
