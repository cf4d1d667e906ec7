/** Source types from which CDI can fetch an image with only the fields of the spec. */
export const SOURCE_TYPES = ['s3', 'http', 'registry', 'gcs', 'blank'] as const
/** One of `SOURCE_TYPES`. */
export type SourceType = (typeof SOURCE_TYPES)[number]
