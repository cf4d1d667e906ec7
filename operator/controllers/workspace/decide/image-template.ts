import {
  fillImageUrl,
  type Policy,
  parseVMDiskImageSpec,
  problemsText,
  type SourceType,
  type VMDiskImageSpec,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs'

/** What an image that does not exist is made from, or why it cannot be made. */
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

/** Of the machines that have an image, the first that says where it comes from; else what the policy makes of the first of them. */
export function imageTemplate({ vms = [] }: WorkspaceSpec, policy: Policy, name: string): ImageTemplate {
  const machines = vms.filter(({ backingVMDiskImage }) => backingVMDiskImage === name)
  const own = machines.find(({ vmDiskImageTemplate }) => vmDiskImageTemplate !== undefined)?.vmDiskImageTemplate
  if (own !== undefined) return { spec: own, from: 'vmDiskImageTemplate' }
  const [machine] = machines
  if (machine === undefined || policy.imageUrlTemplate === undefined)
    return { spec: undefined, lacks: 'its machine has no vmDiskImageTemplate, and the policy no imageUrlTemplate' }
  return templateByPolicy(policy, policy.imageUrlTemplate, machine)
}

function templateByPolicy(policy: Policy, urlTemplate: string, machine: WorkspaceVm): ImageTemplate {
  const { name, version, baseVm, baseVmVersion, diskSize } = machine
  const filled = fillImageUrl(urlTemplate, { name, version, baseVm, baseVmVersion })
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
