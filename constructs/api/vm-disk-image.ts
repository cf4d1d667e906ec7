import { z } from 'zod'
import { defineResource } from '../schema/define-resource.ts'
import { ageColumn, MESSAGE_COLUMN, phaseColumn, queueColumns, reasonColumn } from './columns.ts'
import { imageFields, policyDefault, sourceRules } from './image-source.ts'
import { shortHash } from './names.ts'
import { type Parsed, parseSpec } from './parse-spec.ts'
import { RECLAIM_POLICIES } from './policy-fields.ts'
import { parseQuantity } from './quantity.ts'
import { cel, duration, GROUP, maybeFlag, text, VERSION } from './shared.ts'
import { VM_DISK_IMAGE_CONDITION_RULES, vmDiskImageStatus } from './vm-disk-image-status.ts'

export { RECLAIM_POLICIES, type ReclaimPolicy } from './policy-fields.ts'
export { SOURCE_TYPES, type SourceType } from './source-type.ts'
export { REASON_HELP, REASONS, type Reason } from './vm-disk-image-reasons.ts'
export {
  type Artifact,
  type Attempt,
  PHASES,
  REQUESTER_MAX,
  VM_DISK_IMAGE_CONDITION_RULES,
  VM_DISK_IMAGE_CONDITIONS,
  type VMDiskImagePhase,
  type VMDiskImageStatus,
} from './vm-disk-image-status.ts'

const specFields = z.object({
  ...imageFields(policyDefault),
  name: text('name', 253)
    .describe(
      'Display name, for example the name of the machine that uses the image. It is a column of kubectl get -o wide, and the label pelotech.ot/name of the objects that are created for the image. It has no other effect.',
    )
    .meta({ example: 'kali' })
    .optional(),
  reclaimPolicy: z
    .enum(RECLAIM_POLICIES)
    .describe(
      'What happens to the image when nothing refers to it any more. Default: the policy key reclaimPolicy for images that the operator ' +
        'made for a virtual machine, a Workspace or a DataSync, userReclaimPolicy (Retain, where it is not set) for all others.',
    )
    .optional(),
  unreferencedTTL: duration()
    .describe(
      'Only with reclaimPolicy Delete: how long the image is kept after the last reference was removed, such as 72h, whatever its phase. 0s ' +
        'deletes it at that moment. For an image that nothing has referred to yet the time begins when its download is over, and 0s never ' +
        'deletes it. Default: the policy key unreferencedTTL, or userUnreferencedTTL.',
    )
    .optional(),
  suspend: maybeFlag('True: start no download and stop a running one. The artifact stays. Default: false.'),
})

type SpecFields = z.output<typeof specFields>

const spec = cel(
  specFields,
  ...sourceRules.map(({ rule, message, field, holds }) => ({
    rule: rule('self', "(has(self.sourceType) ? self.sourceType : '')"),
    message,
    field,
    holds: (spec: SpecFields) => holds(spec, spec.sourceType),
  })),
  {
    rule: '!has(self.unreferencedTTL) || has(self.reclaimPolicy)',
    message:
      'unreferencedTTL says when an image with reclaimPolicy Delete is deleted: set reclaimPolicy too, or leave unreferencedTTL out',
    field: 'unreferencedTTL',
    holds: ({ unreferencedTTL, reclaimPolicy }: SpecFields) =>
      unreferencedTTL === undefined || reclaimPolicy !== undefined,
  },
).describe('What image is wanted, and how it is stored.')

export const vmDiskImage = defineResource({
  group: GROUP,
  version: VERSION,
  kind: 'VMDiskImage',
  plural: 'vmdiskimages',
  singular: 'vmdiskimage',
  shortNames: ['vmdi'],
  categories: ['ot'],
  namespaced: true,
  description:
    'A disk image that is kept in the cluster, ready to be cloned. The operator downloads it when its turn in the global queue comes, ' +
    'and publishes it as a DataSource of the same name.',
  spec,
  status: vmDiskImageStatus,
  conditions: VM_DISK_IMAGE_CONDITION_RULES,
  printerColumns: [
    phaseColumn('Current phase.'),
    reasonColumn('Why it is in this phase.'),
    ...queueColumns('.status.queuePosition', 'Place in the queue'),
    { name: 'Progress', type: 'string', jsonPath: '.status.progress', description: 'Progress of the download.' },
    {
      name: 'Attempt',
      type: 'integer',
      jsonPath: '.status.attempt',
      description: 'Number of the running or last attempt.',
    },
    {
      name: 'Refs',
      type: 'integer',
      jsonPath: '.status.references.count',
      description: 'How many objects refer to the image.',
    },
    ageColumn('image'),
    MESSAGE_COLUMN,
    {
      name: 'Machines',
      type: 'integer',
      jsonPath: '.status.references.machines',
      description: 'How many of the objects that refer to the image are virtual machines.',
      priority: 1,
    },
    {
      name: 'NextRetry',
      type: 'string',
      jsonPath: '.status.nextRetryTime',
      description: 'When the next attempt may start.',
      priority: 1,
    },
    {
      name: 'SpecName',
      type: 'string',
      jsonPath: '.spec.name',
      description: 'What the image is called elsewhere.',
      priority: 1,
    },
    { name: 'Size', type: 'string', jsonPath: '.spec.diskSize', description: 'Size of the disk.', priority: 1 },
    { name: 'URL', type: 'string', jsonPath: '.spec.url', description: 'Where the image is.', priority: 1 },
  ],
})

/** The spec as the operator reads it. */
export type VMDiskImageSpec = z.output<typeof spec>

export type ParsedSpec = Parsed<VMDiskImageSpec>

/** Validates a spec from any source. Returns at most one problem per field. Drops unknown fields. Never throws. */
export function parseVMDiskImageSpec(raw: unknown): ParsedSpec {
  return parseSpec(spec, raw)
}

/**
 * Returns an identifier of the content that a spec requests: 8 lowercase hexadecimal digits, a hash of url, sourceType, diskSize (in bytes, so that
 * `24Gi` and `24576Mi` are equal), storageClass, checksum and the refresh annotation. Policy defaults are not part of it.
 * @param syncRequestedAt value of annotation `ANNOTATIONS.syncRequestedAt`
 */
export function revisionOf(spec: VMDiskImageSpec, syncRequestedAt?: string): string {
  const bytes = spec.diskSize === undefined ? undefined : (parseQuantity(spec.diskSize)?.toString() ?? spec.diskSize)
  return shortHash([spec.url, spec.sourceType, bytes, spec.storageClass, spec.checksum, syncRequestedAt])
}
