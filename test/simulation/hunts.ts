import type fc from 'fast-check'
import { FAMILIES } from './families.ts'
import type { Action, ImagePlan, Schedule, Step } from './schedule.ts'

// Schedules with so narrow a focus that a few of them are enough to hit what is rare in the others.

const TEN_MINUTES_MS = 600_000

const staleWatch = (kind: string): Step => ({
  afterMs: 0,
  action: { do: 'watchFaults', fault: 'held', percent: 100, forMs: TEN_MINUTES_MS, kind },
})

/** Returns the image with a good source, and a download that takes longer. */
function longer(image: ImagePlan, moreSeconds: number): ImagePlan {
  const downloadSeconds = moreSeconds + image.downloadSeconds
  return { ...image, isInvalid: false, ttlSeconds: undefined, nature: 'good', downloadSeconds }
}

/** Returns the image with nothing missing, without failures, and created at the start. */
function withoutTrouble(image: ImagePlan): ImagePlan {
  const lacksNothing = { storageClass: 0, secret: undefined, isInvalid: false, ttlSeconds: undefined }
  return { ...image, ...lacksNothing, nature: 'good', failures: 0, createdAtMs: 0 }
}

/** People delete DataVolumes in the background during downloads: importers outlive them, and watch events of pods come late. */
const impatient: fc.Arbitrary<Schedule> = FAMILIES.curators.map((schedule) => ({
  ...schedule,
  policy: { ...schedule.policy, concurrency: 1 + (schedule.policy.concurrency % 4) },
  images: schedule.images.map((image) => longer(image, 10)),
  steps: [
    { afterMs: 0, action: { do: 'cdiFault', image: undefined, fault: 'slowEnd', times: 1, forMs: TEN_MINUTES_MS } },
    staleWatch('Pod'),
    ...schedule.steps.map(
      ({ afterMs }, image): Step => ({
        afterMs: 1_000 + (afterMs % 5_000),
        action: { do: 'deleteChild', image, kind: 'DataVolume', foreground: false },
      }),
    ),
  ],
}))

const LATE_LEDGER: Action = {
  do: 'requestFaults',
  fault: 'late',
  percent: 60,
  forMs: TEN_MINUTES_MS,
  kind: 'ConfigMap',
}

/** Writes of the ledger are carried out long after their caller stopped waiting. */
const lateLedger: fc.Arbitrary<Schedule> = FAMILIES.rush.map((schedule) => ({
  ...schedule,
  steps: [{ afterMs: 0, action: LATE_LEDGER }, ...schedule.steps, { afterMs: 60_000, action: { do: 'breakWatches' } }],
}))

/** Somebody clones an artifact that is about to be replaced, for longer than it would be kept otherwise. */
const cloners: fc.Arbitrary<Schedule> = FAMILIES.curators.map((schedule) => ({
  ...schedule,
  policy: { ...schedule.policy, concurrency: 4 },
  images: schedule.images.slice(0, 3).map((image) => ({ ...withoutTrouble(image), downloadSeconds: 1 })),
  steps: [0, 1, 2].flatMap((image) => [
    { afterMs: image === 0 ? 40_000 : 1_000, action: { do: 'clone', image, forMs: 2 * TEN_MINUTES_MS } },
    { afterMs: 20_000, action: { do: 'refresh', image } },
  ]),
}))

/** Namespaces have room for no import, or for a few. Images that are created then wait, and those of other namespaces proceed. */
const cramped: fc.Arbitrary<Schedule> = FAMILIES.curators.map((schedule) => ({
  ...schedule,
  policy: { ...schedule.policy, concurrency: 1 + (schedule.policy.concurrency % 4) },
  images: schedule.images.map((image, number) => ({
    ...withoutTrouble(image),
    createdAtMs: 20_000 + 5_000 * number,
  })),
  steps: [
    ...[0, 1, 2].map((namespace): Step => {
      const action = { do: 'limitClaims', namespace, more: namespace, forMs: TEN_MINUTES_MS } as const
      return { afterMs: 0, action }
    }),
    { afterMs: 5 * 60_000, action: { do: 'compact' } },
  ],
}))

