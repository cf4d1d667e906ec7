import { z } from 'zod'
import { celMatches } from '../schema/cel.ts'
import { cel, matching, objectName } from './shared.ts'
import { diskSizeField } from './sizes.ts'
import { CERTIFICATE_ENDINGS, credentialsText } from './source-credentials.ts'
import { SOURCE_TYPES, type SourceType } from './source-type.ts'
import { isUrlOf, URL_MAX_LENGTH, URL_PATTERNS } from './source-url.ts'

/** The fields for the source and the storage of an image, and the rules between them, that VMDiskImage and DataSync share. */

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

/** Describes where the value of an omitted field comes from. */
export function policyDefault(field: string): string {
  return `Default: the policy key default${field.charAt(0).toUpperCase()}${field.slice(1)}.`
}

/** All fields are optional. @param defaultOf describes the default of an omitted field */
export function imageFields(defaultOf: (field: string) => string) {
  return {
    storageClass: objectName()
      .describe(
        `Storage class of the volume. Where nothing names one, it is the default class of the cluster. ${defaultOf('storageClass')}`,
      )
      .meta({ example: 'gp3' })
      .optional(),
    snapshotClass: objectName()
      .describe(
        'Volume snapshot class. With one, the artifact is a VolumeSnapshot; where nothing names one, it is the volume itself. A new value takes ' +
          `a new snapshot without a download. ${defaultOf('snapshotClass')}`,
      )
      .meta({ example: 'ebs-snapshot' })
      .optional(),
    secretRef: objectName()
      .describe(
        `Name of a Secret in the same namespace with the credentials of the source. Its keys depend on sourceType. ${credentialsText()}. ` +
          defaultOf('secretRef'),
      )
      .meta({ example: 'images-s3' })
      .optional(),
    url: url
      .describe(
        'Where the image is. Needed unless sourceType is blank. s3 and http: https:// or http:// (S3 in path style); gcs: gs://, https:// ' +
          'or http://; registry: docker:// or oci-archive://.',
      )
      .meta({ example: 'https://s3.us-gov-west-1.amazonaws.com/images/redblue/1.4.0/kali.qcow2' })
      .optional(),
    sourceType: z
      .enum(SOURCE_TYPES)
      .describe(`What kind of server url points to; blank is an empty disk. ${defaultOf('sourceType')}`)
      .optional(),
    diskSize: diskSizeField(
      `Size of the disk, at least the virtual size of the image, as a quantity such as 24Gi. ${defaultOf('diskSize')}`,
    ).optional(),
    certConfigMap: objectName()
      .describe(
        'Name of a ConfigMap in the same namespace with the certificates that the server is trusted by (s3, http and registry), in PEM. For ' +
          `registry, its keys end in ${CERTIFICATE_ENDINGS.join(' or ')}. ${defaultOf('certConfigMap')}`,
      )
      .meta({ example: 'site-ca' })
      .optional(),
    checksum: matching(
      z.string().max(135),
      CHECKSUM_PATTERN,
      'must be md5:, sha1:, sha256: or sha512: and the lower-case hexadecimal digest in full',
    )
      .describe(
        'Checksum of the file as <algorithm>:<lower-case hexadecimal>, with md5, sha1, sha256 or sha512. Only for sourceType http.',
      )
      .meta({ example: 'md5:9e107d9d372bb6826bd81d3542a419d6' })
      .optional(),
  }
}

interface Source {
  readonly url?: string | undefined
  readonly checksum?: string | undefined
}

/** A rule on a source. Its type may be set elsewhere, for example as a default for several sources. */
export interface SourceRule {
  /** CEL. @param item expression for the source. @param type expression for its type as a string, empty if the type is unknown */
  readonly rule: (item: string, type: string) => string
  readonly message: string
  readonly field: keyof Source
  readonly holds: (source: Source, type: SourceType | undefined) => boolean
}

const schemeRule = (type: keyof typeof SCHEMES_OF, wanted: string): SourceRule => ({
  rule: (item, actual) =>
    `${actual} != '${type}' || !has(${item}.url) || ${celMatches(`${item}.url`, SCHEMES_OF[type])}`,
  message: `url must start with ${wanted} for sourceType ${type}`,
  field: 'url',
  holds: ({ url: text }, actual) => actual !== type || text === undefined || new RegExp(SCHEMES_OF[type]).test(text),
})

export const sourceRules: readonly SourceRule[] = [
  {
    rule: (item, type) => `has(${item}.url) || ${type} == 'blank'`,
    message: 'url is required unless sourceType is blank',
    field: 'url',
    holds: ({ url: text }, type) => text !== undefined || type === 'blank',
  },
  {
    rule: (item, type) => `!has(${item}.url) || ${type} != 'blank'`,
    message: 'url must be left out for sourceType blank, which is an empty disk',
    field: 'url',
    holds: ({ url: text }, type) => text === undefined || type !== 'blank',
  },
  schemeRule('s3', 'https:// or http://'),
  schemeRule('http', 'https:// or http://'),
  schemeRule('gcs', 'gs://, https:// or http://'),
  schemeRule('registry', 'docker:// or oci-archive://'),
  {
    rule: (item, type) => `!has(${item}.checksum) || ${type} == 'http'`,
    message: 'checksum is only verified for sourceType http: set sourceType to http, or leave checksum out',
    field: 'checksum',
    holds: ({ checksum }, type) => checksum === undefined || type === 'http',
  },
]
