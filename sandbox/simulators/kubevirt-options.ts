/** Durations are in milliseconds. */
export interface KubevirtOptions {
  /** From a launcher pod that can run to one that does. */
  readonly launchMs: number
  /** From a running launcher pod to a running guest. */
  readonly bootMs: number
  /** From the deletion of a running launcher pod to its end. */
  readonly shutdownMs: number
  /** First wait before a failed start of a virtual machine is retried; grows with the square of the failures. */
  readonly startBackoffMs: number
  readonly startBackoffMaxMs: number
  /** First wait before a rejected creation is retried; doubles with each rejection. */
  readonly retryMs: number
  readonly retryMaxMs: number
  /** How often virt-controller renews its Lease; 0 if it has none. */
  readonly leaseRenewMs: number
  /** Interval between the tries of a kubelet to create the sandbox of a pod. */
  readonly sandboxRetryMs: number
}
