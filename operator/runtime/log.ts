import type { Logger as PinoLogger } from 'pino'
import type { RequestReport } from '../kube/kube-client.ts'

/** The part of pino that we use: structured fields first, then one constant sentence. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'child'>

/** Maximum number of logged warnings: a webhook may send a different text each time. */
const MOST = 100

/** Logs each warning text of the API server once: a field that an older CRD drops would otherwise cause the same line with every write. */
export function warnedOnce(log: Logger): (report: RequestReport) => void {
  const logged = new Set<string>()
  return ({ verb, resource, warning }) => {
    if (warning === undefined || logged.size >= MOST || logged.has(warning)) return
    logged.add(warning)
    log.warn({ verb, resource, warning }, 'the API server took a request with a warning')
  }
}
