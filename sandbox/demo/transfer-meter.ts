import type { Transfer } from '../simulators/index.ts'

/** Reports each download as it starts, and how many are in flight then: a count that no controller influences. */
export function metered(transfer: Transfer, onStart: (url: string, importing: number) => void): Transfer {
  let importing = 0
  return {
    async start(job) {
      importing += 1
      onStart(job.url, importing)
      try {
        return await transfer.start(job)
      } finally {
        importing -= 1
      }
    },
  }
}
