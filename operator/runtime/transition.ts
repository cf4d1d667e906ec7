import type { KubeObject } from '../kube/kube-object.ts'
import { redactUrls } from './redact.ts'

/** What a status of every Open Terrain kind says first. */
interface Stand {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
}

/** Longer ones are in the status. */
const MESSAGE_LIMIT = 400

/**
 * What the log tells of a status that was written: one line where the phase or the reason changed. Progress, places in a queue
 * and the like are no news here.
 */
export function transitionOf(before: KubeObject, after: object): Readonly<Record<string, string>> | undefined {
  const { status: was = {} } = before as { readonly status?: Stand }
  const { phase = '', reason = '', message = '' } = after as Stand
  if (phase === (was.phase ?? '') && reason === (was.reason ?? '')) return undefined
  const text = message.length > MESSAGE_LIMIT ? `${message.slice(0, MESSAGE_LIMIT)}…` : message
  return { ...(was.phase !== undefined && { from: was.phase }), phase, reason, message: redactUrls(text) }
}