/** An import stalls, and people delete its image but keep its children. */
const orphaned: fc.Arbitrary<Schedule> = FAMILIES.curators.map((schedule) => ({
  ...schedule,
  policy: { ...schedule.policy, concurrency: 1 },
  images: schedule.images
    .slice(0, 3)
    .map((image, number) => ({ ...withoutTrouble(image), downloadSeconds: 20, createdAtMs: 2_000 * number })),
  steps: [
    { afterMs: 0, action: { do: 'cdiFault', image: 0, fault: 'stall', times: 1, forMs: TEN_MINUTES_MS } },
    { afterMs: 30_000, action: { do: 'orphan', image: 0 } },
    { afterMs: 5 * 60_000, action: { do: 'compact' } },
  ],
}))

/** Somebody fills the slot ledger with holders that nobody admitted, while all slots are held by long downloads. */
const flooded: fc.Arbitrary<Schedule> = FAMILIES.curators.map((schedule) => ({
  ...schedule,
  policy: { ...schedule.policy, concurrency: 1 + (schedule.policy.concurrency % 4) },
  images: schedule.images.map((image) => ({ ...withoutTrouble(image), downloadSeconds: 60 + image.downloadSeconds })),
  steps: [1, 2].map(() => ({ afterMs: 35_000, action: { do: 'floodLedger', holders: 500 } })),
}))

/** Somebody deletes the slot ledger while all slots are held by long downloads. */
const amnesiac: fc.Arbitrary<Schedule> = FAMILIES.curators.map((schedule) => ({
  ...schedule,
  policy: { ...schedule.policy, concurrency: 1 + (schedule.policy.concurrency % 4) },
  images: schedule.images.map((image) => longer(image, 30)),
  steps: [1, 2, 3].map(() => ({ afterMs: 35_000, action: { do: 'deleteLedger' } })),
}))

const drainsAfter = (afterMs: number): readonly Step[] =>
  [0, 1, 2].map((image) => ({ afterMs: image === 0 ? afterMs : 0, action: { do: 'drain', image } }))

/**
 * The nodes of importers are drained: while these wait for their container image, and again when they run at last and CDI is stopped. Only
 * their pods show what they did.
 */
const drained: fc.Arbitrary<Schedule> = FAMILIES.curators.map((schedule) => ({
  ...schedule,
  policy: { ...schedule.policy, concurrency: 4, retryLimit: 1 },
  images: schedule.images.slice(0, 3).map((image) => ({ ...withoutTrouble(image), downloadSeconds: 60 })),
  steps: [
    { afterMs: 0, action: { do: 'cdiFault', image: undefined, fault: 'imagePull', times: 1, forMs: 40_000 } },
    ...drainsAfter(15_000),
    { afterMs: 10_000, action: { do: 'stopCdi', forMs: 90_000 } },
    ...drainsAfter(20_000),
  ],
}))

/**
 * One replica after the other takes over, and about half of its watches are served by an API server that lags behind. Which kinds these are
 * is drawn again whenever watches are opened.
 */
const laggingTakeOvers: fc.Arbitrary<Schedule> = FAMILIES.rush.map((schedule) => ({
  ...schedule,
  replicas: 2,
  steps: [0, 1, 0, 1].flatMap((replica): Step[] => [
    {
      afterMs: 1_000,
      action: { do: 'laggingServer', percent: 50, lagMs: 25_000, whenAhead: 'wait', forMs: TEN_MINUTES_MS },
    },
    { afterMs: 24_000, action: { do: 'crash', replica, downMs: 2_000 } },
  ]),
}))

/** One replica after the other takes over, and has the current images, but a stale view of their children. */
const takeOvers: fc.Arbitrary<Schedule> = FAMILIES.rush.map((schedule) => ({
  ...schedule,
  replicas: 2,
  steps: [
    staleWatch('DataVolume'),
    staleWatch('VolumeSnapshot'),
    ...[0, 1, 0, 1].map((replica): Step => ({ afterMs: 25_000, action: { do: 'crash', replica, downMs: 2_000 } })),
  ],
}))

export const HUNTS = {
  impatient,
  lateLedger,
  cloners,
  cramped,
  orphaned,
  flooded,
  amnesiac,
  drained,
  laggingTakeOvers,
  takeOvers,
} as const
