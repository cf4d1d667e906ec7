import type { Readiness } from '../api/machine-readiness.ts'

/** A probe as KubeVirt has it, with all that it would fill in. */
export interface ReadinessProbe {
  readonly guestAgentPing?: Readonly<Record<string, never>>
  readonly tcpSocket?: { readonly port: number }
  readonly exec?: { readonly command: readonly string[] }
  readonly periodSeconds: number
  readonly timeoutSeconds: number
  readonly successThreshold: number
  readonly failureThreshold: number
}

const TIMES = { periodSeconds: 10, timeoutSeconds: 5, successThreshold: 1, failureThreshold: 3 }

/**
 * The exit code of `cloud-init status` does not tell done from running in all versions, so its words do. With --wait, each try would leave a process behind.
 * KubeVirt puts the words into JSON as they are: they must have no double quote and no backslash.
 */
const CLOUD_INIT_IS_DONE = ['/bin/sh', '-c', "cloud-init status | grep -qx 'status: done'"]

export function readinessProbeOf({ guestAgent, tcpPort, cloudInit }: Readiness): ReadinessProbe | undefined {
  if (tcpPort !== undefined) return { tcpSocket: { port: tcpPort }, ...TIMES }
  if (guestAgent === true) return { guestAgentPing: {}, ...TIMES }
  // A program costs the guest more than a ping.
  return cloudInit === true
    ? { exec: { command: CLOUD_INIT_IS_DONE }, ...TIMES, periodSeconds: 30, timeoutSeconds: 10 }
    : undefined
}
