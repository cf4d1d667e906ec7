import type { Mutant } from '../mutant.ts'
import { altered, seam } from '../seam.ts'
import { IMAGES, SHARED } from './product-modules.ts'
import { takingOver } from './reference-breaks.ts'

/** A failed attempt costs another amount than its downloads. */
const failuresCosting = (costOf: (downloads: number) => number) =>
  seam(IMAGES.judge, 'judgeDataVolume', (judgeDataVolume) => (dataVolume, context) => {
    const verdict = judgeDataVolume(dataVolume, context)
    return verdict.state === 'failed' ? { ...verdict, downloads: costOf(verdict.downloads) } : verdict
  })

/** Deliberate defects in what is decided and written for images. */
export const IMAGE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a slot is held until the snapshot is ready',
    invariant: 2,
    seam: seam(IMAGES.plan, 'planImage', (planImage) => (world, now) => {
      const { image, dataVolumes, slot } = world
      const isOver =
        image.metadata.deletionTimestamp === undefined && dataVolumes.some(({ phase }) => phase === 'Succeeded')
      return planImage({ ...world, slot: isOver ? undefined : slot }, now)
    }),
    kind: 'undisturbed',
  },
  {
    name: 'a place in the queue is kept for another download',
    invariant: 3,
    seam: seam(IMAGES.plan, 'planImage', (planImage) => (world, now) => {
      const plan = planImage(world, now)
      const { ticket, revision, phase } = world.image.status
      const isKept = phase === 'Queued' && ticket !== undefined && plan.status.ticket !== undefined
      return isKept && revision !== plan.status.revision ? { ...plan, status: { ...plan.status, ticket } } : plan
    }),
    kind: 'undisturbed',
    seed: 7,
  },
  {
    name: 'one retry more than the limit',
    invariant: 4,
    seam: seam(IMAGES.plan, 'planImage', (planImage) => ({ policy, ...world }, now) => {
      return planImage({ ...world, policy: { ...policy, retryLimit: policy.retryLimit + 1 } }, now)
    }),
    kind: 'undisturbed',
  },
  {
    name: 'restarts that nobody saw cost nothing',
    invariant: 4,
    // What is counted later, while importers end, must not know of them either.
    seam: seam(IMAGES.plan, 'planImage', (planImage) => ({ observation, dataVolumes, ...world }, now) => {
      const { starts } = observation
      return planImage(
        {
          ...world,
          observation: { ...observation, starts: starts === undefined ? starts : Math.min(1, starts) },
          dataVolumes: dataVolumes.map((one) => ({ ...one, restartCount: 0 })),
        },
        now,
      )
    }),
    kind: 'unattended',
    seed: 22,
  },
  {
    name: 'an attempt in which no importer ran is paid for',
    invariant: 4,
    seam: failuresCosting((downloads) => Math.max(1, downloads)),
    kind: 'rush',
    seed: 21,
  },
  {
    name: 'while CDI is away nobody looks at what importers came to',
    invariant: 4,
    seam: seam(
      IMAGES.progressWatch,
      'ProgressWatch',
      (ProgressWatch) =>
        class extends ProgressWatch {
          override look(...sight: Parameters<InstanceType<typeof ProgressWatch>['look']>) {
            return { ...super.look(...sight), importers: [], isImporterLost: false }
          }
        },
    ),
    kind: 'outages',
    seed: 24,
  },
  {
    name: 'an importer that a node lost is downloaded again for nothing',
    invariant: 4,
    seam: seam(IMAGES.judge, 'judgeDataVolume', (judgeDataVolume) => (dataVolume, context) => {
      const verdict = judgeDataVolume(dataVolume, context)
      return verdict.state === 'failed' && verdict.reason === 'Evicted' ? { ...verdict, downloads: 0 } : verdict
    }),
    kind: 'drained',
  },
  {
    name: 'a pod that is deleted before it ran is a failed importer',
    invariant: 4,
    seam: seam(IMAGES.judge, 'judgeDataVolume', (judgeDataVolume) => (dataVolume, context) => {
      const verdict = judgeDataVolume(dataVolume, context)
      const { importers, starts: downloads = 0 } = context.observation
      const isBlamed = importers.some(({ importer: { ended } }) => (ended?.exitCode ?? 0) !== 0)
      if (verdict.state !== 'running' || !isBlamed) return verdict
      return { state: 'failed', reason: 'ImporterFailed', message: 'it failed', permanent: false, downloads }
    }),
    kind: 'drained',
    seed: 10,
  },
  {
    name: 'clones do not keep an earlier artifact',
    invariant: 5,
    seam: seam(IMAGES.plan, 'planImage', (planImage) => (world, now) => {
      const plan = planImage(world, now)
      const withoutLook = ({ onlyIf, ...one }: (typeof plan.remove)[number]) =>
        one.kind === 'VMDiskImage' ? { ...one, onlyIf } : one
      return { ...plan, remove: plan.remove.map(withoutLook) }
    }),
    kind: 'cloners',
  },
  {
    name: 'the alias of a namesake is taken over',
    invariant: 6,
    seam: takingOver(({ kind }) => kind === 'DataSource'),
    kind: 'undisturbed',
  },
  {
    name: 'a download whose image does not exist counts',
    invariant: 6,
    seam: seam(SHARED.ownership, 'ownerAmong', (ownerAmong) => (object, owners) => {
      const { namespace, uid: dataVolumeUID, ownerReferences } = object.metadata
      const [owner] = ownerReferences ?? []
      const isTaken = object.kind === 'DataVolume' && owner?.kind === 'VMDiskImage'
      const made = { ...owner, metadata: { ...owner, namespace }, status: { dataVolumeUID } }
      return ownerAmong(object, owners) ?? (isTaken ? (made as never) : undefined)
    }),
    kind: 'tenants',
    seed: 7,
  },
  {
    name: 'nobody looks again when a backoff ends',
    invariant: 7,
    seam: seam(IMAGES.plan, 'planImage', (planImage) => (world, now) => {
      const { requeue, ...plan } = planImage(world, now)
      return requeue === undefined || plan.status.reason === 'RetryBackoff' ? plan : { ...plan, requeue }
    }),
    kind: 'undisturbed',
  },
  {
    name: 'who takes over believes what its watches have told so far',
    invariant: 7,
    seam: seam(
      IMAGES.controller,
      'ImageController',
      (ImageController) =>
        class extends ImageController {
          constructor(options: ConstructorParameters<typeof ImageController>[0]) {
            super({ ...options, hadPredecessor: false })
          }
        },
    ),
    kind: 'writesLaggingTakeOvers',
    seed: 4,
  },
  {
    name: 'every reconcile writes the status',
    invariant: 7,
    seam: seam(IMAGES.throttle, 'imageThrottleOf', () => () => ({ isStatusDue: true })),
    kind: 'undisturbed',
  },
  {
    name: 'a snapshot is taken again after two seconds, whatever the policy says',
    invariant: 7,
    seam: seam(IMAGES.plan, 'planImage', (planImage) => ({ policy, ...world }, now) => {
      const snapshotTimeoutMs = Math.min(policy.snapshotTimeoutMs, 2_000)
      return planImage({ ...world, policy: { ...policy, snapshotTimeoutMs } }, now)
    }),
    kind: 'writesTakeOvers',
  },
  {
    name: 'a bad policy value means the default',
    invariant: 8,
    alsoCaughtAs: [1],
    seam: seam(SHARED.constructs, 'parsePolicy', (parsePolicy, { POLICY_DEFAULTS }) => (data) => {
      return parsePolicy(data, POLICY_DEFAULTS)
    }),
    kind: 'undisturbed',
    seed: 3,
  },
  {
    name: 'a bad spec waits without a word',
    invariant: 8,
    alsoCaughtAs: [7],
    seam: seam(IMAGES.status, 'withImageSummary', (withImageSummary) => (status, summary, seen) => {
      const isBad = summary.reason === 'InvalidSpec'
      return withImageSummary(status, isBad ? { phase: 'Failed', reason: 'NotFound', message: '' } : summary, seen)
    }),
    kind: 'undisturbed',
  },
  {
    name: 'nobody looks again when a Secret comes',
    invariant: 7,
    seam: seam(IMAGES.triggers, 'listenForImageTriggers', (listenForImageTriggers) => (caches, reactions) => {
      const secrets = altered(caches.cluster.secrets, { onChange: () => () => undefined })
      return listenForImageTriggers(altered(caches, { cluster: altered(caches.cluster, { secrets }) }), reactions)
    }),
    kind: 'undisturbed',
    seed: 11,
  },
  {
    name: 'an image waits for its users though its namespace is being deleted',
    invariant: 5,
    alsoCaughtAs: [7],
    seam: seam(IMAGES.plan, 'planImage', (planImage) => (world, now) => {
      const isDeletedInUse = world.image.metadata.deletionTimestamp !== undefined && world.references.users.length > 0
      return planImage(isDeletedInUse ? { ...world, namespaceTerminating: false } : world, now)
    }),
    kind: 'machinesUprooted',
    seed: 5,
  },
]
