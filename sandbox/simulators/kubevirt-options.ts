/** Durations are in milliseconds. */
export interface KubevirtOptions {
  /** From a launcher pod that can run to one that does. */
  readonly launchMs: number
  /** From a running launcher pod to a running guest. */
  readonly bootMs: number
  /** From the deletion of a running launcher pod to its end. */
  readonly shutdownMs: number
  /** First wait before a virtual machine whose start failed is tried again; grows with the square of the failures. */
  readonly startBackoffMs: number
  readonly startBackoffMaxMs: number
  /** First wait before a creation that was refused is tried again; doubles with each refusal. */
  readonly retryMs: number
  readonly retryMaxMs: number
  /** From one try of a kubelet to make a pod's sandbox to the next. */
  readonly sandboxRetryMs: number
}
