import type fc from 'fast-check'
import { FAMILIES } from './families.ts'
import type { ImagePlan, Schedule } from './schedule.ts'

/** The highest value that stays unchanged at the end of a run, where everybody asks for a retry once more. */
const RETRY_LIMIT = 3

/**
 * A crowd of images, most of which never succeed. They fail and retry, over and over, under a changing limit, while processes and the
 * network fail. Each schedule has hundreds of admissions, and none of them waits for long.
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

/** Makes two of three good images fail forever. All others stay as they are. */
function hastened(image: ImagePlan, number: number): ImagePlan {
  const { isInvalid, nature } = image
  if (isInvalid || nature !== 'good' || number % 3 === 0) return image
  return { ...image, nature: 'broken', failures: 0, downloadSeconds: image.downloadSeconds % 2, ttlSeconds: undefined }
}
