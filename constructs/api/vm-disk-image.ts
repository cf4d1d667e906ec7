import { z } from 'zod'
import { celMatches } from '../schema/cel.ts'
import { defineResource } from '../schema/define-resource.ts'
import { shortHash } from './names.ts'
import { type Parsed, parseSpec } from './parse-spec.ts'
import { parseQuantity } from './quantity.ts'
import { cel, duration, GROUP, matching, objectName, text, VERSION } from './shared.ts'
import { diskSizeField } from './sizes.ts'
import { isUrlOf, URL_MAX_LENGTH, URL_PATTERNS } from './source-url.ts'
import { vmDiskImageStatus } from './vm-disk-image-status.ts'

export { REASON_HELP, REASONS, type Reason, type ReasonHelp } from './vm-disk-image-reasons.ts'
export {
  type Artifact,
  type Attempt,
  PHASES,
  type VMDiskImagePhase,
  type VMDiskImageStatus,
} from './vm-disk-image-status.ts'

/** What CDI can fetch an image from with no more than the fields of the spec. */
export const SOURCE_TYPES = ['s3', 'http', 'registry', 'gcs', 'blank'] as const
export type SourceType = (typeof SOURCE_TYPES)[number]

export const RECLAIM_POLICIES = ['Retain', 'Delete'] as const
export type ReclaimPolicy = (typeof RECLAIM_POLICIES)[number]

const SCHEMES_OF: Readonly<Record<Exclude<SourceType, 'blank'>, string>> = {
  s3: '^https?://',
  http: '^https?://',
  gcs: '^(https?|gs)://',
  registry: '^(docker|oci-archive)://',
}

const CHECKSUM_PATTERN = '^(md5:[0-9a-f]{32}|sha1:[0-9a-f]{40}|sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$'

const url = cel(
  z.string().min(1).max(URL_MAX_LENGTH),
  {
    rule: celMatches('self', URL_PATTERNS.scheme),
    message:
      'url must start with https://, http://, gs://, docker:// or oci-archive:// in lower case; an S3 object is written ' +
      'https://s3.<region>.amazonaws.com/<bucket>/<key>',
    holds: isUrlOf.knownScheme,
  },
  {
    rule: `!${celMatches('self', URL_PATTERNS.userinfo)}`,
    message:
      'url must not contain a user or password (nor an "@" before the path): put credentials in a Secret and name it in secretRef',
    holds: isUrlOf.noUserinfo,
  },
  {
    rule: `!${celMatches('self', URL_PATTERNS.scheme)} || ${celMatches('self', URL_PATTERNS.shape)}`,
    message:
      'url must be <scheme>://<host>[:<port>]/<path> in printable ASCII without blanks and backslashes (escape others as %XX)',
    holds: (text: string) => !isUrlOf.knownScheme(text) || isUrlOf.shape(text),
  },
  {
    rule: `!${celMatches('self.lowerAscii()', URL_PATTERNS.numericHost)} || ${celMatches('self.lowerAscii()', URL_PATTERNS.dottedQuad)}`,
    message: 'url must write an IPv4 address as four decimal numbers without leading zeros, or use a host name',
    holds: isUrlOf.plainAddress,
  },
  {
    rule: `!${celMatches('self.lowerAscii()', URL_PATTERNS.localHost)}`,
    message: 'url must not point to a loopback, link-local or metadata address',
    holds: isUrlOf.remoteHost,
  },
)

const diskSize = diskSizeField(
  'Size of the disk, at least the virtual size of the image, as a quantity such as 24Gi. Default: the policy key defaultDiskSize.',
)

const specFields = z.object({
  storageClass: objectName()
    .describe(
      'Storage class of the volume. Default: the policy key defaultStorageClass, else the default class of the cluster.',
    )
    .optional(),
  snapshotClass: objectName()
    .describe(
      'Volume snapshot class. With one, the artifact is a VolumeSnapshot; without one (here and in the policy key defaultSnapshotClass), ' +
        'it is the volume itself. A new value takes a new snapshot without a download.',
    )
    .optional(),
  secretRef: objectName()
    .describe(
      'Name of a Secret in the same namespace with the credentials of the source (keys accessKeyId and secretKey). ' +
        'Default: the policy key defaultSecretRef.',
    )
    .optional(),
  name: text('name', 253)
    .describe(
      'What the image is called elsewhere, such as the name of the machine that it is for: a column of kubectl get -o wide, and as label pelotech.ot/name on what is made for the image. It has no effect otherwise.',
    )
    .optional(),
  url: url
    .describe(
      'Where the image is. Needed unless sourceType is blank. s3 and http: https:// or http:// (S3 in path style); gcs: gs://, https:// ' +
        'or http://; registry: docker:// or oci-archive://.',
    )
    .optional(),
  sourceType: z
    .enum(SOURCE_TYPES)
    .describe('What kind of server url points to; blank is an empty disk. Default: the policy key defaultSourceType.')
    .optional(),
  diskSize: diskSize.optional(),
  certConfigMap: objectName()
    .describe(
      'Name of a ConfigMap in the same namespace with the certificates that the server is trusted by (s3, http and registry). ' +
        'Default: the policy key defaultCertConfigMap.',
    )
    .optional(),
  checksum: matching(
    z.string().max(135),
    CHECKSUM_PATTERN,
    'must be md5:, sha1:, sha256: or sha512: and the lower-case hexadecimal digest in full',
  )
    .describe(
      'Checksum of the file as <algorithm>:<lower-case hexadecimal>, with md5, sha1, sha256 or sha512. Only for sourceType http.',
    )
    .optional(),
  reclaimPolicy: z
    .enum(RECLAIM_POLICIES)
    .describe(
      'What becomes of the image when nothing refers to it any more. Default: the policy key reclaimPolicy for images that the operator ' +
        'made for a virtual machine, userReclaimPolicy (Retain, where it is not set) for all others.',
    )
    .optional(),
  unreferencedTTL: duration()
    .describe(
      'Only with reclaimPolicy Delete: how long the image stays after the last reference went, such as 72h, in whatever state it is. 0s ' +
        'removes it at that moment. For an image that nothing has referred to yet the time begins when its download is over, and 0s never ' +
        'removes it. Default: the policy key unreferencedTTL, or userUnreferencedTTL.',
    )
    .optional(),
  suspend: z
    .boolean()
    .describe('True: start no download and stop a running one. The artifact stays. Default: false.')
    .optional(),
})

