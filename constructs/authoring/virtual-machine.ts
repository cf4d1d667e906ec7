import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'
import { dnsLabel } from '../api/shared.ts'
import { parseVirtualMachineSpec, type VirtualMachineSpec, virtualMachine } from '../api/virtual-machine.ts'
import { imagesOfApp, unknownImage } from './app-problems.ts'
import type { AuthorWarning } from './author-warning.ts'
import { AuthoredObject, writtenSpecOf } from './checked-spec.ts'
import { addKindWords } from './kind-words.ts'
import { guestRemarks, plainPasswords } from './lab-remarks.ts'
import type { ImageOfApp } from './lab-vm.ts'
import { namedBy } from './named-by.ts'
import type { AuthoredImage } from './node-problems.ts'
import type { VirtualMachineSpecInput } from './spec-props.ts'

/** What machine is wanted: the fields of the spec of a VirtualMachine, beside the metadata. */
export interface VirtualMachineProps extends Omit<VirtualMachineSpecInput, 'vmDiskImageRef'> {
  /** Image that the root disk is cloned from, such as `release.image('kali')`, a `VMDiskImage` of the program, or its name and namespace. */
  readonly vmDiskImageRef: VirtualMachineSpecInput['vmDiskImageRef'] | ImageOfApp
  /** Default: the name is the id of the construct. It also names the machine in KubeVirt. A DNS-1123 label of at most 63 characters. */
  readonly metadata?: ApiObjectMetadata
}

/**
 * A virtual machine whose disk is cloned from a VMDiskImage. Throws at synth, naming field and fix, if the API server would refuse the object.
 * @example
 * ```ts
 * import { VirtualMachine } from '@open-terrain/constructs'
 * import { Size } from 'cdk8s'
 *
 * new VirtualMachine(chart, 'build', {
 *   metadata: { name: 'build', namespace: 'team-a' },
 *   vmDiskImageRef: { name: 'debian-13', namespace: 'vmdi-farm' },
 *   resources: { cpu: 2, memory: Size.gibibytes(4) },
 *   users: [{ name: 'alice', passwordSecretRef: { name: 'logins', key: 'alice' }, lock_passwd: false }],
 * })
 * ```
 */
export class VirtualMachine extends AuthoredObject {
  constructor(scope: Construct, id: string, props: VirtualMachineProps) {
    super(
      scope,
      id,
      { resource: virtualMachine, name: dnsLabel(), parse: parseVirtualMachineSpec },
      namedBy(id, withImage(props)),
    )
    // Every object that names an image asks for them.
    let claims: readonly AuthoredImage[] | undefined
    addKindWords(this, {
      authoredImages: () => (claims ??= imagesIn(writtenSpecOf(this), this.metadata.namespace)),
      specWarnings: (spec) => this.#warnings(spec as VirtualMachineSpec),
    })
  }

  /** What an author should know about a spec that is valid. */
  #warnings(machine: VirtualMachineSpec): readonly AuthorWarning[] {
    const { isMaker, names, sizes } = imagesOfApp(this.node.root)
    const { vmDiskImageRef: ref, vmDiskImageTemplate: template } = machine
    const isUnknown = isMaker && template === undefined && !names.has(ref.name)
    const size = sizes.get(ref.name) ?? template?.diskSize
    const unknown = { id: 'UnknownImage', message: unknownImage(ref.name, names, 'acknowledge this') }
    const told = [...guestRemarks(machine, size), ...plainPasswords(machine), ...(isUnknown ? [unknown] : [])]
    return told.map((one) => ({ at: this, ...one }))
  }
}

function imagesIn(written: unknown, own: string | undefined): readonly AuthoredImage[] {
  const spec = parseVirtualMachineSpec(written)
  if (!spec.ok || spec.spec.vmDiskImageTemplate === undefined) return []
  const { vmDiskImageRef: ref, vmDiskImageTemplate: settings } = spec.spec
  return [{ namespace: ref.namespace ?? own, image: ref.name, settings }]
}

/** Returns the props with the image as a manifest has it. What is wrong with them is reported later. */
function withImage(props: VirtualMachineProps): unknown {
  const ref: unknown = props?.vmDiskImageRef
  if (typeof ref !== 'object' || ref === null || !('imageName' in ref)) return props
  const { imageName: name, imageNamespace: namespace } = ref as ImageOfApp
  return { ...props, vmDiskImageRef: { name, ...(namespace !== undefined && { namespace }) } }
}
