import type { RequestReport } from '../kube/kube-client.ts'
import type { Logger } from './log.ts'

/** A webhook may warn with another text each time. */
const MOST = 100

/** Logs each text with which the API server warns once: a field that an older CRD drops would be written again and again. */
export function warnedOnce(log: Logger): (report: RequestReport) => void {
  const told = new Set<string>()
  return ({ verb, resource, warning }) => {
    if (warning === undefined || told.size >= MOST || told.has(warning)) return
    told.add(warning)
    log.warn({ verb, resource, warning }, 'the API server took a request with a warning')
  }
}
