import { ApiError, classify } from '../../operator/kube/api-error.ts'
import type { ResourceType } from '../../operator/kube/kube-object.ts'

/** The errors of a real API server, with its messages. */

const resourceOf = ({ plural, group }: ResourceType): string => (group === '' ? plural : `${plural}.${group}`)

function answer(status: number, serverReason: string, message: string, causes: readonly string[] = []): ApiError {
  return new ApiError({ reason: classify(status, serverReason), status, serverReason, message, causes })
}

/** The kind is not served: a response without a Status. */
export function notServed({ plural }: ResourceType): ApiError {
  return answer(404, '', `${plural}: the API server answered 404`)
}

export function noSubresource(): ApiError {
  return answer(404, 'NotFound', 'the server could not find the requested resource')
}

export function internalError(message: string): ApiError {
  return answer(500, '', message)
}

export function notFound(type: ResourceType, name: string): ApiError {
  return answer(404, 'NotFound', `${resourceOf(type)} "${name}" not found`)
}

export function alreadyExists(type: ResourceType, name: string): ApiError {
  return answer(409, 'AlreadyExists', `${resourceOf(type)} "${name}" already exists`)
}

export function conflict(type: ResourceType, name: string, why?: string): ApiError {
  const modified = 'the object has been modified; please apply your changes to the latest version and try again'
  return answer(409, 'Conflict', `Operation cannot be fulfilled on ${resourceOf(type)} "${name}": ${why ?? modified}`)
}

/** The server names each cause twice. */
export function invalid(type: ResourceType, name: string, why: string, cause: string): ApiError {
  const kind = type.group === '' ? type.kind : `${type.kind}.${type.group}`
  return answer(422, 'Invalid', `${kind} "${name}" is invalid: ${why}`, [cause, cause])
}

export function badRequest(message: string): ApiError {
  return answer(400, 'BadRequest', message)
}

export function namespaceTerminating(type: ResourceType, name: string, namespace: string): ApiError {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  return answer(403, 'Forbidden', `${resourceOf(type)} "${name}" is forbidden: ${why}`, ['NamespaceTerminating'])
}

/** @param why the message of the admission plug-in */
export function forbidden(type: ResourceType, name: string, why: string): ApiError {
  return answer(403, 'Forbidden', `${resourceOf(type)} "${name}" is forbidden: ${why}`)
}

export function expired(message: string): ApiError {
  return answer(410, 'Expired', message)
}

/** The watch cache has not reached the requested resourceVersion yet. */
export function tooLarge(wanted: string, current: number): ApiError {
  return new ApiError({
    reason: classify(504, 'Timeout'),
    status: 504,
    serverReason: 'Timeout',
    message: `Timeout: Too large resource version: ${wanted}, current: ${current}`,
    causes: ['ResourceVersionTooLarge'],
    retryAfterMs: 1_000,
  })
}

const REFUSALS: Readonly<Record<number, readonly [serverReason: string, message: string]>> = {
  // CDI's webhooks set no reason.
  400: ['', 'the request was denied'],
  403: ['Forbidden', 'the request is forbidden'],
  422: ['', 'the request was denied'],
  409: ['Conflict', 'Operation cannot be fulfilled: please try again'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  500: ['InternalError', 'Internal error occurred'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'the server was unable to return a response in the time allotted'],
}

/** A rejection that does not depend on the content of the request. */
export function refused(status: number, retryAfterMs: number | undefined, text?: string): ApiError {
  const [serverReason, usual] = REFUSALS[status] ?? ['InternalError', `refused with ${status}`]
  const message = text ?? usual
  return new ApiError({ reason: classify(status, serverReason), status, serverReason, message, retryAfterMs })
}

export function noAnswer(verb: string, type: ResourceType, why: string): ApiError {
  const message = `${verb} ${type.plural}: no answer from the API server (${why})`
  return new ApiError({ reason: 'NoAnswer', status: 0, message })
}

export function notSent(verb: string, type: ResourceType): ApiError {
  const message = `${verb} ${type.plural}: not sent, it had to wait too long for its turn`
  return new ApiError({ reason: 'Unavailable', status: 0, message })
}
