import type { Clock } from '../../operator/base/clock.ts'
import { refusedText } from '../../sandbox/simulators/importer-texts.ts'
import { ImportFailure, type Transfer, type TransferPlan, timedTransfer } from '../../sandbox/simulators/index.ts'
import { CANARY } from './oracle/secrets.ts'
import type { SourceNature } from './schedule.ts'

export interface Source {
  readonly nature: SourceNature
  readonly downloadSeconds: number
}

/** Returns the URL of an image's content. It contains the result of the download and how long that takes. Its query is a secret. */
export function urlOf(image: string, version: number, { nature, downloadSeconds }: Source): string {
  return `https://images.example.com/${nature}/${downloadSeconds}/${image}/${version}.qcow2?X-Amz-Signature=${CANARY}`
}

function sourceOf(url: string): Source {
  const [nature = 'good', seconds = '1'] = new URL(url).pathname.split('/').slice(1)
  return { nature: nature as SourceNature, downloadSeconds: Number(seconds) }
}

/** Returns downloads that only take time, and fail as their URL says. */
export function sourceTransfer(clock: Clock, onStart: (url: string) => void): Transfer {
  const planOf = (url: string): TransferPlan => ({ durationMs: 50 + sourceOf(url).downloadSeconds * 1_000, steps: 2 })
  const timed = timedTransfer(clock, ({ url }) => planOf(url))
  return {
    start: async (job) => {
      onStart(job.url)
      const failure = failureOf(sourceOf(job.url).nature, job.url)
      if (failure === undefined) return await timed.start(job)
      await timed.start({ ...job, stopAfterBytes: failure.after })
      throw new ImportFailure(failure.message)
    },
  }
}

function failureOf(
  nature: SourceNature,
  url: string,
): { readonly after: number; readonly message: string } | undefined {
  switch (nature) {
    case 'good':
    case 'blank':
      return undefined
    case 'missing':
      return { after: 1, message: refusedText('http', url, 404, 'none') }
    case 'forbidden':
      return { after: 1, message: refusedText('http', url, 403, 'none') }
    case 'broken': {
      // Errors of Go's HTTP client contain the whole URL.
      const message = `Unable to process data: Unable to transfer source data to target file: Get "${url}": unexpected EOF`
      return { after: 1024 ** 3 / 4, message }
    }
  }
}
