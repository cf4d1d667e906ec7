import { z } from 'zod'
import { defineResource } from '../schema/define-resource.ts'
import { ageColumn, MESSAGE_COLUMN, phaseColumn, reasonColumn } from './columns.ts'
import { DATA_SYNC_CONDITION_RULES, dataSyncStatus, VMS_MAX } from './data-sync-status.ts'
import { imageFields, policyDefault, sourceRules } from './image-source.ts'
import { type Parsed, parseSpec } from './parse-spec.ts'
import { cel, GROUP, listMap, text, VERSION } from './shared.ts'
import type { VMDiskImageSpec } from './vm-disk-image.ts'

export { dataSyncImageName, type ImageTriple, triplesIn, withoutHash } from './data-sync-names.ts'
export { DATA_SYNC_REASON_HELP, DATA_SYNC_REASONS, type DataSyncReason } from './data-sync-reasons.ts'
export {
  DATA_SYNC_CONDITION_RULES,
  DATA_SYNC_CONDITIONS,
  DATA_SYNC_PHASES,
  type DataSyncImage,
  type DataSyncPhase,
  type DataSyncStatus,
  IMAGE_MESSAGE_MAX,
} from './data-sync-status.ts'

const vmFields = z.object({
  name: text('name', 63).describe(
    'Name of the vm, such as attacker: the last part of the name of its image, and spec.name of it.',
  ),
  ...imageFields((field) => `Default: spec.${field}.`),
})

type VmFields = z.output<typeof vmFields>

/** If a vm sets its own sourceType, its rules report its own field. The rules on the whole spec apply to the other vms. */
const vm = cel(
  vmFields,
  ...sourceRules.map(({ rule, message, field, holds }) => ({
    rule: `!has(self.sourceType) || (${rule('self', 'self.sourceType')})`,
    message,
    field,
    holds: (one: VmFields) => one.sourceType === undefined || holds(one, one.sourceType),
  })),
).describe('One vm of the workspace, and where its disk image comes from.')

/** The fields that vms can share. */
const {
  url: _url,
  checksum: _checksum,
  ...sharedFields
} = imageFields((field) => `Used for vms that do not set it. ${policyDefault(field)}`)

const specFields = z.object({
  workspaceId: text('workspaceId', 63).describe(
    'Identifier of the workspace, such as "035": the first part of the names of its images. A text: quote a number, or it loses its zeros.',
  ),
  version: text('version', 63)
    .describe(
      'Version of the workspace, such as 1.0.0: the second part of the names of its images. Images of different versions are kept beside each other. Default: none.',
    )
    .optional(),
  vms: listMap(z.array(vm).min(1).max(VMS_MAX), 'name', 'The vms of the workspace: each has one VMDiskImage.'),
  ...sharedFields,
})

type SpecFields = z.output<typeof specFields>

const spec = cel(
  specFields,
  ...sourceRules.map(({ rule, message, field, holds }) => ({
    rule: `self.vms.all(vm, has(vm.sourceType) || (${rule('vm', "(has(self.sourceType) ? self.sourceType : '')")}))`,
    message: `${message}: spec.sourceType applies to vms without their own sourceType`,
    field: 'vms',
    holds: ({ vms, sourceType }: SpecFields) =>
      vms.every((one) => one.sourceType !== undefined || holds(one, sourceType)),
    finds: ({ vms, sourceType }: SpecFields) =>
      vms.flatMap((one, at) =>
        one.sourceType !== undefined || holds(one, sourceType)
          ? []
          : [{ path: ['vms', at, field], message: `${message}: give it its own sourceType, or another ${field}` }],
      ),
  })),
).describe('Which images a workspace needs, and where they come from.')

export const dataSync = defineResource({
  group: GROUP,
  version: VERSION,
  kind: 'DataSync',
  plural: 'datasyncs',
  singular: 'datasync',
  shortNames: ['dsync'],
  categories: ['ot'],
  namespaced: true,
  description:
    'The disk images that one version of a workspace needs. The operator makes a VMDiskImage for each vm in the namespace of the DataSync, keeps it as ' +
    'this spec says, and reports their progress. DataSyncs of the same workspace, version and vm share an image.',
  spec,
  status: dataSyncStatus,
  conditions: DATA_SYNC_CONDITION_RULES,
  printerColumns: [
    phaseColumn('Current phase.'),
    reasonColumn('Why the DataSync is in this phase.'),
    { name: 'Images', type: 'string', jsonPath: '.status.ready', description: 'Images that are ready, of all.' },
    {
      name: 'Progress',
      type: 'string',
      jsonPath: '.status.progress',
      description: 'Progress of all downloads together.',
    },
    ageColumn('DataSync'),
    MESSAGE_COLUMN,
    { name: 'Workspace', type: 'string', jsonPath: '.spec.workspaceId', description: 'The workspace.', priority: 1 },
    { name: 'Version', type: 'string', jsonPath: '.spec.version', description: 'Its version.', priority: 1 },
  ],
})

/** The spec as the operator reads it. */
export type DataSyncSpec = z.output<typeof spec>
export type DataSyncVm = DataSyncSpec['vms'][number]

/** The fields of an image that a DataSync sets. All others are left to people: `suspend`, and how the image is removed. */
export const DATA_SYNC_IMAGE_FIELDS = [
  'name',
  'url',
  'sourceType',
  'diskSize',
  'storageClass',
  'snapshotClass',
  'secretRef',
  'certConfigMap',
  'checksum',
] as const satisfies readonly (keyof VMDiskImageSpec)[]

export type ParsedDataSyncSpec = Parsed<DataSyncSpec>

/** Validates a spec from any source. Returns at most one problem per field. Drops unknown fields. Never throws. */
export function parseDataSyncSpec(raw: unknown): ParsedDataSyncSpec {
  return parseSpec(spec, raw)
}
