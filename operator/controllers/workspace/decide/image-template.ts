import {
  fillImageUrl,
  type Policy,
  parseVMDiskImageSpec,
  problemsText,
  type SourceType,
  type VMDiskImageSpec,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs/operator'

/** What a missing image is created from, or why it cannot be created. */
export type ImageTemplate =
  | { readonly spec: VMDiskImageSpec; readonly from: 'vmDiskImageTemplate' | 'imageUrlTemplate' }
  | { readonly spec: undefined; readonly lacks: string }

const BY_SCHEME: Readonly<Record<string, SourceType>> = {
  http: 'http',
  https: 'http',
  gs: 'gcs',
  docker: 'registry',
  'oci-archive': 'registry',
}

/**
 * Returns the first template among the machines with this image as their root disk, else what the policy renders for the first of these machines. An image
 * that only other disks name is made only where that needs nothing of a machine.
 */
export function imageTemplate({ vms = [] }: WorkspaceSpec, policy: Policy, name: string): ImageTemplate {
  const machines = vms.filter(({ backingVMDiskImage }) => backingVMDiskImage === name)
  const own = machines.find(({ vmDiskImageTemplate }) => vmDiskImageTemplate !== undefined)?.vmDiskImageTemplate
  if (own !== undefined) return { spec: own, from: 'vmDiskImageTemplate' }
  const [machine] = machines
  const { imageUrlTemplate } = policy
  if (machine !== undefined && imageUrlTemplate !== undefined)
    return templateByPolicy(policy, imageUrlTemplate, name, machine)
  if (machine !== undefined)
    return { spec: undefined, lacks: 'its machine has no vmDiskImageTemplate, and the policy no imageUrlTemplate' }
  const lacks = 'only disks of machines name it (vms[].disks), for which no image is made'
  const made = imageUrlTemplate === undefined ? undefined : templateByPolicy(policy, imageUrlTemplate, name, { name })
  const others = imageUrlTemplate?.split('{image}') ?? []
  const isOfImage = others.length > 1 && !others.some((part) => part.includes('{'))
  return made !== undefined && isOfImage ? made : { spec: undefined, lacks }
}

function templateByPolicy(
  policy: Policy,
  urlTemplate: string,
  image: string,
  machine: Pick<WorkspaceVm, 'name' | 'version' | 'baseVm' | 'baseVmVersion' | 'diskSize'>,
): ImageTemplate {
  const { name, version, baseVm, baseVmVersion, diskSize } = machine
  const filled = fillImageUrl(urlTemplate, { image, name, version, baseVm, baseVmVersion })
  if (!filled.ok)
    return { spec: undefined, lacks: `the policy key imageUrlTemplate gives no URL for vm ${name}: ${filled.problem}` }
  const sourceType = policy.defaultSourceType ?? BY_SCHEME[filled.url.slice(0, filled.url.indexOf(':'))]
  const size = policy.defaultDiskSize === undefined ? diskSize : undefined
  const parsed = parseVMDiskImageSpec({
    name,
    url: filled.url,
    ...(sourceType !== undefined && { sourceType }),
    ...(size !== undefined && { diskSize: size }),
  })
  if (parsed.ok) return { spec: parsed.spec, from: 'imageUrlTemplate' }
  return {
    spec: undefined,
    lacks: `the policy key imageUrlTemplate gives no image for vm ${name}: ${problemsText(parsed.problems)}`,
  }
}
