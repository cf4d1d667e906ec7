import { STATUS_CODES } from 'node:http'
import { publicUrl } from './transfer.ts'

/** Messages of CDI's importer, by source. The operator distinguishes permanent from transient errors by these texts. */

export function refusedText(sourceType: string, url: string, status: number, requestId: string): string {
  switch (sourceType) {
    case 's3':
      return `Unable to connect to s3 data source: could not get s3 object: "${objectName(url)}": ${s3Error(status)}\n\tstatus code: ${status}, request id: ${requestId}, host id: ${requestId}`
    case 'gcs':
      return `Unable to connect to gcs data source: could not get GCS object: ${gcsError(status)}`
    case 'registry':
      return `Unable to connect to registry data source: Could not create image reader: ${registryError(url, status)}`
    default:
      return `Unable to connect to http data source: expected status code 200, got ${status}. Status: ${statusLine(status)}`
  }
}

export const TRUNCATED_TEXT = 'Unable to process data: Unable to transfer source data to target file: unexpected EOF'

export function unreachableText(sourceType: string, url: string, cause: string): string {
  return `Unable to connect to ${sourceType} data source: Get "${publicUrl(url)}": ${cause}`
}

export function checksumText(expected: string, actual: string): string {
  return `Unable to process data: checksum mismatch: expected ${expected}, got ${actual}`
}

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? ''}`.trim()
}

/** `bucket/key` of a path-style URL. */
function objectName(url: string): string {
  return new URL(url).pathname.replace(/^\//, '')
}

function s3Error(status: number): string {
  switch (status) {
    case 404:
      return 'NoSuchKey: The specified key does not exist.'
    case 403:
      return 'AccessDenied: Access Denied'
    case 503:
      return 'SlowDown: Please reduce your request rate.'
    default:
      return 'InternalError: We encountered an internal error. Please try again.'
  }
}

function gcsError(status: number): string {
  if (status === 404) return "storage: object doesn't exist"
  return `googleapi: got HTTP response code ${status} with body: ${STATUS_CODES[status] ?? ''}`
}

function registryError(url: string, status: number): string {
  const image = publicUrl(url).replace(/^docker:\/\//, '')
  if (status === 404) return `reading manifest in ${image}: manifest unknown`
  if (status === 401 || status === 403)
    return `reading manifest in ${image}: denied: requested access to the resource is denied`
  return `reading manifest in ${image}: received unexpected HTTP status: ${statusLine(status)}`
}