type SpecFields = z.output<typeof specFields>

const isScheme = (spec: SpecFields, type: keyof typeof SCHEMES_OF) =>
  spec.sourceType !== type || spec.url === undefined || new RegExp(SCHEMES_OF[type]).test(spec.url)

const schemeRule = (type: keyof typeof SCHEMES_OF, wanted: string) => ({
  rule: `!has(self.sourceType) || self.sourceType != '${type}' || !has(self.url) || ${celMatches('self.url', SCHEMES_OF[type])}`,
  message: `url must start with ${wanted} for sourceType ${type}`,
  field: 'url',
  holds: (spec: SpecFields) => isScheme(spec, type),
})

const spec = cel(
  specFields,
  {
    rule: "has(self.url) || (has(self.sourceType) && self.sourceType == 'blank')",
    message: 'url is required unless sourceType is blank',
    field: 'url',
    holds: ({ url, sourceType }: SpecFields) => url !== undefined || sourceType === 'blank',
  },
  {
    rule: "!has(self.url) || !has(self.sourceType) || self.sourceType != 'blank'",
    message: 'url must be left out for sourceType blank, which is an empty disk',
    field: 'url',
    holds: ({ url, sourceType }: SpecFields) => url === undefined || sourceType !== 'blank',
  },
  schemeRule('s3', 'https:// or http://'),
  schemeRule('http', 'https:// or http://'),
  schemeRule('gcs', 'gs://, https:// or http://'),
  schemeRule('registry', 'docker:// or oci-archive://'),
  {
    rule: "!has(self.checksum) || (has(self.sourceType) && self.sourceType == 'http')",
    message: 'checksum is only verified for sourceType http: set sourceType to http, or leave checksum out',
    field: 'checksum',
    holds: ({ checksum, sourceType }: SpecFields) => checksum === undefined || sourceType === 'http',
  },
  {
    rule: '!has(self.unreferencedTTL) || has(self.reclaimPolicy)',
    message:
      'unreferencedTTL says when an image with reclaimPolicy Delete goes: set reclaimPolicy too, or leave unreferencedTTL out',
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
  printerColumns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Where the image is on its way.' },
    { name: 'Reason', type: 'string', jsonPath: '.status.reason', description: 'Why it is in this phase.' },
    {
      name: 'Queue',
      type: 'integer',
      jsonPath: '.status.queuePosition',
      description: 'Place in the queue; column AsOf says how old the number is.',
    },
    {
      name: 'AsOf',
      type: 'date',
      jsonPath: '.status.queuePositionTime',
      description: 'How old the place in the queue is.',
    },
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
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'When the image was created.' },
    { name: 'Message', type: 'string', jsonPath: '.status.message', description: 'What is going on.', priority: 1 },
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
/** The spec as people write it: `diskSize` may be a number of bytes. */
export type VMDiskImageSpecInput = z.input<typeof spec>

export type ParsedSpec = Parsed<VMDiskImageSpec>

/** Checks a spec that may come from anywhere: one problem per field. Unknown fields are dropped. Never throws. */
export function parseVMDiskImageSpec(raw: unknown): ParsedSpec {
  return parseSpec(spec, raw)
}

/**
 * Identity of the content that a spec asks for: 8 lower-case hexadecimal digits over url, sourceType, diskSize (as bytes, so that
 * `24Gi` and `24576Mi` are one), storageClass, checksum and the refresh annotation. Policy defaults are not part of it.
 * @param syncRequestedAt value of annotation `ANNOTATIONS.syncRequestedAt`
 */
export function revisionOf(spec: VMDiskImageSpec, syncRequestedAt?: string): string {
  const bytes = spec.diskSize === undefined ? undefined : (parseQuantity(spec.diskSize)?.toString() ?? spec.diskSize)
  return shortHash([spec.url, spec.sourceType, bytes, spec.storageClass, spec.checksum, syncRequestedAt])
}
