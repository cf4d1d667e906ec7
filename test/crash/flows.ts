import type { Play } from './play.ts'

/** A part of the life of an image, a machine, a DataSync or a Workspace: actions of users, each of which waits for the effects of others. */
export interface Flow {
  readonly name: string
  /** `<namespace>` is that of the play. */
  readonly policy: Readonly<Record<string, string>>
  /** Whether it has a Workspace, and therefore a second namespace. */
  readonly hasWorkspace?: boolean
  /** Runs before the part that is tested. */
  readonly prepare?: (play: Play) => Promise<void>
  readonly act: (play: Play) => Promise<void>
  /**
   * The operator's writes during that part, except those for the Lease. Of those that only report progress, it has the ones that always occur, if
   * their reason tells them apart.
   */
  readonly writes: readonly string[]
  /** Kinds of writes that only report progress. How many there are depends on what is observed at once, so their number is not compared. */
  readonly reporting?: readonly string[]
}

/** Folder of the local volumes of workspaces. */
export const LOCAL_VOLUMES = '/srv/labs'

export const QUICK = { concurrency: '1', retryLimit: '1', retryBackoffDuration: '10ms' }
const ELEVEN_MINUTES = 11 * 60_000

const DOWNLOAD = ['update configmaps', 'create datavolumes', 'update vmdiskimages/status', 'create events']
const TEARDOWN = ['update vmdiskimages/status', 'delete datavolumes', 'create events', 'update configmaps']
export const FROM_DOWNLOAD_TO_SNAPSHOT = ['update configmaps', 'update vmdiskimages/status', 'create volumesnapshots']
export const PUBLICATION = ['create datasources', 'update vmdiskimages/status', 'create events']

export async function download(play: Play): Promise<void> {
  await play.createImage()
  await play.untilDownloading()
  await play.untilQuiet()
}

/** An image that is made and synced: where most other flows begin. */
export const success: Pick<Flow, 'act' | 'writes'> = {
  act: async (play) => {
    await play.createImage()
    await play.untilDownloading()
    play.letThrough()
    await play.untilSynced()
  },
  writes: [
    // The status of the policy, and the ledger.
    'create configmaps',
    'create configmaps',
    'update vmdiskimages/status',
    'patch vmdiskimages',
    ...DOWNLOAD,
    ...FROM_DOWNLOAD_TO_SNAPSHOT,
    ...PUBLICATION,
  ],
}

const handOver: Flow = {
  name: 'a slot that goes to the next image',
  policy: QUICK,
  prepare: async (play) => {
    await download(play)
    await play.createImage('next')
    await play.untilReason('Queued', 'next')
    await play.untilQuiet()
  },
  act: async (play) => {
    play.letThrough()
    await play.untilDownloading(1, 'next')
    play.letThrough('next')
    await play.untilSynced()
    await play.untilSynced('next')
  },
  // One write releases the first slot and claims the second.
  writes: [
    ...FROM_DOWNLOAD_TO_SNAPSHOT,
    ...PUBLICATION,
    ...DOWNLOAD.slice(1),
    ...FROM_DOWNLOAD_TO_SNAPSHOT,
    ...PUBLICATION,
  ],
}

/** The attempt that fails first waits for the next one, and the last one ends the image. */
const failure: Flow = {
  name: 'failure with retries until Failed',
  policy: QUICK,
  prepare: download,
  act: async (play) => {
    play.world.imageServer.set({ path: play.pathOf(), fault: { cutAfterBytes: 1024 } })
    play.letThrough()
    await play.untilDownloading(2)
    play.letThrough()
    await play.until('Failed', () => play.getImage()?.status?.phase === 'Failed')
    await play.untilStopped()
  },
  writes: [...TEARDOWN, 'update vmdiskimages/status', ...DOWNLOAD, ...TEARDOWN, 'update vmdiskimages/status'],
}

const refresh: Flow = {
  name: 'success, and a refresh',
  policy: QUICK,
  act: async (play) => {
    await success.act(play)
    await play.untilQuiet()
    await play.patch({ metadata: { annotations: { 'pelotech.ot/sync-requested-at': 'today' } } })
    await play.untilDownloading(2)
    play.letThrough()
    await play.untilSynced()
    await play.untilQuiet()
    await play.pretendPublished(ELEVEN_MINUTES)
    await play.until('the old artifact is gone', () => play.dataVolumes.length === 1)
    await play.until('the old snapshot is gone', () => play.of(play.world.mirror.snapshots).length === 1)
  },
  writes: [
    ...success.writes,
    'update vmdiskimages/status',
    ...DOWNLOAD,
    ...FROM_DOWNLOAD_TO_SNAPSHOT,
    'patch datasources',
    'update vmdiskimages/status',
    'create events',
    'delete datavolumes',
    'delete volumesnapshots',
  ],
}

const cancellation: Flow = {
  name: 'deletion of an image that downloads',
  policy: QUICK,
  prepare: download,
  act: async (play) => {
    await play.deleteImage()
    await play.untilGone()
    await play.untilStopped()
  },
  writes: ['update vmdiskimages/status', 'delete datavolumes', 'update configmaps', 'patch vmdiskimages'],
  reporting: ['update vmdiskimages/status'],
}

const suspension: Flow = {
  name: 'suspend and resume',
  policy: QUICK,
  prepare: download,
  act: async (play) => {
    await play.patch({ spec: { suspend: true } })
    await play.untilReason('Suspended')
    await play.untilStopped()
    await play.untilQuiet()
    await play.patch({ spec: { suspend: false } })
    await play.untilDownloading(2)
    play.letThrough()
    await play.untilSynced()
  },
  writes: [
    ...TEARDOWN,
    'update vmdiskimages/status',
    'create events',
    'update vmdiskimages/status',
    'update configmaps',
    'create datavolumes',
    'update vmdiskimages/status',
    ...FROM_DOWNLOAD_TO_SNAPSHOT,
    ...PUBLICATION,
  ],
}

/** The deletion of an image that is there is in what the operator removes by itself. */
export const IMAGE_FLOWS: readonly Flow[] = [handOver, failure, refresh, cancellation, suspension]
