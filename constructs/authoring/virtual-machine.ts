import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { dnsLabel } from '../api/shared.ts'
import { parseVirtualMachineSpec, virtualMachine } from '../api/virtual-machine.ts'
import { AuthoredObject } from './checked-spec.ts'
import type { VirtualMachineSpecInput } from './spec-props.ts'

/** What machine is wanted: the fields of the spec of a VirtualMachine, beside the metadata. */
export interface VirtualMachineProps extends VirtualMachineSpecInput {
  /** `name` is required: it also names the machine in KubeVirt. A DNS-1123 label of at most 63 characters. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/** A virtual machine whose disk is cloned from a VMDiskImage. Throws at synth, naming field and fix, if the API server would refuse the object. */
export class VirtualMachine extends AuthoredObject {
  constructor(scope: Construct, id: string, props: VirtualMachineProps) {
    super(scope, id, { resource: virtualMachine, name: dnsLabel(), parse: parseVirtualMachineSpec }, props)
  }
}
