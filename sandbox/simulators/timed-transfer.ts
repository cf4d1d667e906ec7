import { type Clock, sleep } from '../../operator/base/clock.ts'
import type { Transfer, TransferJob } from './transfer.ts'

export interface TransferPlan {
  readonly durationMs: number
  /** Default: 1 GiB. No data is moved. */
  readonly sizeBytes?: number
  /** Number of progress reports. Default: 4. */
  readonly steps?: number
}

/** Returns downloads that only take time, on any clock: for benchmarks and deterministic schedules. Bytes are spread evenly over the time. */
export function timedTransfer(clock: Clock, planOf: (job: TransferJob) => TransferPlan): Transfer {
  return {
    async start(job) {
      const { durationMs, sizeBytes = 1024 ** 3, steps = 4 } = planOf(job)
      const end = Math.min(sizeBytes, job.stopAfterBytes ?? sizeBytes)
      let bytes = 0
      job.signal.throwIfAborted()
      for (let step = 1; step <= steps && bytes < end; step += 1) {
        const next = Math.min(end, Math.round((sizeBytes * step) / steps))
        await sleep(clock, (durationMs * (next - bytes)) / sizeBytes, job.signal)
        bytes = next
        job.onProgress(bytes, sizeBytes)
      }
      return { bytes }
    },
  }
}
