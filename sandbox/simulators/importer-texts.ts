import { STATUS_CODES } from 'node:http'
import { publicUrl } from './transfer.ts'

/** Messages of CDI's importer, by source. The operator distinguishes permanent from transient errors by these texts. */

export function refusedText(sourceType: string, url: string, status: number, requestId: string): string {
  switch (sourceType) {
    case 's3':
      // The importer writes a line break as a space.
      return `Unable to connect to s3 data source: could not get s3 object: "${objectName(url)}": ${s3Error(status)} \tstatus code: ${status}, request id: ${requestId}, host id: ${requestId}`
    case 'gcs':
      return `Unable to connect to gcs data source: ${gcsError(status)}`
    case 'registry':
      return registryText(registryError(url, status))
    default:
      return `Unable to connect to http data source: expected status code 200, got ${status}. Status: ${statusLine(status)}`
  }
}

export const TRUNCATED_TEXT =
  'Unable to process data: Unable to transfer source data to target file: failed to pull image: unexpected EOF'

export function unreachableText(sourceType: string, url: string, cause: string): string {
  const error = `Get "${publicUrl(url)}": ${cause}`
  if (sourceType === 'registry') return registryText(`pinging container registry ${imageName(url)}: ${error}`)
  return `Unable to connect to ${sourceType} data source: ${error}`
}

export function checksumText(expected: string, actual: string): string {
  return `Unable to process data: checksum mismatch: expected ${expected}, got ${actual}`
}

function registryText(error: string): string {
  return `Unable to process data: Unable to transfer source data to scratch space: Failed to read registry image: failed to pull image: ${error}`
}

function imageName(url: string): string {
  return publicUrl(url).replace(/^docker:\/\//, '')
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
  const [name = '', tag = 'latest'] = imageName(url).split(/:(?=[^/:]+$)/)
  const reading = `reading manifest ${tag} in ${name}`
  if (status === 404) return `${reading}: manifest unknown`
  if (status === 401) return `${reading}: authentication required`
  if (status === 403) return `${reading}: requested access to the resource is denied`
  return `${reading}: received unexpected HTTP status: ${statusLine(status)}`
}
