import { ApiObject, type ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { DNS_LABEL } from '../api/shared.ts'
import { parseVirtualMachineSpec, type VirtualMachineSpecInput, virtualMachine } from '../api/virtual-machine.ts'
import { checkedSpec } from './checked-spec.ts'

export interface VirtualMachineProps extends VirtualMachineSpecInput {
  /** `name` is needed: it names the machine in KubeVirt too. A DNS-1123 label of at most 63 characters. */
  readonly metadata: ApiObjectMetadata & { readonly name: string }
}

/**
 * A virtual machine whose disk is cloned from a VMDiskImage. Throws at synth, naming field and fix, on what the API server would refuse.
 */
export class VirtualMachine extends ApiObject {
  constructor(scope: Construct, id: string, { metadata, ...written }: VirtualMachineProps) {
    const place = `${scope.node.path}/${id}`
    if (!new RegExp(DNS_LABEL).test(metadata.name)) {
      throw new Error(
        `${place}: metadata.name: ${JSON.stringify(metadata.name)} must be lower-case letters, digits and "-", at most 63`,
      )
    }
    const { apiVersion, kind, spec: schema } = virtualMachine
    const spec = checkedSpec({ place, kind, schema, spec: written, parsed: parseVirtualMachineSpec(written) })
    super(scope, id, { apiVersion, kind, metadata, spec })
  }
}
