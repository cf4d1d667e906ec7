import type { Transfer } from '../simulators/index.ts'

/** Tells of each download as it begins, and how many are under way then: a count that no controller has a hand in. */
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
