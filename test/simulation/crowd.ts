import type fc from 'fast-check'
import { FAMILIES } from './families.ts'
import type { ImagePlan, Schedule } from './schedule.ts'

/** The most that the end of a run leaves as it is: there, everybody asks for a retry once more. */
const RETRY_LIMIT = 3

/**
 * A crowd of images most of which never get what they want: whoever fails comes back, over and over, under a limit that
 * moves, while processes and the network fail. Hundreds of admissions for each schedule, none of which waits for long.
 */
export const crowd: fc.Arbitrary<Schedule> = FAMILIES.crowded.map((schedule) => ({
  ...schedule,
  policy: {
    ...schedule.policy,
    retryLimit: RETRY_LIMIT - (schedule.policy.retryLimit % 2),
    backoffSeconds: 1 + (schedule.policy.backoffSeconds % 5),
  },
  images: schedule.images.map(hastened),
}))

/** Two of three fail for ever; the others as before. */
function hastened(image: ImagePlan, number: number): ImagePlan {
  const { isInvalid, nature } = image
  if (isInvalid || nature !== 'good' || number % 3 === 0) return image
  return { ...image, nature: 'broken', failures: 0, downloadSeconds: image.downloadSeconds % 2, ttlSeconds: undefined }
}
